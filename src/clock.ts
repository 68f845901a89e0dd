/** Where every instant and every duration comes from, so that a test can hold the clock. */
export interface Clock {
  /** The wall clock: milliseconds since 1970 in UTC. May jump in both directions. */
  now(): number;
  /** Milliseconds since some start. Never goes back while the process lives. */
  monotonic(): number;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
};

/** The instant as it is stored: ISO 8601 in UTC with milliseconds. */
export function isoTime(at: number): string {
  return new Date(at).toISOString();
}
