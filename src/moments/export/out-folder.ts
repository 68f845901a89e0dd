import { basename, dirname, join } from "node:path";
import { ThroughlineError } from "../../core/errors.ts";
import { OutFile, type WrittenFile } from "./out-file.ts";
import type { ExportDisk } from "./ports.ts";

/** Written last: a folder that has it is an export, and whole. */
export const reportFile = "export-report.json";

/**
 * Lies in a folder that is being written, set aside or put in place: only such a one is ever removed or
 * put back. It comes first and goes last, so that a crash leaves no folder of ours without it.
 */
const markFile = ".throughline-export-unfinished";

/**
 * The folder of an export. It is filled under `<out>.partial/` and appears by one rename, so that
 * a reader never sees half of it. A partial of an export that died is removed by the next one.
 *
 * With `replace` the folder that is there is first set aside as `<out>.replaced/` and removed when
 * the new one stands; if the process dies in between, the next export puts it back. What has one of
 * these two names and is not ours, which a file in it tells, is left as it is, and the export refused.
 */
export class OutFolder {
  readonly #disk: ExportDisk;
  readonly #out: string;
  readonly #replace: boolean;
  readonly #open = new Set<OutFile>();
  readonly #files: WrittenFile[] = [];
  readonly #folders = new Set<string>();

  private constructor(disk: ExportDisk, out: string, replace: boolean) {
    this.#disk = disk;
    this.#out = out;
    this.#replace = replace;
  }

  /**
   * @throws ThroughlineError `THROUGHLINE_CONFLICT`: something is there, and `replace` is not set or
   * it is no export; it is a link; or what has the name of a partial or of one set aside is not ours.
   */
  static async begin(disk: ExportDisk, out: string, replace: boolean): Promise<OutFolder> {
    const folder = new OutFolder(disk, out, replace);
    await folder.#assertOurs();
    await folder.#settle();
    await folder.#stands();
    await folder.#removeTree(folder.#partial);
    await disk.mkdir(folder.#partial);
    await folder.#mark(folder.#partial);
    return folder;
  }

  get #partial(): string {
    return `${this.#out}.partial`;
  }
  get #replaced(): string {
    return `${this.#out}.replaced`;
  }

  /** Files that are finished, by path. */
  get files(): readonly WrittenFile[] {
    return this.#files.toSorted((a, b) => (a.path < b.path ? -1 : 1));
  }

  /** A new file; folders on its path are made. Finish it by `finish`. */
  async create(path: string): Promise<OutFile> {
    await this.#makeFolder(dirname(path));
    const file = new OutFile(path, await this.#disk.open(join(this.#partial, path), "create"));
    this.#open.add(file);
    return file;
  }

  async finish(file: OutFile): Promise<void> {
    this.#open.delete(file);
    this.#files.push(await file.finish());
  }

  async write(path: string, bytes: Uint8Array): Promise<void> {
    const file = await this.create(path);
    await file.write(bytes);
    await this.finish(file);
  }

  /** Resolves once the folder stands under its name, durable. */
  async commit(): Promise<void> {
    const disk = this.#disk;
    for (const folder of [...this.#folders].reverse()) {
      await disk.syncDirectory(join(this.#partial, folder));
    }
    await disk.syncDirectory(this.#partial);
    // Checked again: an export takes long, and something may have been put there since.
    await this.#assertOurs();
    if (await this.#stands()) {
      await this.#mark(this.#out);
      await disk.rename(this.#out, this.#replaced);
    }
    await disk.rename(this.#partial, this.#out);
    await disk.syncDirectory(dirname(this.#out));
    await this.#settle();
  }

  /** After an error: removes what was written. What stood before still stands. */
  async discard(): Promise<void> {
    for (const file of this.#open) await file.abandon();
    await this.#settle();
    await this.#removeTree(this.#partial);
  }

  /** Looks only. A folder is ours by its mark; an empty one is all that a crash left of ours. */
  async #assertOurs(): Promise<void> {
    const [out, ...beside] = [this.#out, this.#partial, this.#replaced];
    const kinds = await this.#kinds();
    // A rename would move the link, and a look through it finds what another name stands for.
    if (kinds.get(basename(out)) === "other") {
      throw refusal(`${out} is a link, or no folder: name the folder that it leads to`);
    }
    await this.#stands();
    for (const path of beside) {
      const isFolder = (kinds.get(basename(path)) ?? "directory") === "directory";
      const names = isFolder ? await this.#names(path) : undefined;
      if (isFolder && (names === undefined || names.length === 0 || isMarked(names))) continue;
      throw refusal(`${path} is in the way, and not known to be left of an export: move it away`);
    }
  }

  /** Whether an earlier export stands there, to be replaced. @throws as `begin` */
  async #stands(): Promise<boolean> {
    const there = await this.#names(this.#out);
    if (there === undefined) return false;
    if (!this.#replace) throw refusal("the folder of the export is there already");
    // A wrong path must not cost somebody a folder of something else.
    if (there.length > 0 && !there.includes(reportFile)) {
      throw refusal("what is to be replaced is not an export");
    }
    return true;
  }

  /** Puts back what was set aside and not replaced, or else ends its removal. Then no mark is left. */
  async #settle(): Promise<void> {
    const aside = await this.#names(this.#replaced);
    const isReplaced = (await this.#names(this.#out)) !== undefined;
    if (aside !== undefined && isMarked(aside) && !isReplaced) {
      await this.#disk.rename(this.#replaced, this.#out);
      await this.#disk.syncDirectory(dirname(this.#out));
    } else if (aside !== undefined && (isMarked(aside) || aside.length === 0)) {
      await this.#removeTree(this.#replaced);
    }
    if (isMarked((await this.#names(this.#out)) ?? [])) await this.#unmark(this.#out);
  }

  /** Resolves once the mark is durable: nothing is done to the folder before. */
  async #mark(folder: string): Promise<void> {
    await (await this.#disk.open(join(folder, markFile), "create")).close();
    await this.#disk.syncDirectory(folder);
  }

  async #unmark(folder: string): Promise<void> {
    await this.#disk.unlink(join(folder, markFile));
    await this.#disk.syncDirectory(folder);
  }

  async #makeFolder(path: string): Promise<void> {
    if (path === "." || this.#folders.has(path)) return;
    await this.#makeFolder(dirname(path));
    await this.#disk.mkdir(join(this.#partial, path));
    this.#folders.add(path);
  }

  /** What lies beside the folder, by name: here a link is a link. */
  async #kinds(): Promise<ReadonlyMap<string, string>> {
    try {
      const beside = await this.#disk.list(dirname(this.#out));
      return new Map(beside.map(({ name, kind }) => [name, kind]));
    } catch (error) {
      // Told by who comes next: the look at the folder itself, or the making of one.
      if (codeOf(error) === "ENOENT" || codeOf(error) === "ENOTDIR") return new Map();
      throw error;
    }
  }

  /** Names in a folder; undefined: there is nothing under that name. */
  async #names(path: string): Promise<readonly string[] | undefined> {
    try {
      return (await this.#disk.list(path)).map(({ name }) => name);
    } catch (error) {
      if (codeOf(error) === "ENOENT") return undefined;
      if (codeOf(error) === "ENOTDIR") {
        throw refusal(`a file stands where the folder ${this.#out}, or one above it, goes`, error);
      }
      throw error;
    }
  }

  /** The mark goes last, and once all else is gone for good. */
  async #removeTree(path: string): Promise<void> {
    if ((await this.#names(path)) === undefined) return;
    const entries = await this.#disk.list(path);
    for (const { name, kind } of entries) {
      if (kind === "directory") await this.#removeTree(join(path, name));
      else if (name !== markFile) await this.#disk.unlink(join(path, name));
    }
    if (isMarked(entries.map(({ name }) => name))) {
      await this.#disk.syncDirectory(path);
      await this.#disk.unlink(join(path, markFile));
    }
    await this.#disk.rmdir(path);
  }
}

const isMarked = (names: readonly string[]) => names.includes(markFile);

function refusal(message: string, cause?: unknown): ThroughlineError {
  return new ThroughlineError(message, { code: "THROUGHLINE_CONFLICT", cause });
}

function codeOf(error: unknown): unknown {
  return typeof error === "object" && error !== null && "code" in error ? error.code : undefined;
}
