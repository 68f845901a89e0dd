import { dirname, join } from "node:path";
import { ThroughlineError } from "../../errors.ts";
import { OutFile, type WrittenFile } from "./out-file.ts";
import type { ExportDisk } from "./ports.ts";

/** Written last: a folder that has it is an export, and whole. */
export const reportFile = "export-report.json";

/**
 * The folder of an export. It is filled under `<out>.partial/` and appears by one rename, so that
 * nobody reads half of it. A partial of an export that died is removed by the next one.
 *
 * With `replace` the folder that is there is first set aside as `<out>.replaced/` and removed when
 * the new one stands; if the process dies in between, the next export puts it back.
 */
export class OutFolder {
  readonly #disk: ExportDisk;
  readonly #out: string;
  readonly #open = new Set<OutFile>();
  readonly #files: WrittenFile[] = [];
  readonly #folders = new Set<string>();

  private constructor(disk: ExportDisk, out: string) {
    this.#disk = disk;
    this.#out = out;
  }

  /**
   * @throws ThroughlineError `THROUGHLINE_CONFLICT`: something is there, and `replace` is not set or
   * it is no export.
   */
  static async begin(disk: ExportDisk, out: string, replace: boolean): Promise<OutFolder> {
    const folder = new OutFolder(disk, out);
    await folder.#restore();
    const there = await names(disk, out);
    if (there !== undefined && !replace) {
      throw new ThroughlineError("the folder of the export is there already", conflict);
    }
    // A wrong path must not cost somebody a folder of something else.
    if (there !== undefined && there.length > 0 && !there.includes(reportFile)) {
      throw new ThroughlineError("what is to be replaced is not an export", conflict);
    }
    await removeTree(disk, folder.#partial);
    await disk.mkdir(folder.#partial);
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

  /** Gives finished files their last names, in the order of the pairs. */
  async rename(pairs: readonly (readonly [from: string, to: string])[]): Promise<void> {
    for (const [from, to] of pairs) {
      await this.#disk.rename(join(this.#partial, from), join(this.#partial, to));
      const index = this.#files.findIndex(({ path }) => path === from);
      const file = this.#files[index];
      if (file !== undefined) this.#files[index] = { ...file, path: to };
    }
  }

  /** Resolves once the folder stands under its name, durable. */
  async commit(): Promise<void> {
    const disk = this.#disk;
    for (const folder of [...this.#folders].reverse()) {
      await disk.syncDirectory(join(this.#partial, folder));
    }
    await disk.syncDirectory(this.#partial);
    if ((await names(disk, this.#out)) !== undefined) await disk.rename(this.#out, this.#replaced);
    await disk.rename(this.#partial, this.#out);
    await disk.syncDirectory(dirname(this.#out));
    await removeTree(disk, this.#replaced);
  }

  /** After an error: removes what was written. What stood before still stands. */
  async discard(): Promise<void> {
    for (const file of this.#open) await file.abandon();
    await this.#restore();
    await removeTree(this.#disk, this.#partial);
  }

  async #restore(): Promise<void> {
    if ((await names(this.#disk, this.#replaced)) === undefined) return;
    if ((await names(this.#disk, this.#out)) === undefined) {
      await this.#disk.rename(this.#replaced, this.#out);
    } else await removeTree(this.#disk, this.#replaced);
  }

  async #makeFolder(path: string): Promise<void> {
    if (path === "." || this.#folders.has(path)) return;
    await this.#makeFolder(dirname(path));
    await this.#disk.mkdir(join(this.#partial, path));
    this.#folders.add(path);
  }
}

const conflict = { code: "THROUGHLINE_CONFLICT" } as const;

/** Names in a folder; undefined: there is nothing under that name. */
async function names(disk: ExportDisk, path: string): Promise<readonly string[] | undefined> {
  try {
    return (await disk.list(path)).map(({ name }) => name);
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    if (codeOf(error) === "ENOTDIR") {
      throw new ThroughlineError("a file stands where the export's folder goes", {
        ...conflict,
        cause: error,
      });
    }
    throw error;
  }
}

async function removeTree(disk: ExportDisk, path: string): Promise<void> {
  if ((await names(disk, path)) === undefined) return;
  for (const { name, kind } of await disk.list(path)) {
    if (kind === "directory") await removeTree(disk, join(path, name));
    else await disk.unlink(join(path, name));
  }
  await disk.rmdir(path);
}

function codeOf(error: unknown): unknown {
  return typeof error === "object" && error !== null && "code" in error ? error.code : undefined;
}
