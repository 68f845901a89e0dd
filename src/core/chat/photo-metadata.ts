import { crc32 } from "node:zlib";

/**
 * Removes what a camera or a program wrote beside a picture: place, device, time, comments, previews. Kept are
 * the picture, its colours and its orientation. What is no JPEG, PNG or WebP is given back as it is; of a
 * damaged one, what can still be told apart is kept.
 *
 * Sources: ITU T.81 annex B, the PNG specification (third edition), RFC 9649, and Exif 2.32 for the tag.
 *
 * @returns the same bytes if there is nothing to remove.
 */
export function withoutPhotoMetadata(bytes: Uint8Array): Uint8Array {
  const data = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  const start = data.subarray(0, 12).toString("latin1");
  const parts = start.startsWith("\xff\xd8\xff")
    ? jpegParts(data)
    : start.startsWith("\x89PNG\r\n\x1a\n")
      ? pngParts(data)
      : /^RIFF....WEBP$/s.test(start)
        ? webpParts(data)
        : [data];
  const kept = parts.length === 1 ? data : Buffer.concat(parts);
  return kept.equals(data) ? bytes : kept;
}

const exifName = Buffer.from("Exif\0\0", "latin1");

/** Makes the Exif of a picture that has an orientation and nothing else. */
function exifWith(orientation: number): Buffer {
  // Big endian; one entry at 8: tag, type SHORT, one value; no next directory.
  const tiff = Buffer.from("4d4d002a00000008000101120003000000010000000000000000", "hex");
  tiff.writeUInt16BE(orientation, 18);
  return tiff;
}

/** Reads the orientation of an Exif block: 2 to 8, or 1 if there is none. */
function orientationOf(tiff: Buffer): number {
  try {
    const isLittle = tiff.toString("latin1", 0, 2) === "II";
    const word = (at: number) => (isLittle ? tiff.readUInt16LE(at) : tiff.readUInt16BE(at));
    const first = isLittle ? tiff.readUInt32LE(4) : tiff.readUInt32BE(4);
    for (let entry = 0; entry < word(first); entry++) {
      const at = first + 2 + entry * 12;
      if (word(at) !== 0x0112) continue;
      const value = word(at + 8);
      return value >= 2 && value <= 8 ? value : 1;
    }
  } catch {
    // It ends before it says so.
  }
  return 1;
}

/** JFIF, a colour profile, and Adobe's colour transform: a decoder needs these. */
function isKeptSegment(marker: number, content: Buffer): boolean {
  if (marker === 0xe2) return content.toString("latin1", 0, 12) === "ICC_PROFILE\0";
  return marker === 0xe0 || marker === 0xee || !((marker & 0xf0) === 0xe0 || marker === 0xfe);
}

function jpegParts(data: Buffer): readonly Buffer[] {
  const parts: Buffer[] = [data.subarray(0, 2)];
  let orientation = 1;
  let exifAt = 1;
  let at = 2;
  while (at + 4 <= data.length && data[at] === 0xff) {
    const marker = data.readUInt8(at + 1);
    if (marker === 0xff) {
      at++; // a fill byte
      continue;
    }
    const end = at + 2 + data.readUInt16BE(at + 2);
    const content = data.subarray(at + 4, end);
    if (marker === 0xe1 && content.subarray(0, 6).equals(exifName)) {
      orientation = orientationOf(content.subarray(6));
    } else if (isKeptSegment(marker, content)) {
      parts.push(data.subarray(at, end));
      if (marker === 0xe0 && parts.length === 2) exifAt = 2;
    }
    at = end;
    if (marker !== 0xda) continue;
    at = scanEnd(data, end);
    parts.push(data.subarray(end, at));
    if (data[at + 1] !== 0xd9) continue;
    parts.push(data.subarray(at, at + 2)); // what follows is no part of this picture
    break;
  }
  if (orientation > 1) {
    const content = Buffer.concat([exifName, exifWith(orientation)]);
    const head = Buffer.from([0xff, 0xe1, 0, content.length + 2]);
    parts.splice(exifAt, 0, head, content);
  }
  return parts;
}

/** Finds the marker that ends coded data: not a stuffed byte, not a restart. */
function scanEnd(data: Buffer, from: number): number {
  for (let at = data.indexOf(0xff, from); at !== -1; at = data.indexOf(0xff, at + 1)) {
    const marker = data[at + 1] ?? 0;
    if (marker !== 0 && marker !== 0xff && (marker < 0xd0 || marker > 0xd7)) return at;
  }
  return data.length;
}

/** Ancillary chunks that change how a picture looks, or that animate it. */
const pngChunks =
  /^(?:[A-Z]...|acTL|bKGD|cHRM|cICP|cLLI|fcTL|fdAT|gAMA|hIST|iCCP|mDCV|pHYs|sBIT|sPLT|sRGB|tRNS)$/;

function pngParts(data: Buffer): readonly Buffer[] {
  const parts: Buffer[] = [data.subarray(0, 8)];
  for (let at = 8; at + 12 <= data.length; ) {
    const end = at + 12 + data.readUInt32BE(at);
    const type = data.toString("latin1", at + 4, at + 8);
    if (pngChunks.test(type)) parts.push(data.subarray(at, end));
    else if (type === "eXIf") {
      const orientation = orientationOf(data.subarray(at + 8, end - 4));
      if (orientation > 1) parts.push(pngChunk("eXIf", exifWith(orientation)));
    }
    if (type === "IEND") break;
    at = end;
  }
  return parts;
}

function pngChunk(type: string, content: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, "latin1"), content]);
  const chunk = Buffer.alloc(body.length + 8);
  chunk.writeUInt32BE(content.length);
  body.copy(chunk, 4);
  chunk.writeUInt32BE(crc32(body), body.length + 4);
  return chunk;
}

const webpChunks = ["VP8 ", "VP8L", "VP8X", "ALPH", "ANIM", "ANMF", "ICCP"];
const exifFlag = 0x08;
const xmpFlag = 0x04;

function webpParts(data: Buffer): readonly Buffer[] {
  const parts: Buffer[] = [];
  let flags: Buffer | undefined;
  const whole = Math.min(data.length, 8 + data.readUInt32LE(4));
  for (let at = 12; at + 8 <= whole; ) {
    const bytes = data.readUInt32LE(at + 4);
    const end = at + 8 + bytes + (bytes % 2);
    const type = data.toString("latin1", at, at + 4);
    let chunk = data.subarray(at, end);
    if (type === "VP8X" && chunk.length > 8) {
      chunk = Buffer.from(chunk);
      chunk.writeUInt8(chunk.readUInt8(8) & ~(exifFlag | xmpFlag), 8);
      flags = chunk;
    }
    if (webpChunks.includes(type)) parts.push(chunk);
    else if (type === "EXIF" && flags !== undefined) {
      const content = data.subarray(at + 8, at + 8 + bytes);
      const hasName = content.subarray(0, 6).equals(exifName);
      const orientation = orientationOf(hasName ? content.subarray(6) : content);
      if (orientation > 1) {
        const exif = exifWith(orientation);
        const head = Buffer.from("EXIF\0\0\0\0", "latin1");
        head.writeUInt32LE(exif.length, 4);
        parts.push(head, exif);
        flags.writeUInt8(flags.readUInt8(8) | exifFlag, 8);
      }
    }
    at = end;
  }
  const head = Buffer.from(data.subarray(0, 12));
  head.writeUInt32LE(4 + parts.reduce((sum, { length }) => sum + length, 0), 4);
  return [head, ...parts];
}
