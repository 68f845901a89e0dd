// Spans of time in a few plain words.

/** A span in words, two units at most: "45 s", "4 min 10 s", "3 h 5 min", "2 days 4 h". */
export function spanInWords(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return pair(whole, 60, "min", 1, "s");
  if (whole < 86_400) return pair(whole, 3600, "h", 60, "min");
  const days = Math.floor(whole / 86_400);
  return pair(whole, 86_400, days === 1 ? "day" : "days", 3600, "h");
}

function pair(whole: number, big: number, bigName: string, small: number, smallName: string) {
  const rest = Math.floor((whole % big) / small);
  const first = `${Math.floor(whole / big)} ${bigName}`;
  return rest === 0 ? first : `${first} ${rest} ${smallName}`;
}

/** A level of 0..1 as "45 %", which no line break parts. */
export function percent(level: number): string {
  return `${Math.round(level * 100)}\u00a0%`;
}
