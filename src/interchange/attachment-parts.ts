import { attachmentKind } from "../core/chat/render-jsonl.ts";
import { corrupt, type ThroughlineError } from "../core/errors.ts";
import type { JsonObject } from "../core/json.ts";
import { fileLimits, hashOf, isHash } from "../core/storage/file-store.ts";

/** Bytes of an attachment, as a line of an export has them. */
export interface AttachmentPart {
  readonly sha256: string;
  /** Of the whole file. */
  readonly size: number;
  /** Of the first byte, from the start of the file. */
  readonly offset: number;
  readonly data: Buffer;
}

/** `undefined`: the line is none with bytes of an attachment. */
export function attachmentPart(line: JsonObject): AttachmentPart | undefined {
  const { _type, kind, sha256, size, offset, data } = line;
  if (_type !== "metadata" || kind !== attachmentKind || typeof data !== "string") return undefined;
  if (!isHash(sha256) || !isPlace(size) || !isPlace(offset)) return undefined;
  return { sha256, size, offset, data: Buffer.from(data, "base64") };
}

const isPlace = (value: unknown): value is number =>
  typeof value === "number" &&
  Number.isInteger(value) &&
  value >= 0 &&
  value <= fileLimits.fileBytes;

/** Puts the parts of attachments together, one file at a time. */
export class AttachmentParts {
  #first: AttachmentPart | undefined;
  #data: Buffer[] = [];
  #bytes = 0;

  /**
   * @returns the whole file, with its last part.
   * @throws ThroughlineError `THROUGHLINE_CORRUPT`: a part is missing, or the bytes do not have the hash.
   */
  add(part: AttachmentPart): Buffer | undefined {
    const { sha256, size, offset, data } = part;
    this.#first ??= part;
    const isNext = this.#first.sha256 === sha256 && this.#first.size === size;
    if (!isNext || offset !== this.#bytes) throw damaged(this.#first.sha256);
    this.#data.push(data);
    this.#bytes += data.length;
    if (this.#bytes < size && data.length > 0) return undefined;
    const whole = Buffer.concat(this.#data);
    if (whole.length !== size || hashOf(whole) !== sha256) throw damaged(sha256);
    this.#first = undefined;
    this.#data = [];
    this.#bytes = 0;
    return whole;
  }
}

function damaged(sha256: string): ThroughlineError {
  const says = "nothing of this file was imported. Export the chat again";
  return corrupt(`the attachment ${sha256} in it is damaged: ${says}`);
}
