import type { PackageDirectory } from "./package-directory.ts";

/** How long a count holds, in milliseconds, when nothing is known to have changed. */
const freshMs = 5_000;

/**
 * How much the packages of a directory take, counted in the background: reading 10,000 of them
 * takes seconds, and no caller waits for that.
 */
export class PackageBytes {
  readonly #packages: PackageDirectory;
  readonly #monotonic: () => number;
  #bytes: number | null = null;
  #countedAt = Number.NEGATIVE_INFINITY;
  #counting: Promise<void> | undefined;
  #isOver = false;

  constructor(packages: PackageDirectory, monotonic: () => number) {
    this.#packages = packages;
    this.#monotonic = monotonic;
  }

  /** As it was counted last, at most some seconds ago; `null` before the first count. */
  get bytes(): number | null {
    const isOld = this.#monotonic() - this.#countedAt > freshMs;
    if (isOld) void this.count();
    return this.#bytes;
  }

  /** Resolves when they are counted, or cannot be. */
  count(): Promise<void> {
    this.#counting ??= this.#count()
      .catch(() => undefined) // the disk refuses: the number stays what it was
      .finally(() => {
        this.#counting = undefined;
      });
    return this.#counting;
  }

  /** Counts no more. */
  async close(): Promise<void> {
    this.#isOver = true;
    await this.#counting;
  }

  async #count(): Promise<void> {
    let bytes = 0;
    let before: string | undefined;
    this.#countedAt = this.#monotonic();
    do {
      if (this.#isOver) return;
      const page: Awaited<ReturnType<PackageDirectory["list"]>> = await this.#packages.list({
        limit: 100,
        before,
      });
      for (const one of page.packages) bytes += one.bytes;
      before = page.next ?? undefined;
    } while (before !== undefined);
    this.#bytes = bytes;
  }
}
