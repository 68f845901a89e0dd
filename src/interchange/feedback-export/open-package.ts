import { webcrypto } from "node:crypto";
import { isThroughlineError } from "../../errors.ts";
import { type JpegFault, jpegFault } from "../../memories/moment/export/jpeg-check.ts";
import type { SkipReason } from "../../memories/moment/export/selection.ts";
import {
  type Manifest,
  type PackageMessage,
  readManifest,
  readMessages,
} from "../../targets/package/package-format.ts";
import type { ExportSource } from "./ports.ts";

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
  const bytes = await present(source.manifest(name));
  const { manifest, problem } = readManifest(bytes);
  if (manifest === undefined) {
    throw new SkippedPackage(problem.kind === "newer" ? "newer" : "unverified");
  }
  if (manifest.name !== name) throw new SkippedPackage("unverified");
  return manifest;
}

export interface Picture {
  /** In the package: `frames/000000.jpg`. */
  readonly file: string;
  readonly bytes: Buffer;
}

const { subtle } = webcrypto;

/** One after the other, a disk's answers take longer than what is done with them. */
const readsAtOnce = 8;

/** A package that is being exported: every byte that it gives was compared with the manifest. */
export class OpenPackage {
  readonly manifest: Manifest;
  readonly #entries: ReadonlyMap<string, Manifest["files"][number]>;
  /** Called with each picture that is left out. */
  readonly #onCorrupt: (file: string) => void;
  readonly #source: ExportSource;
  readonly #decodes: ((jpeg: Uint8Array) => Promise<boolean>) | undefined;

  constructor(
    source: ExportSource,
    manifest: Manifest,
    hooks: {
      readonly decodes: ((jpeg: Uint8Array) => Promise<boolean>) | undefined;
      readonly onCorrupt: (file: string) => void;
    },
  ) {
    this.#source = source;
    this.manifest = manifest;
    this.#entries = new Map(manifest.files.map((file) => [file.path, file]));
    this.#decodes = hooks.decodes;
    this.#onCorrupt = hooks.onCorrupt;
  }

  async messages(): Promise<readonly PackageMessage[]> {
    const path = "messages.json";
    const read = await present(this.#source.messages(this.manifest.name));
    const bytes = await this.#checked(path, read);
    const messages = readMessages(bytes);
    if (messages === undefined) throw new SkippedPackage("unverified");
    return messages;
  }

  async part(path: string): Promise<Buffer> {
    const bytes = await present(this.#source.part(this.manifest.name, path));
    return await this.#checked(path, bytes);
  }

  /** The pictures of these that are whole, in their order. Each other one was reported. */
  async pictures(files: readonly string[]): Promise<readonly Picture[]> {
    const read: (Picture | undefined)[] = [];
    const left = [...files.entries()].reverse();
    const readOn = async () => {
      for (let next = left.pop(); next !== undefined; next = left.pop()) {
        const [index, file] = next;
        read[index] = await this.#picture(file);
      }
    };
    try {
      await Promise.all(Array.from({ length: readsAtOnce }, readOn));
    } finally {
      left.length = 0; // after an error nobody reads on
    }
    return read.filter((picture) => picture !== undefined);
  }

  async #picture(file: string): Promise<Picture | undefined> {
    const bytes = await this.part(file);
    const fault: JpegFault | undefined = jpegFault(bytes);
    const isWhole = fault === undefined && ((await this.#decodes?.(bytes)) ?? true);
    if (isWhole) return { file, bytes };
    this.#onCorrupt(file);
    return undefined;
  }

  /** It may have changed or gone since the listing was made. */
  async #checked(path: string, bytes: Buffer): Promise<Buffer> {
    const entry = this.#entries.get(path);
    if (entry?.bytes !== bytes.length) throw new SkippedPackage("unverified");
    // In another thread: half of an export is hashing.
    const digest = await subtle.digest("SHA-256", bytes);
    const isSame = entry.sha256 === Buffer.from(digest).toString("hex");
    if (!isSame) throw new SkippedPackage("unverified");
    return bytes;
  }
}

/** A package that was deleted since the listing is one that cannot be verified. */
async function present(reading: Promise<Buffer>): Promise<Buffer> {
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
