import type { Timers } from "../../core/timers.ts";
import type { FrameBuffer, FrameFacts, PushResult } from "./frame-buffer.ts";

/** A picture before it is a JPEG: rows from the top, 3 (RGB) or 4 (RGBA) bytes a pixel. */
export interface RawFrame {
  readonly data: Uint8Array;
  readonly width: number;
  readonly height: number;
  readonly channels: 3 | 4;
}

/** Makes a JPEG of a raw picture, off the event loop. */
export interface FrameEncoder {
  /**
   * Reads `frame.data` until it settles and never after; keeps no reference to it.
   *
   * @param quality 1 to 100.
   */
  encode(frame: RawFrame, quality: number): Promise<Uint8Array>;
}

/** Source: the original's `cv2.imencode`. */
const quality = 85;
const deadlineMs = 2_000;
/** So many encodes may never come back before no more are tried. */
const maxAbandoned = 3;
const maxDimension = 8_192;
/** RGBA of 3840 x 2160. */
const maxRawBytes = 33_177_600;

/**
 * Encodes raw pictures, one at a time: one that comes during another is dropped and counted. A
 * picture is copied first, because drivers reuse their buffers, into a buffer that is used again;
 * after a deadline it is left to the encoder, which may still read it.
 */
export class RawFrames {
  readonly #encoder: FrameEncoder | undefined;
  readonly #frames: FrameBuffer;
  readonly #timers: Timers;
  #slot: Uint8Array | undefined;
  #current: { readonly done: Promise<void> } | undefined;
  #abandoned = 0;
  /** Whatever was begun under an older one is thrown away. */
  #generation = 0;

  constructor(encoder: FrameEncoder | undefined, frames: FrameBuffer, timers: Timers) {
    this.#encoder = encoder;
    this.#frames = frames;
    this.#timers = timers;
  }

  /** Settles when the picture that is being encoded is in the buffer or lost; absent: none is. */
  get inFlight(): Promise<void> | undefined {
    return this.#current?.done;
  }

  push(frame: RawFrame, facts: FrameFacts, isOwn: boolean): PushResult {
    const { loss } = this.#frames;
    const { ageMs } = facts.received;
    if (frame.data.length > maxRawBytes) {
      loss.count("too_large", ageMs);
      return "too_large";
    }
    if (this.#encoder === undefined || !isRawFrame(frame)) {
      loss.count("format", ageMs);
      return "format";
    }
    if (!this.#frames.isDue(facts.received)) return "throttled";
    if (this.#current !== undefined || this.#abandoned >= maxAbandoned) {
      loss.count("dropped", ageMs);
      return "busy";
    }
    const data = isOwn ? frame.data : this.#copied(frame.data);
    const { width, height, channels } = frame;
    this.#begin(this.#encoder, { data, width, height, channels }, facts, isOwn);
    return "accepted";
  }

  /** What is being encoded will not be kept. */
  clear(): void {
    this.#generation++;
    this.#current = undefined;
    this.#slot = undefined;
  }

  #copied(data: Uint8Array): Uint8Array {
    if (this.#slot?.length !== data.length) this.#slot = new Uint8Array(data.length);
    this.#slot.set(data);
    return this.#slot;
  }

  #begin(encoder: FrameEncoder, frame: RawFrame, facts: FrameFacts, isOwn: boolean): void {
    const { promise, resolve } = Promise.withResolvers<void>();
    const current = { done: promise };
    this.#current = current;
    const seq = this.#frames.accept(facts.received);
    const generation = this.#generation;
    const { ageMs } = facts.received;
    let isOver = false;
    const finish = (count?: "failed" | "timeout") => {
      isOver = true;
      if (count !== undefined) this.#frames.loss.count(count, ageMs);
      if (this.#current === current) this.#current = undefined;
      resolve();
    };
    const late = () => {
      this.#abandoned++;
      if (!isOwn && generation === this.#generation) this.#slot = undefined;
      finish("timeout");
    };
    const cancel = this.#timers.after(deadlineMs, late, { holdsProcess: true });
    const ended = (jpeg: Uint8Array | undefined) => {
      if (isOver) {
        this.#abandoned--;
        return;
      }
      cancel();
      const isWanted = generation === this.#generation;
      const isKept = jpeg !== undefined && isWanted && this.#frames.addEncoded(jpeg, facts, seq);
      finish(isKept || !isWanted ? undefined : "failed");
    };
    encode(encoder, frame).then(ended, () => ended(undefined));
  }
}

/** An encoder that throws at once is one that rejects. */
async function encode(encoder: FrameEncoder, frame: RawFrame): Promise<Uint8Array> {
  return await encoder.encode(frame, quality);
}

function isRawFrame({ data, width, height, channels }: RawFrame): boolean {
  const isSized = isDimension(width) && isDimension(height) && (channels === 3 || channels === 4);
  return isSized && data.length === width * height * channels;
}

function isDimension(value: number): boolean {
  return Number.isInteger(value) && value >= 1 && value <= maxDimension;
}
