// The files of a package: their names, and their bytes in pieces.
import { createHash } from "node:crypto";
import { dirname } from "node:path/posix";
import { audioRateHz, type SealedMoment } from "./package-sink.ts";
import type { FileEntry, PackageMessage } from "./record.ts";

export const messagesFile = "messages.json";
export const audioFile = "audio.wav";
/** What the record of every package says of its sound. */
export const audioFormat = {
  file: audioFile,
  rate_hz: audioRateHz,
  channels: 1,
  bits: 16,
} as const;
export const manifestFile = "feedback.json";

/** Of a file that a person sent with a message. */
export function attachmentFile(sha256: string): string {
  return `attachments/${sha256}`;
}

/** Of the frame at this index: numbered from 0 without gaps. */
export function frameFile(index: number): string {
  return `frames/${String(index).padStart(6, "0")}.jpg`;
}

const mediaTypes = { json: "application/json", wav: "audio/wav", jpg: "image/jpeg" } as const;

/** What the file of a package is, by its path. */
export function mediaTypeOf(path: string): string {
  const ending = path.slice(path.lastIndexOf(".") + 1);
  return mediaTypes[ending as keyof typeof mediaTypes] ?? "application/octet-stream";
}

/** A file of a package on its way to the disk or the bucket. Its pieces never change. */
export interface PackagePart extends FileEntry {
  readonly pieces: readonly Uint8Array[];
}

function partOf(path: string, pieces: readonly Uint8Array[]): PackagePart {
  const bytes = bytesIn(pieces.map(({ length }) => ({ bytes: length })));
  const sha256 = (pieces[0] && known.get(pieces[0])) ?? hashOf("sha256", pieces);
  return { path, bytes, sha256, media_type: mediaTypeOf(path), pieces };
}

/** Every file of a moment but the manifest, in upload order. No picture and no sound is copied. */
export function partsOf(moment: SealedMoment): readonly PackagePart[] {
  const { messages, audio, frames, attachments = new Map<string, Uint8Array>() } = moment;
  return [
    partOf(messagesFile, [messagesBytes(messages)]),
    ...(audio === null ? [] : [partOf(audioFile, [wavHeader(audio.length), bytesOf(audio)])]),
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

/** The bytes of messages.json. */
export function messagesBytes(messages: readonly PackageMessage[]): Buffer {
  return Buffer.from(`${JSON.stringify(messages, null, 2)}\n`);
}

/**
 * The digests of pictures, taken when they came in, so that a save, which others wait for, need not read
 * them again. Held as long as the picture is, and by nothing else.
 */
const known = new WeakMap<Uint8Array, string>();

/** Takes the SHA-256 of bytes that no longer change: some 50 us for 50 KB. */
export function rememberDigest(bytes: Uint8Array): void {
  known.set(bytes, hashOf("sha256", [bytes]));
}

/** The hash of bytes that come in pieces, in hex. */
export function hashOf(algorithm: "md5" | "sha256", pieces: readonly Uint8Array[]): string {
  const hash = createHash(algorithm);
  for (const piece of pieces) hash.update(piece);
  return hash.digest("hex");
}

export const wavHeaderBytes = 44;

/** The header of a WAV file of 16 kHz mono, 16 bits: 44 bytes. Source: RIFF, format 1 (PCM). */
export function wavHeader(samples: number): Buffer {
  const dataBytes = samples * 2;
  const header = Buffer.alloc(wavHeaderBytes);
  header.write("RIFF", 0, "latin1");
  header.writeUInt32LE(36 + dataBytes, 4);
  header.write("WAVEfmt ", 8, "latin1");
  header.writeUInt32LE(16, 16);
  header.writeUInt16LE(1, 20);
  header.writeUInt16LE(1, 22);
  header.writeUInt32LE(audioRateHz, 24);
  header.writeUInt32LE(audioRateHz * 2, 28);
  header.writeUInt16LE(2, 32);
  header.writeUInt16LE(16, 34);
  header.write("data", 36, "latin1");
  header.writeUInt32LE(dataBytes, 40);
  return header;
}

/** The samples as bytes, little endian: nothing is copied. */
function bytesOf({ buffer, byteOffset, byteLength }: Int16Array): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength);
}
