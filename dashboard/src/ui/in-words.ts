// Amounts and times in words.

/** The same for everyone: the page is in English, and a day has 24 hours. */
const dated = { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" } as const;
const inThisYear = new Intl.DateTimeFormat("en-GB", dated);
const withYear = new Intl.DateTimeFormat("en-GB", { ...dated, year: "numeric" });

/** US dollars: to the cent, and below one dollar to a hundredth of it. */
export function cost(usd: number): string {
  const digits = usd === 0 || Math.abs(usd) >= 1 ? 2 : 4;
  return usd.toLocaleString("en-GB", {
    style: "currency",
    currency: "USD",
    currencyDisplay: "narrowSymbol",
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  });
}

export const noPrice = "no price set";

/** Where prices are set, for answers and sessions that have none. */
export const howToPrice =
  "Set one under \u201cprices\u201d in throughline.config.json, in the companion\u2019s folder, and restart the companion.";

/** A number with its noun: "1 chat", "1,204 tokens". */
export function counted(count: number, noun: string): string {
  return `${count.toLocaleString("en-GB")} ${noun}${count === 1 ? "" : "s"}`;
}

/** A level of 0..1 as "45 %", which no line break parts. */
export function percent(level: number): string {
  return `${Math.round(level * 100)}\u00a0%`;
}

/** Seconds, to a tenth below a minute: "0.4 s", "75 s". */
export function seconds(ms: number): string {
  const digits = ms < 60_000 ? 1 : 0;
  const options = { minimumFractionDigits: digits, maximumFractionDigits: digits };
  return `${(ms / 1_000).toLocaleString("en-GB", options)} s`;
}

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

/**
 * A time as the page writes it everywhere: "5 min ago" within a day, else "26 Nov, 17:36", with the
 * year if it is another one; "" for what is no time.
 */
export function relativeTime(at: string | number, now: number): string {
  const date = new Date(at);
  const ms = now - date.getTime();
  if (Number.isNaN(ms)) return "";
  const away = Math.abs(ms);
  if (away < 5_000) return "just now";
  if (away < 86_400_000) return ms > 0 ? `${spanWithin(away)} ago` : `in ${spanWithin(away)}`;
  const isThisYear = date.getFullYear() === new Date(now).getFullYear();
  return (isThisYear ? inThisYear : withYear).format(date);
}

function spanWithin(ms: number): string {
  if (ms < 60_000) return `${Math.floor(ms / 1_000)} s`;
  return ms < 3_600_000 ? `${Math.floor(ms / 60_000)} min` : `${Math.floor(ms / 3_600_000)} h`;
}

/** The whole date and time: "26 Nov 2026, 17:36"; "" for what is no time. */
export function fullTime(at: string | number): string {
  const date = new Date(at);
  return Number.isNaN(date.getTime()) ? "" : withYear.format(date);
}
