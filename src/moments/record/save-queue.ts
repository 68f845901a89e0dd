import { errorName } from "../../core/errors.ts";
import type { Logger } from "../../core/logger.ts";
import { type Timers, until } from "../../core/timers.ts";
import { type PackageSink, SaveError, type SealedMoment } from "../package/package-sink.ts";
import type { Moment } from "./moment.ts";
import type { Receipt } from "./receipt.ts";

interface SaveQueuePorts {
  readonly sink: PackageSink;
  readonly timers: Timers;
  readonly logger: Logger;
  readonly seal: (moment: Moment) => Promise<SealedMoment>;
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
  #waiting: readonly Moment[] = [];
  /** The first of them that is being saved; `done` settles with that. */
  #saving: { moment: Moment; abort: AbortController; done: Promise<unknown> } | undefined;
  /** While something waits. */
  #loop: Promise<void> | undefined;
  /** Ends the pause after a failure. */
  readonly #closing = Promise.withResolvers<void>();
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
    this.#waiting = [...this.#waiting, moment];
    if (this.#state === "closed") this.#discard(moment, "closed");
    else this.#loop ??= this.#run();
  }

  /** Removes those for which it holds; resolves when none of them is being saved any more. */
  async forget(holds: (moment: Moment) => boolean): Promise<void> {
    const forgotten = this.#waiting.filter(holds);
    for (const moment of forgotten) this.#remove(moment);
    const saving = this.#saving;
    if (saving !== undefined && forgotten.includes(saving.moment)) {
      saving.abort.abort();
      await saving.done;
    }
    for (const moment of forgotten) this.#discard(moment, "forgotten");
  }

  /**
   * Saves what waits, each tried once more, for at most `withinMs`. What is left then is lost, and its
   * receipts say so.
   */
  async close(withinMs: number): Promise<void> {
    if (this.#state !== "open") return;
    this.#state = "closing";
    this.#closing.resolve();
    await until(Promise.resolve(this.#loop), { ms: withinMs, timers: this.#ports.timers });
    this.#state = "closed";
    for (const moment of this.#waiting) this.#discard(moment, "closed");
    this.#saving?.abort.abort();
  }

  async #run(): Promise<void> {
    for (let [moment] = this.#waiting; moment !== undefined; [moment] = this.#waiting) {
      const abort = new AbortController();
      const saved = this.#save(moment, abort.signal);
      this.#saving = { moment, abort, done: saved };
      const isFailed = (await saved) === "failed";
      this.#saving = undefined;
      const { timers } = this.#ports;
      if (isFailed) await until(this.#closing.promise, { ms: retryMs, timers });
    }
    this.#loop = undefined;
  }

  /** Never rejects: what fails is told to the receipt. */
  async #save(moment: Moment, signal: AbortSignal): Promise<"failed" | undefined> {
    const { sink, seal, told } = this.#ports;
    const { receipt } = moment;
    // Forgotten or lost while it was being saved.
    const isGone = () => !this.#waiting.includes(moment);
    try {
      const whole = await seal(moment);
      if (isGone()) return;
      const { uploaded = false } = await sink.save(whole, signal);
      if (isGone()) return;
      this.#remove(moment);
      receipt.update({ durable: true, uploaded });
      told("durable", receipt);
      if (uploaded) told("uploaded", receipt);
    } catch (error) {
      if (isGone()) return;
      this.#failed(moment, error);
      return "failed";
    }
  }

  #failed(moment: Moment, error: unknown): void {
    const { receipt } = moment;
    const reason = error instanceof SaveError ? error.reason : "io";
    receipt.update({ reason });
    const fields = { id: receipt.id, reason, error: errorName(error) };
    this.#ports.logger.warn(fields, "a moment was not saved");
    this.#ports.told("failed", receipt);
    this.#remove(moment);
    if (this.#state === "open") this.#waiting = [...this.#waiting, moment];
    else this.#discard(moment, "closed");
  }

  #discard(moment: Moment, reason: "closed" | "forgotten"): void {
    const { receipt } = moment;
    if (reason === "closed") {
      const { id, reason: failed } = receipt;
      this.#ports.logger.error({ id, reason: failed }, "a moment was lost at close");
    }
    this.#remove(moment);
    receipt.fail(reason);
    this.#ports.told("discarded", receipt);
  }

  #remove(gone: Moment): void {
    this.#waiting = this.#waiting.filter((moment) => moment !== gone);
  }
}
