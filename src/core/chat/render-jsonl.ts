import { isJsonObject, type JsonObject } from "../json.ts";
import { isErased } from "../storage/batch.ts";
import type { FileStore } from "../storage/file-store.ts";
import type { StoredRecord } from "../storage/log-store.ts";
import { attachedIn, wholeFile } from "./attachments.ts";
import type { ChatHead } from "./chat-head.ts";
import { foreignObject, isMessage, type StoredMessage } from "./message.ts";
import { printableJson } from "./printable.ts";
import { callOfResult } from "./record-ids.ts";
import type { Records } from "./render-rows.ts";

/** The kind of a metadata line with bytes of a file. */
export const attachmentKind = "attachment";

/** The first line of a log in the seed's format. Fields of ours are written in the `"full"` form only. */
export interface SeedHead extends JsonObject {
  readonly key: string;
  readonly created_at: string | null;
  readonly updated_at: string | null;
  readonly metadata: JsonObject;
  /** How many messages from the start were consolidated. */
  readonly last_consolidated: number;
  /** What else an imported metadata line said. */
  readonly extra?: JsonObject | undefined;
}

/** The first line of a chat for readers of the seed's format, to whom a clear leaves nothing. */
export function seedHead(key: string, head: ChatHead): SeedHead {
  const { created_at, updated_at, metadata, last_consolidated, cleared_count = 0, extra } = head;
  return {
    key,
    created_at: created_at || null,
    updated_at: updated_at || null,
    metadata,
    last_consolidated: Math.max(0, last_consolidated - cleared_count),
    extra: isJsonObject(extra) ? extra : undefined,
  };
}

/** What a clear hid is left out. */
export async function* sinceClear(
  records: Records,
  { clear_seq = 0 }: ChatHead,
): AsyncGenerator<StoredRecord> {
  for await (const record of records) {
    if (record.seq > clear_seq) yield record;
  }
}

export interface SeedJsonlOptions {
  /**
   * `"seed"`: messages, as another reader of the format needs them, and what an import brought that
   * is none, as it came. Hidden ones are left
   * out, but for an imported `_command`. `"full"`: every record as it is stored, what is hidden too, so that importing
   * it loses nothing. @default "seed"
   */
  readonly form?: "seed" | "full" | undefined;
  /** Where the files that messages refer to are. Those that are missing or damaged are passed over. */
  readonly files: Pick<FileStore, "get">;
}

/** So many bytes of a file are in one line: no line becomes longer than readers take. */
const attachmentLineBytes = 512 * 1024;

/**
 * A chat in the seed's JSONL, one line (with its LF) at a time: the metadata line, then the messages
 * as `{"role","content","timestamp",…}` with our fields after those. The files of messages are metadata lines
 * before the first message that refers to them: readers of the format pass over those.
 *
 * A last line repeats the metadata where it must: readers of the format let the last one win, and
 * `last_consolidated` counts messages of this file, of which some may be left out.
 */
export async function* toSeedJsonl(
  head: SeedHead,
  records: Records,
  options: SeedJsonlOptions,
): AsyncGenerator<string> {
  const full = options.form === "full";
  const written = new Set<string>();
  const erased = new Set<string>();
  yield headLine(head, full);
  let read = 0;
  let messages = 0;
  let consolidated = 0;
  let repeats = false;
  for await (const record of records) {
    const message = isMessage(record) ? record : undefined;
    if (message !== undefined) read++;
    if (isErased(record)) erased.add(record.id);
    // A provider refuses the result of a call that it is not sent.
    if (!full && message && erased.has(callOfResult(message) ?? "")) continue;
    const object = full ? undefined : foreignObject(record);
    const kept = full ? record : ((message && seedMessage(message)) ?? object);
    if (kept === undefined) continue;
    for await (const line of attachmentLines(kept, head.key, options.files, written)) {
      yield line;
      repeats = true;
    }
    yield jsonLine(kept);
    if (object?.["_type"] === "metadata") repeats = true;
    if (message !== undefined) messages++;
    if (read <= head.last_consolidated) consolidated = messages;
  }
  if (full) yield headLine(head, full);
  else if (repeats || consolidated !== head.last_consolidated) {
    yield headLine({ ...head, last_consolidated: consolidated }, full);
  }
}

/** The files that a record refers to, in Base64, each once in a file. */
async function* attachmentLines(
  record: JsonObject,
  chatId: string,
  files: SeedJsonlOptions["files"],
  written: Set<string>,
): AsyncGenerator<string> {
  for (const sha256 of attachedIn(record)) {
    if (written.has(sha256)) continue;
    written.add(sha256);
    const bytes = await wholeFile(files, chatId, sha256);
    if (bytes === undefined) continue;
    const size = bytes.length;
    for (let offset = 0; offset === 0 || offset < size; offset += attachmentLineBytes) {
      const part = bytes.subarray(offset, offset + attachmentLineBytes);
      const data = Buffer.from(part.buffer, part.byteOffset, part.length).toString("base64");
      yield jsonLine({ _type: "metadata", kind: attachmentKind, sha256, size, offset, data });
    }
  }
}

function headLine(head: SeedHead, full: boolean): string {
  const { key, created_at, updated_at, metadata, last_consolidated, ...rest } = head;
  const seed = { _type: "metadata", key, created_at, updated_at, metadata, last_consolidated };
  if (full) return jsonLine({ ...rest, ...seed });
  const { kind: _, ...extra } = isJsonObject(rest.extra) ? rest.extra : {};
  // First for the order, last so that no other field takes their place.
  return jsonLine({ ...seed, ...extra, ...seed });
}

function seedMessage(message: StoredMessage): JsonObject | undefined {
  // What nanobot marks as a command is hidden here: its file has it as it came.
  if (message.hidden === true && !message["_command"]) return undefined;
  const { role, content, timestamp, hidden: _, exact: __, ...rest } = message;
  return { role, content, timestamp, ...rest };
}

/** One line of JSON with its LF. */
export function jsonLine(value: JsonObject): string {
  return `${printableJson(JSON.stringify(value))}\n`;
}
