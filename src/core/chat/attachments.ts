import { invalid, isThroughlineError } from "../errors.ts";
import { isJsonObject, tooLarge } from "../json.ts";
import { fitting, is, object, type Shape, text, whole } from "../shape.ts";
import { type FileStore, hashOf, isHash } from "../storage/file-store.ts";
import type { Attachment } from "./message.ts";
import { withoutPhotoMetadata } from "./photo-metadata.ts";

/** A file as a person gives it with a message. */
export interface GivenFile {
  /**
   * What it is called: 1 to 255 bytes of UTF-8 without control characters. It is shown and never used as a
   * path: what stands before its last slash is left out.
   */
  readonly name: string;
  /** Its media type, for a file whose bytes do not tell it. @default "application/octet-stream" */
  readonly type?: string | undefined;
  /** Not changed before the turn has stored them. */
  readonly bytes: Uint8Array;
}

/** Bounds for one message. */
export const attachmentLimits = {
  files: 10,
  /** Of all its files together. */
  bytes: 20 * 1024 * 1024,
  nameBytes: 255,
  /** A longer text file is not put into a prompt. */
  textBytes: 256 * 1024,
} as const;

/** The bounds in words, for errors. */
export const attachmentBounds = `a message takes at most ${attachmentLimits.files} files, and ${attachmentLimits.bytes / 1024 / 1024} MiB in all`;

/** A file that was taken in: what its message says of it, and its bytes. */
export interface TakenFile {
  readonly attachment: Attachment;
  readonly bytes: Uint8Array;
}

/**
 * Checks the files of one message, and removes the metadata of photos unless it is to be kept.
 *
 * @throws ThroughlineError `THROUGHLINE_INVALID`: a name that cannot be shown, bytes that are none.
 *   `THROUGHLINE_TOO_LARGE`: see `attachmentLimits`.
 */
export function takenFiles(given: unknown, keepPhotoMetadata = false): readonly TakenFile[] {
  if (!Array.isArray(given)) throw invalid("attachments must be an array");
  const files = given as readonly unknown[];
  let total = 0;
  for (const file of files) {
    const bytes = typeof file === "object" && file !== null && "bytes" in file ? file.bytes : null;
    if (!(bytes instanceof Uint8Array)) throw invalid("an attachment needs bytes, as a Uint8Array");
    total += bytes.length;
  }
  if (files.length > attachmentLimits.files || total > attachmentLimits.bytes) {
    throw tooLarge(attachmentBounds);
  }
  return (files as readonly GivenFile[]).map(({ name: given, type: declared, bytes: whole }) => {
    const bytes = keepPhotoMetadata ? whole : withoutPhotoMetadata(whole);
    const [name, type] = [shownName(given), typeOf(bytes, declared)];
    return { attachment: { name, type, size: bytes.length, sha256: hashOf(bytes) }, bytes };
  });
}

function shownName(given: unknown): string {
  if (typeof given !== "string") throw invalid("the name of an attachment must be a string");
  const name = given.slice(Math.max(given.lastIndexOf("/"), given.lastIndexOf("\\")) + 1);
  const bytes = Buffer.byteLength(name);
  if (bytes === 0 || bytes > attachmentLimits.nameBytes || /[\p{Cc}\p{Cs}]/u.test(name)) {
    throw invalid(
      "the name of an attachment must have 1 to 255 bytes of UTF-8 and no control characters",
    );
  }
  return name;
}

/** The pictures that are shown and sent as such. Every other file is a download. */
export const pictureTypes = ["image/png", "image/jpeg", "image/gif", "image/webp"] as const;
const pdfType = "application/pdf";
const unknownType = "application/octet-stream";

/** The first bytes of each type that they tell, in Latin-1. */
const beginnings: readonly (readonly [type: string, at: number, text: string])[] = [
  ["image/png", 0, "\x89PNG\r\n\x1a\n"],
  ["image/jpeg", 0, "\xff\xd8\xff"],
  ["image/gif", 0, "GIF8"],
  ["image/webp", 8, "WEBP"],
  [pdfType, 0, "%PDF-"],
];

const mediaType = /^[a-z0-9][\w.+-]{0,63}\/[a-z0-9][\w.+-]{0,63}$/;

/**
 * The media type of a file, by its first bytes where they tell it. Whether it is text is decided by its bytes
 * too, so that a type of text means bytes that can be read as text.
 */
function typeOf(bytes: Uint8Array, given: string | undefined): string {
  const start = Buffer.from(bytes.subarray(0, 16)).toString("latin1");
  const known = beginnings.find(([, at, text]) => start.startsWith(text, at));
  if (known !== undefined) return known[0];
  const [bare = ""] = (typeof given === "string" ? given : "").split(";", 1);
  const declared = bare.trim().toLowerCase();
  const isTold = beginnings.some(([type]) => type === declared);
  const type = mediaType.test(declared) && !isTold ? declared : unknownType;
  if (textIn(bytes) === undefined) return kindOf({ type }) === "text" ? unknownType : type;
  return kindOf({ type }) === "text" ? type : "text/plain";
}

/** The text of a file; `undefined`: it is not UTF-8, or has control characters other than white space. */
export function textIn(bytes: Uint8Array): string | undefined {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return /(?![\t\n\f\r])\p{Cc}/u.test(text) ? undefined : text;
  } catch {
    return undefined; // not UTF-8
  }
}

/** What can be done with a file of a type. */
type FileKind = "picture" | "pdf" | "text" | "other";

const textTypes =
  /^text\/|^image\/svg\+xml$|^application\/(?:(?:x-)?(?:javascript|typescript|yaml|toml|sh|sql|python|httpd-php)|(?:[\w.-]+\+)?(?:json|xml|yaml)|json5|jsonl|x-ndjson|graphql)$/;

export function kindOf({ type }: Pick<Attachment, "type">): FileKind {
  if (pictureTypes.some((each) => each === type)) return "picture";
  if (type === pdfType) return "pdf";
  return textTypes.test(type) ? "text" : "other";
}

/**
 * What a file takes of a model's window, in tokens. A picture counts as 1,500, which is about what one of
 * 1,000 x 1,000 pixels takes; a PDF as 3,000 for each 64 KiB, at most 48,000; a text by its length. Any other
 * file is only named.
 */
export function tokensOf(file: Attachment): number {
  const { size } = file;
  const kind = kindOf(file);
  if (kind === "picture") return 1_500;
  if (kind === "pdf") return 3_000 * Math.min(16, Math.max(1, Math.ceil(size / 65_536)));
  return kind === "text" && size <= attachmentLimits.textBytes ? Math.ceil(size / 3) : 0;
}

const attachment: Shape<Attachment> = object(
  {
    name: text(),
    type: text(),
    size: whole(0, Number.MAX_SAFE_INTEGER),
    sha256: fitting(isHash, "must be a hash", ""),
  },
  "left out",
);

/** The files that a record names by the hash of their bytes. An import may name others, without bytes. */
export function attachmentsOf(record: { readonly [field: string]: unknown }): Attachment[] {
  const stored = record["attachments"];
  if (!Array.isArray(stored)) return [];
  return (stored as readonly unknown[]).filter((file) => is(attachment, file));
}

/** Whether two messages have the same files, whatever these are called. `undefined`: it is not said which. */
export function sameFiles(
  a: readonly Attachment[] | undefined,
  b: readonly Attachment[] | undefined,
): boolean {
  if (a === undefined || b === undefined) return true;
  return a.length === b.length && a.every(({ sha256 }, index) => sha256 === b[index]?.sha256);
}

/** The hashes of the files that a record refers to: a message, or one that waits for its turn. */
export function attachedIn(record: { readonly [field: string]: unknown }): readonly string[] {
  const { attachments } = record;
  if (!Array.isArray(attachments)) return [];
  const files = (attachments as readonly unknown[]).filter(isJsonObject);
  return files.map(({ sha256 }) => sha256).filter(isHash);
}

/** The bytes of a file; `undefined` if it is missing, or damaged, which `doctor` reports. */
export async function wholeFile(
  files: Pick<FileStore, "get">,
  chatId: string,
  hash: string,
): Promise<Uint8Array | undefined> {
  try {
    return await files.get(chatId, hash);
  } catch (error) {
    if (isThroughlineError(error, "THROUGHLINE_CORRUPT")) return undefined;
    throw error;
  }
}
