import { SaveError, type SealedMoment } from "../package/package-sink.ts";
import type { MomentDraft, Redact } from "./draft.ts";
import type { Receipt } from "./receipt.ts";
import { sealed } from "./seal.ts";

/** What the buffers held for a moment, by reference. */
export interface Captured {
  readonly media: readonly ArrayBufferView[];
  readonly compose: () => MomentDraft;
}

/** A moment that is complete and waits to be saved. */
export class WaitingMoment {
  readonly receipt: Receipt;
  readonly #compose: () => MomentDraft;
  #draft: MomentDraft | undefined;
  readonly #media: readonly ArrayBufferView[];
  readonly #redact: Redact | undefined;
  readonly #release: () => void;
  #moment: SealedMoment | undefined;
  #isReleased = false;

  /**
   * @param captured what it holds of pictures and sound, and how it is written down: that is done
   * when it is needed, because the person who reacts does not wait for it.
   * @param options `release` gives back what it holds of the rings.
   */
  constructor(
    receipt: Receipt,
    captured: Captured,
    options: { readonly redact: Redact | undefined; readonly release: () => void },
  ) {
    this.receipt = receipt;
    this.#compose = captured.compose;
    this.#media = captured.media;
    this.#redact = options.redact;
    this.#release = options.release;
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
    if (this.#moment !== undefined) return this.#moment;
    try {
      const { content } = this.draft;
      const redacted = this.#redact === undefined ? content : await this.#redact(content);
      const whole = sealed({ ...this.draft, content: redacted });
      this.#moment = whole;
      return this.#moment;
    } catch (cause) {
      throw new SaveError("redaction_failed", { cause });
    }
  }

  /** Gives back what it holds; once, however often it is called. */
  release(): void {
    if (this.#isReleased) return;
    this.#isReleased = true;
    this.#release();
  }
}

/** Bytes that moments hold, what they share counted once. */
export function pinnedBytes(media: Iterable<ArrayBufferView>): number {
  let bytes = 0;
  for (const { byteLength } of new Set(media)) bytes += byteLength;
  return bytes;
}
