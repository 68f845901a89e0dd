import { join } from "node:path";
import { ThroughlineError } from "../../core/errors.ts";
import { is } from "../../core/shape.ts";
import { manifestFile, mediaTypeOf, messagesFile } from "../package/content.ts";
import { readMessages } from "../package/manifest.ts";
import {
  type Manifest,
  type PackageMessage,
  type PackageStatus,
  pathShape,
} from "../package/record.ts";
import { checkName, sizeIfThere } from "./names.ts";
import { readStatus } from "./notes.ts";
import type { PackagePorts } from "./ports.ts";
import {
  assertThere,
  codeOf,
  isNoFile,
  readFolder,
  readPieces,
  readWhole,
} from "./read-package.ts";
import { type Difference, incompleteness } from "./verify.ts";

export interface ReadPackage {
  readonly manifest: Manifest;
  /** Empty when messages.json is damaged: `incomplete` says so. */
  readonly messages: readonly PackageMessage[];
  /** `undefined`: the status cannot be read. */
  readonly status: PackageStatus | undefined;
  /** Files that are not there, or of another size, or words that cannot be read. */
  readonly incomplete: readonly Difference[];
}

/** See `PackageDirectory.read`. */
export async function readPackage(ports: PackagePorts, name: string): Promise<ReadPackage> {
  const manifest = await manifestOf(ports, name);
  const incomplete = [...(await incompleteness(ports, manifest))];
  const bytes = await readWhole(ports.disk, join(ports.path, name, messagesFile));
  const messages = bytes === undefined ? undefined : readMessages(bytes);
  if (messages === undefined && !incomplete.some(({ path }) => path === messagesFile)) {
    incomplete.push({ path: messagesFile, kind: "content", detail: "its messages are damaged" });
  }
  const status = await readStatus(ports, name);
  return { manifest, messages: messages ?? [], status, incomplete };
}

/** See `PackageDirectory.manifest`. */
export async function manifestOf(ports: PackagePorts, name: string): Promise<Manifest> {
  checkName(name);
  const { manifest, problem } = await readFolder(ports, name);
  if (manifest !== undefined) return manifest;
  await assertThere(ports, name);
  const code = problem?.kind === "newer" ? "THROUGHLINE_NEWER_FORMAT" : "THROUGHLINE_CORRUPT";
  throw new ThroughlineError(`${name}: ${problem?.detail ?? "unreadable"}`, { code });
}

/** See `PackageDirectory.part`. */
export async function bytesOf(
  { disk, path }: PackagePorts,
  name: string,
  file: string,
): Promise<Buffer> {
  checkName(name);
  try {
    // A path that no manifest can list is that of no package, whatever may be there.
    const isOurs = file === manifestFile || is(pathShape, file);
    const bytes = isOurs ? await readWhole(disk, join(path, name, file)) : undefined;
    if (bytes !== undefined) return bytes;
  } catch (error) {
    if (!isNoFile(error)) throw error;
  }
  throw noSuchFile(name);
}

export interface OpenedPart {
  readonly path: string;
  readonly mediaType: string;
  readonly bytes: number;
  /**
   * Reads from `start` up to, and without, `end`. The file is open from the first piece to the last, or until it
   * is left. Throws `THROUGHLINE_CORRUPT` when the file ends too early, `THROUGHLINE_UNAVAILABLE` when the disk fails.
   */
  pieces(start?: number, end?: number): AsyncGenerator<Uint8Array, void>;
}

/**
 * Opens one file of a package: the manifest, or one that it lists. No other path is ever opened.
 *
 * @throws ThroughlineError `THROUGHLINE_NOT_FOUND`: not of this package; `THROUGHLINE_CORRUPT`: of
 * another size than listed.
 */
export async function openPart(
  ports: PackagePorts,
  name: string,
  path: string,
): Promise<OpenedPart> {
  const { files } = await manifestOf(ports, name);
  const listed = files.find((file) => file.path === path);
  if (listed === undefined && path !== manifestFile) throw noSuchFile(name);
  const place = join(ports.path, name, path);
  const bytes = await sizeIfThere(ports.disk, place);
  if (bytes === undefined || bytes !== (listed?.bytes ?? bytes)) throw damaged(name, path);
  // By its name: what another machine wrote into a manifest is not what a browser may be told.
  return { path, mediaType: mediaTypeOf(path), bytes, pieces };

  async function* pieces(start = 0, end = bytes ?? 0): AsyncGenerator<Uint8Array, void> {
    let given = 0;
    try {
      for await (const piece of readPieces(ports.disk, place, start, end)) {
        given += piece.length;
        yield piece;
      }
    } catch (cause) {
      const says = `${name}/${path} could not be read (${codeOf(cause)})`;
      throw new ThroughlineError(says, { code: "THROUGHLINE_UNAVAILABLE", cause });
    }
    if (given < end - start) throw damaged(name, path);
  }
}

function noSuchFile(name: string): ThroughlineError {
  return new ThroughlineError(`${name} has no such file`, { code: "THROUGHLINE_NOT_FOUND" });
}

function damaged(name: string, path: string): ThroughlineError {
  const says = `${name}/${path} is not as it was sealed`;
  return new ThroughlineError(says, { code: "THROUGHLINE_CORRUPT" });
}
