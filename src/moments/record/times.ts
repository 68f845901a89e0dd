/** Milliseconds with 3 decimals, without -0. */
export function millis(ms: number): number {
  return Math.round(ms * 1_000) / 1_000 + 0;
}

/** Milliseconds as seconds with 3 decimals. */
export function seconds(ms: number): number {
  return Math.round(ms) / 1_000 + 0;
}
