// The journal as the index reads it, in either thread: the files themselves, by positions that were published.
import fs from "node:fs";
import { dirname } from "node:path";
import { type Batch, batchAt } from "./batch-reader.ts";
import { IndexDamage } from "./index-schema.ts";
import { publishedFrameAt, viewOf } from "./journal-frame.ts";

/** What both threads see: `marks` holds up to where the journal is durable, and up to where the index has it. */
export function sharedViews(memory: SharedArrayBuffer) {
  // `wake` counts what there is to do, says whether the thread sleeps and whether it finds the disk full, and
  // counts its steps.
  return { marks: new Float64Array(memory, 0, 2), wake: new Int32Array(memory, 16, 4) };
}
export const sharedBytes = 32;

/** A file of the journal, as it is read. */
export interface IndexedSegment {
  readonly path: string;
  readonly nth: number;
  /** Of its first byte in the journal. */
  readonly position: number;
  /** Position after its last frame, if it takes no more. */
  readonly end?: number | undefined;
}

/** The calls of `node:fs` that read the journal. */
export interface JournalFiles {
  openSync(path: string, how: "r"): number;
  readSync(fd: number, into: Buffer, offset: number, length: number, position: number): number;
  closeSync(fd: number): void;
}

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

/** The segments of the journal that the index has yet to read. */
export class IndexJournal {
  readonly #segments: (IndexedSegment & { fd?: number })[] = [];
  readonly #files: JournalFiles;

  constructor(files: JournalFiles = fs) {
    this.#files = files;
  }

  began(segment: IndexedSegment): void {
    this.#segments.push({ ...segment });
  }

  /** The number of the segment that holds this position. */
  nthAt(position: number): number {
    const segment = this.#segments.findLast((each) => each.position <= position);
    return segment?.nth ?? 0;
  }

  /** Lets go of segments that hold nothing from here on. */
  release(position: number): void {
    for (
      let next = this.#segments[1];
      next && next.position <= position;
      next = this.#segments[1]
    ) {
      const [first] = this.#segments.splice(0, 1);
      if (first?.fd !== undefined) this.#files.closeSync(first.fd);
    }
  }

  /** Closes all files: those that are removed now have no place on the disk any more. */
  closeFiles(): void {
    for (const segment of this.#segments) {
      if (segment.fd !== undefined) this.#files.closeSync(segment.fd);
      delete segment.fd;
    }
  }

  /**
   * The frames from one position to another, some `most` bytes of them.
   *
   * @throws an error of the system: a file cannot be read. IndexDamage: it does not hold what was published.
   */
  *frames(from: number, to: number, most: number): Generator<IndexedFrame> {
    let position = from;
    for (const [i, segment] of this.#segments.entries()) {
      const end = Math.min(to, segment.end ?? to, this.#segments[i + 1]?.position ?? to);
      position = Math.max(position, segment.position);
      while (position < end && position - from < most) {
        const bytes = this.#read(segment, position, end);
        const view = viewOf(bytes);
        const frameAt = (offset: number) => publishedFrameAt(bytes, offset, view);
        let at = 0;
        for (let frame = frameAt(0); frame !== undefined; frame = frameAt(at)) {
          if (frame.position !== position + at) break;
          at = frame.end - position;
          const { path, offset: start, bytes: content, end: after } = frame;
          if (path === "") continue; // the header of a segment
          const collection = dirname(path).replace(/^\.$/, "");
          const batch = content.length === 0 ? undefined : batchAt(content, start);
          const last = start + content.length;
          yield { collection, path, start, end: last, batch, after };
        }
        if (at === 0) throw new IndexDamage(notThere);
        position += at;
      }
    }
    if (position < to && position - from < most) throw new IndexDamage(notThere);
  }

  /** Whole frames, the first of them whatever its length; none ends behind `to`. */
  #read(segment: IndexedSegment & { fd?: number }, from: number, to: number): Buffer {
    const fd = segment.fd ?? this.#files.openSync(segment.path, "r");
    segment.fd = fd;
    const read = (length: number) => {
      const bytes = Buffer.allocUnsafe(length);
      const count = this.#files.readSync(fd, bytes, 0, length, from - segment.position);
      return bytes.subarray(0, count);
    };
    const bytes = read(Math.min(to - from, readBytes));
    const first = bytes.length >= 4 ? bytes.readUInt32LE(0) : 0;
    return first > bytes.length ? read(Math.min(first, to - from)) : bytes;
  }
}
