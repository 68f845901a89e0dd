import { rememberDigest } from "../package/digests.ts";
import type { Received } from "./capture-clock.ts";
import { jpegFacts } from "./jpeg.ts";
import type { BufferLimits } from "./limits.ts";
import { LossCounters } from "./loss.ts";
import { Ring } from "./ring.ts";
import type { SourcedTime } from "./source-clock.ts";

/** A picture as it is kept. `jpeg` must not change: snapshots share it. */
export interface BufferedFrame {
  readonly jpeg: Uint8Array;
  readonly bytes: number;
  readonly width: number;
  readonly height: number;
  readonly camera: string | null;
  readonly seq: number;
  /** When it was taken; where its source told nothing, when it was received. */
  readonly time: SourcedTime;
  readonly sourceMs: number | null;
  readonly receivedMs: number;
  readonly ageMs: number;
}

/** What is known of a picture beside its bytes. */
export interface FrameFacts {
  readonly camera: string | null;
  readonly sourceMs: number | null;
  readonly time: SourcedTime;
  readonly received: Received;
}

/**
 * What became of a push. `off`: no consent. `busy`: an encoder is at work, or the machine has too
 * many that never came back. The rest is refused for good, and counted.
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

/** The pictures of the last two minutes, as JPEG, at most one in half a second. */
export class FrameBuffer {
  readonly loss = new LossCounters();
  readonly #limits: BufferLimits;
  readonly #ring: Ring<BufferedFrame>;
  #lastAcceptedMs = Number.NEGATIVE_INFINITY;
  #seq = 0;

  constructor(limits: BufferLimits) {
    this.#limits = limits;
    const { frames: count, frameBytes: bytes, mediaAgeMs: ageMs } = limits;
    this.#ring = new Ring({ count, bytes, ageMs }, (reason, at) => this.loss.count(reason, at));
  }

  get count(): number {
    return this.#ring.count;
  }

  get bytes(): number {
    return this.#ring.bytes;
  }

  /** @param isOwn the bytes may be kept as they are: the caller never writes to them again. */
  push(jpeg: Uint8Array, facts: FrameFacts, isOwn: boolean): PushResult {
    const { ageMs } = facts.received;
    const size = jpegFacts(jpeg);
    const wrong = this.#problemWith(jpeg, size?.bytes);
    if (wrong !== undefined) {
      this.loss.count(wrong, ageMs);
      return wrong;
    }
    if (!this.isDue(facts.received)) return "throttled";
    if (size !== undefined) this.#keep(jpeg, size, facts, this.accept(facts.received), isOwn);
    return "accepted";
  }

  /** Whether a picture that was received then is far enough from the last accepted one. */
  isDue({ monoMs, ageMs }: Received): boolean {
    const isDue = monoMs - this.#lastAcceptedMs >= this.#limits.frameEveryMs;
    if (!isDue) this.loss.count("throttled", ageMs);
    return isDue;
  }

  /**
   * The number of a picture that is accepted now, before it is encoded; a gap in these numbers is one
   * that was lost.
   */
  accept({ monoMs }: Received): number {
    this.#lastAcceptedMs = monoMs;
    this.#seq++;
    return this.#seq;
  }

  /** Keeps what an encoder made, which is ours. */
  addEncoded(jpeg: Uint8Array, facts: FrameFacts, seq: number): boolean {
    const size = jpegFacts(jpeg);
    const wrong = this.#problemWith(jpeg, size?.bytes);
    if (wrong !== undefined || size === undefined) return false;
    this.#keep(jpeg, size, facts, seq, false);
    return true;
  }

  expire(ageMs: number): void {
    this.#ring.expire(ageMs);
  }

  snapshot(): BufferedFrame[] {
    return this.#ring.snapshot();
  }

  clear(): void {
    this.#ring.clear();
  }

  #problemWith(jpeg: Uint8Array, bytes: number | undefined): "too_large" | "not_jpeg" | undefined {
    const most = Math.min(this.#limits.oneFrameBytes, this.#limits.frameBytes);
    if ((bytes ?? jpeg.length) > most) return "too_large";
    return bytes === undefined ? "not_jpeg" : undefined;
  }

  #keep(
    jpeg: Uint8Array,
    { width, height, bytes }: { width: number; height: number; bytes: number },
    { camera, sourceMs, time, received }: FrameFacts,
    seq: number,
    isOwn: boolean,
  ): void {
    const kept = isOwn ? jpeg.subarray(0, bytes) : Uint8Array.from(jpeg.subarray(0, bytes));
    rememberDigest(kept);
    const { ageMs, monoMs: receivedMs } = received;
    this.loss.count("accepted", ageMs);
    const size = { bytes, width, height };
    const times = { time, sourceMs, receivedMs, ageMs };
    this.#ring.push({ jpeg: kept, ...size, camera, seq, ...times });
  }
}
