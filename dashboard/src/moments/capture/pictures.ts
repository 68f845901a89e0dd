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

/** A wider picture is scaled down. */
const maxWidth = 640;
const quality = 0.85;

/** Makes JPEGs, one at a time, on one canvas. */
export class JpegCanvas {
  readonly #canvas = new OffscreenCanvas(1, 1);
  readonly #context: OffscreenCanvasRenderingContext2D;

  constructor() {
    const context = this.#canvas.getContext("2d");
    if (context === null) throw new Error("this browser has no canvas");
    this.#context = context;
  }

  /** Draws a picture of this size; what is drawn stays until the next one. */
  draw(picture: CanvasImageSource, width: number, height: number): void {
    const scale = Math.min(maxWidth / width, 1);
    this.#canvas.width = Math.round(width * scale);
    this.#canvas.height = Math.round(height * scale);
    this.#context.drawImage(picture, 0, 0, this.#canvas.width, this.#canvas.height);
  }

  async jpeg(): Promise<Uint8Array> {
    const blob = await this.#canvas.convertToBlob({ type: "image/jpeg", quality });
    return new Uint8Array(await blob.arrayBuffer());
  }
}
