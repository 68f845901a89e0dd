import type { Logger } from "../../core/logger.ts";
import type { Timers } from "../../core/timers.ts";
import type { PackageSink, SaveFailure } from "../package/package-sink.ts";
import type { Receipt } from "./receipt.ts";
import type { WaitingMoment } from "./waiting.ts";

export interface SaveQueuePorts {
  readonly sink: PackageSink;
  readonly timers: Timers;
  readonly logger: Logger;
  /** A receipt has changed. */
  readonly told: (what: "durable" | "failed" | "discarded" | "uploaded", receipt: Receipt) => void;
}

/** After a failure nothing is tried for so long. */
const retryMs = 5_000;
/** So many labels of displaced moments may wait to be saved. */
const maxLabels = 16;

/**
 * Saves moments one at a time, in the order in which they came. One that could not be saved is kept
 * and tried again, after those behind it, at most every 5 s.
 */
export class SaveQueue {
  readonly #ports: SaveQueuePorts;
  #waiting: WaitingMoment[] = [];
  #saving: WaitingMoment | undefined;
  #isRefusing = false;
  #cancelRetry: (() => void) | undefined;
  #abort = new AbortController();
  /** Displaced: their labels are still to be saved. */
  #displaced: WaitingMoment[] = [];
  /** One thing is saved at a time. */
  #last: Promise<void> = Promise.resolve();
  #isOver = false;
  #isClosing = false;

  constructor(ports: SaveQueuePorts) {
    this.#ports = ports;
  }

  /** With the one that is being saved. */
  get waiting(): readonly WaitingMoment[] {
    return this.#waiting;
  }

  /** Of moments that wait, whole or as labels. */
  get chatIds(): readonly (string | null)[] {
    return [...this.#waiting, ...this.#displaced].map(({ draft }) => draft.fixed.chat_id);
  }

  /** The last attempt failed, so that waiting alone makes no room. */
  get isRefusing(): boolean {
    return this.#isRefusing;
  }

  add(moment: WaitingMoment): void {
    this.#waiting.push(moment);
    if (!this.#isRefusing) this.#next();
  }

  /**
   * Makes room for a newer one: the oldest that is not just being saved goes, after one attempt to
   * save its label and its words. @returns whether there was one.
   */
  displaceOldest(): boolean {
    const isFree = (moment: WaitingMoment) => moment !== this.#saving;
    const inOrder = this.#waiting.filter(isFree).sort(byOrder);
    const [oldest] = inOrder;
    if (oldest === undefined) return false;
    this.#remove(oldest);
    oldest.dropMedia("disk_full");
    if (this.#displaced.length >= maxLabels) this.#discard(oldest, "displaced");
    else {
      this.#displaced.push(oldest);
      void this.#afterLast(() => this.#saveLabel(oldest));
    }
    return true;
  }

  /** Drops those for which it holds; resolves when none of them is being saved any more. */
  async forget(holds: (moment: WaitingMoment) => boolean): Promise<void> {
    const current = this.#waiting.filter(holds).find((moment) => moment === this.#saving);
    const labels = this.#displaced.filter(holds);
    this.#displaced = this.#displaced.filter((moment) => !labels.includes(moment));
    for (const moment of [...this.#waiting.filter(holds), ...labels]) {
      if (moment === current) continue;
      this.#remove(moment);
      moment.release();
      this.#discard(moment, "forgotten");
    }
    if (current === undefined) {
      if (labels.length > 0) await this.#last;
      return;
    }
    this.#abort.abort();
    this.#remove(current);
    await this.#last;
    this.#discard(current, "forgotten");
  }

  /**
   * Saves what waits, each tried once more; resolves when that is done, when one fails, or after
   * `withinMs`.
   */
  async drain(withinMs: number): Promise<void> {
    this.#isClosing = true;
    this.#isRefusing = false;
    this.#cancelRetry?.();
    const { promise, resolve } = Promise.withResolvers<void>();
    const cancel = this.#ports.timers.after(withinMs, resolve, { holdsProcess: true });
    void this.#drained().then(resolve);
    this.#next();
    await promise;
    cancel();
  }

  /** Keeps what is left, before it returns; after it nothing is saved. */
  spillSync(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#cancelRetry?.();
    const left = [...this.#waiting, ...this.#displaced].sort(byOrder);
    this.#waiting = [];
    this.#displaced = [];
    for (const moment of left) this.#spill(moment);
    this.#abort.abort();
  }

  /** Each by itself: what becomes of one says nothing of the others. */
  #spill(moment: WaitingMoment): void {
    try {
      // A redaction that fails now, or takes time, leaves nothing that may be written.
      this.#ports.sink.spillSync([moment.sealedSync()]);
    } catch (error) {
      this.#discard(moment, reasonOf(error));
      return;
    }
    moment.receipt.update({ durable: true });
    this.#ports.told("durable", moment.receipt);
  }

  #next(): void {
    const [moment] = this.#waiting;
    if (this.#saving !== undefined || this.#isRefusing || this.#isOver) return;
    if (moment === undefined) return;
    this.#saving = moment;
    void this.#afterLast(() => this.#save(moment)).then(() => {
      this.#saving = undefined;
      this.#next();
    });
  }

  /** Nothing that is given here rejects: what fails is told to the receipt. */
  #afterLast(work: () => Promise<void>): Promise<void> {
    this.#last = this.#last.then(work);
    return this.#last;
  }

  async #save(moment: WaitingMoment): Promise<void> {
    this.#abort = new AbortController();
    try {
      const whole = await moment.sealed();
      if (this.#isGone(moment)) {
        moment.release();
        return;
      }
      const saved = await this.#ports.sink.save(whole, this.#abort.signal);
      if (!this.#isGone(moment)) this.#saved(moment, saved.name, saved.uploaded === true);
      moment.release();
    } catch (error) {
      if (this.#isGone(moment)) moment.release();
      else this.#failed(moment, error);
    }
  }

  /** Spilled or forgotten meanwhile. */
  #isGone(moment: WaitingMoment): boolean {
    return this.#isOver || !this.#waiting.includes(moment);
  }

  #saved({ receipt }: WaitingMoment, name: string, uploaded: boolean): void {
    this.#waiting = this.#waiting.filter((moment) => moment.receipt !== receipt);
    receipt.update({ name, durable: true, ...(uploaded ? { uploaded } : {}) });
    this.#ports.told("durable", receipt);
    if (uploaded) this.#ports.told("uploaded", receipt);
  }

  #failed(moment: WaitingMoment, error: unknown): void {
    const reason = reasonOf(error);
    this.#remove(moment);
    if (reason === "redaction_failed") {
      moment.release();
      this.#discard(moment, reason);
      return;
    }
    this.#waiting.push(moment);
    this.#isRefusing = true;
    moment.receipt.update({ reason });
    const { id } = moment.receipt;
    this.#ports.logger.warn({ id, reason, error: nameOf(error) }, "a moment was not saved");
    this.#ports.told("failed", moment.receipt);
    if (this.#isClosing) return;
    this.#cancelRetry = this.#ports.timers.after(retryMs, () => {
      this.#isRefusing = false;
      this.#next();
    });
  }

  async #saveLabel(moment: WaitingMoment): Promise<void> {
    const { receipt } = moment;
    try {
      const whole = await moment.sealed();
      if (!this.#displaced.includes(moment)) return; // spilled or forgotten
      const { name, uploaded = false } = await this.#ports.sink.save(whole);
      if (!this.#displaced.includes(moment)) return;
      const reached = { durable: true, ...(uploaded ? { uploaded } : {}) };
      receipt.update({ name, ...reached, reduced: "disk_full" });
      this.#ports.told("durable", receipt);
      if (uploaded) this.#ports.told("uploaded", receipt);
    } catch (error) {
      if (!this.#displaced.includes(moment)) return;
      const isRedaction = reasonOf(error) === "redaction_failed";
      this.#discard(moment, isRedaction ? "redaction_failed" : "displaced");
    }
    this.#displaced = this.#displaced.filter((other) => other !== moment);
  }

  #discard({ receipt }: WaitingMoment, reason: "displaced" | "forgotten" | SaveFailure): void {
    receipt.fail(reason);
    this.#ports.told("discarded", receipt);
  }

  #remove(gone: WaitingMoment): void {
    this.#waiting = this.#waiting.filter((moment) => moment !== gone);
  }

  async #drained(): Promise<void> {
    while (!this.#isRefusing && !this.#isOver && this.#isBusy) await this.#last;
  }

  get #isBusy(): boolean {
    return this.#waiting.length > 0 || this.#saving !== undefined || this.#displaced.length > 0;
  }
}

function byOrder(a: WaitingMoment, b: WaitingMoment): number {
  return a.order - b.order;
}

/** By its `reason`, so that a sink of another copy of the package is understood. */
function reasonOf(error: unknown): SaveFailure {
  const reason: unknown = error instanceof Error && "reason" in error ? error.reason : undefined;
  return failures.find((failure) => failure === reason) ?? "io";
}

const failures: readonly SaveFailure[] = ["disk_full", "read_only", "io", "redaction_failed"];

function nameOf(error: unknown): string {
  return error instanceof Error ? error.name : "unknown";
}
