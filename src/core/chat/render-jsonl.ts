import { isJsonObject, type Json, type JsonObject } from "../json.ts";
import { isErased } from "../storage/batch.ts";
import type { FileStore } from "../storage/file-store.ts";
import { attachedIn, wholeFile } from "./attachments.ts";
import type { ChatHead } from "./chat-head.ts";
import { foreignObject, isMessage, type StoredMessage } from "./message.ts";
import { printableJson } from "./printable.ts";
import { callOfResult } from "./record-ids.ts";
import type { Records } from "./render-rows.ts";

/** The kind of a metadata line with bytes of a file. */
export const attachmentKind = "attachment";

/** What the first line of a log in the seed's format says, and what else an imported one said. */
type SeedHead = Pick<
  ChatHead,
  "created_at" | "updated_at" | "metadata" | "last_consolidated" | "cleared_count"
> & { readonly extra?: Json | undefined };

/** Where the files that messages refer to are. Those that are missing or damaged are passed over. */
type Files = Pick<FileStore, "get">;

/** So many bytes of a file are in one line: no line becomes longer than readers take. */
const attachmentLineBytes = 512 * 1024;

/**
 * A chat in the seed's JSONL, one line (with its LF) at a time, for other readers of the format, to whom a clear leaves nothing: the
 * metadata line, then the messages as `{"role","content","timestamp",…}` with our fields after those, and what an import
 * brought that is none, as it came. Hidden messages are left out, but for an imported `_command`. The files of messages are metadata lines
 * before the first message that refers to them: readers of the format pass over those.
 *
 * A last line repeats the metadata where it must: readers of the format let the last one win, and
 * `last_consolidated` counts messages of this file, of which some may be left out.
 */
export async function* toSeedJsonl(
  key: string,
  head: SeedHead,
  records: Records,
  files: Files,
): AsyncGenerator<string> {
  const written = new Set<string>();
  const erased = new Set<string>();
  const cursor = Math.max(0, head.last_consolidated - (head.cleared_count ?? 0));
  yield seedLine(key, head, cursor);
  let read = 0;
  let messages = 0;
  let consolidated = 0;
  let repeats = false;
  for await (const record of records) {
    const message = isMessage(record) ? record : undefined;
    if (message !== undefined) read++;
    if (isErased(record)) erased.add(record.id);
    // A provider refuses the result of a call that it is not sent.
    if (message && erased.has(callOfResult(message) ?? "")) continue;
    const object = foreignObject(record);
    const kept = (message && seedMessage(message)) ?? object;
    if (kept === undefined) continue;
    for await (const line of attachmentLines(kept, key, files, written)) {
      yield line;
      repeats = true;
    }
    yield jsonLine(kept);
    if (object?.["_type"] === "metadata") repeats = true;
    if (message !== undefined) messages++;
    if (read <= cursor) consolidated = messages;
  }
  if (repeats || consolidated !== cursor) yield seedLine(key, head, consolidated);
}

/**
 * A chat in the same format with every record as it is stored, what is hidden too, so that importing it loses nothing. The metadata
 * line has our fields too, and is the last line as well.
 */
export async function* toFullJsonl(
  key: string,
  head: SeedHead,
  records: Records,
  files: Files,
): AsyncGenerator<string> {
  const written = new Set<string>();
  const line = jsonLine({ ...head, ...seedFields(key, head) });
  yield line;
  for await (const record of records) {
    yield* attachmentLines(record, key, files, written);
    yield jsonLine(record);
  }
  yield line;
}

/** The files that a record refers to, in Base64, each once in a file. */
async function* attachmentLines(
  record: JsonObject,
  chatId: string,
  files: Files,
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

/** The fields of a metadata line that every reader of the format knows. */
function seedFields(
  key: string,
  { created_at, updated_at, metadata, last_consolidated }: SeedHead,
) {
  const stamps = { created_at: created_at || null, updated_at: updated_at || null };
  return { _type: "metadata", key, ...stamps, metadata, last_consolidated };
}

function seedLine(key: string, head: SeedHead, last_consolidated: number): string {
  const seed = { ...seedFields(key, head), last_consolidated };
  const { kind: _, ...extra } = isJsonObject(head.extra) ? head.extra : {};
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
function jsonLine(value: JsonObject): string {
  return `${printableJson(JSON.stringify(value))}\n`;
}
