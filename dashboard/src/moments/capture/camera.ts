// Pictures of a camera as JPEG, each with the time when it was taken, on the page's clock.
import { aheadMs, everyMs, JpegCanvas, type PictureSink } from "./pictures.ts";
import { hasTrackProcessor, TrackCamera } from "./track-camera.ts";

/** How long the next picture is waited for: a slow camera has one in this time. */
const shownMs = 1_000;
/** From the camera to the screen; a browser that says more is wrong. */
const maxDelayMs = 1_000;

/** Opens the camera of a stream, by what the browser has; the stream is the caller's. */
export function openCamera(stream: MediaStream, sink: PictureSink): { close(): void } {
  const [track] = stream.getVideoTracks();
  if (track !== undefined && hasTrackProcessor()) return new TrackCamera(track, sink);
  return new VideoCamera(stream, sink);
}

/** Uses a video element. In a hidden page it has about one picture a second. */
class VideoCamera {
  readonly #video = document.createElement("video");
  readonly #track: MediaStreamTrack | undefined;
  readonly #sink: PictureSink;
  readonly #canvas = new JpegCanvas();
  #sentMs = Number.NEGATIVE_INFINITY;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isOver = false;

  constructor(stream: MediaStream, sink: PictureSink) {
    this.#sink = sink;
    this.#track = stream.getVideoTracks()[0];
    this.#video.muted = true;
    this.#video.playsInline = true;
    this.#video.srcObject = stream;
    void this.#video.play().catch(() => undefined); // it was closed
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
    const { videoWidth, readyState } = this.#video;
    const isDark = videoWidth === 0 || readyState < HTMLMediaElement.HAVE_CURRENT_DATA;
    if (this.#isOver || isDark || this.#track?.muted === true) return undefined;
    const capturedMs = await this.#draw();
    return { jpeg: await this.#canvas.jpeg(), capturedMs };
  }

  /** Draws the next picture. @returns when the camera took it, or now if that is unknown. */
  #draw(): Promise<number> {
    const video = this.#video;
    const draw = () => this.#canvas.draw(video, video.videoWidth, video.videoHeight);
    return new Promise((resolve) => {
      let callback: number | undefined;
      // A hidden page shows no pictures, and so has no callbacks.
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
