// The thread that reads the journal and writes `index.db`, so that appends do not wait for it. The main thread
// reads the file, and begins it again when it is of no use.
import fs from "node:fs";
import { createRequire } from "node:module";
import os from "node:os";
import { fileURLToPath } from "node:url";
import { parentPort, receiveMessageOnPort, workerData } from "node:worker_threads";
import type { LogProjection } from "../log-store.ts";
import { type IndexedSegment, sharedViews } from "./index-journal.ts";
import { type Asked, IndexQueue } from "./index-queue.ts";
import { openIndexFile, quickCheck } from "./index-schema.ts";

/** What the thread is told. */
export type ThreadMessage =
  | { readonly segment: IndexedSegment }
  | { readonly collection: string; readonly module: string }
  | Asked
  | "end";

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

function run(port: NonNullable<typeof parentPort>, data: ThreadData): void {
  const shared = sharedViews(data.memory);
  const { marks, wake } = shared;
  const setPriority = priorityOfThread();
  const projections = new Map<string, LogProjection>();
  const opened = openIndexFile(data.path);
  if (opened === undefined) throw new Error("the index cannot be opened");
  if (data.isUnsure && !quickCheck(opened.database)) port.postMessage({ lost: true });
  const queue = new IndexQueue(opened, projections, shared, sliceBytes, (report) =>
    port.postMessage(report),
  );
  let isOver = false;
  const receive = (message: ThreadMessage) => {
    if (message === "end") isOver = true;
    else if ("module" in message)
      projections.set(message.collection, loadProjection(message.module));
    else queue.receive("request" in message ? withBuffers(message) : message);
  };
  for (;;) {
    const seen = Atomics.load(wake, 0);
    const until = marks[0] ?? 0;
    for (let next = receiveMessageOnPort(port); next; next = receiveMessageOnPort(port)) {
      receive(next.message);
    }
    if (isOver) break;
    const behind = queue.behind(until);
    setPriority(behind < farBehindBytes && !queue.isAsked);
    const isLittle = behind > 0 && behind < gathered.bytes && queue.waitMs === 0;
    if (isLittle && !queue.isAsked) Atomics.wait(wake, 0, seen, gathered.ms);
    if (queue.step(until)) continue;
    Atomics.store(wake, 1, 1);
    const { waitMs } = queue;
    if (waitMs > 0) Atomics.wait(wake, 0, seen, waitMs);
    else if (queue.behind(marks[0] ?? 0) === 0) Atomics.wait(wake, 0, seen);
    Atomics.store(wake, 1, 0);
  }
  queue.close();
  opened.database.close();
  port.close();
}

/** Bytes come as plain ones from another thread. */
function withBuffers(asked: Asked): Asked {
  const { request } = asked;
  if (request.do !== "add") return asked;
  const batches = request.batches.map((batch) => ({
    ...batch,
    body: Buffer.from(batch.body.buffer, batch.body.byteOffset, batch.body.length),
    line: Buffer.from(batch.line.buffer, batch.line.byteOffset, batch.line.length),
  }));
  return { ...asked, request: { ...request, batches } };
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
