// The files that messages refer to, by the hash of their bytes.
import { isThroughlineError } from "../errors.ts";
import { isJsonObject } from "../json.ts";
import { type FileStore, isHash } from "../storage/file-store.ts";
import type { LogStore } from "../storage/log-store.ts";

/** The hashes of the files that a record refers to: a message, or one that waits for its turn. */
export function attachedIn(record: { readonly [field: string]: unknown }): readonly string[] {
  const { attachments } = record;
  if (!Array.isArray(attachments)) return [];
  const files = (attachments as readonly unknown[]).filter(isJsonObject);
  return files.map(({ sha256 }) => sha256).filter(isHash);
}

/** The files that some records of a chat refer to, and no other record of it. */
export async function attachedOnlyIn(
  logs: Pick<LogStore, "findAll" | "read">,
  chatId: string,
  ids: readonly string[],
): Promise<readonly string[]> {
  const records = await logs.findAll(chatId, ids);
  const hashes = new Set([...records.values()].flatMap(attachedIn));
  if (hashes.size === 0) return [];
  for await (const record of logs.read(chatId)) {
    if (records.has(record.id)) continue;
    for (const hash of attachedIn(record)) hashes.delete(hash);
  }
  return [...hashes];
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
