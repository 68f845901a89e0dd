// Checksums by the block, taken before a part is written: a later start can tell how much of it
// reached the disk, which its size alone does not say after a power cut.
import { crc32 } from "node:zlib";
import { blockBytes } from "../package/digests.ts";

export { blockBytes };

/** The CRC-32 of each block of bytes that come in pieces; the last block may be shorter. */
export function blockCrcs(pieces: Iterable<Uint8Array>): number[] {
  const crcs: number[] = [];
  let crc = 0;
  let filled = 0;
  for (const piece of pieces) {
    for (let at = 0; at < piece.length; ) {
      const taken = piece.subarray(at, at + blockBytes - filled);
      crc = crc32(taken, crc);
      filled += taken.length;
      at += taken.length;
      if (filled < blockBytes) continue;
      crcs.push(crc);
      crc = 0;
      filled = 0;
    }
  }
  if (filled > 0) crcs.push(crc);
  return crcs;
}

/** How many bytes from the start are as the checksums say: whole blocks, and the last one. */
export function wholeBytes(bytes: Uint8Array, crcs: readonly number[], expected: number): number {
  let whole = 0;
  for (const [index, crc] of crcs.entries()) {
    const end = Math.min((index + 1) * blockBytes, expected);
    if (end > bytes.length || crc32(bytes.subarray(index * blockBytes, end)) !== crc) break;
    whole = end;
  }
  return whole;
}
