import { unavailable } from "../../core/errors.ts";
import type { SaveFailure } from "../package/package-sink.ts";
import type { Reduced } from "../package/record.ts";

/**
 * Why a moment is not saved. Refused, and nothing existed: `busy, duplicate, closed`. Else a save failed:
 * `disk_full, read_only, io` are tried again; `forgotten` is final, and so is `closed` for one that was accepted:
 * there was no time to save it.
 */
export type ReceiptReason = "busy" | "duplicate" | "closed" | "forgotten" | SaveFailure;

/** How far a moment has come, in words that stay true after a kill. */
export interface ReceiptState {
  readonly id: string;
  /** Of the folder. */
  readonly name: string;
  /** The snapshot is held in memory: a kill loses it. */
  readonly accepted: boolean;
  /** A kill and a power cut lose nothing. */
  readonly durable: boolean;
  /** It was read back from the bucket. */
  readonly uploaded: boolean;
  readonly reason?: ReceiptReason;
  /** What was left out, and why. */
  readonly reduced?: Reduced;
  /** The id of the moment that this one repeats. */
  readonly duplicate_of?: string;
}

/** `failed`: not yet, tried again; `discarded`: never will be; `retracted`: also by deleting it. */
export type News = "accepted" | "durable" | "uploaded" | "failed" | "discarded" | "retracted";

/** What became of a moment. */
export interface MomentEvent {
  readonly type: `feedback.${News}`;
  readonly receipt: ReceiptState;
}

/**
 * What `record()` returns: it keeps reporting what became of the moment. The promises are methods,
 * because a rejected promise that the caller did not ask for would end the process.
 */
export class Receipt {
  #state: ReceiptState;
  readonly #decided = Promise.withResolvers<void>();
  readonly #durable = Promise.withResolvers<void>();

  constructor(state: ReceiptState) {
    this.#state = state;
    // Not everybody asks for it. Those who ask still get the rejection.
    this.#durable.promise.catch(() => undefined);
    if (state.accepted) this.update({});
    else this.#settle();
  }

  get id(): string {
    return this.#state.id;
  }
  get name(): string {
    return this.#state.name;
  }
  get accepted(): boolean {
    return this.#state.accepted;
  }
  get durable(): boolean {
    return this.#state.durable;
  }
  get uploaded(): boolean {
    return this.#state.uploaded;
  }
  get reason(): ReceiptReason | undefined {
    return this.#state.reason;
  }
  get reduced(): Reduced | undefined {
    return this.#state.reduced;
  }
  get duplicate_of(): string | undefined {
    return this.#state.duplicate_of;
  }

  /** As it is now. */
  toJSON(): ReceiptState {
    return this.#state;
  }

  /** Resolves when it is durable, or as soon as something says why it is not. Never rejects. */
  whenDecided(): Promise<void> {
    return this.#decided.promise;
  }

  /**
   * Resolves when it is durable; a full disk is waited for.
   *
   * @throws ThroughlineError `THROUGHLINE_UNAVAILABLE`: it never will be; `reason` says why.
   */
  whenDurable(): Promise<void> {
    return this.#durable.promise;
  }

  /** For the recorder alone. */
  update(change: Partial<ReceiptState>): void {
    const { reason: _, ...rest } = this.#state;
    // What stood in the way is over once it is durable.
    this.#state = { ...(change.durable ? rest : this.#state), ...change };
    const { durable, reason } = this.#state;
    if (durable || reason !== undefined) this.#decided.resolve();
    if (durable) this.#durable.resolve();
  }

  /** For the recorder alone: it will not become durable. */
  fail(reason: ReceiptReason): void {
    this.update({ reason });
    this.#settle();
  }

  #settle(): void {
    const why = `The moment was not kept: ${this.#state.reason}`;
    const error = unavailable(why);
    this.#decided.resolve();
    this.#durable.reject(error);
  }
}
