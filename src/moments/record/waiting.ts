import { isPromise } from "node:util/types";
import { SaveError, type SealedMoment } from "../package/package-sink.ts";
import type { Reduced } from "../package/record.ts";
import type { MomentContent, MomentDraft, Redact } from "./draft.ts";
import type { Receipt } from "./receipt.ts";
import { sealed, withoutMedia } from "./seal.ts";

/** What the buffers held for a moment, by reference. */
export interface Captured {
  readonly media: readonly ArrayBufferView[];
  readonly compose: () => MomentDraft;
}

/** A moment that is complete and waits to be saved. */
export class WaitingMoment {
  readonly receipt: Receipt;
  /** Greater for a later one. */
  readonly order: number;
  readonly #compose: () => MomentDraft;
  #draft: MomentDraft | undefined;
  #media: readonly ArrayBufferView[];
  readonly #redact: Redact | undefined;
  readonly #release: () => void;
  readonly #isKeyed: boolean;
  #moment: SealedMoment | undefined;
  #isReleased = false;

  /**
   * @param captured what it holds of pictures and sound, and how it is written down: that is done
   * when it is needed, because whoever reacts does not wait for it.
   * @param options `release` gives back what it holds of the rings; `isKeyed`: see `SealedMoment`.
   */
  constructor(
    receipt: Receipt,
    captured: Captured,
    options: {
      readonly order: number;
      readonly redact: Redact | undefined;
      readonly release: () => void;
      readonly isKeyed: boolean;
    },
  ) {
    this.receipt = receipt;
    this.#compose = captured.compose;
    this.#media = captured.media;
    this.order = options.order;
    this.#redact = options.redact;
    this.#release = options.release;
    this.#isKeyed = options.isKeyed;
  }

  get draft(): MomentDraft {
    this.#draft ??= this.#compose();
    return this.#draft;
  }

  /** What it holds in memory: pictures, and blocks of sound. */
  get media(): readonly ArrayBufferView[] {
    return this.#media;
  }

  /**
   * Redacted and whole, the same one each time.
   *
   * @throws SaveError `redaction_failed`
   */
  async sealed(): Promise<SealedMoment> {
    return this.#moment ?? this.#keep(await this.#attempt(() => this.#redacted()));
  }

  /** At a forced exit. @throws SaveError `redaction_failed`: also when the redaction takes time. */
  sealedSync(): SealedMoment {
    if (this.#moment !== undefined) return this.#moment;
    let content: MomentContent | Promise<MomentContent>;
    try {
      content = this.#redacted();
    } catch (cause) {
      throw new SaveError("redaction_failed", { cause });
    }
    if (!isPromise(content)) return this.#keep(content);
    content.catch(() => undefined); // too late for whatever it says
    throw new SaveError("redaction_failed");
  }

  /** Keeps the label and the words alone. */
  dropMedia(reduced: Reduced): void {
    const { fixed, content } = this.draft;
    const words = { ...content, frames: [], audio: null };
    this.#media = [];
    this.#draft = { ...this.draft, fixed: { ...fixed, reduced }, content: words };
    if (this.#moment !== undefined) this.#moment = withoutMedia(this.#moment, reduced);
    this.release();
  }

  /** Gives back what it holds; once, however often it is called. */
  release(): void {
    if (this.#isReleased) return;
    this.#isReleased = true;
    this.#release();
  }

  #redacted(): MomentContent | Promise<MomentContent> {
    const { content } = this.draft;
    return this.#redact === undefined ? content : this.#redact(content);
  }

  async #attempt(work: () => MomentContent | Promise<MomentContent>): Promise<MomentContent> {
    try {
      return await work();
    } catch (cause) {
      throw new SaveError("redaction_failed", { cause });
    }
  }

  #keep(content: MomentContent): SealedMoment {
    try {
      const whole = sealed({ ...this.draft, content });
      this.#moment ??= this.#isKeyed ? { ...whole, isKeyed: true } : whole;
    } catch (cause) {
      throw new SaveError("redaction_failed", { cause }); // it gave back something else
    }
    return this.#moment;
  }
}

/** Bytes that moments hold, what they share counted once. */
export function pinnedBytes(media: Iterable<ArrayBufferView>): number {
  let bytes = 0;
  for (const { byteLength } of new Set(media)) bytes += byteLength;
  return bytes;
}
