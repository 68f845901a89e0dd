import type { Clock } from "../../core/clock.ts";
import { Lru } from "../../core/lru.ts";
import type { Timers } from "../../core/timers.ts";
import type { Loss, StreamName } from "../package/record.ts";
import { AudioRing } from "./audio-ring.ts";
import { CaptureClock } from "./capture-clock.ts";
import { CapturedValues } from "./captured-values.ts";
import {
  type BufferedFrame,
  FrameBuffer,
  type FrameFacts,
  type PushResult,
} from "./frame-buffer.ts";
import type { BufferLimits } from "./limits.ts";
import { LossCounters } from "./loss.ts";
import { MessageBuffer } from "./message-buffer.ts";
import { type AudioChunk, samplesOfBytes } from "./pcm.ts";
import { type FrameEncoder, type RawFrame, RawFrames } from "./raw-frames.ts";
import { SourceClocks } from "./source-clock.ts";

export interface SourceTime {
  /** The source's own time, in milliseconds of its clock: of the picture, or of the first sample. */
  readonly sourceMs?: number | undefined;
  /** Whose clock that is: one name for all streams of a connection. @default "" */
  readonly connection?: string | undefined;
}

export interface FramePush extends SourceTime {
  readonly camera?: string | undefined;
  /** The bytes are given away: they need not be copied, and must not change. @default false */
  readonly transfer?: boolean | undefined;
}

export interface AudioPush extends SourceTime {
  /** @default 16_000 */
  readonly rateHz?: number | undefined;
  /** @default 1 */
  readonly channels?: number | undefined;
  /** Of bytes. @default "s16le" */
  readonly encoding?: "s16le" | "f32le" | undefined;
}

/** Makes 16 kHz mono of any other sound. Called on the event loop, so it takes microseconds. */
export type Resample = (
  chunk: Float32Array | Int16Array,
  format: { readonly rateHz: number; readonly channels: number },
) => Float32Array | Int16Array;

interface BufferPorts {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly encoder?: FrameEncoder | undefined;
  readonly resample?: Resample | undefined;
}

const maxPeople = 100;

/** The rolling buffers: what led to now, each stream within a budget of its own. */
export class MomentBuffers {
  readonly clock: CaptureClock;
  readonly messages: MessageBuffer;
  readonly frames: FrameBuffer;
  readonly raw: RawFrames;
  readonly audio: AudioRing;
  readonly captured: CapturedValues;
  readonly #audioLoss = new LossCounters();
  readonly #limits: BufferLimits;
  readonly #resample: Resample | undefined;
  readonly #sources = new SourceClocks();
  /** When each was last seen, on the clock of ages. */
  readonly #people = new Lru<string, number>(maxPeople);

  constructor(limits: BufferLimits, sessionId: string, ports: BufferPorts) {
    this.#limits = limits;
    this.#resample = ports.resample;
    this.clock = new CaptureClock(ports.clock);
    this.messages = new MessageBuffer(limits, sessionId);
    this.frames = new FrameBuffer(limits);
    this.raw = new RawFrames(ports.encoder, this.frames, ports.timers);
    this.captured = new CapturedValues(limits.capturedBytes);
    const { audioSamples: samples, audioBytes: bytes, mediaAgeMs: ageMs } = limits;
    this.audio = new AudioRing({ samples, bytes, ageMs }, (reason, at, lost) => {
      this.#audioLoss.count(reason, at, lost);
    });
  }

  pushJpeg(jpeg: Uint8Array, push: FramePush): PushResult {
    return this.frames.push(jpeg, this.#facts(push), push.transfer === true);
  }

  pushRaw(frame: RawFrame, push: FramePush): PushResult {
    return this.raw.push(frame, this.#facts(push), push.transfer === true);
  }

  /** @throws TypeError: not 16 kHz mono, and there is nothing that makes it so. */
  pushAudio(chunk: AudioChunk, push: AudioPush): PushResult {
    const { rateHz = 16_000, channels = 1, encoding = "s16le" } = push;
    const received = this.clock.now();
    const refuse = () => this.#audioLoss.count("format", received.ageMs);
    const fed = chunk instanceof Uint8Array ? samplesOfBytes(chunk, encoding) : chunk;
    if (fed === undefined) {
      refuse();
      return "format";
    }
    const isRight = rateHz === 16_000 && channels === 1;
    if (!isRight && this.#resample === undefined) {
      refuse();
      throw new TypeError("sound must be 16 kHz mono, or a resample port must be given");
    }
    const samples = isRight ? fed : (this.#resample?.(fed, { rateHz, channels }) ?? fed);
    const { sourceMs, connection = "" } = push;
    const sourceEndMs = sourceMs === undefined ? undefined : sourceMs + samples.length / 16;
    const end = this.#sources.time(connection, sourceEndMs, received.monoMs);
    this.#audioLoss.count("accepted", received.ageMs);
    this.audio.push(samples, end, received.ageMs);
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
    if (stream === "frames") this.raw.clear();
    this[stream].clear();
  }

  lossRun(): Loss {
    const { messages, frames } = this;
    return { messages: messages.loss.run, frames: frames.loss.run, audio: this.#audioLoss.run };
  }

  lossSince(ageMs: number): Loss {
    const [messages, frames] = [this.messages.loss.since(ageMs), this.frames.loss.since(ageMs)];
    return { messages, frames, audio: this.#audioLoss.since(ageMs) };
  }

  get mediaAgeMs(): number {
    return this.#limits.mediaAgeMs;
  }

  get bytes(): number {
    return this.messages.bytes + this.frames.bytes + this.audio.bytes + this.captured.bytes;
  }

  #facts({ camera, sourceMs, connection = "" }: FramePush): FrameFacts {
    const received = this.clock.now();
    const time = this.#sources.time(connection, sourceMs, received.monoMs);
    const isTold = sourceMs !== undefined && Number.isFinite(sourceMs);
    return { camera: camera ?? null, sourceMs: isTold ? sourceMs : null, time, received };
  }
}

/** Frames that are not among those known already. */
export function framesAfter(
  frames: readonly BufferedFrame[],
  known: readonly BufferedFrame[],
): readonly BufferedFrame[] {
  const seqs = new Set(known.map(({ seq }) => seq));
  return frames.filter(({ seq }) => !seqs.has(seq));
}
