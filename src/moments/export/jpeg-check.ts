/** What is wrong with a picture. */
export type JpegFault =
  | "empty"
  | "no_start"
  | "cut"
  | "bad_segment"
  | "bad_table"
  | "bad_frame"
  | "bad_scan"
  | "no_picture"
  | "bytes_after_end";

const maxSide = 8_192;
const startOfImage = 0xd8;
const endOfImage = 0xd9;
const startOfScan = 0xda;

/** What the segments before a scan have defined. */
interface Seen {
  /** Which quantisation table each component uses. */
  readonly components: Map<number, number>;
  readonly quantisers: Set<number>;
  readonly huffman: Set<number>;
  arithmetic: boolean;
  scans: number;
}

/**
 * Walks through the segments of a JPEG file: lengths, tables, frame, scans, end. Finds every picture
 * that a decoder refuses for its structure or because it is cut; does not decode, so that noise
 * within a scan, which decoders show as grey, passes.
 *
 * Source: one such picture makes its whole row unreadable to trainers (`broken data stream`).
 * @returns undefined: nothing is wrong.
 */
export function jpegFault(bytes: Uint8Array): JpegFault | undefined {
  if (bytes.length === 0) return "empty";
  if (bytes[0] !== 0xff || bytes[1] !== startOfImage) return "no_start";
  const seen: Seen = {
    components: new Map(),
    quantisers: new Set(),
    huffman: new Set(),
    arithmetic: false,
    scans: 0,
  };
  let at = 2;
  while (at < bytes.length) {
    if (bytes[at] !== 0xff) return "bad_segment";
    while (bytes[at + 1] === 0xff) at++; // fill bytes
    const marker = bytes[at + 1];
    if (marker === undefined) return "cut";
    at += 2;
    if (marker === endOfImage) {
      if (seen.scans === 0) return "no_picture";
      return at === bytes.length ? undefined : "bytes_after_end";
    }
    if (marker < 0xc0 || (marker >= 0xd0 && marker <= startOfImage)) return "bad_segment";
    const end = at + ((bytes[at] ?? 0) << 8) + (bytes[at + 1] ?? 0);
    if (end - at < 2) return "bad_segment";
    if (end > bytes.length) return "cut";
    const fault = segmentFault(marker, bytes.subarray(at + 2, end), seen);
    if (fault !== undefined) return fault;
    at = marker === startOfScan ? endOfScan(bytes, end) : end;
  }
  return "cut";
}

function segmentFault(marker: number, body: Uint8Array, seen: Seen): JpegFault | undefined {
  if (marker === 0xdb) return quantiserFault(body, seen);
  if (marker === 0xc4) return huffmanFault(body, seen);
  if (marker === 0xcc) {
    seen.arithmetic = true;
    return undefined;
  }
  if (marker === startOfScan) return scanFault(body, seen);
  const isFrame = marker >= 0xc0 && marker <= 0xcf && marker !== 0xc8;
  if (!isFrame) return undefined; // application data, comments, restart interval
  if (marker > 0xc8) seen.arithmetic = true;
  return frameFault(body, seen);
}

function quantiserFault(body: Uint8Array, seen: Seen): JpegFault | undefined {
  let at = 0;
  while (at < body.length) {
    const head = body[at] ?? 0;
    if (head >> 4 > 1 || (head & 15) > 3) return "bad_table";
    seen.quantisers.add(head & 15);
    at += 1 + 64 * ((head >> 4) + 1);
  }
  return at === body.length && at > 0 ? undefined : "bad_table";
}

function huffmanFault(body: Uint8Array, seen: Seen): JpegFault | undefined {
  let at = 0;
  while (at < body.length) {
    const head = body[at] ?? 0;
    if (head >> 4 > 1 || (head & 15) > 3 || at + 17 > body.length) return "bad_table";
    let codes = 0;
    let room = 1;
    for (const count of body.subarray(at + 1, at + 17)) {
      codes += count;
      room = room * 2 - count;
      if (room < 0) return "bad_table"; // more codes than this length has
    }
    if (codes > 256) return "bad_table";
    seen.huffman.add(head);
    at += 17 + codes;
  }
  return at === body.length && at > 0 ? undefined : "bad_table";
}

function frameFault(body: Uint8Array, seen: Seen): JpegFault | undefined {
  const count = body[5] ?? 0;
  const height = ((body[1] ?? 0) << 8) + (body[2] ?? 0);
  const width = ((body[3] ?? 0) << 8) + (body[4] ?? 0);
  if (seen.components.size > 0 || body.length !== 6 + 3 * count) return "bad_frame";
  if (count < 1 || count > 4) return "bad_frame";
  if (width < 1 || height < 1 || width > maxSide || height > maxSide) return "bad_frame";
  for (let at = 6; at < body.length; at += 3) {
    const sampling = body[at + 1] ?? 0;
    const across = sampling >> 4;
    const down = sampling & 15;
    if (across < 1 || across > 4 || down < 1 || down > 4) return "bad_frame";
    seen.components.set(body[at] ?? 0, body[at + 2] ?? 0);
  }
  return seen.components.size === count ? undefined : "bad_frame";
}

function scanFault(body: Uint8Array, seen: Seen): JpegFault | undefined {
  const count = body[0] ?? 0;
  if (count < 1 || count > 4 || body.length !== 4 + 2 * count) return "bad_scan";
  for (let at = 1; at < 1 + 2 * count; at += 2) {
    const table = seen.components.get(body[at] ?? 0);
    if (table === undefined || !seen.quantisers.has(table)) return "bad_scan";
  }
  if (!seen.arithmetic && seen.huffman.size === 0) return "bad_scan";
  seen.scans++;
  return undefined;
}

/** Where the next marker begins that is neither a stuffed byte nor a restart. */
function endOfScan(bytes: Uint8Array, from: number): number {
  let at = bytes.indexOf(0xff, from);
  while (at !== -1) {
    const next = bytes[at + 1];
    const isData = next === 0 || next === 0xff || (next !== undefined && (next & 0xf8) === 0xd0);
    if (!isData) return at;
    at = bytes.indexOf(0xff, next === 0xff ? at + 1 : at + 2);
  }
  return bytes.length;
}
