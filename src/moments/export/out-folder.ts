import { createHash } from "node:crypto";
import { basename, dirname, join } from "node:path";
import { ThroughlineError } from "../../core/errors.ts";
import { randomId } from "../../core/ids.ts";
import type { Disk } from "../../core/storage/disk/disk.ts";
import { isCode, isRunning, unlessAbsent, writeAll } from "../../core/storage/files/file-ports.ts";
import { entriesOf } from "../directory/names.ts";
import { removeTree } from "../directory/remove.ts";

/** A file that was written. */
export interface WrittenFile {
  /** From the export's folder, with `/`. */
  readonly path: string;
  readonly bytes: number;
  /** 64 lower-case hex digits. */
  readonly sha256: string;
}

type Pieces = AsyncIterable<Uint8Array> | Iterable<Uint8Array>;

/** Written last: a folder that has it is an export, and whole. */
export const reportFile = "export-report.json";

/** Whether a name is that of a folder beside `out` that an export of ours left, being written or set aside. */
function isBeside(out: string, name: string, as: "partial" | "replaced"): boolean {
  const start = `${basename(out)}.${as}-`;
  const [, pid] = /^(\d+)-[0-9a-z]{18}$/.exec(name.slice(start.length)) ?? [];
  return name.startsWith(start) && pid !== undefined && !isRunning(Number(pid));
}

/**
 * The folder of an export. It is filled under a name of its own beside its place and appears by one rename, so
 * that a reader never sees half of it. What an export left that died is removed by the next one; of two at once the
 * first to end has the place.
 *
 * With `replace` the folder that is there is first set aside and removed when the new one stands; if the
 * process dies in between, the next export puts it back.
 */
export class OutFolder {
  readonly #disk: Disk;
  readonly #out: string;
  readonly #replace: boolean;
  readonly #partial: string;
  readonly #files: WrittenFile[] = [];
  readonly #folders = new Set<string>();

  private constructor(disk: Disk, out: string, replace: boolean) {
    this.#disk = disk;
    this.#out = out;
    this.#replace = replace;
    this.#partial = `${out}.partial-${process.pid}-${randomId()}`;
  }

  /**
   * @throws ThroughlineError `THROUGHLINE_CONFLICT`: something is there, and `replace` is not set or
   * it is no export; or it is a link.
   */
  static async begin(disk: Disk, out: string, replace: boolean): Promise<OutFolder> {
    const folder = new OutFolder(disk, out, replace);
    await folder.settle();
    await folder.#stands();
    await disk.mkdir(folder.#partial);
    return folder;
  }

  /** Files that are finished, by path. */
  get files(): readonly WrittenFile[] {
    return this.#files.toSorted((a, b) => (a.path < b.path ? -1 : 1));
  }

  /**
   * Writes a file; folders on its path are made. What yields the pieces may write other files in between. Without
   * a piece there is no file: an empty one fails its readers.
   */
  async write(path: string, pieces: Pieces): Promise<void> {
    const hash = createHash("sha256");
    let file: Awaited<ReturnType<Disk["open"]>> | undefined;
    let bytes = 0;
    try {
      for await (const piece of pieces) {
        file ??= await this.#create(path);
        hash.update(piece);
        await writeAll(file, piece, bytes);
        bytes += piece.length;
      }
      await file?.sync();
    } catch (error) {
      await file?.close().catch(() => undefined); // the first error is the news
      throw error;
    }
    await file?.close();
    if (file !== undefined) this.#files.push({ path, bytes, sha256: hash.digest("hex") });
  }

  async #create(path: string) {
    await this.#makeFolder(dirname(path));
    return this.#disk.open(join(this.#partial, path), "create");
  }

  async #makeFolder(path: string): Promise<void> {
    if (path === "." || this.#folders.has(path)) return;
    await this.#makeFolder(dirname(path));
    await this.#disk.mkdir(join(this.#partial, path));
    this.#folders.add(path);
  }

  /** Resolves once the folder stands under its name, durable. */
  async commit(): Promise<void> {
    const disk = this.#disk;
    for (const folder of [...this.#folders].reverse()) {
      await disk.syncDirectory(join(this.#partial, folder));
    }
    await disk.syncDirectory(this.#partial);
    // Checked again: an export takes long, and something may have been put there since.
    const aside = `${this.#out}.replaced-${process.pid}-${randomId()}`;
    if (await this.#stands()) await disk.rename(this.#out, aside);
    await disk.rename(this.#partial, this.#out);
    await disk.syncDirectory(dirname(this.#out));
    await this.settle();
  }

  /** Whether an earlier export stands there, to be replaced. @throws as `begin` */
  async #stands(): Promise<boolean> {
    const kind = (await this.#beside()).find(({ name }) => name === basename(this.#out))?.kind;
    // A rename would move the link, and a look through it finds what another name stands for.
    if (kind === "other") {
      throw refusal(`${this.#out} is a link, or no folder: name the folder that it leads to`);
    }
    if (kind === "file") throw isFile(this.#out);
    if (kind === undefined) return false;
    if (!this.#replace) throw refusal("the folder of the export is there already");
    // A wrong path must not cost somebody a folder of something else.
    const names = ((await entriesOf(this.#disk, this.#out)) ?? []).map(({ name }) => name);
    if (names.length > 0 && !names.includes(reportFile)) {
      throw refusal("what is to be replaced is not an export");
    }
    return true;
  }

  /**
   * Puts back what was set aside and not replaced, or else ends its removal. Removes what is not whole: after an error
   * that is this export, and what stood before still stands.
   */
  async settle(): Promise<void> {
    const beside = await this.#beside();
    const parent = dirname(this.#out);
    let isThere = beside.some(({ name }) => name === basename(this.#out));
    for (const { name, kind } of beside) {
      const isAside = isBeside(this.#out, name, "replaced");
      if (kind !== "directory" || !(isAside || isBeside(this.#out, name, "partial"))) continue;
      if (isAside && !isThere) {
        await this.#disk.rename(join(parent, name), this.#out);
        isThere = true;
      } else await removeTree(this.#disk, join(parent, name));
      await this.#disk.syncDirectory(parent);
    }
  }

  /** What lies in the folder above. Here a link is a link. */
  async #beside() {
    try {
      return (await this.#disk.list(dirname(this.#out)).catch(unlessAbsent)) ?? [];
    } catch (error) {
      throw isCode(error, "ENOTDIR") ? isFile(this.#out, error) : error;
    }
  }
}

function isFile(out: string, cause?: unknown): ThroughlineError {
  return refusal(`a file stands where the folder ${out}, or one above it, goes`, cause);
}

function refusal(message: string, cause?: unknown): ThroughlineError {
  return new ThroughlineError(message, { code: "THROUGHLINE_CONFLICT", cause });
}
