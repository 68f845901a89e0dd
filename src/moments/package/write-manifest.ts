import { crc32 } from "node:zlib";
import { packageId, packageName } from "./package-name.ts";
import type { SealedMoment } from "./package-sink.ts";
import type { Manifest, PackageMessage, PackageRecord, Seal } from "./record.ts";

/** The record with what the writer of the files adds: the whole of feedback.json. */
export function sealRecord(record: PackageRecord, seal: Seal): Manifest {
  return { ...record, sealed_timestamp: seal.sealed_timestamp, files: seal.files };
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
