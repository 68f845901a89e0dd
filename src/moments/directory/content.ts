// A package on its way to the disk or the bucket: its record, and its files as bytes in pieces.
import { dirname } from "node:path/posix";
import { digestOf } from "../package/digests.ts";
import type { SealedMoment } from "../package/package-sink.ts";
import { attachmentFile, frameFile } from "../package/read-manifest.ts";
import type { PackageRecord } from "../package/record.ts";
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

/** Bytes in pieces, from memory or from a disk. A piece never changes once it was given. */
export type Pieces = Iterable<Uint8Array> | AsyncIterable<Uint8Array>;

export interface PartNote {
  readonly path: string;
  readonly bytes: number;
}

export interface PackagePart extends PartNote {
  /** Where it is known before the bytes are read. */
  readonly sha256?: string | undefined;
  /** From the start, each time it is called. */
  pieces(): Pieces;
}

/** A part that lies in memory. */
interface MemoryPart extends PackagePart {
  pieces(): readonly Uint8Array[];
}

export interface PackageContent {
  readonly record: PackageRecord;
  /** Every file but the manifest, in upload order: messages, audio, frames, attachments. */
  readonly parts: readonly PackagePart[];
  /** In seconds since 1970. Default: now. */
  readonly sealedTimestamp?: number | undefined;
}

export function memoryPart(path: string, pieces: readonly Uint8Array[]): MemoryPart {
  const bytes = pieces.reduce((sum, piece) => sum + piece.length, 0);
  const [only] = pieces;
  const sha256 = pieces.length === 1 && only !== undefined ? digestOf(only) : undefined;
  return { path, bytes, sha256, pieces: () => pieces };
}

/** The files of a moment. No picture and no sound is copied. */
export function partsOf(moment: SealedMoment): readonly MemoryPart[] {
  const { messages, audio, frames, attachments = new Map<string, Uint8Array>() } = moment;
  return [
    memoryPart(messagesFile, [messagesBytes(messages)]),
    ...(audio === null ? [] : [memoryPart(audioFile, wavParts(audio))]),
    ...frames.map((jpeg, index) => memoryPart(frameFile(index), [jpeg])),
    ...[...attachments].map(([sha256, bytes]) => memoryPart(attachmentFile(sha256), [bytes])),
  ];
}

/** The folders in a package that has these files. */
export function foldersOf(files: readonly { readonly path: string }[]): ReadonlySet<string> {
  return new Set(files.map(({ path }) => dirname(path)).filter((folder) => folder !== "."));
}
