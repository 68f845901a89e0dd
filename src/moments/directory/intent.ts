// intent.json: what a package is going to be, written before its pictures and its sound.
import { setImmediate } from "node:timers/promises";
import type { PackageRecord } from "../package/package-format.ts";
import { blockCrcs } from "./block-crcs.ts";
import { isRecord, type MemoryPart, type PartNote } from "./content.ts";
import { openSealedJson, sealJson } from "./sealed-json.ts";

export interface IntendedPart extends PartNote {
  /** The CRC-32 of each 64 KiB: how much of it is whole, whatever its size says. */
  readonly blocks: readonly number[];
}
export interface Intent {
  readonly record: PackageRecord;
  readonly parts: readonly IntendedPart[];
}

/** The event loop turns after so many bytes of checksums: about a millisecond. */
const bytesAtOnce = 4 * 1024 * 1024;

/** Takes a checksum of every byte: 5 ms for the largest package, in slices. */
export async function intentBytes(
  record: PackageRecord,
  parts: readonly MemoryPart[],
): Promise<Buffer> {
  const intended: IntendedPart[] = [];
  let bytes = 0;
  for (const part of parts) {
    const { path, digest } = part;
    const blocks = digest?.blocks ?? blockCrcs(part.pieces());
    intended.push({ path, bytes: part.bytes, blocks });
    if (digest === undefined) bytes += part.bytes;
    if (bytes < bytesAtOnce) continue;
    bytes = 0;
    await setImmediate();
  }
  return sealJson({ intent: 1, record, parts: intended });
}

/** `undefined` for bytes that are not the intent of the package of this name. */
export function readIntent(bytes: Uint8Array, name: string): Intent | undefined {
  const value = openSealedJson(bytes) as
    | (Partial<Intent> & { readonly intent?: unknown })
    | undefined;
  if (value?.intent !== 1 || !areParts(value.parts)) return undefined;
  return isRecord(value.record, value.parts, name)
    ? { record: value.record, parts: value.parts }
    : undefined;
}

function areParts(parts: unknown): parts is readonly IntendedPart[] {
  return (
    Array.isArray(parts) &&
    parts.every(
      (part: Partial<IntendedPart> | null) =>
        typeof part?.path === "string" &&
        isCount(part.bytes) &&
        Array.isArray(part.blocks) &&
        part.blocks.every(isCount),
    )
  );
}

export function isCount(value: unknown): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
}
