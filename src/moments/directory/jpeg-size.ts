/** Frame headers by their marker: baseline, progressive and the rarer ones; not tables. */
function isFrameHeader(marker: number): boolean {
  return marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);
}

/**
 * The width and height that a JPEG says it has; `undefined` for bytes without both end markers or a
 * frame header.
 *
 * Source: ITU-T T.81, B.2.2.
 */
export function jpegSize(
  bytes: Buffer,
): { readonly width: number; readonly height: number } | undefined {
  const { length } = bytes;
  if (length < 4 || bytes.readUInt16BE(0) !== 0xffd8 || bytes.readUInt16BE(length - 2) !== 0xffd9) {
    return undefined;
  }
  for (let at = 2; at + 9 <= length; ) {
    if (bytes[at] !== 0xff) return undefined;
    const marker = bytes.readUInt8(at + 1);
    if (isFrameHeader(marker)) {
      return { height: bytes.readUInt16BE(at + 5), width: bytes.readUInt16BE(at + 7) };
    }
    at += marker === 0xff ? 1 : 2 + bytes.readUInt16BE(at + 2);
  }
  return undefined;
}
