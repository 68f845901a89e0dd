import { manifestFile } from "../directory/content.ts";
import { hashOf } from "../package/digests.ts";
import { readManifest } from "../package/read-manifest.ts";
import type { Manifest } from "../package/record.ts";
import { UploadFailure } from "./upload-failure.ts";

/** Where the bytes of one package come from: its folder, or a moment in memory. */
export interface PackageSource {
  /** The bytes of one of its files, `feedback.json` too. Rejects when there is no such package. */
  part(name: string, path: string): Promise<Buffer>;
}

/** A file whose bytes were read and are those that the manifest tells of. */
export interface LocalFile {
  readonly path: string;
  readonly bytes: number;
  /** 64 hex digits. */
  readonly sha256: string;
  /** 32 hex digits: what an ETag may tell. */
  readonly md5: string;
  readonly mediaType: string;
}

interface LocalPackage {
  readonly manifest: Manifest;
  readonly manifestBytes: Buffer;
  /** In the manifest's order, which is that of the upload. */
  readonly files: readonly LocalFile[];
}

/**
 * Reads a whole package, file by file, before a byte of it is sent.
 *
 * @throws `UploadFailure` `local_damage`: the manifest, or a file, is not as it was sealed.
 */
export async function readLocalPackage(source: PackageSource, name: string): Promise<LocalPackage> {
  const manifestBytes = await source.part(name, manifestFile);
  const { manifest } = readManifest(manifestBytes);
  if (manifest === undefined || manifest.name !== name) throw new UploadFailure("local_damage");
  const files: LocalFile[] = [];
  for (const { path, bytes, sha256, media_type: mediaType } of manifest.files) {
    const body = await readPart(source, name, { path, bytes, sha256 });
    files.push({ path, bytes, sha256, md5: hashOf("md5", [body]), mediaType });
  }
  return { manifest, manifestBytes, files };
}

/** @throws `UploadFailure` `local_damage`: the file's bytes are not those that were sealed. */
export async function readPart(
  source: PackageSource,
  name: string,
  file: Pick<LocalFile, "path" | "bytes" | "sha256">,
): Promise<Buffer> {
  const body = await source.part(name, file.path).catch((cause: unknown) => {
    throw isMissing(cause) ? new UploadFailure("local_damage", { cause }) : cause;
  });
  if (body.length !== file.bytes || hashOf("sha256", [body]) !== file.sha256) {
    throw new UploadFailure("local_damage");
  }
  return body;
}

function isMissing(error: unknown): boolean {
  if (typeof error !== "object" || error === null || !("code" in error)) return false;
  return error.code === "ENOENT" || error.code === "THROUGHLINE_NOT_FOUND";
}
