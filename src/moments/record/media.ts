// Pictures and sound of the last two minutes, as they were received.
import { withoutPhotoMetadata } from "../../core/chat/photo-metadata.ts";
import { rememberDigest } from "../package/content.ts";
import { audioRateHz } from "../package/package-sink.ts";
import { limits, Ring } from "./ring.ts";

export interface SourceTime {
  /** The sender's own time, in milliseconds of its clock: of the picture, or of the first sample. */
  readonly sourceMs?: number | undefined;
}

export interface FramePush extends SourceTime {
  readonly camera?: string | undefined;
}

export interface AudioPush extends SourceTime {
  /** Of bytes. @default "s16le" */
  readonly encoding?: "s16le" | "f32le" | undefined;
}

/** Sound as it is fed. Bytes are 16 bits, or float32 when it is said, little endian. */
export type AudioChunk = Float32Array | Int16Array | Uint8Array;

/** A picture before it is a JPEG: rows from the top, 3 (RGB) or 4 (RGBA) bytes a pixel. */
export interface RawFrame {
  readonly data: Uint8Array;
  readonly width: number;
  readonly height: number;
  readonly channels: 3 | 4;
}

/** Makes a JPEG of a raw picture, off the event loop. */
export interface FrameEncoder {
  /** @param quality 1 to 100. */
  encode(frame: RawFrame, quality: number): Promise<Uint8Array>;
}

/**
 * What became of a push. `off`: no consent. `busy`: a picture is being encoded. `not_jpeg`,
 * `too_large` and `format` are refused for good.
 */
export type PushResult =
  | "accepted"
  | "throttled"
  | "off"
  | "busy"
  | "closed"
  | "not_jpeg"
  | "too_large"
  | "format";

/** What is known of a picture beside its bytes. */
export interface FrameFacts {
  /** When it was received. */
  readonly atMs: number;
  readonly camera: string | null;
  /** When it was taken, on the sender's clock. */
  readonly sourceMs: number | null;
}

/** A picture as it is kept. `jpeg` must not change: snapshots share it. */
export interface BufferedFrame extends FrameFacts {
  readonly jpeg: Uint8Array;
  readonly width: number;
  readonly height: number;
  readonly bytes: number;
  readonly seq: number;
}

/** Of a JPEG. Source: the original's `cv2.imencode`. */
const quality = 85;
/** Share of the interval between two pictures by which a sender's clock may be wrong. */
const tolerance = 0.1;

/** So many cameras have pictures at a time; one more is taken when one of them was still for half a second. */
const maxCameras = 8;

/** Pictures as JPEG, of each camera at most one in half a second. */
export class FrameBuffer extends Ring<BufferedFrame> {
  readonly #keepsMetadata: boolean;
  readonly #encoder: FrameEncoder | undefined;
  #isEncoding = false;
  /** The last accepted one of each camera, the oldest first. */
  readonly #last = new Map<string | null, FrameFacts>();
  #seq = 0;
  /** When the last one came, kept or too soon. */
  fedMs = Number.NEGATIVE_INFINITY;

  constructor(keepsMetadata = false, encoder?: FrameEncoder) {
    super({ count: limits.frames, bytes: limits.frameBytes, ageMs: limits.mediaAgeMs });
    this.#keepsMetadata = keepsMetadata;
    this.#encoder = encoder;
  }

  push(jpeg: Uint8Array, facts: FrameFacts): PushResult {
    const size = jpegFacts(jpeg);
    if ((size?.bytes ?? jpeg.length) > limits.oneFrameBytes) return "too_large";
    if (size === undefined) return "not_jpeg";
    this.fedMs = facts.atMs;
    if (!this.isDue(facts)) return "throttled";
    this.#keepLast(facts);
    const whole = jpeg.subarray(0, size.bytes);
    const bare = this.#keepsMetadata ? whole : withoutPhotoMetadata(whole);
    const kept = bare !== whole ? bare : Uint8Array.from(bare);
    rememberDigest(kept);
    this.#seq++;
    this.add({ ...facts, ...size, jpeg: kept, bytes: kept.length, seq: this.#seq });
    return "accepted";
  }

  /** Encodes a picture, one at a time, and pushes it if it is still wanted then; else it is `off`. */
  async pushRaw(frame: RawFrame, facts: FrameFacts, isWanted: () => boolean): Promise<PushResult> {
    if (this.#encoder === undefined || !isRawFrame(frame)) return "format";
    if (this.#isEncoding) return "busy";
    if (!this.isDue(facts)) return "throttled";
    this.#isEncoding = true;
    try {
      const jpeg = await this.#encoder.encode(frame, quality);
      return isWanted() ? this.push(jpeg, facts) : "off";
    } catch {
      return "not_jpeg";
    } finally {
      this.#isEncoding = false;
    }
  }

  /**
   * Says whether a picture is far enough from the last accepted one of its camera: by the sender's clock where
   * both came with its time, since a network delivers unevenly; else by when they were received.
   */
  isDue({ camera, sourceMs, atMs }: FrameFacts): boolean {
    const own = this.#last.get(camera);
    const [oldest] = this.#last.values();
    const last = own ?? (this.#last.size < maxCameras ? undefined : oldest);
    const { frameEveryMs } = limits;
    if (last === undefined) return true;
    const isUntold = last !== own || sourceMs === null || last.sourceMs === null;
    if (isUntold || sourceMs < last.sourceMs) return atMs - last.atMs >= frameEveryMs;
    return sourceMs - last.sourceMs >= frameEveryMs * (1 - tolerance);
  }

  #keepLast(facts: FrameFacts): void {
    this.#last.delete(facts.camera);
    const [oldest = null] = this.#last.keys();
    if (this.#last.size >= maxCameras) this.#last.delete(oldest);
    this.#last.set(facts.camera, facts);
  }
}

function isRawFrame({ data, width, height, channels }: RawFrame): boolean {
  const isSized = isDimension(width) && isDimension(height) && (channels === 3 || channels === 4);
  return isSized && data.length === width * height * channels;
}

interface JpegFacts {
  readonly width: number;
  readonly height: number;
  /** Up to and with the end marker: what follows it is padding. */
  readonly bytes: number;
}

const maxPaddingBytes = 64;
const maxDimension = 8_192;

/**
 * Looks at the outside of a JPEG: begins `FF D8 FF`, ends `FF D9` with at most 64 bytes behind it,
 * and says its dimensions, each 1 to 8,192. Does not decode it.
 *
 * Source: ITU T.81, B.1 and B.2.
 *
 * @returns `undefined` for anything else.
 */
export function jpegFacts(data: Uint8Array): JpegFacts | undefined {
  if (data[0] !== 0xff || data[1] !== 0xd8 || data[2] !== 0xff) return undefined;
  const bytes = endOf(data);
  const size = bytes === undefined ? undefined : dimensions(data, bytes);
  if (bytes === undefined || size === undefined) return undefined;
  return isDimension(size.width) && isDimension(size.height) ? { ...size, bytes } : undefined;
}

/** Whether a picture may be this wide or high, in pixels. */
function isDimension(value: number): boolean {
  return Number.isInteger(value) && value >= 1 && value <= maxDimension;
}

function endOf(data: Uint8Array): number | undefined {
  const least = Math.max(data.length - maxPaddingBytes, 4);
  for (let end = data.length; end >= least; end--) {
    if (data[end - 1] === 0xd9 && data[end - 2] === 0xff) return end;
  }
  return undefined;
}

/** Walks from segment to segment to the start of a frame, which must come before the picture. */
function dimensions(data: Uint8Array, end: number): { width: number; height: number } | undefined {
  let at = 2;
  while (at + 9 <= end) {
    if (data[at] !== 0xff) return undefined;
    const marker = data[at + 1] ?? 0;
    if (marker === 0xff) {
      at++; // a fill byte
      continue;
    }
    if (isFrameStart(marker)) return { height: word(data, at + 5), width: word(data, at + 7) };
    // A scan, an end, or a marker without a length, before any frame: not a picture.
    if (marker === 0xda || marker === 0xd9 || marker < 0xc0 || isBare(marker)) return undefined;
    const length = word(data, at + 2);
    if (length < 2) return undefined;
    at += 2 + length;
  }
  return undefined;
}

/** SOF0 to SOF15, but for what has other meanings: DHT, JPG, DAC. */
function isFrameStart(marker: number): boolean {
  const isOther = marker === 0xc4 || marker === 0xc8 || marker === 0xcc;
  return marker >= 0xc0 && marker <= 0xcf && !isOther;
}

function isBare(marker: number): boolean {
  return marker >= 0xd0 && marker <= 0xd8;
}

function word(data: Uint8Array, at: number): number {
  return ((data[at] ?? 0) << 8) | (data[at + 1] ?? 0);
}

/** A piece of sound as it is kept. Its samples must not change: snapshots share them. One that grew has the same `seq`. */
export interface BufferedAudio {
  /** When it was received. */
  readonly atMs: number;
  readonly pcm: Int16Array;
  readonly bytes: number;
  readonly seq: number;
  /** How many chunks as they were fed end in it. */
  readonly chunks: number;
  /** When the sample behind its last one was heard, on the sender's clock; null: not told. */
  readonly sourceEndMs: number | null;
}

/** The last samples, in the pieces in which they were fed. */
export class AudioBuffer extends Ring<BufferedAudio> {
  #seq = 0;
  /** When the last chunk came. */
  fedMs = Number.NEGATIVE_INFINITY;

  constructor() {
    const bytes = limits.audioSamples * 2;
    super({ count: limits.audioPieces, bytes, ageMs: limits.mediaAgeMs });
  }

  get samples(): number {
    return this.bytes / 2;
  }

  /** Copies a chunk; ignores an empty one. @returns `format`: its bytes end within a sample. */
  push(chunk: AudioChunk, atMs: number, { encoding, sourceMs }: AudioPush): PushResult {
    const samples = chunk instanceof Uint8Array ? samplesOf(chunk, encoding) : chunk;
    if (samples === undefined) return "format";
    const { length } = samples;
    if (length > 0) this.fedMs = atMs;
    // The beginning of a chunk that is too long would be dropped at once.
    for (let end = Math.max(length - limits.audioSamples, 0); end < length; ) {
      const pcm = pcmOf(samples.subarray(end, end + limits.audioPieceSamples));
      end += pcm.length;
      const sourceEndMs = sourceMs === undefined ? null : sourceMs + millisOf(end);
      this.#add({ pcm, atMs, sourceEndMs, chunks: Number(end === length) });
    }
    return "accepted";
  }

  /** Adds a piece. A short one grows by those that come right behind it, so that short chunks do not fill the ring. */
  #add({ pcm, ...piece }: Pick<BufferedAudio, "pcm" | "atMs" | "sourceEndMs" | "chunks">): void {
    const last = this.newest;
    const isNext = last !== undefined && piece.atMs - last.atMs < shortPieceMs;
    const isShort =
      isNext && last.bytes + pcm.byteLength <= (4 * limits.audioSamples) / limits.audioPieces;
    if (!isShort) this.#seq++;
    const all = isShort ? joinedPcm([last.pcm, pcm]) : pcm;
    const chunks = piece.chunks + (isShort ? last.chunks : 0);
    const grown = { ...piece, pcm: all, bytes: all.byteLength, seq: this.#seq, chunks };
    this.add(grown, isShort ? last : undefined);
  }
}

/** Sound that comes later after a short piece, in milliseconds, is one of its own. */
const shortPieceMs = 50;

/** Copies pieces of sound into one. */
export function joinedPcm(pieces: readonly Int16Array[]): Int16Array {
  const all = new Int16Array(pieces.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const piece of pieces) {
    all.set(piece, at);
    at += piece.length;
  }
  return all;
}

/** How long so many samples take, in milliseconds. */
export function millisOf(samples: number): number {
  return (samples * 1_000) / audioRateHz;
}

/** The samples that bytes hold, read where they lie if they are aligned. `undefined`: they end within one. */
function samplesOf(bytes: Uint8Array, encoding: AudioPush["encoding"] = "s16le") {
  const size = encoding === "s16le" ? 2 : 4;
  if (bytes.length % size !== 0) return undefined;
  const isAligned = bytes.byteOffset % size === 0;
  const { buffer, byteOffset } = isAligned ? bytes : Uint8Array.from(bytes);
  return encoding === "s16le"
    ? new Int16Array(buffer, byteOffset, bytes.length / size)
    : new Float32Array(buffer, byteOffset, bytes.length / size);
}

/**
 * Copies samples as 16 bits: a float the way the original wrote it, `x * 32767` in float32, clamped,
 * truncated toward 0. NaN is 0.
 */
export function pcmOf(samples: Float32Array | Int16Array): Int16Array {
  if (samples instanceof Int16Array) return samples.slice();
  const pcm = new Int16Array(samples.length);
  for (let index = 0; index < samples.length; index++) {
    const scaled = Math.fround((samples[index] ?? 0) * 32_767);
    // Storing truncates toward 0 and makes NaN 0.
    pcm[index] = Math.min(Math.max(scaled, -32_768), 32_767);
  }
  return pcm;
}
