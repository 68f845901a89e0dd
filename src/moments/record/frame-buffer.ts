import { withoutPhotoMetadata } from "../../core/chat/photo-metadata.ts";
import { rememberDigest } from "../package/digests.ts";
import type { Received } from "./capture-clock.ts";
import { jpegFacts } from "./jpeg.ts";
import type { BufferLimits } from "./limits.ts";
import { Ring } from "./ring.ts";

/** A picture as it is kept. `jpeg` must not change: snapshots share it. */
export interface BufferedFrame {
  readonly jpeg: Uint8Array;
  readonly bytes: number;
  readonly width: number;
  readonly height: number;
  readonly camera: string | null;
  readonly seq: number;
  /** When it was taken, on the sender's clock. */
  readonly sourceMs: number | null;
  /** When it was received, on the monotonic clock. */
  readonly receivedMs: number;
  readonly ageMs: number;
}

/** What is known of a picture beside its bytes. */
export interface FrameFacts {
  readonly camera: string | null;
  readonly sourceMs: number | null;
  readonly received: Received;
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

/** Share of the interval between two pictures by which a sender's clock may be wrong. */
const tolerance = 0.1;

/** The pictures of the last two minutes, as JPEG, at most one in half a second. */
export class FrameBuffer extends Ring<BufferedFrame> {
  readonly #limits: BufferLimits;
  readonly #keepsMetadata: boolean;
  #last: FrameFacts | undefined;
  #seq = 0;

  constructor(limits: BufferLimits, keepsMetadata = false) {
    super({ count: limits.frames, bytes: limits.frameBytes, ageMs: limits.mediaAgeMs });
    this.#limits = limits;
    this.#keepsMetadata = keepsMetadata;
  }

  /** @param isOwn the bytes may be kept as they are: the caller never writes to them again. */
  push(jpeg: Uint8Array, facts: FrameFacts, isOwn: boolean): PushResult {
    const size = jpegFacts(jpeg);
    const most = Math.min(this.#limits.oneFrameBytes, this.#limits.frameBytes);
    if ((size?.bytes ?? jpeg.length) > most) return "too_large";
    if (size === undefined) return "not_jpeg";
    if (!this.isDue(facts)) return "throttled";
    this.#last = facts;
    this.#keep(jpeg, size, facts, isOwn);
    return "accepted";
  }

  /**
   * Says whether a picture is far enough from the last accepted one: by the sender's clock where one camera
   * sent both with its time, since a network delivers unevenly; else by when they were received.
   */
  isDue({ camera, sourceMs, received }: FrameFacts): boolean {
    const last = this.#last;
    const { frameEveryMs } = this.#limits;
    if (last === undefined) return true;
    const isOther = camera !== last.camera || sourceMs === null || last.sourceMs === null;
    if (isOther || sourceMs < last.sourceMs) {
      return received.monoMs - last.received.monoMs >= frameEveryMs;
    }
    return sourceMs - last.sourceMs >= frameEveryMs * (1 - tolerance);
  }

  #keep(
    jpeg: Uint8Array,
    { width, height, bytes }: { width: number; height: number; bytes: number },
    { camera, sourceMs, received }: FrameFacts,
    isOwn: boolean,
  ): void {
    const whole = jpeg.subarray(0, bytes);
    const bare = this.#keepsMetadata ? whole : withoutPhotoMetadata(whole);
    const kept = isOwn || bare !== whole ? bare : Uint8Array.from(bare);
    rememberDigest(kept);
    const { ageMs, monoMs: receivedMs } = received;
    this.#seq++;
    const size = { bytes: kept.length, width, height };
    this.add({ jpeg: kept, ...size, camera, seq: this.#seq, sourceMs, receivedMs, ageMs });
  }
}
