import { audioBytesOf } from "./audio-ring.ts";

/** What the rolling buffers hold. Source of the counts: the seed; of the bytes: 20 MB in all. */
export const limits = {
  messages: 50,
  messageBytes: 2_000_000,
  /** Code points of one text; what is longer is cut. */
  messageCodePoints: 8_000,
  frames: 240,
  frameBytes: 12_000_000,
  /** Of one picture; a larger one is refused. */
  oneFrameBytes: 2_097_152,
  /** Between accepted pictures: by the sender's time where both have one, else by when they came. */
  frameEveryMs: 500,
  /** 120 s of 16 kHz. */
  audioSamples: 1_920_000,
  /** Pictures and sound that are older go; words stay. */
  mediaAgeMs: 120_000,
  /** Of all captured values together, as JSON. */
  capturedBytes: 262_144,
} as const;

/** What the buffers hold at most, as people are told of it. */
export const bufferBounds = {
  messages: limits.messages,
  frames: limits.frames,
  audio_seconds: limits.mediaAgeMs / 1_000,
  /** Of all buffers together. */
  bytes:
    limits.messageBytes +
    limits.frameBytes +
    audioBytesOf(limits.audioSamples) +
    limits.capturedBytes,
};
