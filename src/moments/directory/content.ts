// A package on its way to the disk: its record, and its files as bytes in pieces.

import { type Digest, digestOf } from "../package/digests.ts";
import {
  frameFile,
  messagesBytes,
  type PackageRecord,
  readManifest,
  type SealedMoment,
  sealRecord,
  wavParts,
  writeManifest,
} from "../package/package-format.ts";
import type { Pieces } from "./write-file.ts";

export const messagesFile = "messages.json";
export const audioFile = "audio.wav";
export const manifestFile = "feedback.json";
export const intentFile = "intent.json";

const mediaTypes = { json: "application/json", wav: "audio/wav", jpg: "image/jpeg" } as const;

/** What the file of a package is, by its path. */
export function mediaTypeOf(path: string): string {
  const ending = path.slice(path.lastIndexOf(".") + 1);
  return mediaTypes[ending as keyof typeof mediaTypes] ?? "application/octet-stream";
}

export interface PackagePart {
  readonly path: string;
  readonly bytes: number;
  /** Where it is known before the bytes are read. */
  readonly digest?: Digest | undefined;
  /** From the start, each time it is called. */
  pieces(): Pieces;
}

/** A part that lies in memory. */
export interface MemoryPart extends PackagePart {
  pieces(): readonly Uint8Array[];
}

export interface PackageContent {
  readonly record: PackageRecord;
  /** Every file but the manifest, in upload order: messages, audio, frames. */
  readonly parts: readonly PackagePart[];
  readonly salvaged: boolean;
  readonly spilled: boolean;
  /** In seconds since 1970. Default: now. */
  readonly sealedTimestamp?: number | undefined;
}

export function memoryPart(path: string, pieces: readonly Uint8Array[]): MemoryPart {
  const bytes = pieces.reduce((sum, piece) => sum + piece.length, 0);
  const [only] = pieces;
  const digest = pieces.length === 1 && only !== undefined ? digestOf(only) : undefined;
  return { path, bytes, digest, pieces: () => pieces };
}

/** The files of a moment. No picture and no sound is copied. */
export function partsOf({ messages, audio, frames }: SealedMoment): readonly MemoryPart[] {
  return [
    memoryPart(messagesFile, [messagesBytes(messages)]),
    ...(audio === null ? [] : [memoryPart(audioFile, wavParts(audio))]),
    ...frames.map((jpeg, index) => memoryPart(frameFile(index), [jpeg])),
  ];
}

/** What is known of a part before, or apart from, its content. */
export interface PartNote {
  readonly path: string;
  readonly bytes: number;
}

/**
 * Whether this is a whole record of a package with these files, member by member. It goes through
 * the manifest's own reader, so that nothing gets a manifest that could not be read back.
 */
export function isRecord(
  record: unknown,
  parts: readonly PartNote[],
  name: string,
): record is PackageRecord {
  if (typeof record !== "object" || record === null) return false;
  const files = parts.map(({ path, bytes }) => ({
    ...{ path, bytes, sha256: "0".repeat(64), media_type: mediaTypeOf(path) },
  }));
  const seal = { sealed_timestamp: 0, salvaged: false, spilled: false, files };
  const { manifest } = readManifest(writeManifest(sealRecord(record as PackageRecord, seal)));
  return manifest?.name === name;
}
