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
  /** @param quality 1 to 100. */
  encode(frame: RawFrame, quality: number): Promise<Uint8Array>;
}

/** Source: the original's `cv2.imencode`. */
const quality = 85;
const maxDimension = 8_192;

/** Encodes a raw picture and keeps it. One that cannot be encoded is `not_jpeg`. */
export async function pushRaw(
  encoder: FrameEncoder,
  frame: RawFrame,
  into: { readonly frames: FrameBuffer; readonly isWanted: () => boolean },
  facts: FrameFacts,
): Promise<PushResult> {
  if (!isRawFrame(frame)) return "format";
  if (!into.frames.isDue(facts)) return "throttled";
  try {
    const jpeg = await encoder.encode(frame, quality);
    return into.isWanted() ? into.frames.push(jpeg, facts, false) : "off";
  } catch {
    return "not_jpeg";
  }
}

function isRawFrame({ data, width, height, channels }: RawFrame): boolean {
  const isSized = isDimension(width) && isDimension(height) && (channels === 3 || channels === 4);
  return isSized && data.length === width * height * channels;
}

function isDimension(value: number): boolean {
  return Number.isInteger(value) && value >= 1 && value <= maxDimension;
}
