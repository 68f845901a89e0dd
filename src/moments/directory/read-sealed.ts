import { join } from "node:path";
import { ThroughlineError } from "../../core/errors.ts";
import type { Allocate } from "../../core/storage/files/batch-reader.ts";
import { readMessages } from "../package/read-manifest.ts";
import type { Manifest, PackageMessage, PackageStatus } from "../package/record.ts";
import { messagesFile } from "./content.ts";
import { isNoFile } from "./disk-errors.ts";
import { checkName } from "./names.ts";
import type { PackagePorts } from "./ports.ts";
import { assertThere, readFolder, readWhole } from "./read-package.ts";
import { readStatus } from "./status.ts";
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
  const folder = join(ports.path, name);
  const incomplete = [...(await incompleteness(ports.disk, folder, manifest))];
  const bytes = await readWhole(ports.disk, join(folder, messagesFile));
  const messages = bytes === undefined ? undefined : readMessages(bytes);
  if (messages === undefined && !incomplete.some(({ path }) => path === messagesFile)) {
    incomplete.push({ path: messagesFile, kind: "content", detail: "its messages are damaged" });
  }
  const status = await readStatus(ports, name);
  return { manifest, messages: messages ?? [], status, incomplete };
}

/** The manifest of a package. @throws as `PackageDirectory.read` does */
export async function manifestOf(ports: PackagePorts, name: string): Promise<Manifest> {
  checkName(name);
  const { manifest, problem } = await readFolder(ports.disk, join(ports.path, name), name);
  if (manifest !== undefined) return manifest;
  await assertThere(ports, name);
  const code = problem?.kind === "newer" ? "THROUGHLINE_NEWER_FORMAT" : "THROUGHLINE_CORRUPT";
  throw new ThroughlineError(`${name}: ${problem?.detail ?? "unreadable"}`, { code });
}

/** All bytes of one file. @throws ThroughlineError `THROUGHLINE_NOT_FOUND`, also where it is no file. */
export async function bytesOf(
  { disk, path }: PackagePorts,
  name: string,
  file: string | undefined,
  allocate?: Allocate,
): Promise<Buffer> {
  checkName(name);
  const place = file === undefined ? undefined : join(path, name, file);
  try {
    const bytes = place === undefined ? undefined : await readWhole(disk, place, allocate);
    if (bytes !== undefined) return bytes;
  } catch (error) {
    if (!isNoFile(error)) throw error;
  }
  throw new ThroughlineError(`${name} has no such file`, { code: "THROUGHLINE_NOT_FOUND" });
}
