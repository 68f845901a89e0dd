// The files of a package: their names, and their bytes in pieces.
import { dirname } from "node:path/posix";
import { digestOf } from "../package/digests.ts";
import type { SealedMoment } from "../package/package-sink.ts";
import { attachmentFile, frameFile } from "../package/read-manifest.ts";
import { wavParts } from "../package/wav.ts";
import { messagesBytes } from "../package/write-manifest.ts";

export const messagesFile = "messages.json";
export const audioFile = "audio.wav";
export const manifestFile = "feedback.json";

const mediaTypes = { json: "application/json", wav: "audio/wav", jpg: "image/jpeg" } as const;

/** What the file of a package is, by its path. */
export function mediaTypeOf(path: string): string {
  const ending = path.slice(path.lastIndexOf(".") + 1);
  return mediaTypes[ending as keyof typeof mediaTypes] ?? "application/octet-stream";
}

/** A file of a package on its way to the disk or the bucket. Its pieces never change. */
export interface PackagePart {
  readonly path: string;
  readonly bytes: number;
  /** Where it is known before the bytes are read. */
  readonly sha256: string | undefined;
  readonly pieces: readonly Uint8Array[];
}

function partOf(path: string, pieces: readonly Uint8Array[]): PackagePart {
  const bytes = bytesIn(pieces.map(({ length }) => ({ bytes: length })));
  const [only] = pieces;
  const sha256 = pieces.length === 1 && only !== undefined ? digestOf(only) : undefined;
  return { path, bytes, sha256, pieces };
}

/** Every file of a moment but the manifest, in upload order. No picture and no sound is copied. */
export function partsOf(moment: SealedMoment): readonly PackagePart[] {
  const { messages, audio, frames, attachments = new Map<string, Uint8Array>() } = moment;
  return [
    partOf(messagesFile, [messagesBytes(messages)]),
    ...(audio === null ? [] : [partOf(audioFile, wavParts(audio))]),
    ...frames.map((jpeg, index) => partOf(frameFile(index), [jpeg])),
    ...[...attachments].map(([sha256, bytes]) => partOf(attachmentFile(sha256), [bytes])),
  ];
}

/** How many bytes files have together. */
export function bytesIn(files: readonly { readonly bytes: number }[]): number {
  return files.reduce((sum, { bytes }) => sum + bytes, 0);
}

/** The folders in a package that has these files. */
export function foldersOf(files: readonly { readonly path: string }[]): ReadonlySet<string> {
  return new Set(files.map(({ path }) => dirname(path)).filter((folder) => folder !== "."));
}
