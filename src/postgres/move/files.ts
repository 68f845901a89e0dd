import { chatProjection } from "../../core/chat/chat-head.ts";
import { isThroughlineError } from "../../core/errors.ts";
import type { FileStore } from "../../core/storage/file-store.ts";
import type { Storage } from "../../core/storage/storage.ts";
import type { NewMarks } from "./forgotten-marks.ts";
import type { MoveNotes } from "./move-notes.ts";
import { filePlaces } from "./places.ts";
import type { OnDamage } from "./records.ts";

/** The files that one key has in either storage. */
interface FilesOfBoth {
  readonly collection: string;
  readonly key: string;
  readonly source: FileStore;
  readonly target: FileStore;
  /** Hashes, sorted. */
  readonly given: readonly string[];
  readonly own: readonly string[];
}

interface Both {
  readonly from: Storage;
  readonly to: Storage;
}

interface FileOptions {
  readonly marks: NewMarks;
  readonly signal?: AbortSignal | undefined;
}

/** Of every key that has files in either storage, in the order of the keys; but of no chat that the target forgot. */
async function* everyFile(
  { from, to }: Both,
  { marks, signal }: FileOptions,
): AsyncGenerator<FilesOfBoth> {
  for (const collection of filePlaces) {
    const [source, target] = [from.files(collection), to.files(collection)];
    const keys = new Set(await Array.fromAsync(source.keys()));
    for await (const key of target.keys()) keys.add(key);
    for (const key of [...keys].sort()) {
      signal?.throwIfAborted();
      if (marks.isForgottenAtTarget(key)) continue;
      const [given, own] = [await hashesIn(source, key), await hashesIn(target, key)];
      yield { collection, key, source, target, given, own };
    }
  }
}

async function hashesIn(files: FileStore, key: string): Promise<readonly string[]> {
  return (await files.list(key)).map(({ sha256 }) => sha256);
}

/**
 * What of the target's files is no copy: those of chats that the source does not have. Of a chat that both have,
 * a file that only the target has is of a message that was erased since it was copied.
 */
export async function foreignFiles(
  both: Both,
  notes: MoveNotes,
  options: FileOptions,
): Promise<{ readonly names: readonly string[]; readonly count: number }> {
  const names: string[] = [];
  let count = 0;
  for await (const { collection, key, given, own } of everyFile(both, options)) {
    count += own.length;
    if (notes.holdsOnlyCopies || own.every((hash) => given.includes(hash))) continue;
    const logs = both.from.logs(collection, chatProjection);
    if ((await logs.tail(key, 0)) === undefined) names.push(`the files of ${collection}/${key}`);
  }
  return { names, count };
}

/**
 * Gives the target the files that the source has, and takes from it earlier copies of others. Each is in memory
 * for itself. @param damaged `"mark"` leaves out a file that is damaged at the source.
 */
export async function copyFiles(
  both: Both,
  { damaged, ...options }: FileOptions & { readonly damaged: OnDamage },
): Promise<void> {
  for await (const { key, source, target, given, own } of everyFile(both, options)) {
    for (const hash of given) {
      if (own.includes(hash) && (await whole(target, key, hash, "mark")) !== undefined) continue;
      const bytes = await whole(source, key, hash, damaged);
      if (bytes !== undefined) await target.put(key, bytes);
    }
    const others = own.filter((hash) => !given.includes(hash));
    if (others.length > 0) await target.delete(key, others);
  }
}

/** Reads every file in both. @returns how many are the same, and which keys have others. */
export async function compareFiles(
  both: Both,
  { damaged, ...options }: FileOptions & { readonly damaged: OnDamage },
): Promise<{ readonly same: readonly string[]; readonly other: readonly string[] }> {
  const same: string[] = [];
  const other: string[] = [];
  for await (const { collection, key, source, target, given, own } of everyFile(both, options)) {
    const readable: string[] = [];
    for (const hash of given) {
      if ((await whole(source, key, hash, damaged)) !== undefined) readable.push(hash);
    }
    const isSame = readable.length === own.length && readable.every((hash) => own.includes(hash));
    if (!isSame) other.push(`the files of ${collection}/${key}`);
    for (const hash of own) {
      await whole(target, key, hash, "refuse");
      same.push(JSON.stringify([collection, key, hash]));
    }
  }
  return { same, other };
}

/** @throws ThroughlineError `THROUGHLINE_CORRUPT`: it is damaged, and that is not to be passed over. */
async function whole(
  files: FileStore,
  key: string,
  hash: string,
  damaged: OnDamage,
): Promise<Uint8Array | undefined> {
  try {
    return await files.get(key, hash);
  } catch (error) {
    if (damaged === "refuse" || !isThroughlineError(error, "THROUGHLINE_CORRUPT")) throw error;
    return undefined;
  }
}
