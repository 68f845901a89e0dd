/** What is wider is made smaller. */
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
