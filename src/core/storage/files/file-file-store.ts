import { basename, join } from "node:path";
import { closed } from "../../errors.ts";
import { KeyedMutex } from "../../mutex.ts";
import type { Disk } from "../disk/disk.ts";
import {
  checkFileKey,
  checkHash,
  damagedFile,
  type FileStore,
  fileLimits,
  hashOf,
  isHash,
  prepareFile,
  type StoredFile,
} from "../file-store.ts";
import { readExactly } from "./batch-reader.ts";
import { fileNameOf, keyOfFileName } from "./file-name.ts";
import {
  deletedPerhaps,
  type FilePorts,
  isCode,
  makeDirectory,
  readFrom,
  replaceFile,
  rethrow,
  syncNames,
  unlessAbsent,
  unlinkIfThere,
  writeAll,
} from "./file-ports.ts";

/** The end of the name of a folder that has the files of one key. */
const filesSuffix = ".files";
/** The file with the key, in a folder whose name does not spell it out. */
const keyFile = "key.json";

/** The file driver's files: for each key a folder, and in it each file under its hash. */
export class FileFileStore implements FileStore {
  readonly #ports: FilePorts;
  readonly #directory: string;
  readonly #changes = new KeyedMutex();
  #closed = false;

  /** @param directory that of the collection. */
  constructor(ports: FilePorts, directory: string) {
    this.#ports = ports;
    this.#directory = directory;
  }

  async put(key: string, bytes: Uint8Array): Promise<string> {
    this.#assertOpen();
    const hash = prepareFile(key, bytes);
    await this.#alone(key, () => this.#put(key, hash, bytes));
    return hash;
  }

  async get(key: string, sha256: string): Promise<Uint8Array | undefined> {
    this.#check(key);
    checkHash(sha256);
    try {
      const path = join(this.#folder(key), sha256);
      const found = await readFile(this.#ports.disk, path);
      if (found === undefined) return undefined;
      if (found === "too large" || hashOf(found) !== sha256) throw damagedFile(key, sha256);
      return found;
    } catch (error) {
      rethrow(key, error);
    }
  }

  async list(key: string): Promise<readonly StoredFile[]> {
    this.#check(key);
    const { disk } = this.#ports;
    const folder = this.#folder(key);
    const listed: StoredFile[] = [];
    try {
      for (const { name: sha256, kind } of (await disk.list(folder).catch(unlessAbsent)) ?? []) {
        if (kind !== "file" || !isHash(sha256)) continue;
        const bytes = await disk.size(join(folder, sha256)).catch(unlessAbsent);
        if (bytes !== undefined) listed.push({ sha256, bytes });
      }
    } catch (error) {
      rethrow(key, error);
    }
    return listed.sort((a, b) => (a.sha256 < b.sha256 ? -1 : 1));
  }

  async delete(key: string, sha256s?: readonly string[]): Promise<number> {
    this.#check(key);
    for (const hash of sha256s ?? []) checkHash(hash);
    return this.#alone(key, async () => {
      this.#ports.guard();
      try {
        return await this.#delete(this.#folder(key), sha256s && new Set(sha256s));
      } catch (cause) {
        throw deletedPerhaps(`the files of ${key}`, cause);
      }
    });
  }

  /** Every key with a folder, also one in which a `put` that was cut short left nothing whole. */
  async *keys(): AsyncGenerator<string> {
    this.#assertOpen();
    for (const { name, kind } of (await this.#ports.disk
      .list(this.#directory)
      .catch(unlessAbsent)) ?? []) {
      if (kind !== "directory" || !name.endsWith(filesSuffix)) continue;
      const key = await keyOfFolder(this.#ports.disk, join(this.#directory, name));
      if (key !== undefined) yield key;
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#changes.idle();
  }

  async #put(key: string, hash: string, bytes: Uint8Array): Promise<void> {
    this.#ports.guard();
    const { disk } = this.#ports;
    const folder = this.#folder(key);
    await this.#assertFolder(folder);
    // Each for itself: a call that failed may have made the first one, and not made its name durable.
    await makeDirectory(disk, this.#directory);
    await makeDirectory(disk, folder);
    const names = await this.#removeTemporary(folder);
    if (keyOfFileName(fileNameOf(key)) === undefined && !names.has(keyFile)) {
      const text = Buffer.from(`${JSON.stringify({ key })}\n`);
      await replaceFile(this.#ports, join(folder, keyFile), (file) => writeAll(file, text, 0));
    }
    const path = join(folder, hash);
    const known = names.has(hash) ? await readFile(disk, path) : undefined;
    // A process that died may have renamed it and not made the name durable.
    if (known instanceof Uint8Array && hashOf(known) === hash) await syncNames(this.#ports, folder);
    else await replaceFile(this.#ports, path, (file) => writeAll(file, bytes, 0));
  }

  async #delete(folder: string, hashes: ReadonlySet<string> | undefined): Promise<number> {
    const { disk, unsyncedNames } = this.#ports;
    const directory = this.#directory;
    await this.#assertFolder(folder);
    const entries = await disk.list(folder).catch(unlessAbsent);
    if (entries === undefined) {
      // An earlier call removed it, perhaps not for good.
      if (unsyncedNames.has(directory)) await syncNames(this.#ports, directory);
      return 0;
    }
    let removed = 0;
    let left = 0;
    for (const { name } of entries) {
      if (name === keyFile) continue;
      const goes = hashes === undefined || hashes.has(name) || isTemporary(name);
      if (!goes) left++;
      else if ((await unlinkIfThere(disk, join(folder, name))) && isHash(name)) removed++;
    }
    // Also if there was nothing to remove: a call that failed or died may have removed it.
    await syncNames(this.#ports, folder);
    if (left > 0) return removed;
    await unlinkIfThere(disk, join(folder, keyFile));
    unsyncedNames.add(directory); // also if this fails: it may be gone all the same
    await disk.rmdir(folder);
    unsyncedNames.delete(folder);
    await syncNames(this.#ports, directory);
    return removed;
  }

  /** Removes what a process left that died in a `put`. @returns the other names in the folder. */
  async #removeTemporary(folder: string): Promise<ReadonlySet<string>> {
    const names = new Set<string>();
    for (const { name } of await this.#ports.disk.list(folder)) {
      if (isTemporary(name)) await this.#ports.disk.unlink(join(folder, name));
      else names.add(name);
    }
    return names;
  }

  /** A folder that is a link would be written, and emptied, wherever the link leads. */
  async #assertFolder(folder: string): Promise<void> {
    try {
      const file = await this.#ports.disk.open(folder, "read");
      await file.close();
    } catch (error) {
      if (isCode(error, "ELOOP", "ENXIO")) throw error;
    }
  }

  async #alone<T>(key: string, work: () => Promise<T>): Promise<T> {
    return this.#changes.run(key, work).catch((error) => rethrow(key, error));
  }

  #folder(key: string): string {
    return join(this.#directory, `${fileNameOf(key)}${filesSuffix}`);
  }

  #check(key: string): void {
    this.#assertOpen();
    checkFileKey(key);
  }

  #assertOpen(): void {
    if (this.#closed) throw closed();
  }
}

/** The key whose files a folder has. `undefined`: its name is none of ours, or the file with its key is gone. */
async function keyOfFolder(disk: Disk, folder: string): Promise<string | undefined> {
  const name = basename(folder).slice(0, -filesSuffix.length);
  const spelledOut = keyOfFileName(name);
  if (spelledOut !== undefined) return spelledOut;
  const bytes = await readFile(disk, join(folder, keyFile));
  if (!(bytes instanceof Uint8Array)) return undefined;
  try {
    const { key } = JSON.parse(Buffer.from(bytes).toString()) as { readonly key?: unknown };
    return typeof key === "string" && fileNameOf(key) === name ? key : undefined;
  } catch {
    return undefined; // not ours
  }
}

function readFile(disk: Disk, path: string): Promise<Uint8Array | "too large" | undefined> {
  return readFrom(disk, path, async (file) => {
    const size = await file.size();
    return size > fileLimits.fileBytes ? "too large" : readExactly(file, 0, size);
  });
}

const isTemporary = (name: string) => /^(?:[0-9a-f]{64}|key\.json)\.tmp-/.test(name);
