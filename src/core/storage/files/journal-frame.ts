// The bytes of the journal: frames, one after the other. docs/formats/journal.md is the description for
// people; this file is the only code that knows it.
import { crc32 } from "node:zlib";
import { refuseNewer } from "./commit.ts";

/** Offset to which a log is cut back that has no file: nothing of it was ever written there. */
export const noFile = -1;

/** One batch of one log: what was written to it at an offset. No bytes: the log was cut back to there. */
export interface Change {
  /** Of the log's file, relative to the home, with `/` between the names. */
  readonly path: string;
  readonly offset: number;
  readonly bytes: Buffer;
}

/** A change in its place. The journal is one long file; a position is an offset in it. */
export interface Frame extends Change {
  readonly position: number;
  /** Every frame before this position was durable when this one was written. */
  readonly durable: number;
  /** Position after it. */
  readonly end: number;
}

/** What a segment begins with. */
interface SegmentHeader {
  readonly position: number;
  /** Segments were begun in this order. */
  readonly nth: number;
  /** So many frames of older segments are repeated in it. Without all of them it was never in use. */
  readonly repeated: number;
  /** Segments may hold frames that were never synced, of a process at level `"process"`. */
  readonly unsynced: boolean;
}

const formatVersion = 1;

// length u32, CRC-32 of all that follows u32, position f64, durable f64, offset f64, bytes of the path u16
export const frameBytes = 34;

/** How long a frame will be. */
export function frameLength({ path, bytes }: Change): number {
  return frameBytes + Buffer.byteLength(path) + bytes.length;
}

type FramePlace = Pick<Frame, "position" | "durable">;

/** Writes a frame into a buffer that has room for it. @returns where it ends there. */
export function putFrame(into: Buffer, at: number, change: Change, place: FramePlace): number {
  const from = beginFrame(into, at, change.path);
  into.set(change.bytes, from);
  const end = from + change.bytes.length;
  sealFrame(into.subarray(at, end), change.offset, place);
  return end;
}

/** Begins a frame in a buffer. @returns where its bytes go. */
export function beginFrame(into: Buffer, at: number, path: string): number {
  const pathBytes = into.write(path, at + frameBytes);
  into.writeUInt16LE(pathBytes, at + 32);
  return at + frameBytes + pathBytes;
}

/** Writes what stands before the bytes of a frame, which lie there already. */
export function sealFrame(frame: Buffer, offset: number, place: FramePlace): void {
  frame.writeUInt32LE(frame.length, 0);
  frame.writeDoubleLE(place.position, 8);
  frame.writeDoubleLE(place.durable, 16);
  frame.writeDoubleLE(offset, 24);
  frame.writeUInt32LE(crc32(frame.subarray(8)), 4);
}

/** The header of a segment: a frame without a path. */
export function headerChange(header: Omit<SegmentHeader, "position">): Change {
  const { nth, repeated, unsynced } = header;
  const json = JSON.stringify({ format: formatVersion, nth, repeated, unsynced });
  return { path: "", offset: 0, bytes: Buffer.from(json) };
}

/** What a file of the journal holds. */
export interface ReadSegment {
  readonly header: SegmentHeader;
  readonly frames: readonly Frame[];
  /** Position after the last frame. */
  readonly end: number;
}

export const segmentName = /^\d{8,}\.journal$/;

/**
 * The frames of each segment that count. What lies at or after the beginning of a later segment was given up, or
 * repeated, when that one was begun.
 *
 * @param segments in the order in which they were begun.
 */
export function validFrames(segments: readonly ReadSegment[]): (readonly Frame[])[] {
  let end = Number.POSITIVE_INFINITY;
  const newestFirst = segments.toReversed().map(({ header, frames }) => {
    const before = end;
    end = Math.min(end, header.position);
    return frames.filter(({ position }) => position < before);
  });
  return newestFirst.reverse();
}

/**
 * The frames of a segment up to the first that is not whole, or that an earlier use of the file left.
 *
 * @returns `undefined` when its header or a repeated frame is missing: nothing in it was ever acknowledged.
 * @throws ThroughlineError `THROUGHLINE_NEWER_FORMAT`.
 */
export function readSegment(bytes: Buffer): ReadSegment | undefined {
  const view = viewOf(bytes);
  const first = frameAt(bytes, 0, view);
  if (first === undefined || first.path !== "") return undefined;
  const { format, nth, repeated, unsynced } = JSON.parse(first.bytes.toString()) as {
    format: number;
    nth: number;
    repeated: number;
    unsynced: boolean;
  };
  refuseNewer(format);
  const { position } = first;
  const frames: Frame[] = [];
  let end = first.end;
  for (;;) {
    const frame = frameAt(bytes, end - position, view);
    if (frame === undefined || frame.position !== end || frame.path === "") break;
    frames.push(frame);
    end = frame.end;
  }
  if (frames.length < repeated) return undefined;
  return { header: { position, nth, repeated, unsynced }, frames, end };
}

/** The bytes for `frameAt`: reading numbers so takes a tenth of what it takes a `Buffer`. */
export const viewOf = (bytes: Buffer): DataView =>
  new DataView(bytes.buffer, bytes.byteOffset, bytes.length);

/** The frame at `at`, if it is whole. @param view of the same bytes. */
export function frameAt(bytes: Buffer, at: number, view: DataView): Frame | undefined {
  if (at + frameBytes > bytes.length) return undefined;
  const length = view.getUint32(at, true);
  const end = at + length;
  if (length < frameBytes || end > bytes.length) return undefined;
  // A plain view is made in a third of the time that a `Buffer` takes.
  const sealed = new Uint8Array(bytes.buffer, bytes.byteOffset + at + 8, length - 8);
  if (crc32(sealed) !== view.getUint32(at + 4, true)) return undefined;
  const position = view.getFloat64(at + 8, true);
  const from = at + frameBytes;
  const to = from + view.getUint16(at + 32, true);
  return {
    position,
    durable: view.getFloat64(at + 16, true),
    offset: view.getFloat64(at + 24, true),
    path: bytes.toString("utf8", from, to),
    bytes: bytes.subarray(to, end),
    end: position + length,
  };
}
