// Reading what lies in a package's folder: whole small files, and large ones in pieces.

import { createHash } from "node:crypto";
import { join } from "node:path";
import { ThroughlineError } from "../../core/errors.ts";
import type { Disk } from "../../core/storage/disk/disk.ts";
import { readExactly } from "../../core/storage/files/batch-reader.ts";
import { isCode, readFrom } from "../../core/storage/files/file-ports.ts";
import { manifestFile } from "../package/content.ts";
import { type ManifestReading, readManifest } from "../package/manifest.ts";
import { checkName, type Directory, isHere, pathOf } from "./names.ts";

/** Larger is no JSON file of a package, and is not read into memory. */
const maxBytes = 64 * 1024 * 1024;
/** Read at once: few calls, and little held by each reader. */
const pieceBytes = 256 * 1024;

/** All of a file. `undefined` if there is none, or if it is larger than anything of ours. */
export async function readWhole(disk: Disk, path: string): Promise<Buffer | undefined> {
  return readFrom(disk, path, async (file) => {
    const size = await file.size();
    return size > maxBytes ? undefined : readExactly(file, 0, size);
  });
}

/** Bytes `start` up to `end` of a file, or what there is of them, in pieces. */
export async function* readPieces(
  disk: Disk,
  path: string,
  start: number,
  end: number,
): AsyncGenerator<Uint8Array, void> {
  const file = await disk.open(path, "read");
  try {
    for (let at = start; at < end; ) {
      const piece = await readExactly(file, at, Math.min(pieceBytes, end - at));
      if (piece.length === 0) return;
      at += piece.length;
      yield piece;
    }
  } finally {
    await file.close();
  }
}

/** SHA-256 of the first `bytes` of a file, and how many there were. */
export async function hashFile(disk: Disk, path: string, bytes: number) {
  const hash = createHash("sha256");
  let found = 0;
  for await (const piece of readPieces(disk, path, 0, bytes)) {
    hash.update(piece);
    found += piece.length;
  }
  return { bytes: found, sha256: hash.digest("hex") };
}

/** The manifest of a package. Its own name must be the one that it is looked up by. */
export async function readFolder(
  from: Directory,
  name: string,
  as?: "partial",
): Promise<ManifestReading> {
  let bytes: Buffer | undefined;
  try {
    bytes = await readWhole(from.disk, join(pathOf(from, name, as), manifestFile));
  } catch (error) {
    if (!isNoFile(error)) throw error;
    const detail = "feedback.json is a folder, a link or a pipe, not a file";
    return { problem: { kind: "invalid", detail } };
  }
  if (bytes === undefined) {
    return { problem: { kind: "missing", detail: "there is no feedback.json" } };
  }
  const reading = readManifest(bytes);
  if (reading.manifest !== undefined && reading.manifest.name !== name) {
    return { problem: { kind: "invalid", detail: "feedback.json is that of another package" } };
  }
  return reading;
}

/** @throws ThroughlineError `THROUGHLINE_NOT_FOUND` */
export async function assertThere(from: Directory, name: string): Promise<void> {
  checkName(name);
  if (await isHere(from, name)) return;
  throw new ThroughlineError(`there is no package ${name}`, { code: "THROUGHLINE_NOT_FOUND" });
}

/** Something is there that is no file: a directory, a pipe, or a link, which is never followed. */
export const isNoFile = (error: unknown): boolean =>
  isCode(error, "EISDIR", "ELOOP", "ENOTDIR", "ENXIO");

/** A failure in a word, for logs: its code, or its name. */
export function codeOf(error: unknown): string {
  const code = (error as { readonly code?: unknown } | null | undefined)?.code;
  if (typeof code === "string") return code;
  return error instanceof Error ? error.name : "unknown";
}
