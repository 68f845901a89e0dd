export interface RateLimits {
  readonly messagesPerSecond: number;
  readonly bytesPerSecond: number;
  /** How much may come at once, in seconds of the rate. */
  readonly burstSeconds: number;
}

/** How fast one sender may go, in messages and bytes: two buckets that fill steadily. */
export class MediaRate {
  readonly #limits: RateLimits;
  #messages: number;
  #bytes: number;
  #atMs: number;

  /** @param nowMs on a monotonic clock, as in `take`. */
  constructor(limits: RateLimits, nowMs: number) {
    this.#limits = limits;
    this.#messages = limits.messagesPerSecond * limits.burstSeconds;
    this.#bytes = limits.bytesPerSecond * limits.burstSeconds;
    this.#atMs = nowMs;
  }

  /** Takes a message, whatever is left. @returns for how many milliseconds no more should be read. */
  take(bytes: number, nowMs: number): number {
    const { messagesPerSecond, bytesPerSecond, burstSeconds } = this.#limits;
    const seconds = Math.max(nowMs - this.#atMs, 0) / 1_000;
    this.#atMs = nowMs;
    const filled = (left: number, rate: number) =>
      Math.min(left + rate * seconds, rate * burstSeconds);
    this.#messages = filled(this.#messages, messagesPerSecond) - 1;
    this.#bytes = filled(this.#bytes, bytesPerSecond) - bytes;
    const owed = Math.max(-this.#messages / messagesPerSecond, -this.#bytes / bytesPerSecond, 0);
    return Math.ceil(owed * 1_000);
  }
}
