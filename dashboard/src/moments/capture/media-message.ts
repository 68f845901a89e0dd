// A picture or sound as it goes over the WebSocket: a byte that says what it is, eight that say when it
// was taken, then its bytes.

export const soundKind = 1;
export const pictureKind = 2;
const headerBytes = 9;

export interface Media {
  readonly kind: typeof soundKind | typeof pictureKind;
  /** When the picture or the first sample was taken, on this page's clock. */
  readonly capturedMs: number;
  readonly bytes: Uint8Array;
}

export function mediaMessage({ kind, capturedMs, bytes }: Media): Uint8Array<ArrayBuffer> {
  const message = new Uint8Array(headerBytes + bytes.length);
  const header = new DataView(message.buffer);
  header.setUint8(0, kind);
  header.setFloat64(1, capturedMs, true);
  message.set(bytes, headerBytes);
  return message;
}
