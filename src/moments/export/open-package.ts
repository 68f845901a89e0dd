import { webcrypto } from "node:crypto";
import { concurrently } from "../../core/concurrently.ts";
import { isThroughlineError } from "../../core/errors.ts";
import { manifestFile } from "../directory/content.ts";
import { readManifest, readMessages } from "../package/read-manifest.ts";
import type { Manifest, PackageMessage } from "../package/record.ts";
import type { SkipReason } from "./selection.ts";

/** Where packages come from. All calls only read. */
export interface ExportSource {
  /** Every package once, in any order, and why one is not even to be read. */
  list(): AsyncIterable<{ readonly name: string; readonly reason?: SkipReason | undefined }>;
  /**
   * @param path of a file in the package, as its manifest has it, or `feedback.json`.
   * @param allocate gives the memory that the bytes may lie in, or throws what is to be thrown.
   */
  part(name: string, path: string, allocate?: (bytes: number) => Buffer): Promise<Buffer>;
  /**
   * Whether every file is as the manifest has it, and no other is there. Those in `compared` are not
   * read again: the caller compared them.
   */
  isWhole(name: string, compared: ReadonlySet<string>): Promise<boolean>;
}

/** Thrown where a package turns out not to be what its manifest says; it is skipped. */
export class SkippedPackage extends Error {
  override readonly name = "SkippedPackage";
  readonly reason: SkipReason;
  constructor(reason: SkipReason, options?: { readonly cause?: unknown }) {
    super(`the package is skipped: ${reason}`, options);
    this.reason = reason;
  }
}

/** @throws SkippedPackage `unverified`, `newer`. */
export async function openManifest(source: ExportSource, name: string): Promise<Manifest> {
  const bytes = await present(source.part(name, manifestFile));
  const { manifest, problem } = readManifest(bytes);
  if (manifest === undefined) {
    throw new SkippedPackage(problem.kind === "newer" ? "newer" : "unverified");
  }
  if (manifest.name !== name) throw new SkippedPackage("unverified");
  return manifest;
}

const { subtle } = webcrypto;

/** One after the other, a disk's answers take longer than what is done with them. */
const readsAtOnce = 8;

/** A package that is being exported: every byte that it gives was compared with the manifest. */
export class OpenPackage {
  readonly manifest: Manifest;
  readonly #entries: ReadonlyMap<string, Manifest["files"][number]>;
  /** The paths of what was given. */
  readonly #compared = new Set<string>();
  readonly #source: ExportSource;

  constructor(source: ExportSource, manifest: Manifest) {
    this.#source = source;
    this.manifest = manifest;
    this.#entries = new Map(manifest.files.map((file) => [file.path, file]));
  }

  async messages(): Promise<readonly PackageMessage[]> {
    const messages = readMessages(await this.part("messages.json"));
    if (messages === undefined) throw new SkippedPackage("unverified");
    return messages;
  }

  async part(path: string): Promise<Buffer> {
    const entry = this.#entries.get(path);
    const allocate = (bytes: number) => {
      // Before it is read: what took a file's place may have any size.
      if (bytes !== entry?.bytes) throw new SkippedPackage("unverified");
      return Buffer.allocUnsafe(bytes);
    };
    const bytes = await present(this.#source.part(this.manifest.name, path, allocate));
    // In another thread: half of an export is hashing.
    const digest = Buffer.from(await subtle.digest("SHA-256", bytes)).toString("hex");
    if (entry?.bytes !== bytes.length || entry.sha256 !== digest) {
      throw new SkippedPackage("unverified");
    }
    this.#compared.add(path);
    return bytes;
  }

  /** The files of these paths, in their order. */
  async parts(paths: readonly string[]): Promise<readonly Buffer[]> {
    const read: Buffer[] = [];
    await concurrently(paths, readsAtOnce, async (path, index) => {
      read[index] = await this.part(path);
    });
    return read;
  }

  /**
   * Compares what was not given too: of a damaged package nothing is exported. Each file is read once.
   *
   * @throws SkippedPackage `unverified`
   */
  async verifyRest(): Promise<void> {
    const isWhole = await present(this.#source.isWhole(this.manifest.name, this.#compared));
    if (!isWhole) throw new SkippedPackage("unverified");
  }
}

/** A package that was deleted since the listing is one that cannot be verified. */
async function present<T>(reading: Promise<T>): Promise<T> {
  try {
    return await reading;
  } catch (cause) {
    const isGone =
      isThroughlineError(cause, "THROUGHLINE_NOT_FOUND") ||
      (cause instanceof Error && "code" in cause && cause.code === "ENOENT");
    if (isGone) throw new SkippedPackage("unverified", { cause });
    throw cause;
  }
}
