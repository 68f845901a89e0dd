import { createHash } from "node:crypto";
import { attachedIn } from "../core/chat/attachments.ts";
import { instantOf } from "../core/chat/stamp.ts";
import { conflict, invalid } from "../core/errors.ts";
import { isJsonObject, tooLarge, withNullForNaN } from "../core/json.ts";
import { AttachmentParts } from "./attachment-parts.ts";
import { type Form, HeadLines } from "./head-lines.ts";
import { maxListed, Notes, type SetAside, type Source } from "./import.ts";
import type { Line } from "./lines.ts";
import { chatIdOfName, readEntries } from "./nanobot-file.ts";

/** What a first reading of a file finds: enough to know which chat it is, and how new. */
export interface Scan {
  readonly source: Source;
  readonly chatId: string;
  readonly head: HeadLines;
  readonly bytes: number;
  /** SHA-256 in hex. */
  readonly digest: string;
  readonly records: number;
  readonly messages: number;
  /** Ids of messages that a mark in it takes back, or erases: no count has them. */
  readonly uncounted: ReadonlySet<string>;
  /** How often its records refer to an attachment. */
  readonly attached: number;
  /** How many lines of it cannot be used. */
  readonly unreadable: number;
  /** The first of them. */
  readonly setAside: readonly SetAside[];
  /** Its last line is a head line behind something, as of every file that we wrote to its end. */
  readonly hasEnd: boolean;
  /** Milliseconds since 1970: the stamp of the file's own, else of its last message, else its age. */
  readonly newestAt: number;
  readonly notes: Notes;
}

/** @throws ThroughlineError `THROUGHLINE_CORRUPT`: an attachment in it is damaged. */
export async function scan(source: Source, form: Form, zone: string): Promise<Scan> {
  const head = new HeadLines(form, zone);
  const notes = new Notes();
  const counts = { records: 0, messages: 0, unreadable: 0, attached: 0 };
  const setAside: (SetAside & { bytes: number })[] = [];
  const uncounted = new Set<string>();
  const parts = new AttachmentParts();
  const leave = ({ number, offset, bytes: { length: bytes }, part }: Line, reason: string) => {
    const last = setAside.at(-1);
    if (part === "rest") {
      if (last?.line === number) last.bytes += bytes;
      return;
    }
    counts.unreadable++;
    if (setAside.length === maxListed) return;
    setAside.push({ source: source.name, line: number, offset, bytes, reason });
  };
  let lastAt: number | undefined;
  let endsWithHead = false;
  const { chunks, size } = measured(source.bytes);
  for await (const entry of readEntries(chunks, { form, chatId: "", zone })) {
    endsWithHead = entry.kind === "head";
    if (entry.kind === "head") {
      if (!head.add(entry.fields)) leave(entry.line, "its metadata is larger than a chat takes");
    } else if (entry.kind === "unreadable") leave(entry.line, entry.reason);
    else if (entry.kind === "attachment") parts.add(entry.part);
    else {
      counts.records++;
      counts.attached += attachedIn(entry.record).length;
      const { kind, target } = entry.record;
      const isMark = entry.kind === "control" && (kind === "removal" || kind === "erasure");
      if (isMark) uncounted.add(String(target));
      if (entry.kind !== "message") continue;
      counts.messages++;
      lastAt = instantOf(entry.record["timestamp"]) ?? lastAt;
    }
  }
  const newestAt = head.updatedAt() ?? lastAt ?? source.modifiedAt ?? 0;
  const chatId = head.key(notes) ?? chatIdOfName(source.name);
  const hasEnd = endsWithHead && (counts.records > 0 || head.count > 1);
  const found = { ...size(), ...counts, setAside, uncounted, hasEnd, newestAt, notes };
  return { source, chatId, head, ...found };
}

/** SHA-256 in hex of the first bytes of a source. */
export async function digestOf({ bytes }: Source, length: number): Promise<string> {
  const hash = createHash("sha256");
  let left = length;
  for await (const chunk of bytes) {
    hash.update(chunk.subarray(0, left));
    left -= Math.min(left, chunk.length);
    if (left === 0) break;
  }
  return hash.digest("hex");
}

/** The bytes that the first reading saw, and no more of a file that is growing. */
export async function* sameBytes({
  source,
  bytes,
  digest,
}: Pick<Scan, "source" | "bytes" | "digest">): AsyncGenerator<Uint8Array> {
  const hash = createHash("sha256");
  let left = bytes;
  for await (const chunk of source.bytes) {
    const part = chunk.subarray(0, left);
    hash.update(part);
    left -= part.length;
    yield part;
    if (left === 0) break;
  }
  if (left === 0 && hash.digest("hex") === digest) return;
  throw conflict(`${source.name} changed while it was read`);
}

/** Passes bytes on, and then says how many they were and what their digest is. */
export function measured(bytes: AsyncIterable<Uint8Array>): {
  readonly chunks: AsyncIterable<Uint8Array>;
  size(): { readonly bytes: number; readonly digest: string };
} {
  const hash = createHash("sha256");
  let count = 0;
  const chunks = async function* () {
    for await (const chunk of bytes) {
      hash.update(chunk);
      count += chunk.length;
      yield chunk;
    }
  };
  return { chunks: chunks(), size: () => ({ bytes: count, digest: hash.digest("hex") }) };
}

/** A file that is one JSON object is read at once: so it has a limit. */
const maxBytes = 64 * 1024 * 1024;

/**
 * The object that a source is.
 *
 * @throws ThroughlineError `THROUGHLINE_INVALID`, `THROUGHLINE_TOO_LARGE`.
 */
export async function readJsonSource(source: Source): Promise<object> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of source.bytes) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw tooLarge(`it is larger than ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(Buffer.concat(chunks));
  } catch (cause) {
    throw invalid("it is not UTF-8", cause);
  }
  let value: unknown;
  try {
    // Not our own parser: each field is checked by the code that reads it.
    value = JSON.parse(withNullForNaN(text));
  } catch {
    // biome-ignore lint/style/useErrorCause: its message quotes the file.
    throw invalid("it is not JSON");
  }
  if (!isJsonObject(value)) throw invalid("it is not an object");
  return value;
}
