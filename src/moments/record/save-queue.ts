import { errorName } from "../../core/errors.ts";
import type { Logger } from "../../core/logger.ts";
import { type Timers, until } from "../../core/timers.ts";
import { type PackageSink, SaveError, type SaveFailure } from "../package/package-sink.ts";
import type { Moment } from "./moment.ts";
import type { Receipt } from "./receipt.ts";

interface SaveQueuePorts {
  readonly sink: PackageSink;
  readonly timers: Timers;
  readonly logger: Logger;
  /** A receipt has changed. */
  readonly told: (what: "durable" | "failed" | "discarded" | "uploaded", receipt: Receipt) => void;
}

/** After a failure nothing is tried for so long. */
const retryMs = 5_000;

/**
 * Saves moments one at a time, in the order in which they came. One that could not be saved is kept
 * and tried again, after those behind it, at most every 5 s. How many may wait is for the recorder.
 */
export class SaveQueue {
  readonly #ports: SaveQueuePorts;
  #waiting: Moment[] = [];
  #saving: Moment | undefined;
  #abort = new AbortController();
  /** Settles with the save that is under way. */
  #last: Promise<void> = Promise.resolve();
  #cancelRetry: (() => void) | undefined;
  /** `closing`: what fails once more is lost. */
  #state: "open" | "closing" | "closed" = "open";

  constructor(ports: SaveQueuePorts) {
    this.#ports = ports;
  }

  /** With the one that is being saved. */
  get waiting(): readonly Moment[] {
    return this.#waiting;
  }

  add(moment: Moment): void {
    this.#waiting.push(moment);
    if (this.#state === "closed") this.#lose(this.#waiting);
    else if (this.#cancelRetry === undefined) this.#next();
  }

  /** Removes those for which it holds; resolves when none of them is being saved any more. */
  async forget(holds: (moment: Moment) => boolean): Promise<void> {
    const forgotten = this.#waiting.filter(holds);
    const current = forgotten.find((moment) => moment === this.#saving);
    this.#waiting = this.#waiting.filter((moment) => !forgotten.includes(moment));
    for (const moment of forgotten) {
      if (moment !== current) this.#discard(moment, "forgotten");
    }
    if (current === undefined) return;
    this.#abort.abort();
    await this.#last;
    this.#discard(current, "forgotten");
  }

  /**
   * Saves what waits, each tried once more, for at most `withinMs`. What is left then is lost, and its
   * receipts say so.
   */
  async close(withinMs: number): Promise<void> {
    if (this.#state !== "open") return;
    this.#state = "closing";
    this.#cancelRetry?.();
    this.#cancelRetry = undefined;
    this.#next();
    await until(this.#drained(), { ms: withinMs, timers: this.#ports.timers });
    this.#state = "closed";
    this.#lose(this.#waiting);
    this.#abort.abort();
  }

  async #drained(): Promise<void> {
    while (this.#saving !== undefined) await this.#last;
  }

  #lose(left: readonly Moment[]): void {
    this.#waiting = this.#waiting.filter((moment) => !left.includes(moment));
    for (const moment of left) {
      const { id } = moment.receipt;
      this.#ports.logger.error({ id, reason: moment.receipt.reason }, "a moment was lost at close");
      this.#discard(moment, "closed");
    }
  }

  #next(): void {
    const [moment] = this.#waiting;
    if (moment === undefined || this.#saving !== undefined) return;
    this.#saving = moment;
    this.#last = this.#save(moment).then(() => {
      this.#saving = undefined;
      if (this.#cancelRetry === undefined) this.#next();
    });
  }

  /** Never rejects: what fails is told to the receipt. */
  async #save(moment: Moment): Promise<void> {
    this.#abort = new AbortController();
    const { signal } = this.#abort;
    try {
      const whole = await moment.sealed();
      if (this.#isGone(moment)) return;
      const saved = await this.#ports.sink.save(whole, signal);
      if (!this.#isGone(moment)) this.#saved(moment, saved.name, saved.uploaded === true);
    } catch (error) {
      if (!this.#isGone(moment)) this.#failed(moment, error);
    }
  }

  /** Forgotten or lost while it was being saved. */
  #isGone(moment: Moment): boolean {
    return !this.#waiting.includes(moment);
  }

  #saved(moment: Moment, name: string, uploaded: boolean): void {
    const { receipt } = moment;
    this.#remove(moment);
    receipt.update(uploaded ? { name, durable: true, uploaded } : { name, durable: true });
    this.#ports.told("durable", receipt);
    if (uploaded) this.#ports.told("uploaded", receipt);
  }

  #failed(moment: Moment, error: unknown): void {
    const reason = error instanceof SaveError ? error.reason : "io";
    this.#remove(moment);
    if (reason === "redaction_failed") {
      this.#discard(moment, reason);
      return;
    }
    const { id } = moment.receipt;
    moment.receipt.update({ reason });
    this.#ports.logger.warn({ id, reason, error: errorName(error) }, "a moment was not saved");
    this.#ports.told("failed", moment.receipt);
    if (this.#state !== "open") {
      this.#lose([moment]);
      return;
    }
    this.#waiting.push(moment);
    const retry = () => {
      this.#cancelRetry = undefined;
      this.#next();
    };
    this.#cancelRetry = this.#ports.timers.after(retryMs, retry, { holdsProcess: true });
  }

  #discard({ receipt }: Moment, reason: "closed" | "forgotten" | SaveFailure): void {
    receipt.fail(reason);
    this.#ports.told("discarded", receipt);
  }

  #remove(gone: Moment): void {
    this.#waiting = this.#waiting.filter((moment) => moment !== gone);
  }
}
