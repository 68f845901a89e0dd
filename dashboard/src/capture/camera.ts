// Pictures of a camera as JPEG, each with the time when it was taken, on the page's clock.

/** The server keeps one in 500 ms; one that comes a little early would be lost. */
const everyMs = 510;
/** So long before it is due a picture is looked for: the camera has one every 70 ms or so. */
const aheadMs = 90;
const maxWidth = 640;
const quality = 0.85;
/** How long the next picture is waited for: a slow camera has one in this time. */
const shownMs = 1_000;
/** From the camera to the screen; a browser that says more is wrong. */
const maxDelayMs = 1_000;

export interface PictureSink {
  picture(jpeg: Uint8Array, capturedMs: number): void;
  /** No picture can be made here. */
  failed(error: unknown): void;
}

/** Reads a stream until it is closed; the stream is the caller's. */
export class Camera {
  readonly #video = document.createElement("video");
  readonly #track: MediaStreamTrack | undefined;
  readonly #sink: PictureSink;
  readonly #canvas = new OffscreenCanvas(1, 1);
  #sentMs = Number.NEGATIVE_INFINITY;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isOver = false;

  constructor(stream: MediaStream, sink: PictureSink) {
    this.#sink = sink;
    this.#track = stream.getVideoTracks()[0];
    this.#video.muted = true;
    this.#video.playsInline = true;
    this.#video.srcObject = stream;
    void this.#video.play().catch(() => undefined); // it was closed meanwhile
    void this.#run().catch((error: unknown) => {
      if (!this.#isOver) sink.failed(error);
    });
  }

  close(): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
    this.#video.srcObject = null;
  }

  async #run(): Promise<void> {
    while (!this.#isOver) {
      await this.#until(this.#sentMs + everyMs - aheadMs);
      const taken = await this.#take();
      if (taken === undefined) {
        await this.#until(performance.now() + 100);
        continue;
      }
      await this.#until(this.#sentMs + everyMs);
      if (this.#isOver) return;
      this.#sentMs = performance.now();
      this.#sink.picture(taken.jpeg, taken.capturedMs);
    }
  }

  /** @returns `undefined`: the camera shows nothing now. */
  async #take(): Promise<{ jpeg: Uint8Array; capturedMs: number } | undefined> {
    const { videoWidth, videoHeight, readyState } = this.#video;
    const isDark = videoWidth === 0 || readyState < HTMLMediaElement.HAVE_CURRENT_DATA;
    if (this.#isOver || isDark || this.#track?.muted === true) return undefined;
    const scale = Math.min(maxWidth / videoWidth, 1);
    this.#canvas.width = Math.round(videoWidth * scale);
    this.#canvas.height = Math.round(videoHeight * scale);
    const capturedMs = await this.#draw();
    const blob = await this.#canvas.convertToBlob({ type: "image/jpeg", quality });
    return { jpeg: new Uint8Array(await blob.arrayBuffer()), capturedMs };
  }

  /** Draws the next picture. @returns when the camera took it, or, where that is not told, now. */
  #draw(): Promise<number> {
    const video = this.#video;
    const context = this.#canvas.getContext("2d");
    if (context === null) return Promise.reject(new Error("this browser has no canvas"));
    const draw = () => context.drawImage(video, 0, 0, this.#canvas.width, this.#canvas.height);
    return new Promise((resolve) => {
      let callback: number | undefined;
      // A page out of sight shows no pictures, and so tells of none.
      const isTelling = !document.hidden && "requestVideoFrameCallback" in video;
      this.#timer = setTimeout(
        () => {
          if (callback !== undefined) video.cancelVideoFrameCallback(callback);
          draw();
          resolve(performance.now());
        },
        isTelling ? shownMs : 0,
      );
      if (!isTelling) return;
      callback = video.requestVideoFrameCallback((shownAt, { captureTime }) => {
        clearTimeout(this.#timer);
        draw();
        const isTold = captureTime !== undefined && Math.abs(shownAt - captureTime) < maxDelayMs;
        resolve(Math.min(isTold ? captureTime : shownAt, performance.now()));
      });
    });
  }

  #until(atMs: number): Promise<void> {
    const waitMs = atMs - performance.now();
    if (this.#isOver || !(waitMs > 0)) return Promise.resolve();
    return new Promise((resolve) => {
      this.#timer = setTimeout(resolve, waitMs);
    });
  }
}
