import { resolveOptions, whole } from "../../core/options.ts";
import { audioBytesOf } from "./audio-ring.ts";

/** What the rolling buffers hold. Source of the counts: the seed; of the bytes: 20 MB in all. */
export interface BufferLimits {
  /** @default 50 */
  readonly messages: number;
  /** @default 2_000_000 */
  readonly messageBytes: number;
  /** Code points of one text; what is longer is cut. @default 8_000 */
  readonly messageCodePoints: number;
  /** @default 240 */
  readonly frames: number;
  /** @default 12_000_000 */
  readonly frameBytes: number;
  /** Of one picture; a larger one is refused. @default 2_097_152 */
  readonly oneFrameBytes: number;
  /** Between accepted pictures: by the sender's time where both have one, else by when they came. @default 500 */
  readonly frameEveryMs: number;
  /** 120 s of 16 kHz. @default 1_920_000 */
  readonly audioSamples: number;
  /** Pictures and sound that are older go; words stay. @default 120_000 */
  readonly mediaAgeMs: number;
  /** Of all captured values together, as JSON. @default 262_144 */
  readonly capturedBytes: number;
}

const defaults: BufferLimits = {
  messages: 50,
  messageBytes: 2_000_000,
  messageCodePoints: 8_000,
  frames: 240,
  frameBytes: 12_000_000,
  oneFrameBytes: 2_097_152,
  frameEveryMs: 500,
  audioSamples: 1_920_000,
  mediaAgeMs: 120_000,
  capturedBytes: 262_144,
};

/** Ten times the defaults: what a package and an upload are still made for. */
const most = 10;

const checks = Object.fromEntries(
  Object.entries(defaults).map(([name, value]) => {
    return [name, whole(name === "frameEveryMs" ? 0 : 1, value * most)];
  }),
);

/** @throws ThroughlineError `THROUGHLINE_CONFIGURATION`: a limit is not from 1 to ten times its default. */
export function resolveLimits(limits: Partial<BufferLimits> = {}): BufferLimits {
  return resolveOptions("limits", limits, defaults, checks);
}

/** What the buffers hold at most, as people are told of it. */
export type BufferBounds = ReturnType<typeof boundsOf>;

export function boundsOf(limits: BufferLimits) {
  const { messages, frames, audioSamples, mediaAgeMs } = limits;
  const { messageBytes, frameBytes, capturedBytes } = limits;
  return {
    messages,
    frames,
    audio_seconds: Math.min(audioSamples / 16_000, mediaAgeMs / 1_000),
    /** Of all buffers together. */
    bytes: messageBytes + frameBytes + audioBytesOf(audioSamples) + capturedBytes,
  };
}
