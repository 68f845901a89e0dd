// The thread that reads the journal and writes `index.db`, so that appends do not wait for it. The main thread
// reads the file, and begins it again when it is of no use.
import fs from "node:fs";
import { createRequire } from "node:module";
import os from "node:os";
import { fileURLToPath } from "node:url";
import { parentPort, receiveMessageOnPort, workerData } from "node:worker_threads";
import type { LogProjection } from "../log-store.ts";
import { addSegment, type IndexedSegment, sharedViews } from "./index-journal.ts";
import { type Fault, faultOf, openIndexFile, quickCheck } from "./index-schema.ts";
import { type Asked, IndexWriter } from "./index-writer.ts";

/** What the thread is told. It is asked for one thing at a time. */
export type ThreadMessage =
  | { readonly segment: IndexedSegment }
  | { readonly collection: string; readonly module: string }
  | Asked
  | "end";

/** What the thread says. `undefined` as an answer: what was asked for is done. */
export type ThreadReport =
  | { readonly answer: Fault | undefined }
  | { readonly doubtful: string }
  | { readonly lost: true };

export interface ThreadData {
  readonly path: string;
  readonly memory: SharedArrayBuffer;
  /** The last process did not close the file: it is checked first. */
  readonly isUnsure: boolean;
}

/** Less is written together with what comes in this time. */
const gathered = { bytes: 128 * 1024, ms: 100 } as const;
/** Bytes of the journal that are written in one transaction. */
const sliceBytes = 1024 * 1024;
/** The thread gives way to all others while it is less far behind. */
const farBehindBytes = 32 * 1024 * 1024;
/** A disk that was full is tried again after this time. */
const retryMs = 1_000;

function run(port: NonNullable<typeof parentPort>, data: ThreadData): void {
  const { marks, wake } = sharedViews(data.memory);
  const setPriority = priorityOfThread();
  const projections = new Map<string, LogProjection>();
  const segments: IndexedSegment[] = [];
  const report = (each: ThreadReport) => port.postMessage(each);
  const open = openIndexFile(data.path);
  if (open === undefined) throw new Error("the index cannot be opened");
  if (data.isUnsure && !quickCheck(open.database)) report({ lost: true });
  const writer = new IndexWriter({
    open,
    projectionOf: (collection) => projections.get(collection),
    segments,
    marks,
    onDoubt: (doubtful) => report({ doubtful }),
  });
  let asked: Asked | undefined;
  /** Something failed, and the journal is not read before this time. */
  let retryAt = 0;
  for (let isOver = false; ; ) {
    const seen = Atomics.load(wake, 0);
    const until = marks[0] ?? 0; // before the messages, which tell of the segments that hold it
    for (let next = receiveMessageOnPort(port); next; next = receiveMessageOnPort(port)) {
      const message = next.message as ThreadMessage;
      if (message === "end") isOver = true;
      else if ("segment" in message) addSegment(segments, message.segment, writer.mark);
      else if ("module" in message)
        projections.set(message.collection, loadProjection(message.module));
      else asked = message;
    }
    if (isOver) break;
    const behind = until - writer.mark;
    const restMs = Math.max(0, retryAt - performance.now());
    setPriority(behind < farBehindBytes && asked === undefined);
    try {
      if (asked !== undefined) {
        if (!writer.perform(asked, sliceBytes)) continue;
        asked = undefined;
        report({ answer: undefined });
      } else if (behind <= 0 || restMs > 0) {
        Atomics.store(wake, 1, 1);
        Atomics.wait(wake, 0, seen, restMs || Number.POSITIVE_INFINITY);
        Atomics.store(wake, 1, 0);
        continue;
      } else {
        if (behind < gathered.bytes) Atomics.wait(wake, 0, seen, gathered.ms);
        writer.take(until, sliceBytes);
      }
      retryAt = 0;
    } catch (error) {
      const fault = faultOf(error) ?? "useless";
      retryAt = performance.now() + retryMs;
      if (asked !== undefined) report({ answer: fault });
      else if (fault === "useless") report({ lost: true });
      asked = undefined;
    }
  }
  open.database.close();
  port.close();
}

/** @param module the URL of a module, and behind `#` the name under which it exports the projection. */
function loadProjection(module: string): LogProjection {
  const url = new URL(module);
  const name = url.hash.slice(1);
  url.hash = "";
  // Not `import`: nothing can be waited for here.
  const exported = createRequire(import.meta.url)(fileURLToPath(url)) as Record<
    string,
    LogProjection
  >;
  const projection = exported[name];
  if (projection === undefined) throw new Error(`there is no projection at ${module}`);
  return projection;
}

/** Sets whether this thread gives way to all others. It never does where that could not be undone. */
function priorityOfThread(): (isLow: boolean) => void {
  const { PRIORITY_LOW, PRIORITY_NORMAL } = os.constants.priority;
  let wasLow = false;
  try {
    // Linux has priorities of threads; elsewhere there is no such file.
    const thread = Number(fs.readlinkSync("/proc/thread-self").split("/").at(-1));
    os.setPriority(thread, PRIORITY_NORMAL + 1);
    os.setPriority(thread, PRIORITY_NORMAL);
    return (isLow) => {
      if (isLow === wasLow) return;
      os.setPriority(thread, isLow ? PRIORITY_LOW : PRIORITY_NORMAL);
      wasLow = isLow;
    };
  } catch {
    return () => undefined;
  }
}

if (parentPort !== null) run(parentPort, workerData as ThreadData);
