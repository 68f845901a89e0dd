// The journal as the index reads it, in either thread: the files themselves, by positions that were published.
import fs from "node:fs";
import { type Batch, batchAt } from "./batch-reader.ts";
import { collectionOf } from "./file-name.ts";
import { IndexDamage } from "./index-schema.ts";
import { frameAt, viewOf } from "./journal-frame.ts";

/** What both threads see: `marks` holds up to where the journal is durable, and up to where the index has it. */
export function sharedViews(memory = new SharedArrayBuffer(24)) {
  // `wake` counts what there is to do, and says whether the thread sleeps.
  return { memory, marks: new Float64Array(memory, 0, 2), wake: new Int32Array(memory, 16, 2) };
}

/** A file of the journal, as it is read. */
export interface IndexedSegment {
  readonly path: string;
  readonly nth: number;
  /** Of its first byte in the journal. */
  readonly position: number;
  /** Position after its last frame, if it takes no more. */
  readonly end?: number | undefined;
}

/** Adds a segment to those that the index reads, and removes those that hold nothing from the mark on. */
export function addSegment(
  segments: IndexedSegment[],
  segment: IndexedSegment,
  mark: number,
): void {
  while (segments[1] !== undefined && segments[1].position <= mark) segments.shift();
  segments.push(segment);
}

/** Reads a file of the journal: at most `length` bytes of it. */
export type ReadJournal = (path: string, position: number, length: number) => Buffer;

export const readJournalFile: ReadJournal = (path, position, length) => {
  const file = fs.openSync(path, "r");
  try {
    const bytes = Buffer.allocUnsafe(length);
    return bytes.subarray(0, fs.readSync(file, bytes, 0, length, position));
  } finally {
    fs.closeSync(file);
  }
};

/** A batch of a log, or that the log was cut back to `start`. */
export interface IndexedFrame {
  readonly collection: string;
  /** Of its log, in the home. */
  readonly path: string;
  readonly start: number;
  readonly end: number;
  /** Nothing: the log was cut back. */
  readonly batch: Batch | undefined;
  /** Position in the journal after it. */
  readonly after: number;
}

const notThere = "the journal does not hold what was written";
/** Bytes that are read at a time. */
const readBytes = 1024 * 1024;

/**
 * The frames from one position to another, some `most` bytes of them.
 *
 * @throws an error of the system: a file cannot be read. IndexDamage: it does not hold what was published.
 */
export function* framesOf(
  segments: readonly IndexedSegment[],
  read: ReadJournal,
  { from, to, most }: { readonly from: number; readonly to: number; readonly most: number },
): Generator<IndexedFrame> {
  let position = from;
  for (const [i, segment] of segments.entries()) {
    const end = Math.min(to, segment.end ?? to, segments[i + 1]?.position ?? to);
    position = Math.max(position, segment.position);
    while (position < end && position - from < most) {
      const bytes = wholeFrames(segment, read, position, end);
      const view = viewOf(bytes);
      let at = 0;
      for (;;) {
        const frame = frameAt(bytes, at, view);
        if (frame?.position !== position + at) break;
        at = frame.end - position;
        const { path, offset: start, bytes: content, end: after } = frame;
        if (path === "") continue; // the header of a segment
        const collection = collectionOf(path);
        const batch = content.length === 0 ? undefined : batchAt(content, start);
        yield { collection, path, start, end: start + content.length, batch, after };
      }
      if (at === 0) throw new IndexDamage(notThere);
      position += at;
    }
  }
  if (position < to && position - from < most) throw new IndexDamage(notThere);
}

/** Reads whole frames, the first of them whatever its length; none ends behind `to`. */
function wholeFrames(segment: IndexedSegment, read: ReadJournal, from: number, to: number): Buffer {
  const readSome = (length: number) => read(segment.path, from - segment.position, length);
  const bytes = readSome(Math.min(to - from, readBytes));
  const first = bytes.length >= 4 ? bytes.readUInt32LE(0) : 0;
  return first > bytes.length ? readSome(Math.min(first, to - from)) : bytes;
}
