// The server's time: this machine's clock may be set differently.

let aheadMs = 0;

/** Learns the server's time from an answer. @param sentAt when it was asked, in epoch milliseconds. */
export function learnTime(answer: Response, sentAt: number): void {
  aheadMs = aheadOf(aheadMs, Date.parse(answer.headers.get("date") ?? ""), sentAt, Date.now());
}

/** The server's time in epoch milliseconds; this machine's as long as the server did not differ. */
export function serverNow(): number {
  return Date.now() + aheadMs;
}

/**
 * By how many milliseconds the server's clock is ahead. An answer's `Date` is cut to the second and
 * was written somewhere between asking and hearing, so it gives bounds only: within them what is
 * known holds, and outside it is the upper bound, for what has just happened must not be missed.
 */
export function aheadOf(known: number, date: number, sentAt: number, heardAt: number): number {
  if (Number.isNaN(date)) return known;
  const most = date + 999 - sentAt;
  return known >= date - heardAt && known <= most ? known : most;
}
