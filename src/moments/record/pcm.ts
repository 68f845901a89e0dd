/** Sound as it is fed. Bytes are 16 bits, or float32 when it is said, little endian. */
export type AudioChunk = Float32Array | Int16Array | Uint8Array;

/**
 * Copies samples into `into`, from `at` on, as 16 bits: a float the way the original wrote it, `x *
 * 32767` in float32, clamped, truncated toward 0. NaN is 0.
 */
export function writePcm(
  from: Float32Array | Int16Array,
  begin: number,
  end: number,
  into: Int16Array,
  at: number,
): void {
  if (from instanceof Int16Array) {
    into.set(begin === 0 && end === from.length ? from : from.subarray(begin, end), at);
    return;
  }
  for (let i = begin, j = at; i < end; i++, j++) {
    const scaled = Math.fround((from[i] ?? 0) * 32_767);
    // Storing truncates toward 0 and makes NaN 0.
    into[j] = scaled > 32_767 ? 32_767 : scaled < -32_768 ? -32_768 : scaled;
  }
}

/**
 * The samples that bytes hold. They are read where they lie if they are aligned, else copied.
 *
 * @returns `undefined` when the bytes end within a sample.
 */
export function samplesOfBytes(
  bytes: Uint8Array,
  encoding: "s16le" | "f32le",
): Float32Array | Int16Array | undefined {
  const size = encoding === "s16le" ? 2 : 4;
  if (bytes.length % size !== 0) return undefined;
  const isAligned = bytes.byteOffset % size === 0;
  const { buffer, byteOffset } = isAligned ? bytes : Uint8Array.from(bytes);
  return encoding === "s16le"
    ? new Int16Array(buffer, byteOffset, bytes.length / size)
    : new Float32Array(buffer, byteOffset, bytes.length / size);
}
