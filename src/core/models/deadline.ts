/** How long a model may keep a turn waiting. Every limit holds for every request. */
export interface DeadlineOptions {
  /**
   * The longest wait for the first word or tool call, in milliseconds, retries included. A sign that
   * the model is at work (thinking, a ping of the provider) starts it again.
   *
   * @default 120_000
   */
  readonly firstTokenTimeoutMs?: number;
  /**
   * The longest silence once the answer has begun, in milliseconds.
   *
   * @default 60_000
   */
  readonly idleTimeoutMs?: number;
  /**
   * The longest answer, in milliseconds, from the request to its end: for a model that never stops.
   *
   * @default 1_800_000
   */
  readonly totalTimeoutMs?: number;
}

const deadlineDefaults = {
  firstTokenTimeoutMs: 120_000,
  idleTimeoutMs: 60_000,
  totalTimeoutMs: 1_800_000,
} as const satisfies Required<DeadlineOptions>;

/** Past it, a timer of Node fires at once. */
const longestTimerMs = 2_147_483_647;

export function resolveDeadlines(options: DeadlineOptions): Required<DeadlineOptions> {
  const resolved = {
    firstTokenTimeoutMs: options.firstTokenTimeoutMs ?? deadlineDefaults.firstTokenTimeoutMs,
    idleTimeoutMs: options.idleTimeoutMs ?? deadlineDefaults.idleTimeoutMs,
    totalTimeoutMs: options.totalTimeoutMs ?? deadlineDefaults.totalTimeoutMs,
  };
  for (const [name, ms] of Object.entries(resolved)) {
    if (!(Number.isInteger(ms) && ms >= 1 && ms <= longestTimerMs)) {
      throw new TypeError(`${name} must be a whole number from 1 to ${longestTimerMs}`);
    }
  }
  return resolved;
}

/** Watches one answer. Starts when it is made; `stop()` must be called, however the answer ends. */
export class Deadline {
  readonly #limits: Required<DeadlineOptions>;
  readonly #controller = new AbortController();
  readonly #total: NodeJS.Timeout;
  #wait: NodeJS.Timeout | undefined;
  #missed: string | undefined;

  constructor(limits: Required<DeadlineOptions>) {
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
