// One message of the WebSocket `/api/media`: a byte that says what it is, eight that say when it was
// taken, and the bytes of a picture or of sound.

/** 1: samples, 16 bits little endian, 16 kHz mono. 2: a JPEG. */
export const mediaKinds = { 1: "audio", 2: "frame" } as const;
export type MediaKind = (typeof mediaKinds)[keyof typeof mediaKinds];

/** The kind, and the time as a float64, little endian. */
export const mediaHeaderBytes = 9;

export interface MediaMessage {
  readonly kind: MediaKind;
  /**
   * When the picture, or the first sample, was taken: milliseconds of the sender's monotonic clock,
   * which need not be ours. Absent where the sender wrote NaN: it does not know.
   */
  readonly capturedMs: number | undefined;
  /** Not copied. */
  readonly payload: Uint8Array;
}

/** @returns `undefined`: it is no such message. */
export function readMediaMessage(bytes: Uint8Array): MediaMessage | undefined {
  if (bytes.length < mediaHeaderBytes) return undefined;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const kind = kindOf(view.getUint8(0));
  const time = view.getFloat64(1, true);
  if (kind === undefined || Math.abs(time) > Number.MAX_SAFE_INTEGER) return undefined;
  const capturedMs = Number.isNaN(time) ? undefined : time;
  return { kind, capturedMs, payload: bytes.subarray(mediaHeaderBytes) };
}

function kindOf(byte: number): MediaKind | undefined {
  return byte === 1 || byte === 2 ? mediaKinds[byte] : undefined;
}
