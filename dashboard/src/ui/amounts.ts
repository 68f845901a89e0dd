// Amounts in words: what an answer, or a session, came to.

/** US dollars: to the cent, and below one dollar to a hundredth of it. */
export function cost(usd: number): string {
  const digits = usd === 0 || Math.abs(usd) >= 1 ? 2 : 4;
  return usd.toLocaleString(undefined, {
    ...{ style: "currency", currency: "USD", currencyDisplay: "narrowSymbol" },
    ...{ minimumFractionDigits: digits, maximumFractionDigits: digits },
  });
}

/** A number with its noun: "one chat", "1,204 tokens". */
export function counted(count: number, noun: string): string {
  return `${count.toLocaleString()} ${noun}${count === 1 ? "" : "s"}`;
}

/** Seconds, to a tenth below a minute: "0.4 s", "75 s". */
export function seconds(ms: number): string {
  const digits = ms < 60_000 ? 1 : 0;
  const options = { minimumFractionDigits: digits, maximumFractionDigits: digits };
  return `${(ms / 1_000).toLocaleString(undefined, options)} s`;
}

export const noPrice = "no price set";

/** Where prices are set, for answers and sessions that have none. */
export const howToPrice =
  "Set one under \u201cprices\u201d in throughline.config.json, in the companion\u2019s folder, and start the companion again.";
