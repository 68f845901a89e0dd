import { join } from "node:path";
import type { NewId } from "../../core/ids.ts";
import type { Disk } from "../../core/storage/disk/disk.ts";
import {
  isTemporaryName,
  makeDirectory,
  type NewReport,
  replaceFile,
  syncNames,
  unlinkIfThere,
  writeAll,
} from "../../core/storage/files/file-ports.ts";
import { Quarantine } from "../../core/storage/files/quarantine.ts";
import { encodeEntry, type OwedEntry, readEntry } from "./owed-entry.ts";
import { searchOfId } from "./owed-search.ts";

export interface OutboxPorts {
  readonly disk: Disk;
  readonly newId: NewId;
  /** Directories in which a name was changed and whose sync failed. */
  readonly unsyncedNames: Set<string>;
  report(report: NewReport): void;
}

const ending = ".json";
/** Larger is no entry: one with the paths of 250 files takes 8 KB. */
const maxEntryBytes = 1024 * 1024;

/**
 * What is owed, one file each in `<home>/outbox/`, replaced whole. There is no ledger over them: of an
 * entry that cannot be read a copy is set aside, and the others know nothing of it.
 */
export class Outbox {
  readonly #ports: OutboxPorts;
  readonly #directory: string;
  readonly #quarantine: Quarantine;
  readonly #aside = new Set<string>();
  #isMade = false;

  constructor(ports: OutboxPorts, home: string) {
    this.#ports = ports;
    this.#directory = join(home, "outbox");
    this.#quarantine = new Quarantine(ports, home);
  }

  /**
   * The ids of all entries, oldest first: a name begins with the second of its moment. Reads no
   * entry. Removes what writers left that died.
   */
  async list(): Promise<readonly string[]> {
    const { disk } = this.#ports;
    await makeDirectory(disk, this.#directory);
    this.#isMade = true;
    const ids: string[] = [];
    for (const { name, kind } of await disk.list(this.#directory)) {
      if (kind !== "file") continue;
      if (isTemporaryName(name)) await unlinkIfThere(disk, join(this.#directory, name));
      else if (name.endsWith(ending)) ids.push(name.slice(0, -ending.length));
    }
    return ids.sort();
  }

  /** Whether there is a place for entries: whether anything was ever owed here, or could be. */
  async isMade(): Promise<boolean> {
    try {
      await this.#ports.disk.list(this.#directory);
      return true;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return false;
      throw error;
    }
  }

  /** `undefined`: there is none, it is of a later version, or it cannot be read: `wasSetAside`. */
  async read(id: string): Promise<OwedEntry | undefined> {
    const path = this.#pathOf(id);
    const bytes = await this.#bytesOf(path);
    if (bytes === undefined) return undefined;
    const { entry, problem } = readEntry(bytes);
    if (entry !== undefined && idBelongsTo(id, entry)) return entry;
    if (problem !== "newer") await this.#setAside(id, path);
    return undefined;
  }

  /**
   * Whether the entry of this id cannot be read. It stays, with a copy in quarantine, until it is
   * written anew or removed: what it owes is told by its name.
   */
  wasSetAside(id: string): boolean {
    return this.#aside.has(id);
  }

  /** Writes an entry whole. It survives a power cut when this resolves. */
  async write(id: string, entry: OwedEntry): Promise<void> {
    if (!this.#isMade) {
      await makeDirectory(this.#ports.disk, this.#directory);
      this.#isMade = true;
    }
    const bytes = encodeEntry(entry);
    await replaceFile(this.#ports, this.#pathOf(id), (file) => writeAll(file, bytes, 0));
    this.#aside.delete(id);
  }

  /** Removes an entry for good; one that is not there is fine. */
  async remove(id: string): Promise<void> {
    if (await unlinkIfThere(this.#ports.disk, this.#pathOf(id))) {
      await syncNames(this.#ports, this.#directory);
    }
    this.#aside.delete(id);
  }

  #pathOf(id: string): string {
    return join(this.#directory, id + ending);
  }

  async #bytesOf(path: string): Promise<Buffer | undefined> {
    const { disk } = this.#ports;
    let bytes: number;
    try {
      bytes = Math.min(await disk.size(path), maxEntryBytes + 1);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
      throw error;
    }
    const file = await disk.open(path, "read");
    try {
      const into = Buffer.alloc(bytes);
      let done = 0;
      while (done < bytes) {
        const count = await file.read(into.subarray(done), done);
        if (count === 0) break;
        done += count;
      }
      return into.subarray(0, done);
    } finally {
      await file.close();
    }
  }

  async #setAside(id: string, path: string): Promise<void> {
    if (this.#aside.has(id)) return;
    const file = await this.#ports.disk.open(path, "read");
    let bytes: number;
    let quarantined: string;
    try {
      bytes = await file.size();
      quarantined = await this.#quarantine.keep(path, file, 0, bytes);
    } finally {
      await file.close();
    }
    this.#aside.add(id);
    this.#ports.report({
      ...{ key: `outbox/${id}`, kind: "unreadable_document", bytes, after_seq: 0, quarantined },
      reason: "an entry of the outbox is not readable: what it owes is told by its name",
    });
  }
}

/**
 * `<name>` of a package, `<name>.sending`, `<name>.retraction`, `<name>.delete` and, for further
 * buckets, `.retraction-2` and `.delete-2`. Of a search its own name.
 */
export function idOf(kind: OwedEntry["kind"], name: string, copy = 1): string {
  if (kind === "package" || kind === "search") return name;
  return `${name}.${kind}${copy === 1 ? "" : `-${copy}`}`;
}

export function nameOfId(id: string): string {
  return id.split(".", 1)[0] ?? "";
}

export function kindOfId(id: string): OwedEntry["kind"] {
  if (searchOfId(id) !== undefined) return "search";
  const kind = /\.(sending|retraction|delete)(?:-\d+)?$/.exec(id)?.[1];
  return kind === undefined ? "package" : (kind as OwedEntry["kind"]);
}

function idBelongsTo(id: string, entry: OwedEntry): boolean {
  const plain = idOf(entry.kind, entry.name);
  const copy = id.slice(plain.length);
  return id.startsWith(plain) && (copy === "" || (plain.includes(".") && /^-\d+$/.test(copy)));
}
