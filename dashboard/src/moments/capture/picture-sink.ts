export interface PictureSink {
  /** @param capturedMs when the camera took it, on the page's clock. */
  picture(jpeg: Uint8Array, capturedMs: number): void;
  /** No picture can be made here. */
  failed(error: unknown): void;
}

/** The server keeps one in 500 ms; one that comes a little early would be lost. In milliseconds. */
export const everyMs = 510;
/** So long before it is due a picture is looked for: the camera has one every 70 ms or so. */
export const aheadMs = 90;
