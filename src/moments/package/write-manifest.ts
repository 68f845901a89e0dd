import { crc32 } from "node:zlib";
import { packageId, packageName } from "./package-name.ts";
import type { SealedMoment } from "./package-sink.ts";
import {
  type FileEntry,
  type Manifest,
  manifestShape,
  type PackageMessage,
  type PackageRecord,
} from "./record.ts";

/** Adds what the writer of the files knows: the whole of feedback.json, in the order of the shape. */
export function sealRecord(record: PackageRecord, files: readonly FileEntry[]): Manifest {
  return manifestShape.write({ ...record, files }) as unknown as Manifest;
}

/** The same moment under another uuid, when the name that its uuid makes is taken. */
export function renameMoment(moment: SealedMoment, uuid: string): SealedMoment {
  const { timestamp_str, sentiment } = moment.record;
  const name = packageName(timestamp_str, sentiment, uuid);
  return { ...moment, record: { ...moment.record, id: packageId(uuid), uuid, name } };
}

/**
 * The bytes of feedback.json: JSON with indent 2, and on a line of its own, last, the CRC-32 of every
 * byte before that line. The same manifest always gives the same bytes.
 */
export function writeManifest(manifest: Manifest): Buffer {
  const text = JSON.stringify(manifest, null, 2);
  const body = Buffer.from(`${text.slice(0, -"\n}".length)},\n`);
  return Buffer.concat([body, Buffer.from(crcLine(crc32(body)))]);
}

/** How feedback.json ends. */
export function crcLine(crc: number): string {
  return `  "crc32": "${crc.toString(16).padStart(8, "0")}"\n}\n`;
}

/** The bytes of messages.json. */
export function messagesBytes(messages: readonly PackageMessage[]): Buffer {
  return Buffer.from(`${JSON.stringify(messages, null, 2)}\n`);
}
