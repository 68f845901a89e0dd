import type { Hash } from "node:crypto";
import { lstat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { chunks, unlessAbsent } from "../../cli/doctor/home-files.ts";
import { Failed, isErrno } from "../../cli/failure.ts";
import { randomId } from "../../core/ids.ts";
import type { Disk, DiskFile } from "../../core/storage/disk/disk.ts";
import { makeDirectory, writeAll } from "../../core/storage/files/file-ports.ts";

/** A folder that is filled under another name beside its own, and appears whole by one rename. */
export class NewFolder {
  /** Where it is filled. */
  readonly path: string;
  readonly #disk: Disk;
  readonly #target: string;
  readonly #made = new Map<string, Promise<void>>();

  private constructor(disk: Disk, target: string, path: string) {
    this.#disk = disk;
    this.#target = target;
    this.path = path;
  }

  /**
   * Removes what killed runs for the same place left, and makes an empty folder.
   *
   * @param word tells what such a folder is from: `backup.partial-…`.
   */
  static async begin(disk: Disk, target: string, word: string): Promise<NewFolder> {
    const parent = dirname(target);
    const start = `${basename(target)}.${word}-`;
    try {
      await makeDirectory(disk, parent);
      for (const { name, kind } of await disk.list(parent)) {
        const isLeft = name.startsWith(start) && /^[0-9a-z]{18}$/.test(name.slice(start.length));
        if (isLeft && kind === "directory") await removeTree(disk, join(parent, name));
      }
      const path = join(parent, start + randomId());
      await disk.mkdir(path);
      return new NewFolder(disk, target, path);
    } catch (cause) {
      if (!isErrno(cause, "EACCES", "EPERM", "EROFS", "ENOTDIR", "ENAMETOOLONG")) throw cause;
      const { code } = cause as NodeJS.ErrnoException;
      throw new Failed(`${target} cannot be written (${code})`, {
        code: "THROUGHLINE_CONFIGURATION",
        wayOut: "Choose a place in a folder that you can write to.",
        cause,
      });
    }
  }

  /** Creates a file, and the folders above it. @param name with `/` between the names. */
  async create(name: string): Promise<DiskFile> {
    await this.#makeFolder(dirname(name));
    return this.#disk.open(join(this.path, name), "create");
  }

  open(name: string): Promise<DiskFile> {
    return this.#disk.open(join(this.path, name), "write");
  }

  unlink(name: string): Promise<void> {
    return this.#disk.unlink(join(this.path, name));
  }

  /**
   * Gives it its own name. Its files must be synced; their names become durable here.
   *
   * @throws ThroughlineError `THROUGHLINE_CONFLICT`: something is there by now.
   */
  async appear(): Promise<void> {
    // Those within others first. One that is empty again may be named after a chat that was forgotten.
    for (const folder of [...this.#made.keys()].reverse()) {
      const path = join(this.path, folder);
      if ((await this.#disk.list(path)).length === 0) await this.#disk.rmdir(path);
      else await this.#disk.syncDirectory(path);
    }
    await this.#disk.syncDirectory(this.path);
    try {
      // An empty folder may be there, and not every system renames over one.
      await this.#disk.rmdir(this.#target).catch(unlessAbsent);
      await this.#disk.rename(this.path, this.#target);
    } catch (cause) {
      if (!isErrno(cause, "ENOTEMPTY", "EEXIST", "ENOTDIR")) throw cause;
      throw isTaken(this.#target, cause);
    }
    await this.#disk.syncDirectory(dirname(this.#target));
  }

  /** Removes it with everything in it. */
  remove(): Promise<void> {
    return removeTree(this.#disk, this.path);
  }

  #makeFolder(folder: string): Promise<void> {
    if (folder === ".") return Promise.resolve();
    const made =
      this.#made.get(folder) ??
      this.#makeFolder(dirname(folder)).then(() => this.#disk.mkdir(join(this.path, folder)));
    this.#made.set(folder, made);
    return made;
  }
}

/**
 * @throws ThroughlineError `THROUGHLINE_CONFLICT`: something is there, other than an empty folder.
 * `THROUGHLINE_CONFIGURATION`: it is the root of a disk, where no folder can appear by a rename.
 */
export async function assertFree(disk: Disk, path: string): Promise<void> {
  const stats = await lstat(path).catch(unlessAbsent);
  if (stats === undefined) return;
  const isEmpty = stats.isDirectory() && (await disk.list(path)).length === 0;
  if (!isEmpty) throw isTaken(path);
  if (stats.dev === (await lstat(dirname(path))).dev) return;
  throw new Failed(`${path} is where a disk or a volume is mounted`, {
    code: "THROUGHLINE_CONFIGURATION",
    wayOut: "Name a folder in it instead. It is created.",
  });
}

function isTaken(path: string, cause?: unknown): Failed {
  return new Failed(`${path} exists and is not an empty folder. Nothing was changed`, {
    code: "THROUGHLINE_CONFLICT",
    wayOut: "Choose another place, or move away what is there.",
    cause,
  });
}

/** Copies bytes to the same place in another file, in bounded memory. @returns how many there were. */
export async function copyRange(
  from: DiskFile,
  to: DiskFile,
  start: number,
  end: number,
  { signal, hash }: { readonly signal: AbortSignal; readonly hash: Hash },
): Promise<number> {
  let count = 0;
  for await (const { bytes, at } of chunks(from, start, end, signal)) {
    hash.update(bytes);
    await writeAll(to, bytes, at);
    count += bytes.length;
  }
  return count;
}

async function removeTree(disk: Disk, path: string): Promise<void> {
  for (const { name, kind } of await disk.list(path)) {
    const inner = join(path, name);
    await (kind === "directory" ? removeTree(disk, inner) : disk.unlink(inner));
  }
  await disk.rmdir(path);
}
