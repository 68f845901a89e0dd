/** In milliseconds: see `AskOptions`. */
type Limits = Readonly<Record<"firstTokenTimeoutMs" | "idleTimeoutMs" | "totalTimeoutMs", number>>;

/** Watches one answer. Starts when it is made; `stop()` must be called, however the answer ends. */
export class Deadline {
  readonly #limits: Limits;
  readonly #controller = new AbortController();
  readonly #total: NodeJS.Timeout;
  #wait: NodeJS.Timeout | undefined;
  #missed: string | undefined;

  constructor(limits: Limits) {
    this.#limits = limits;
    this.#total = this.#abortAfter(limits.totalTimeoutMs, "did not end its answer within");
    this.expectFirst();
  }

  /** Aborts when a limit is passed. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Which limit was passed, as the end of a sentence about the model. */
  get missed(): string | undefined {
    return this.#missed;
  }

  expectFirst(): void {
    this.pause();
    this.#wait = this.#abortAfter(this.#limits.firstTokenTimeoutMs, "did not answer within");
  }

  expectMore(): void {
    this.pause();
    this.#wait = this.#abortAfter(this.#limits.idleTimeoutMs, "fell silent for");
  }

  /** While the reader of the answer is busy, the model is not late. */
  pause(): void {
    clearTimeout(this.#wait);
  }

  stop(): void {
    this.pause();
    clearTimeout(this.#total);
  }

  #abortAfter(ms: number, what: string): NodeJS.Timeout {
    return setTimeout(() => {
      this.#missed ??= `${what} ${ms / 1000} s`;
      this.#controller.abort();
    }, ms);
  }
}
