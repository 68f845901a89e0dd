// The exact form in which a framework gave a message, where role, content and the other fields do not give it
// back: it may be of any size. Long ones are stored in parts, before the message, and files in it as files.
import { concurrently } from "../concurrently.ts";
import { conflict } from "../errors.ts";
import { isJsonObject, type JsonObject, jsonLimits } from "../json.ts";
import { isErased } from "../storage/batch.ts";
import { exactText } from "../storage/exact-json.ts";
import { type FileStore, fileLimits } from "../storage/file-store.ts";
import { keepText, keepValue, keptValue, partGroups, partIds } from "../storage/kept-value.ts";
import type { LogRecord, LogStore } from "../storage/log-store.ts";
import { attachedIn, type TakenFile, takenFiles, wholeFile } from "./attachments.ts";
import { type ChatLog, notFound } from "./chat-log.ts";
import type { Attachment, StoredMessage } from "./message.ts";
import type { MessageInput } from "./message-input.ts";

/**
 * Stores what of the exact form of a message does not fit into the message. Repeated after a crash it stores
 * nothing twice.
 *
 * @param messageId of the message that is appended next, with what this returns as `exact`.
 * @param turn the id of the message that it answers: where that is gone nothing is stored. Without it a chat may begin.
 * @returns what stands for the value: the `exact` and the `attachments` of the message.
 * @throws ThroughlineError `THROUGHLINE_INVALID`, `THROUGHLINE_TOO_LARGE`: see `exactText`.
 *   `THROUGHLINE_NOT_FOUND`: the chat was forgotten during this. `THROUGHLINE_CONFLICT`: the message was erased.
 */
export async function keepExact(
  log: ChatLog,
  chatId: string,
  messageId: string,
  given: unknown,
  turn?: string,
): Promise<{
  readonly exact: JsonObject;
  readonly attachments: readonly (Attachment & JsonObject)[] | undefined;
}> {
  const { value, files } = withoutFiles(given);
  const attachments = files.map(({ attachment }) => ({ ...attachment }));
  // With files there is a part, so that a chat that was forgotten since is noticed.
  const { fields, parts } =
    files.length === 0
      ? keepValue(messageId, value, "a message")
      : keepText(messageId, exactText(value, "a message"), "a message", 0);
  for (const some of partGroups(parts)) {
    // What is forgotten from now on must not begin again by its parts.
    const mayBegin = some[0] === parts[0] && turn === undefined;
    const change = mayBegin ? log.change.bind(log) : log.changeExisting.bind(log);
    await change(chatId, async (transaction) => {
      const ids = some.map(({ id }) => id);
      if (turn !== undefined && (await log.logs.find(chatId, turn)) === undefined)
        throw notFound(chatId, "message");
      const stored = await log.logs.findAll(chatId, [messageId, ...ids]);
      if ([...stored.values()].some(isErased)) {
        const says = `the message ${JSON.stringify(messageId)} was erased`;
        throw conflict(says);
      }
      const isFirst = some[0] === parts[0];
      if (isFirst) for (const { bytes } of files) await log.files.put(chatId, bytes);
      // The first part names the files: until the message is there, erasing another one leaves them.
      const named = isFirst ? { attachments } : {};
      for (const [index, part] of some.entries()) {
        if (!stored.has(part.id)) transaction.part(index === 0 ? { ...part, ...named } : part);
      }
    });
  }
  return { exact: fields, attachments: files.length === 0 ? undefined : attachments };
}

/**
 * The exact form of a message, equal to what was given; `undefined` where none was given.
 *
 * @param isWhole `false`: names stand in the places of its files, for `filesInPlace`.
 * @throws ThroughlineError `THROUGHLINE_CORRUPT`: a part of it is missing.
 */
export async function exactOf(
  log: ChatLog,
  chatId: string,
  message: StoredMessage,
  isWhole = true,
): Promise<unknown> {
  if (message.exact === undefined) return undefined;
  const value = await keptValue(log.logs, chatId, message.exact);
  return isWhole ? filesInPlace(log.files, chatId, message, value) : value;
}

/** @throws ThroughlineError `THROUGHLINE_NOT_FOUND`: the chat was forgotten since the parts were stored. */
export async function assertParts(
  logs: Pick<LogStore, "findAll">,
  chatId: string,
  { exact }: MessageInput,
): Promise<void> {
  const ids = new Set(isJsonObject(exact) ? partIds(exact) : []);
  if (ids.size === 0) return;
  if ((await logs.findAll(chatId, [...ids])).size < ids.size) throw notFound(chatId);
}

/** The parts of the exact form of a message, as they were stored: what a copy of it needs before it. */
export async function partsOf(
  logs: Pick<LogStore, "findAll">,
  chatId: string,
  { exact = {} }: StoredMessage,
): Promise<readonly LogRecord[]> {
  const ids = partIds(exact);
  const parts = ids.length === 0 ? [] : (await logs.findAll(chatId, ids)).values();
  return Array.from(parts, ({ seq: _, ...part }) => part);
}

/** A shorter text stays where it is, in UTF-16 units. */
const leastUnits = 8 * 1024;

type Fields = Readonly<Record<string, unknown>>;

/** Copies a value with other texts in it. */
function mapTexts(
  value: unknown,
  change: (text: string, key: string, around: Fields) => string,
  key = "",
  around: Fields = {},
  depth = 0,
): unknown {
  if (typeof value === "string") return change(value, key, around);
  if (typeof value !== "object" || value === null || depth > jsonLimits.depth) return value;
  const into = (item: unknown, name: string, fields: Fields) =>
    mapTexts(item, change, name, fields, depth + 1);
  if (Array.isArray(value)) return value.map((item: unknown) => into(item, key, around));
  if (Object.getPrototypeOf(value) !== Object.prototype) return value;
  const fields = value as Fields;
  const entries = Object.entries(fields);
  return Object.fromEntries(entries.map(([name, item]) => [name, into(item, name, fields)]));
}

/**
 * Takes the files out of a value: long data URLs, and long base64 in a field that is called `data`. A name with
 * the hash of the bytes stands in the place of each.
 */
export function withoutFiles(given: unknown): {
  readonly value: unknown;
  readonly files: readonly TakenFile[];
} {
  const files = new Map<string, TakenFile>();
  const value = mapTexts(given, (text, key, around) => {
    const [head = ""] = /^data:[^,]{0,200};base64,/.exec(text) ?? [];
    const isFile = text.length >= leastUnits && (head !== "" || key === "data");
    if (!isFile || text.length > fileLimits.fileBytes * 1.3) return text;
    const bytes = Buffer.from(text.slice(head.length), "base64");
    if (bytes.toString("base64") !== text.slice(head.length)) return text;
    const named = String(around["filename"] ?? around["name"] ?? "").slice(0, 60);
    const name = named.replace(/[\p{Cc}\p{Cs}/\\]/gu, "") || "file";
    const type = head.slice("data:".length).split(/[;,]/, 1)[0];
    const [file] = takenFiles([{ name, type, bytes }], true);
    if (file === undefined) return text;
    files.set(file.attachment.sha256, file);
    return `${head}sha256:${file.attachment.sha256}`;
  });
  return { value, files: [...files.values()] };
}

/** Puts the files of a message into a value in which names stand for them. One that is missing is empty. */
export async function filesInPlace<T>(
  files: Pick<FileStore, "get">,
  chatId: string,
  message: StoredMessage,
  value: T,
): Promise<T> {
  const hashes = [...new Set(attachedIn(message))];
  const found = new Map<string, string>();
  await concurrently(hashes, 8, async (hash) => {
    const bytes = (await wholeFile(files, chatId, hash)) ?? new Uint8Array();
    found.set(hash, Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("base64"));
  });
  if (hashes.length === 0) return value;
  const named = /^(data:[^,]{0,200};base64,)?sha256:([0-9a-f]{64})$/;
  return mapTexts(value, (text, key) => {
    const [, head = "", hash = ""] = named.exec(text) ?? [];
    // A name in another place was given: such as the digest that a tool made of the file.
    const data = head !== "" || key === "data" ? found.get(hash) : undefined;
    return data === undefined ? text : head + data;
  }) as T;
}
