import { join } from "node:path";
import { concurrently } from "../concurrently.ts";
import {
  type FileEntry,
  type Manifest,
  sealRecord,
  writeManifest,
} from "../package/package-format.ts";
import {
  intentFile,
  manifestFile,
  mediaTypeOf,
  type PackageContent,
  type PackagePart,
} from "./content.ts";
import { type PackagePorts, secondsNow } from "./ports.ts";
import { sync, writeFile } from "./write-file.ts";

export interface WriteOptions {
  /** The bytes of intent.json: with them a later start can finish the package. */
  readonly intent?: Buffer;
  readonly lanes: number;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Writes a package into a folder that does not exist yet, in the order that a crash can stop
 * anywhere: the intent and the words, synced with their names; sound and pictures, each synced; the
 * manifest; then the names. Whoever sees the manifest sees a whole package. The folder itself has no
 * durable name yet when it resolves: that is `publish`.
 *
 * @throws SyncFailed when the disk could not keep something: this folder is never to be trusted.
 */
export async function writePackage(
  ports: PackagePorts,
  content: PackageContent,
  folder: string,
  options: WriteOptions,
): Promise<Manifest> {
  const { disk } = ports;
  const [words, ...media] = content.parts;
  const files = new Map<string, FileEntry>();
  const write = async (part: PackagePart) => {
    options.signal?.throwIfAborted();
    const written = await writeFile(
      disk,
      join(folder, part.path),
      part.pieces(),
      part.digest?.sha256,
    );
    files.set(part.path, { path: part.path, ...written, media_type: mediaTypeOf(part.path) });
  };

  await disk.mkdir(folder);
  if (options.intent !== undefined) {
    await writeFile(disk, join(folder, intentFile), [options.intent]);
  }
  if (words !== undefined) await write(words);
  if (options.intent !== undefined) {
    await sync(() => disk.syncDirectory(folder));
    await sync(() => disk.syncDirectory(ports.path));
  }

  const frames = join(folder, "frames");
  const hasFrames = media.some(({ path }) => path.startsWith("frames/"));
  if (hasFrames) await disk.mkdir(frames);
  await concurrently(media, options.lanes, write);

  options.signal?.throwIfAborted();
  const manifest = sealRecord(content.record, {
    sealed_timestamp: content.sealedTimestamp ?? secondsNow(ports.clock),
    salvaged: content.salvaged,
    spilled: content.spilled,
    files: content.parts.flatMap(({ path }) => files.get(path) ?? []),
  });
  await writeFile(disk, join(folder, manifestFile), [writeManifest(manifest)]);
  if (hasFrames) await sync(() => disk.syncDirectory(frames));
  await sync(() => disk.syncDirectory(folder));
  if (options.intent !== undefined) {
    // Only now: were the intent's name lost before the manifest's is durable, nothing could finish it.
    await disk.unlink(join(folder, intentFile));
    await sync(() => disk.syncDirectory(folder));
  }
  return manifest;
}

/** Gives a folder that is written and synced the name by which it is a package, for good. */
export async function publish(ports: PackagePorts, folder: string, name: string): Promise<void> {
  ports.guard();
  await ports.disk.rename(folder, join(ports.path, name));
  await sync(() => ports.disk.syncDirectory(ports.path));
}
