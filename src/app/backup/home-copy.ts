import { createHash, type Hash } from "node:crypto";
import {
  hashInName,
  isLog,
  listHome,
  type SourceFile,
  sourceFile,
} from "../../cli/doctor/home-files.ts";
import { beginsWith, endOfLog } from "../../cli/doctor/log-end.ts";
import type { Clock } from "../../core/clock.ts";
import { concurrently } from "../../core/concurrently.ts";
import type { Disk, DiskFile } from "../../core/storage/disk/disk.ts";
import { copyRange, type NewFolder } from "./new-folder.ts";

/** A file in the backup. */
interface CopiedFile {
  readonly bytes: number;
  /** SHA-256 of what was read in the home. */
  readonly hash: Hash;
  readonly isLog: boolean;
  readonly source: SourceFile;
  /** It was changed so shortly before that a change after it may bear the same time. */
  readonly isRecent: boolean;
}

/** A file of the home, open. */
interface FoundFile {
  readonly source: SourceFile;
  readonly isRecent: boolean;
  readonly file: DiskFile;
  /** Up to where it is a log. */
  readonly end: number | undefined;
}

interface HomeCopyPorts {
  readonly disk: Disk;
  readonly home: string;
  readonly folder: NewFolder;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly progress: (done: number, all: number) => void;
}

/** So many files are copied at once. */
export const filesAtOnce = 8;

/** The clock of a file system moves in steps, of 10 ms at most. */
const clockStepMs = 50;

/**
 * The copy of a home that another process may be changing. It is made in passes: after each one, every file
 * in the copy is as the home had it at some moment since that pass began. So what was forgotten, erased
 * or replaced before that is not in it.
 */
export class HomeCopy {
  readonly files = new Map<string, CopiedFile>();
  /** What is not in the copy, with the reason. */
  readonly leftOut = new Map<string, string>();
  /** Files of the home that could not be read. */
  readonly unread = new Map<string, string>();
  readonly #ports: HomeCopyPorts;
  #hasRemoved = false;

  constructor(ports: HomeCopyPorts) {
    this.#ports = ports;
  }

  /** Copies what is new or was changed. @returns whether something was forgotten or erased since. */
  async pass(): Promise<boolean> {
    const { disk, home, progress, signal } = this.#ports;
    this.#hasRemoved = false;
    this.unread.clear();
    this.leftOut.clear();
    const { paths, others } = await listHome(disk, home);
    for (const [path, says] of others) this.leftOut.set(path, says);
    const listed = new Set(paths);
    for (const name of [...this.files.keys()]) if (!listed.has(name)) await this.#remove(name);
    let done = 0;
    for (const group of groupsOf(paths)) {
      await concurrently(group, filesAtOnce, async (name) => {
        signal.throwIfAborted();
        await this.#look(name);
        progress(++done, paths.length);
      });
    }
    // A message is stored after its attachments: those that came since the list was made may be in a log.
    const now = await listHome(disk, home);
    const later = now.paths.filter((path) => hashInName(path) !== undefined && !listed.has(path));
    await concurrently(later, filesAtOnce, (name) => this.#look(name));
    return this.#hasRemoved;
  }

  async #look(name: string): Promise<void> {
    try {
      const source = await sourceFile(this.#ports.home, name);
      if (source === undefined) await this.#remove(name);
      else if (!this.#isUpToDate(name, source)) await this.#update(name, source);
    } catch (error) {
      // Of the file in the home: what is wrong with the backup's own files ends the command.
      const { path, syscall, code } = error as NodeJS.ErrnoException;
      const isOfHome = syscall === "read" || path?.startsWith(this.#ports.folder.path) === false;
      if (code === undefined || !isOfHome) throw error;
      await this.#remove(name);
      if (code !== "ENOENT") this.unread.set(name, `cannot be read (${code})`);
    }
  }

  #isUpToDate(name: string, now: SourceFile): boolean {
    const known = this.files.get(name);
    if (known === undefined || known.isRecent) return false;
    const { path, device, inode, size, changedNs } = known.source;
    const isSameFile = path === now.path && device === now.device && inode === now.inode;
    return isSameFile && size === now.size && changedNs === now.changedNs;
  }

  async #update(name: string, source: SourceFile): Promise<void> {
    const { clock, disk } = this.#ports;
    const changedMs = Number(source.changedNs / 1_000_000n);
    const isRecent = clock.now() - changedMs < clockStepMs;
    const file = await disk.open(source.path, "read");
    try {
      const end = isLog(name) ? await endOfLog(file) : undefined;
      const found = { source, isRecent, file, end };
      const known = this.files.get(name);
      const isLogOfOurs = end !== undefined && known?.isLog === true;
      if (isLogOfOurs && (await this.#continue(name, known, found))) return;
      this.#hasRemoved ||= isLogOfOurs;
      if (known !== undefined) await this.#unlink(name);
      await this.#copy(name, found);
    } finally {
      await file.close();
    }
  }

  /** Adds to the copy of a log what the log got since. @returns whether it is still the same log. */
  async #continue(name: string, known: CopiedFile, found: FoundFile): Promise<boolean> {
    const { source, isRecent, file, end = 0 } = found;
    const copy = await this.#ports.folder.open(name);
    try {
      if (!(await beginsWith(file, copy, known.bytes))) return false;
      const { signal } = this.#ports;
      const bytes = await copyRange(file, copy, known.bytes, end, { signal, hash: known.hash });
      this.files.set(name, { ...known, bytes: known.bytes + bytes, source, isRecent });
    } finally {
      await copy.close();
    }
    return true;
  }

  async #copy(name: string, { source, isRecent, file, end }: FoundFile): Promise<void> {
    const { folder, signal } = this.#ports;
    const copy = await folder.create(name);
    try {
      const hash = createHash("sha256");
      const bytes = await copyRange(file, copy, 0, end ?? (await file.size()), { signal, hash });
      this.files.set(name, { bytes, hash, isLog: end !== undefined, source, isRecent });
    } catch (error) {
      await folder.unlink(name);
      throw error;
    } finally {
      await copy.close();
    }
  }

  async #remove(name: string): Promise<void> {
    if (!this.files.has(name)) return;
    this.#hasRemoved = true;
    await this.#unlink(name);
  }

  async #unlink(name: string): Promise<void> {
    await this.#ports.folder.unlink(name);
    this.files.delete(name);
  }
}

/**
 * In this order. The marks of what was forgotten come first: what a mark calls removed is then looked at
 * after it was removed. Logs come last: no document speaks of records that the copy lacks.
 */
function groupsOf(paths: readonly string[]): readonly (readonly string[])[] {
  const isMark = (path: string) => path.startsWith("forgotten/");
  return [
    paths.filter(isMark),
    paths.filter((path) => !isMark(path) && !isLog(path)),
    paths.filter((path) => !isMark(path) && isLog(path)),
  ];
}
