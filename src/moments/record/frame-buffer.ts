import { withoutPhotoMetadata } from "../../core/chat/photo-metadata.ts";
import { rememberDigest } from "../package/content.ts";
import type { Received } from "./capture-clock.ts";
import { type JpegFacts, jpegFacts } from "./jpeg.ts";
import { limits } from "./limits.ts";
import { Ring } from "./ring.ts";

/** What is known of a picture beside its bytes. */
export interface FrameFacts extends Received {
  readonly camera: string | null;
  /** When it was taken, on the sender's clock. */
  readonly sourceMs: number | null;
}

/** A picture as it is kept. `jpeg` must not change: snapshots share it. */
export interface BufferedFrame extends FrameFacts, JpegFacts {
  readonly jpeg: Uint8Array;
  readonly seq: number;
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
  readonly #keepsMetadata: boolean;
  #last: FrameFacts | undefined;
  #seq = 0;
  /** How many came, kept or too soon. */
  fed = 0;

  constructor(keepsMetadata = false) {
    super({ count: limits.frames, bytes: limits.frameBytes, ageMs: limits.mediaAgeMs });
    this.#keepsMetadata = keepsMetadata;
  }

  push(jpeg: Uint8Array, facts: FrameFacts): PushResult {
    const size = jpegFacts(jpeg);
    if ((size?.bytes ?? jpeg.length) > limits.oneFrameBytes) return "too_large";
    if (size === undefined) return "not_jpeg";
    this.fed++;
    if (!this.isDue(facts)) return "throttled";
    this.#last = facts;
    const whole = jpeg.subarray(0, size.bytes);
    const bare = this.#keepsMetadata ? whole : withoutPhotoMetadata(whole);
    const kept = bare !== whole ? bare : Uint8Array.from(bare);
    rememberDigest(kept);
    this.#seq++;
    this.add({ ...facts, ...size, jpeg: kept, bytes: kept.length, seq: this.#seq });
    return "accepted";
  }

  /**
   * Says whether a picture is far enough from the last accepted one: by the sender's clock where one camera
   * sent both with its time, since a network delivers unevenly; else by when they were received.
   */
  isDue({ camera, sourceMs, monoMs }: FrameFacts): boolean {
    const last = this.#last;
    const { frameEveryMs } = limits;
    if (last === undefined) return true;
    const isOther = camera !== last.camera || sourceMs === null || last.sourceMs === null;
    if (isOther || sourceMs < last.sourceMs) return monoMs - last.monoMs >= frameEveryMs;
    return sourceMs - last.sourceMs >= frameEveryMs * (1 - tolerance);
  }
}
