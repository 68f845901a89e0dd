// What can be kept of a folder whose writing was cut short, or whose bytes are no longer right.
import { join } from "node:path";
import type { Disk } from "../../core/storage/disk/disk.ts";
import {
  type AudioEntry,
  frameFile,
  messagesBytes,
  type PackageMessage,
  type PackageRecord,
  readMessages,
  wavHeader,
  wavHeaderBytes,
} from "../package/package-format.ts";
import { wholeBytes } from "./block-crcs.ts";
import {
  audioFile,
  memoryPart,
  messagesFile,
  type PackageContent,
  type PackagePart,
} from "./content.ts";
import type { Intent } from "./intent.ts";
import { readPieces, readWhole } from "./read-package.ts";

/**
 * How much of a file of the folder is as it was meant to be, from its start, in bytes; all of it or
 * nothing for a picture.
 */
export type WholeBytes = (path: string, bytes: Uint8Array) => number;

/** Judges by the checksums of an intent: exact to the block, also where a power cut left zeros. */
export function wholeByIntent(intent: Intent): WholeBytes {
  const parts = new Map(intent.parts.map((part) => [part.path, part]));
  return (path, bytes) => {
    const part = parts.get(path);
    return part === undefined ? 0 : wholeBytes(bytes, part.blocks, part.bytes);
  };
}

/**
 * The package that can still be made of a folder: the words, if they are whole; each picture that
 * has its size and both markers; the sound up to where it stops being right. Its counts are those of
 * what is there. The files stay where they are; their bytes are read again when they are written.
 */
export async function salvage(
  disk: Disk,
  folder: string,
  record: PackageRecord,
  whole: WholeBytes,
): Promise<PackageContent> {
  const words = await salvageWords(disk, folder, whole);
  const sound = await salvageSound(disk, folder, record, whole);
  const frames = await salvageFrames(disk, folder, record, whole);
  const isLess =
    words === undefined ||
    frames.kept.length < record.frames.length ||
    (sound?.samples ?? 0) < record.audio_samples;
  const salvaged: PackageRecord = {
    ...record,
    ...(words === undefined ? withoutWords : {}),
    num_messages: words?.length ?? 0,
    num_frames: frames.kept.length,
    frames: frames.kept.map((frame, index) => ({ ...frame, file: frameFile(index) })),
    ...soundMembers(record, sound?.samples ?? 0),
    reduced: record.reduced ?? (isLess ? "salvaged" : null),
  };
  const parts = [
    memoryPart(messagesFile, [messagesBytes(words ?? [])]),
    ...(sound === undefined ? [] : [sound.part]),
    ...frames.parts,
  ];
  return { record: salvaged, parts, salvaged: true, spilled: false };
}

/** Without the words nobody can say whose turn was judged. */
const withoutWords = { target: null, target_reason: null, trigger_turn: null } as const;

async function salvageWords(
  disk: Disk,
  folder: string,
  whole: WholeBytes,
): Promise<readonly PackageMessage[] | undefined> {
  const bytes = await readWhole(disk, join(folder, messagesFile));
  if (bytes === undefined || whole(messagesFile, bytes) !== bytes.length) return undefined;
  return readMessages(bytes);
}

async function salvageSound(
  disk: Disk,
  folder: string,
  record: PackageRecord,
  whole: WholeBytes,
): Promise<{ readonly samples: number; readonly part: PackagePart } | undefined> {
  if (record.audio === null) return undefined;
  const bytes = await readWhole(disk, join(folder, audioFile));
  if (bytes === undefined) return undefined;
  const good = Math.min(whole(audioFile, bytes), wavHeaderBytes + record.audio.samples * 2);
  const samples = Math.max(0, Math.floor((good - wavHeaderBytes) / 2));
  if (samples === 0) return undefined;
  const sound = bytes.subarray(wavHeaderBytes, wavHeaderBytes + samples * 2);
  return { samples, part: memoryPart(audioFile, [wavHeader(samples), sound]) };
}

async function salvageFrames(
  disk: Disk,
  folder: string,
  { frames }: PackageRecord,
  whole: WholeBytes,
) {
  const kept: PackageRecord["frames"][number][] = [];
  const parts: PackagePart[] = [];
  for (const frame of frames) {
    const place = join(folder, frame.file);
    const bytes = await readWhole(disk, place);
    if (bytes === undefined || !isJpeg(bytes) || whole(frame.file, bytes) !== bytes.length)
      continue;
    const { length } = bytes;
    parts.push({
      path: frameFile(kept.length),
      bytes: length,
      pieces: () => readPieces(disk, place, 0, length),
    });
    kept.push(frame);
  }
  return { kept, parts };
}

function isJpeg(bytes: Buffer): boolean {
  return (
    bytes.length >= 4 &&
    bytes.readUInt16BE(0) === 0xffd8 &&
    bytes.readUInt16BE(bytes.length - 2) === 0xffd9
  );
}

/** The members of a record that speak of sound, when only its first samples are there. */
function soundMembers(record: PackageRecord, samples: number) {
  const { audio, audio_samples, audio_chunks } = record;
  if (audio === null || samples === 0) return { audio: null, audio_samples: 0, audio_chunks: 0 };
  if (samples === audio_samples) return { audio, audio_samples, audio_chunks };
  const isKept = ({ sample }: { readonly sample: number }) => sample < samples;
  const cut: AudioEntry = {
    ...audio,
    samples,
    anchors: audio.anchors.filter(isKept),
    gaps: audio.gaps.filter(isKept),
  };
  // How many samples each chunk had is not on record: their mean tells how many are left.
  const chunks = Math.ceil((audio_chunks * samples) / audio_samples);
  return { audio: cut, audio_samples: samples, audio_chunks: chunks };
}
