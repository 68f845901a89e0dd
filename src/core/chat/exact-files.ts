// Files in the exact form of a message: each lies with the chat, and its name stands in its place.
import { concurrently } from "../concurrently.ts";
import { jsonLimits } from "../json.ts";
import { type FileStore, fileLimits } from "../storage/file-store.ts";
import { attachedIn, wholeFile } from "./attached.ts";
import { type TakenFile, takenFiles } from "./attachments.ts";
import type { StoredMessage } from "./message.ts";

/** A shorter text stays where it is, in UTF-16 units. */
const leastUnits = 8 * 1024;

type Fields = Readonly<Record<string, unknown>>;

/** The value with other texts; what holds none that changes is the same object. */
function mapTexts(
  value: unknown,
  change: (text: string, key: string, around: Fields) => string,
  key = "",
  around: Fields = {},
  depth = 0,
): unknown {
  if (typeof value === "string") return change(value, key, around);
  if (typeof value !== "object" || value === null || depth > jsonLimits.depth) return value;
  if (Array.isArray(value)) {
    const items = value as readonly unknown[];
    const made = items.map((item) => mapTexts(item, change, key, around, depth + 1));
    return made.every((item, index) => Object.is(item, items[index])) ? value : made;
  }
  if (Object.getPrototypeOf(value) !== Object.prototype) return value;
  const fields = value as Fields;
  const entries = Object.entries(fields);
  const made = entries.map(([name, item]) => [
    name,
    mapTexts(item, change, name, fields, depth + 1),
  ]);
  const isSame = made.every(([, item], index) => Object.is(item, entries[index]?.[1]));
  return isSame ? value : Object.fromEntries(made);
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
  return mapTexts(value, (text) => {
    const [, head = "", hash = ""] = named.exec(text) ?? [];
    const data = found.get(hash);
    return data === undefined ? text : head + data;
  }) as T;
}
