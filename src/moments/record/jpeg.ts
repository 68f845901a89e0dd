interface JpegFacts {
  readonly width: number;
  readonly height: number;
  /** Up to and with the end marker: what follows it is padding. */
  readonly bytes: number;
}

const maxPaddingBytes = 64;
const maxDimension = 8_192;

/**
 * Looks at the outside of a JPEG: begins `FF D8 FF`, ends `FF D9` with at most 64 bytes behind it,
 * and says its dimensions, each 1 to 8,192. Does not decode it.
 *
 * Source: ITU T.81, B.1 and B.2.
 *
 * @returns `undefined` for anything else.
 */
export function jpegFacts(data: Uint8Array): JpegFacts | undefined {
  if (data[0] !== 0xff || data[1] !== 0xd8 || data[2] !== 0xff) return undefined;
  const bytes = endOf(data);
  const size = bytes === undefined ? undefined : dimensions(data, bytes);
  if (bytes === undefined || size === undefined) return undefined;
  return isDimension(size.width) && isDimension(size.height) ? { ...size, bytes } : undefined;
}

/** Whether a picture may be this wide or high, in pixels. */
export function isDimension(value: number): boolean {
  return Number.isInteger(value) && value >= 1 && value <= maxDimension;
}

function endOf(data: Uint8Array): number | undefined {
  const least = Math.max(data.length - maxPaddingBytes, 4);
  for (let end = data.length; end >= least; end--) {
    if (data[end - 1] === 0xd9 && data[end - 2] === 0xff) return end;
  }
  return undefined;
}

/** Walks from segment to segment to the start of a frame, which must come before the picture. */
function dimensions(data: Uint8Array, end: number): { width: number; height: number } | undefined {
  let at = 2;
  while (at + 9 <= end) {
    if (data[at] !== 0xff) return undefined;
    const marker = data[at + 1] ?? 0;
    if (marker === 0xff) {
      at++; // a fill byte
      continue;
    }
    if (isFrameStart(marker)) return { height: word(data, at + 5), width: word(data, at + 7) };
    // A scan, an end, or a marker without a length, before any frame: not a picture.
    if (marker === 0xda || marker === 0xd9 || marker < 0xc0 || isBare(marker)) return undefined;
    const length = word(data, at + 2);
    if (length < 2) return undefined;
    at += 2 + length;
  }
  return undefined;
}

/** SOF0 to SOF15, but for what has other meanings: DHT, JPG, DAC. */
function isFrameStart(marker: number): boolean {
  const isOther = marker === 0xc4 || marker === 0xc8 || marker === 0xcc;
  return marker >= 0xc0 && marker <= 0xcf && !isOther;
}

function isBare(marker: number): boolean {
  return marker >= 0xd0 && marker <= 0xd8;
}

function word(data: Uint8Array, at: number): number {
  return ((data[at] ?? 0) << 8) | (data[at + 1] ?? 0);
}
