import { Lru } from "../../core/lru.ts";
import type { StreamName } from "../package/record.ts";
import { AudioRing } from "./audio-ring.ts";
import { CaptureClock } from "./capture-clock.ts";
import { CapturedValues } from "./captured-values.ts";
import { FrameBuffer, type FrameFacts, type PushResult } from "./frame-buffer.ts";
import { isDimension } from "./jpeg.ts";
import type { BufferLimits } from "./limits.ts";
import { MessageBuffer } from "./message-buffer.ts";
import type { FrameEncoder, RawFrame, RecorderSettings } from "./options.ts";
import { type AudioChunk, samplesOfBytes } from "./pcm.ts";

export interface SourceTime {
  /** The sender's own time, in milliseconds of its clock: of the picture, or of the first sample. */
  readonly sourceMs?: number | undefined;
}

export interface FramePush extends SourceTime {
  readonly camera?: string | undefined;
  /** The bytes are given away: they need not be copied, and must not change. @default false */
  readonly transfer?: boolean | undefined;
}

export interface AudioPush extends SourceTime {
  /** Of bytes. @default "s16le" */
  readonly encoding?: "s16le" | "f32le" | undefined;
}

/** Source: the original's `cv2.imencode`. */
const quality = 85;
const maxPeople = 100;

/** The rolling buffers: what led to now, each stream within a budget of its own. */
export class MomentBuffers {
  readonly clock: CaptureClock;
  readonly messages: MessageBuffer;
  readonly frames: FrameBuffer;
  readonly audio: AudioRing;
  readonly captured: CapturedValues;
  /** How many pictures and chunks of sound came, kept or too soon. */
  readonly fed = { frames: 0, audio: 0 };
  readonly #limits: BufferLimits;
  readonly #encoder: FrameEncoder | undefined;
  #isEncoding = false;
  /** When each was last seen, on the clock of ages. */
  readonly #people = new Lru<string, number>(maxPeople);

  constructor({ limits, sessionId, clock, encoder, keepPhotoMetadata }: RecorderSettings) {
    this.#limits = limits;
    this.#encoder = encoder;
    this.clock = new CaptureClock(clock);
    this.messages = new MessageBuffer(limits, sessionId);
    this.frames = new FrameBuffer(limits, keepPhotoMetadata);
    this.captured = new CapturedValues(limits.capturedBytes);
    this.audio = new AudioRing({ samples: limits.audioSamples, ageMs: limits.mediaAgeMs });
  }

  pushJpeg(jpeg: Uint8Array, push: FramePush): PushResult {
    return this.#counted(this.frames.push(jpeg, this.#facts(push), push.transfer === true));
  }

  /**
   * Encodes a raw picture and keeps it. One that cannot be encoded is `not_jpeg`.
   *
   * @param isWanted whether the picture may still be kept once it is encoded.
   */
  async pushRaw(frame: RawFrame, push: FramePush, isWanted: () => boolean): Promise<PushResult> {
    const facts = this.#facts(push);
    if (this.#encoder === undefined || !isRawFrame(frame)) return "format";
    if (this.#isEncoding) return "busy";
    if (!this.frames.isDue(facts)) return this.#counted("throttled");
    this.#isEncoding = true;
    try {
      const jpeg = await this.#encoder.encode(frame, quality);
      return isWanted() ? this.#counted(this.frames.push(jpeg, facts, false)) : "off";
    } catch {
      return "not_jpeg";
    } finally {
      this.#isEncoding = false;
    }
  }

  pushAudio(chunk: AudioChunk, push: AudioPush): PushResult {
    const { encoding = "s16le", sourceMs } = push;
    const fed = chunk instanceof Uint8Array ? samplesOfBytes(chunk, encoding) : chunk;
    if (fed === undefined) return "format";
    this.fed.audio++;
    this.audio.push(fed, { ...this.clock.now(), sourceMs });
    return "accepted";
  }

  /** Somebody is there. */
  saw(name: string): void {
    this.#people.set(name, this.clock.now().ageMs);
  }

  peopleSince(ageMs: number): readonly string[] {
    const seen = [...this.#people].filter(([, at]) => at >= ageMs);
    return seen.map(([name]) => name).sort();
  }

  forgetPeople(): void {
    this.#people.clear();
  }

  /** Drops pictures and sound that are too old by now. */
  expire(ageMs: number): void {
    this.frames.expire(ageMs);
    this.audio.expire(ageMs);
  }

  /** Empties one stream, at once. */
  clear(stream: StreamName): void {
    this[stream].clear();
  }

  get mediaAgeMs(): number {
    return this.#limits.mediaAgeMs;
  }

  get bytes(): number {
    return this.messages.bytes + this.frames.bytes + this.audio.bytes + this.captured.bytes;
  }

  #counted(result: PushResult): PushResult {
    if (result === "accepted" || result === "throttled") this.fed.frames++;
    return result;
  }

  #facts({ camera, sourceMs = Number.NaN }: FramePush): FrameFacts {
    const known = Number.isFinite(sourceMs) ? sourceMs : null;
    return { ...this.clock.now(), camera: camera ?? null, sourceMs: known };
  }
}

function isRawFrame({ data, width, height, channels }: RawFrame): boolean {
  const isSized = isDimension(width) && isDimension(height) && (channels === 3 || channels === 4);
  return isSized && data.length === width * height * channels;
}
