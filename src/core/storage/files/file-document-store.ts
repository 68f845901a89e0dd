import { basename, join } from "node:path";
import { closed, conflict, corrupt, unavailable } from "../../errors.ts";
import type { JsonObject } from "../../json.ts";
import { KeyedMutex } from "../../mutex.ts";
import { type PreparedDocument, prepareDocument } from "../batch.ts";
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
  deletedPerhaps,
  type HomePorts,
  isDiskError,
  isTemporaryName,
  makeDirectory,
  readFrom,
  replaceFile,
  rethrow,
  syncNames,
  unlessAbsent,
  unlinkIfThere,
  writeAll,
} from "./file-ports.ts";

/** A whole copy of a document, and where it is. */
interface FoundCopy extends DecodedDocument {
  readonly path: string;
  readonly bytes: Buffer;
}

const unreadable = "the file is not a whole document; the copy before it is used, if there is one";

/** The file driver's documents: one JSON file each, and the one before it as `.bak`. */
export class FileDocumentStore implements DocumentStore {
  readonly #ports: HomePorts;
  readonly #collection: string;
  readonly #directory: string;
  readonly #changes = new KeyedMutex();
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
        const found = await this.#newest(key);
        if (found === undefined) return undefined;
        const { value, revision, path } = found;
        const damage = damageIn?.(value);
        if (damage === undefined) return { value, revision };
        this.#ports.guard();
        await this.#setAside(key, path, `${damage}; the copy before it is used, if there is one`);
        await this.#unlinkEach(path);
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
      let existed = await this.#forgetSetAside(path);
      await this.#removeTemporary(path);
      // The older copy goes first and for good: were the current one gone and it not, it would speak.
      try {
        if (await this.#unlinkEach(`${path}.bak`, path)) existed = true;
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
      const newest = await this.#newest(key);
      if (newest !== undefined && newest.path !== path) {
        throw unavailable(`the copies of ${key} are all that there is of it: write it first`);
      }
      await this.#removeTemporary(path);
      try {
        await this.#unlinkEach(`${path}.bak`);
        if (current === "unreadable") await this.#unlinkEach(path);
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
    const before = await this.#newest(key);
    const revision = before?.revision ?? 0;
    if (expectedRevision !== undefined && expectedRevision !== revision) {
      throw conflict(`${key} has revision ${revision}, not ${expectedRevision}`);
    }
    this.#ports.guard();
    const path = this.#path(key);
    const bytes = encodeDocument(key, document.json, revision + 1);
    try {
      await this.#makeDirectory();
      // A damaged or older one must not take the place of a good copy.
      if (before?.path === path) await this.#backUp(path, before.bytes);
      await replaceFile(this.#ports, path, (file) => writeAll(file, bytes, 0));
    } catch (error) {
      this.#made = undefined; // the directory may be gone
      rethrow(key, error);
    }
    return revision + 1;
  }

  async #backUp(path: string, bytes: Buffer): Promise<void> {
    try {
      await replaceFile(this.#ports, `${path}.bak`, (file) => writeAll(file, bytes, 0));
    } catch (cause) {
      if (isDiskError(cause)) throw cause;
      throw unavailable("the copy before it was perhaps not replaced for good", cause);
    }
  }

  /** The newest whole copy. What cannot be read is set aside first, and reported. */
  async #newest(key: string): Promise<FoundCopy | undefined> {
    const path = this.#path(key);
    let newest: FoundCopy | undefined;
    for (const each of [path, `${path}.bak`]) {
      const found = await this.#load(each);
      if (found === "unreadable") await this.#setAside(key, each, unreadable);
      else if (found?.key !== undefined && found.key !== key) {
        throw corrupt(`the file of ${key} holds another document`);
      } else if (found !== undefined)
        newest = newest === undefined ? found : newerOf(newest, found);
    }
    return newest;
  }

  async #load(path: string): Promise<FoundCopy | "unreadable" | undefined> {
    return readFrom(this.#ports.disk, path, async (file) => {
      const size = await file.size();
      // Indented, a value takes more room than it was allowed to.
      if (size > 4 * documentLimits.valueBytes) return "unreadable";
      const bytes = await readExactly(file, 0, size);
      const decoded = decodeDocument(bytes);
      return decoded === undefined ? "unreadable" : { ...decoded, path, bytes };
    });
  }

  /** @returns whether anything of either copy was in quarantine. */
  async #forgetSetAside(path: string): Promise<boolean> {
    const current = await this.#ports.forgetQuarantine(path);
    const before = await this.#ports.forgetQuarantine(`${path}.bak`);
    return current.files + before.files > 0;
  }

  /** Removes copies, each for good before the next one. @returns whether one was there. */
  async #unlinkEach(...paths: readonly string[]): Promise<boolean> {
    let existed = false;
    for (const path of paths) {
      if (!(await unlinkIfThere(this.#ports.disk, path))) continue;
      existed = true;
      await syncNames(this.#ports, this.#directory);
    }
    return existed;
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
function newerOf(current: FoundCopy, before: FoundCopy): FoundCopy {
  const revision = Math.max(current.revision, before.revision);
  if (current.key === undefined) return { ...current, revision };
  return before.revision > current.revision ? before : current;
}
