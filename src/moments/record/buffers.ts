import { Lru } from "../../core/lru.ts";
import { AudioRing } from "./audio-ring.ts";
import { CaptureClock } from "./capture-clock.ts";
import { CapturedValues } from "./captured-values.ts";
import { FrameBuffer } from "./frame-buffer.ts";
import { limits } from "./limits.ts";
import { MessageBuffer } from "./message-buffer.ts";
import type { RecorderSettings } from "./options.ts";

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

const maxPeople = 100;

/** The rolling buffers: what led to now, each stream within a budget of its own. */
export type MomentBuffers = ReturnType<typeof buffersOf>;

export function buffersOf({ sessionId, clock, keepPhotoMetadata }: RecorderSettings) {
  return {
    clock: new CaptureClock(clock),
    messages: new MessageBuffer(sessionId),
    frames: new FrameBuffer(keepPhotoMetadata),
    audio: new AudioRing({ samples: limits.audioSamples, ageMs: limits.mediaAgeMs }),
    captured: new CapturedValues(limits.capturedBytes),
    /** When each was last seen, on the clock of ages. */
    people: new Lru<string, number>(maxPeople),
  };
}
