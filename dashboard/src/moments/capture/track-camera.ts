// Pictures of a camera from its track, each with the time when it was taken. They come in a page out of
// sight as well, where timers and video elements rest; not every browser hands them out.
import { aheadMs, everyMs, JpegCanvas, type PictureSink } from "./pictures.ts";

interface TrackProcessor {
  readonly readable: ReadableStream<VideoFrame>;
}
declare const MediaStreamTrackProcessor: new (options: {
  readonly track: MediaStreamTrack;
}) => TrackProcessor;

export const hasTrackProcessor = (): boolean => "MediaStreamTrackProcessor" in globalThis;

/** Reads a track until it is closed; the track is the caller's. */
export class TrackCamera {
  readonly #sink: PictureSink;
  readonly #reader: ReadableStreamDefaultReader<VideoFrame>;
  readonly #canvas = new JpegCanvas();
  readonly #clock = new CameraClock();
  #sentMs = Number.NEGATIVE_INFINITY;
  /** A picture is being made, or waits for its time. */
  #next: { readonly capturedMs: number; jpeg: Uint8Array | undefined } | undefined;
  #isOver = false;

  constructor(track: MediaStreamTrack, sink: PictureSink) {
    this.#sink = sink;
    this.#reader = new MediaStreamTrackProcessor({ track }).readable.getReader();
    void this.#run().catch((error: unknown) => this.#failed(error));
  }

  close(): void {
    this.#isOver = true;
    void this.#reader.cancel().catch(() => undefined); // it ended with its track
  }

  /** Every picture sets the clock, also one that is not sent. */
  async #run(): Promise<void> {
    for (;;) {
      const { done, value: frame } = await this.#reader.read();
      if (done || this.#isOver) {
        frame?.close();
        return;
      }
      try {
        this.#see(frame);
      } finally {
        frame.close();
      }
    }
  }

  #see(frame: VideoFrame): void {
    const nowMs = performance.now();
    const takenMs = frame.timestamp / 1_000;
    const capturedMs = takenMs + this.#clock.offset(takenMs, nowMs);
    this.#send();
    if (this.#next !== undefined || nowMs < this.#sentMs + everyMs - aheadMs) return;
    this.#canvas.draw(frame, frame.displayWidth, frame.displayHeight);
    const next = { capturedMs, jpeg: undefined as Uint8Array | undefined };
    this.#next = next;
    this.#canvas.jpeg().then(
      (jpeg) => {
        next.jpeg = jpeg;
        this.#send();
      },
      (error: unknown) => this.#failed(error),
    );
  }

  #send(): void {
    const nowMs = performance.now();
    if (this.#next?.jpeg === undefined || nowMs < this.#sentMs + everyMs || this.#isOver) return;
    const { jpeg, capturedMs } = this.#next;
    this.#next = undefined;
    this.#sentMs = nowMs;
    this.#sink.picture(jpeg, capturedMs);
  }

  #failed(error: unknown): void {
    if (!this.#isOver) this.#sink.failed(error);
  }
}

/** At ten pictures a second one of them is prompt in this time, also on a busy machine. */
const windowMs = 2_000;

/**
 * When a picture was taken, on the page's clock. The camera's own clock is exact, but its
 * origin is unknown; a picture is handed out some milliseconds late, never early. So the smallest
 * distance of the last 2 s is the true one. It follows when one clock runs faster, and when the camera
 * restarts its clock.
 */
export class CameraClock {
  #seen: { readonly atMs: number; readonly offset: number }[] = [];

  /**
   * @param takenMs when it was taken, as the camera counts.
   * @param atMs when it was handed out, on the page's clock.
   * @returns what to add to a time of the camera.
   */
  offset(takenMs: number, atMs: number): number {
    this.#seen = this.#seen.filter((one) => atMs - one.atMs < windowMs);
    this.#seen.push({ atMs, offset: atMs - takenMs });
    return Math.min(...this.#seen.map(({ offset }) => offset));
  }
}
