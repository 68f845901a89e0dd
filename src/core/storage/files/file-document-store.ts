import { basename, join } from "node:path";
import { ThroughlineError } from "../../errors.ts";
import type { JsonObject } from "../../json.ts";
import { Lru } from "../../lru.ts";
import { KeyedMutex } from "../../mutex.ts";
import { type PreparedDocument, prepareDocument } from "../batch.ts";
import type { DiskFile } from "../disk/disk.ts";
import {
  type DocumentStore,
  documentLimits,
  type StoredDocument,
  type WriteOptions,
} from "../document-store.ts";
import { checkKey } from "../key.ts";
import { readExactly } from "./batch-reader.ts";
import {
  type DecodedDocument,
  decodeDocument,
  documentIndent,
  encodeDocument,
} from "./document-file.ts";
import { fileNameOf } from "./file-name.ts";
import {
  closed,
  copyBytes,
  deletedPerhaps,
  type HomePorts,
  isCode,
  isTemporaryName,
  makeDirectory,
  readFrom,
  replaceFile,
  rethrow,
  syncNames,
  temporaryName,
  unavailable,
  unlessAbsent,
  unlinkIfThere,
  writeAll,
} from "./file-ports.ts";

/** Which document a file holds; what it says is read when somebody asks for it. */
type Sealed = Omit<DecodedDocument, "value">;

interface Known {
  readonly bytes: Buffer;
  readonly sealed: Sealed;
}

const unreadable = "the file is not a whole document; the copy before it is used, if there is one";

/** Of so many bytes of files it is known what they hold. Larger ones are judged at every write. */
const knownBytes = 8 * 1024 * 1024;

/** The file driver's documents: one JSON file each, and the one before it as `.bak`. */
export class FileDocumentStore implements DocumentStore {
  readonly #ports: HomePorts;
  readonly #collection: string;
  readonly #directory: string;
  readonly #changes = new KeyedMutex();
  /** By path, whole files as they were written or found: the same bytes need not be judged again. */
  readonly #known = new Lru<string, Known>(knownBytes, { weigh: ({ bytes }) => bytes.length });
  #made: Promise<void> | undefined;
  #closed = false;

  constructor(ports: HomePorts, collection: string) {
    this.#ports = ports;
    this.#collection = collection;
    this.#directory = join(ports.home, collection);
  }

  read(
    key: string,
    damageIn?: (value: JsonObject) => string | undefined,
  ): Promise<StoredDocument | undefined> {
    return this.#alone(key, async () => {
      for (;;) {
        const found = await this.#newest(key, (path) => this.#load(path));
        if (found === undefined) return undefined;
        const { value, revision, path } = found;
        const damage = damageIn?.(value);
        if (damage === undefined) return { value, revision };
        this.#ports.guard();
        await this.#setAside(key, path, `${damage}; the copy before it is used, if there is one`);
        // The next write must not make it the copy before.
        this.#forgetKnown(this.#path(key));
        await this.#ports.disk.unlink(path);
        await syncNames(this.#ports, this.#directory);
      }
    });
  }

  write(key: string, value: JsonObject, options: WriteOptions = {}): Promise<number> {
    let prepared: PreparedDocument;
    try {
      prepared = prepareDocument(key, value, options, documentIndent);
    } catch (error) {
      return Promise.reject(error);
    }
    return this.#alone(key, () => this.#write(prepared));
  }

  async delete(key: string): Promise<boolean> {
    return this.#alone(key, async () => {
      this.#ports.guard();
      const path = this.#path(key);
      this.#forgetKnown(path);
      let existed = await this.#forgetSetAside(path);
      await this.#removeTemporary(path);
      // The older copy goes first and for good: were the current one gone and it not, it would speak.
      try {
        for (const each of [`${path}.bak`, path]) {
          if (!(await unlinkIfThere(this.#ports.disk, each))) continue;
          existed = true;
          await syncNames(this.#ports, this.#directory);
        }
      } catch (cause) {
        throw deletedPerhaps(key, cause);
      }
      return existed;
    });
  }

  async forgetCopies(key: string): Promise<void> {
    return this.#alone(key, async () => {
      this.#ports.guard();
      const path = this.#path(key);
      const current = await this.#load(path);
      const newest = await this.#newest(key, (each) => this.#load(each));
      const isCurrent = isForeign(current) || newest?.revision === revisionOf(current);
      if (newest !== undefined && !isCurrent) {
        throw unavailable(`the copies of ${key} are all that there is of it: write it first`);
      }
      this.#forgetKnown(path);
      await this.#removeTemporary(path);
      try {
        const copies = current === "unreadable" ? [`${path}.bak`, path] : [`${path}.bak`];
        for (const each of copies) {
          if (!(await unlinkIfThere(this.#ports.disk, each))) continue;
          await syncNames(this.#ports, this.#directory);
        }
        await this.#forgetSetAside(path);
      } catch (cause) {
        throw unavailable(`copies of ${key} may be left`, cause);
      }
    });
  }

  async keys(): Promise<readonly string[]> {
    this.#assertOpen();
    const keys = new Set<string>();
    for (const { name, kind } of await this.#list()) {
      if (kind !== "file" || !/\.json(\.bak)?$/.test(name)) continue;
      const found = await this.#load(join(this.#directory, name));
      if (found === undefined || found === "unreadable") continue;
      const key = found.key ?? name.replace(/\.json(\.bak)?$/, "");
      if (`${fileNameOf(key)}.json` === name.replace(/\.bak$/, "")) keys.add(key);
    }
    return [...keys].sort();
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#changes.idle();
  }

  async #write(document: PreparedDocument): Promise<number> {
    const { key, expectedRevision } = document;
    const before = await this.#newest(key, (path) => this.#seal(path));
    const revision = before?.revision ?? 0;
    if (expectedRevision !== undefined && expectedRevision !== revision) {
      throw new ThroughlineError(`${key} has revision ${revision}, not ${expectedRevision}`, {
        code: "THROUGHLINE_CONFLICT",
      });
    }
    this.#ports.guard();
    const path = this.#path(key);
    const bytes = encodeDocument(key, document.json, revision + 1);
    const fill = (file: DiskFile) => writeAll(file, bytes, 0);
    try {
      await this.#makeDirectory();
      await replaceFile(this.#ports, path, fill, () => this.#backUp(key, revision));
    } catch (error) {
      this.#made = undefined; // the directory may be gone
      rethrow(key, error);
    }
    this.#known.set(path, { bytes, sealed: { key, revision: revision + 1 } });
    return revision + 1;
  }

  /**
   * Gives the current copy the name `.bak`, if it is whole: a damaged one must not take the place of
   * a good one. The current name stays in place throughout.
   */
  async #backUp(key: string, revision: number): Promise<void> {
    const { disk } = this.#ports;
    const path = this.#path(key);
    const current = await this.#seal(path);
    if (current === undefined || current === "unreadable") return;
    if (current.revision > revision) throw unavailable(`${key} changed while it was replaced`);
    const temporary = temporaryName(`${path}.bak`, this.#ports.newId);
    try {
      await disk.link(path, temporary);
    } catch (error) {
      if (isCode(error, "ENOSPC", "EDQUOT", "EROFS", "EIO")) throw error;
      // A file system without links.
      const from = await disk.open(path, "read");
      try {
        const to = await disk.open(temporary, "create");
        try {
          await copyBytes(from, 0, await from.size(), to);
          await to.sync();
        } finally {
          await to.close();
        }
      } finally {
        await from.close();
      }
    }
    try {
      await disk.rename(temporary, `${path}.bak`);
    } finally {
      // After a kill both copies may be one file already. Then a rename does nothing, and succeeds.
      await unlinkIfThere(disk, temporary);
    }
    const known = this.#known.get(path);
    if (known !== undefined) this.#known.set(`${path}.bak`, known);
  }

  /** The newest whole copy. What cannot be read is set aside first, and reported. */
  async #newest<T extends Sealed>(
    key: string,
    load: (path: string) => Promise<T | "unreadable" | undefined>,
  ): Promise<(T & { readonly path: string }) | undefined> {
    const path = this.#path(key);
    let newest: (T & { readonly path: string }) | undefined;
    for (const each of [path, `${path}.bak`]) {
      const found = await load(each);
      if (found === "unreadable") await this.#setAside(key, each, unreadable);
      else if (found?.key !== undefined && found.key !== key) {
        throw new ThroughlineError(`the file of ${key} holds another document`, {
          code: "THROUGHLINE_CORRUPT",
        });
      } else if (found !== undefined) {
        const there = { ...found, path: each };
        newest = newest === undefined ? there : newerOf(newest, there);
      }
    }
    return newest;
  }

  async #load(path: string): Promise<DecodedDocument | "unreadable" | undefined> {
    const bytes = await this.#bytes(path);
    if (bytes === undefined || bytes === "unreadable") return bytes;
    return decodeDocument(bytes) ?? "unreadable";
  }

  /** The same without what the document says. */
  async #seal(path: string): Promise<Sealed | "unreadable" | undefined> {
    const bytes = await this.#bytes(path);
    if (bytes === undefined || bytes === "unreadable") return bytes;
    const known = this.#known.get(path);
    if (known?.bytes.equals(bytes)) return known.sealed;
    const found = decodeDocument(bytes);
    if (found === undefined) return "unreadable";
    const { value: _, ...sealed } = found;
    this.#known.set(path, { bytes, sealed });
    return sealed;
  }

  async #bytes(path: string): Promise<Buffer | "unreadable" | undefined> {
    return readFrom(this.#ports.disk, path, async (file) => {
      const size = await file.size();
      // Twice the limit: indented, a value takes more room than it was allowed to.
      return size > 4 * documentLimits.valueBytes ? "unreadable" : readExactly(file, 0, size);
    });
  }

  /** @returns whether anything of either copy was in quarantine. */
  async #forgetSetAside(path: string): Promise<boolean> {
    const current = await this.#ports.forgetQuarantine(path);
    const before = await this.#ports.forgetQuarantine(`${path}.bak`);
    return current.files + before.files > 0;
  }

  /** What was dropped is not kept here either. */
  #forgetKnown(path: string): void {
    for (const each of [path, `${path}.bak`]) this.#known.delete(each);
  }

  /** Removes what a failed or killed write left under other names. */
  async #removeTemporary(path: string): Promise<void> {
    const { disk } = this.#ports;
    for (const { name } of await this.#list()) {
      const isOurs = name.startsWith(`${basename(path)}.`) && isTemporaryName(name);
      if (isOurs) await disk.unlink(join(this.#directory, name));
    }
  }

  /** Once is enough: what is there was made durable then. */
  #makeDirectory(): Promise<void> {
    this.#made ??= makeDirectory(this.#ports.disk, this.#directory);
    return this.#made;
  }

  async #setAside(key: string, path: string, reason: string): Promise<void> {
    await readFrom(this.#ports.disk, path, async (file) => {
      const size = await file.size();
      const quarantined = await this.#ports.quarantine(path, file, 0, size);
      this.#ports.report(this.#collection, {
        key,
        kind: "unreadable_document",
        bytes: size,
        after_seq: 0,
        quarantined,
        reason,
      });
    });
  }

  async #list() {
    try {
      return (await this.#ports.disk.list(this.#directory).catch(unlessAbsent)) ?? [];
    } catch (error) {
      throw unavailable("the documents could not be listed", error);
    }
  }

  async #alone<T>(key: string, work: () => Promise<T>): Promise<T> {
    checkKey(key, "key", documentLimits.keyBytes);
    this.#assertOpen();
    return this.#changes.run(key, work).catch((error) => rethrow(key, error));
  }

  #path(key: string): string {
    return join(this.#directory, `${fileNameOf(key)}.json`);
  }

  #assertOpen(): void {
    if (this.#closed) throw closed();
  }
}

/**
 * Which of two whole copies stands. Ours are sealed, all of them: a current one without a seal was put
 * there by somebody else, after whatever `.bak` holds, and counts on from it.
 */
function newerOf<T extends Sealed>(current: T, before: T): T {
  const revision = Math.max(current.revision, before.revision);
  if (isForeign(current)) return { ...current, revision };
  return before.revision > current.revision ? before : current;
}

/** Whole, and without a seal. */
function isForeign(found: Sealed | "unreadable" | undefined): boolean {
  return found !== undefined && found !== "unreadable" && found.key === undefined;
}

function revisionOf(found: DecodedDocument | "unreadable" | undefined): number | undefined {
  return found === "unreadable" ? undefined : found?.revision;
}
