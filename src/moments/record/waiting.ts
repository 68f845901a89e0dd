import { attachmentLimits, attachmentsOf, tokensOf } from "../../core/chat/attachments.ts";
import { SaveError, type SealedMoment } from "../package/package-sink.ts";
import type { MomentDraft, Redact } from "./draft.ts";
import type { Receipt } from "./receipt.ts";
import { sealed } from "./seal.ts";

/** Reads a file that was sent in a chat; `undefined`: it is not there. */
export type ReadFile = (chatId: string, sha256: string) => Promise<Uint8Array | undefined>;

/** What the buffers held for a moment, by reference. */
export interface Captured {
  readonly media: readonly ArrayBufferView[];
  readonly compose: () => MomentDraft;
}

/** How a moment is made whole before it is saved. */
export interface Sealing {
  readonly redact: Redact | undefined;
  readonly readFile: ReadFile;
}

/** A moment that is complete and waits to be saved. */
export class WaitingMoment {
  readonly receipt: Receipt;
  /** What it holds in memory: pictures, and blocks of sound. */
  readonly media: readonly ArrayBufferView[];
  readonly #compose: () => MomentDraft;
  #draft: MomentDraft | undefined;
  #moment: SealedMoment | undefined;

  constructor(receipt: Receipt, { media, compose }: Captured) {
    this.receipt = receipt;
    this.media = media;
    this.#compose = compose;
  }

  /** Composes it when it is needed, because the person who reacts does not wait for it. */
  get draft(): MomentDraft {
    this.#draft ??= this.#compose();
    return this.#draft;
  }

  /**
   * Redacted and whole, the same one each time. Its files are read each time, so that none is held while
   * it waits.
   *
   * @throws SaveError `redaction_failed`
   */
  async sealed({ redact, readFile }: Sealing): Promise<SealedMoment> {
    try {
      const { content } = this.draft;
      const redacted = async () => (redact === undefined ? content : redact(content));
      this.#moment ??= sealed({ ...this.draft, content: await redacted() });
    } catch (cause) {
      throw new SaveError("redaction_failed", { cause });
    }
    return { ...this.#moment, attachments: await sentFiles(this.#moment, readFile) };
  }
}

/**
 * Reads what a model can have got of the files of messages: the newest first, at most 20 MiB in all. A moment
 * that is one too many in its hour keeps their names alone.
 */
async function sentFiles({ record, messages }: SealedMoment, read: ReadFile) {
  const { chat_id: chatId, reduced } = record;
  const sent = new Map<string, Uint8Array>();
  if (chatId === null || reduced === "rate_cap") return sent;
  let room: number = attachmentLimits.bytes;
  const files = messages.toReversed().flatMap(({ attachments }) => attachmentsOf({ attachments }));
  for (const file of files) {
    if (tokensOf(file) === 0 || file.size > room || sent.has(file.sha256)) continue;
    const bytes = await read(chatId, file.sha256);
    room -= bytes?.length ?? 0;
    if (bytes !== undefined) sent.set(file.sha256, bytes);
  }
  return sent;
}

/** Bytes that moments hold, what they share counted once. */
export function pinnedBytes(media: Iterable<ArrayBufferView>): number {
  let bytes = 0;
  for (const { byteLength } of new Set(media)) bytes += byteLength;
  return bytes;
}
