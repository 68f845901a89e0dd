// A log that another framework keeps, as a file of an export in the format `throughline`.
import { jsonLine } from "../core/chat/render-jsonl.ts";
import { conflict, corrupt, invalid } from "../core/errors.ts";
import { checkJson, isJsonObject, type JsonObject } from "../core/json.ts";
import { fitting, object, type Read, required, text, whole } from "../core/shape.ts";
import { batchesOf, checkId, sameRecord } from "../core/storage/batch.ts";
import {
  allFrameworkLogs,
  frameworkLogsOf,
  frameworkStore,
  ownerLabel,
} from "../core/storage/framework-logs.ts";
import {
  type LogRecord,
  type LogStore,
  type LogTail,
  logLimits,
} from "../core/storage/log-store.ts";
import type { Storage } from "../core/storage/storage.ts";
import { importChats } from "./chat-import.ts";
import type { ExportFile } from "./export.ts";
import { ExportNames } from "./file-names.ts";
import {
  attempt,
  type ImportOptions,
  type ImportReport,
  newReport,
  type Source,
} from "./import.ts";
import { readLine, splitLines } from "./lines.ts";
import { measured, sameBytes } from "./read-source.ts";

/** The first line of a file, and again its last one: which log it is. The lines between are its records. */
const titleShape = object(
  {
    collection: text(),
    key: text(),
    head: fitting<JsonObject>(isJsonObject, "must be an object", {}),
    /** How many there are. */
    records: whole(0, Number.MAX_SAFE_INTEGER),
  },
  "left out",
);
type TitleLine = Read<typeof titleShape>;

const kind = "framework_log";

type Logs = Pick<Storage, "logs">;

/**
 * A file for each log that a framework keeps: of all, or of one chat, thread or session. Write a file before
 * asking for the next one.
 */
export async function* exportFrameworkLogs(
  storage: Logs,
  chatId?: string | undefined,
): AsyncGenerator<ExportFile> {
  const names = new ExportNames();
  const found = chatId === undefined ? allFrameworkLogs(storage) : frameworkLogsOf(storage, chatId);
  for await (const { collection, logs, key } of found) {
    // No chat id has a NUL: no chat has this name.
    const name = names.of(`${collection}\0${key}`);
    yield { name, chatId: key, pieces: piecesOf(collection, logs, key) };
  }
}

/** @throws ThroughlineError `THROUGHLINE_CORRUPT`: a record cannot be read. A part of such a log is no use. */
async function* piecesOf(collection: string, logs: LogStore, key: string): AsyncGenerator<string> {
  const { seq = 0, head = {} } = (await logs.tail(key, 0)) ?? {};
  const title = jsonLine({ _type: "metadata", kind, collection, key, head, records: seq });
  yield title;
  let last = 0;
  for await (const record of logs.read(key)) {
    // Another process may have added records since.
    if (record.seq > seq || record.seq !== last + 1) break;
    last = record.seq;
    yield jsonLine(record);
  }
  if (last !== seq) {
    throw corrupt(`${collection}/${key}: record ${last + 1} cannot be read`);
  }
  yield title;
}

/**
 * Imports what `export --format throughline` wrote: chats, and logs of frameworks. A log is imported whole or, if
 * another one of its key is here, not at all. Importing an unchanged file again adds nothing, and completes an
 * import that was cut short. What was forgotten here comes back only with `force`.
 *
 * @throws ThroughlineError what storing rejects with. What is wrong with a source is in the report.
 */
export async function importOwn(
  sources: Iterable<Source>,
  options: ImportOptions & { readonly storage: Logs },
): Promise<ImportReport> {
  const report = newReport();
  const chats: Source[] = [];
  for (const source of sources) {
    await attempt(report, source.name, async () => {
      const title = await titleOf(source);
      if (title === undefined) chats.push(source);
      else await importLog(source, title, options, report);
    });
  }
  return importChats(chats, options, "own", report);
}

/** Which log a file holds; `undefined` if it is none of a framework. */
async function titleOf(source: Source): Promise<TitleLine | undefined> {
  for await (const { bytes } of splitLines(source.bytes, maxLineBytes)) {
    const line = bytes && parsed(bytes);
    return line && isTitle(line) ? required(titleShape, line, "its first line") : undefined;
  }
  return undefined;
}

const isTitle = (line: JsonObject) => line["_type"] === "metadata" && line["kind"] === kind;

/** A record with its number, and with line separators escaped. */
const maxLineBytes = 6 * logLimits.recordBytes + 64;

function parsed(bytes: Uint8Array): JsonObject | undefined {
  const read = readLine(bytes);
  return read && "object" in read && read.notes.length === 0 ? read.object : undefined;
}

async function importLog(
  source: Source,
  { collection, key, head }: TitleLine,
  { storage, chats, into, force, dryRun }: ImportOptions & { readonly storage: Logs },
  report: ImportReport,
): Promise<void> {
  const logs = frameworkStore(storage, collection);
  if (logs === undefined) throw invalid("it is of a framework that this version does not know");
  if (into !== undefined) throw invalid("a log of a framework cannot be imported into a chat");
  const known = await logs.tail(key, 1);
  const seq = known?.seq ?? 0;
  // All of it is read before anything of it is stored.
  const { chunks, size } = measured(source.bytes);
  let total = 0;
  let last: LogRecord | undefined;
  for await (const record of recordsIn(chunks)) {
    total++;
    checkJson(record, `record ${total}`);
    if (total === seq) last = record;
  }
  const isSame = known === undefined || (isSameHead(known.head, head) && isAt(last, known));
  if (total < seq || !isSame) {
    const name = `${JSON.stringify(key)} of ${collection}`;
    throw conflict(`another log is here as ${name}: forget that one first`);
  }
  if (total > seq) {
    for (const id of force ? [] : ownersOf(key, head)) {
      const forgotten_at = await chats.forgottenAt(id);
      if (forgotten_at === undefined) continue;
      report.refused.push({ chat_id: key, source: source.name, forgotten_at, messages: 0 });
      return;
    }
    // It begins again: what a process knows of the log that was here is not true of this one.
    const born = "born" in head ? chats.ports.newId() : undefined;
    const own = known?.head ?? { ...head, born };
    let end = seq;
    const batches = batchesOf(after(seq, recordsIn(sameBytes({ source, ...size() }))));
    for await (const { records } of dryRun ? [] : batches) {
      end = await logs.append(key, records, { expectedSeq: end, head: own });
    }
  }
  report.logs.push({ collection, key, source: source.name, records: total - seq, skipped: seq });
}

/** Apart from the name that a log has from its beginning. */
function isSameHead(a: JsonObject, b: JsonObject): boolean {
  const [one, other] = [a, b].map((head) => JSON.stringify({ ...head, born: "" }));
  return sameRecord(one ?? "", other ?? "");
}

/** Whether a log ends with this record. */
function isAt(record: LogRecord | undefined, { records: [stored] }: LogTail): boolean {
  const { seq: _, ...there } = stored ?? {};
  return sameRecord(JSON.stringify(there), JSON.stringify(record ?? {}));
}

/** The ids by which a log may have been forgotten. */
function ownersOf(key: string, { labels }: JsonObject): readonly string[] {
  const prefix = ownerLabel("");
  const named = (Array.isArray(labels) ? labels : []).map(String);
  const owners = named.filter((label) => label.startsWith(prefix));
  return [key, ...owners.map((label) => label.slice(prefix.length))];
}

/** The records of a file, without their numbers. @throws ThroughlineError `THROUGHLINE_CORRUPT`. */
async function* recordsIn(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<LogRecord> {
  let seq = 0;
  let hasEnd = false;
  for await (const { number, bytes: given } of splitLines(bytes, maxLineBytes)) {
    const line = given && parsed(given);
    if (hasEnd || line === undefined) throw corrupt(`line ${number} is not a record`);
    if (isTitle(line) && !("seq" in line)) {
      hasEnd = number > 1;
      if (hasEnd && line["records"] !== seq) throw corrupt(`it has ${seq} records, and had more`);
      continue;
    }
    const { seq: own, id, ...fields } = line;
    seq++;
    if (own !== seq) throw corrupt(`line ${number} is not record ${seq}`);
    checkId(id, `the id of record ${seq}`);
    yield { id, ...fields };
  }
  if (!hasEnd) throw corrupt("its end is missing");
}

/** What follows the record of a number. */
async function* after(seq: number, records: AsyncIterable<LogRecord>): AsyncGenerator<LogRecord> {
  let at = 0;
  for await (const record of records) if (++at > seq) yield record;
}
