// The thread that reads the journal and writes `index.db`, so that appends do not wait for it. The main thread
// reads the file, and begins it again when it is of no use.
import fs from "node:fs";
import { createRequire } from "node:module";
import os from "node:os";
import { fileURLToPath } from "node:url";
import { parentPort, receiveMessageOnPort, workerData } from "node:worker_threads";
import type { LogProjection } from "../log-store.ts";
import { sharedViews } from "./index-journal.ts";
import { faultOf, openIndexFile, quickCheck } from "./index-schema.ts";
import { type IndexRequest, IndexWriter, perform } from "./index-writer.ts";
import type { IndexedSegment } from "./log-index.ts";

/** What the thread is told; a request is answered once, in order. */
export type ThreadMessage =
  | { readonly segment: IndexedSegment }
  | { readonly collection: string; readonly module: string }
  | { readonly request: IndexRequest | { readonly do: "close" }; readonly until: number };

type Asked = Extract<ThreadMessage, { readonly until: number }>;

/** `undefined`: it was done. */
export type ThreadAnswer = "full" | "useless" | undefined;

export type ThreadReport =
  | { readonly answer: ThreadAnswer }
  | { readonly doubtful: string }
  | { readonly lost: true };

export interface ThreadData {
  readonly path: string;
  readonly memory: SharedArrayBuffer;
  readonly mark: number;
  /** The last process did not close the file: it is checked first. */
  readonly isUnsure: boolean;
}

/** Less is written together with what comes in the next milliseconds. */
const gathered = { bytes: 128 * 1024, ms: 10 } as const;
/** The thread gives way to all others while it is less far behind. */
const farBehindBytes = 32 * 1024 * 1024;
/** So long after a disk was full it is tried again. */
const retryMs = 1_000;

function run(port: NonNullable<typeof parentPort>, data: ThreadData): void {
  const { marks, wake } = sharedViews(data.memory);
  const setPriority = priorityOfThread();
  const projections = new Map<string, LogProjection>();
  const opened = openIndexFile(data.path);
  if (opened === undefined) throw new Error("the index cannot be opened");
  const writer = new IndexWriter(opened, projections);
  writer.mark = data.mark;
  const asked: Asked[] = [];
  /** The disk was full: it is not tried before. */
  let retryAt = 0;
  let isOver = false;

  const receive = (message: ThreadMessage) => {
    if ("segment" in message) writer.began(message.segment);
    else if ("request" in message) asked.push(withBuffers(message));
    else projections.set(message.collection, loadProjection(message.module));
  };
  const answer = (fault: ThreadAnswer) => {
    retryAt = fault === "full" ? performance.now() + retryMs : 0;
    marks[1] = writer.mark; // the main thread looks at it then
    port.postMessage({ answer: fault });
    asked.shift();
  };
  /** A slice of what was asked for first. */
  const performFirst = ({ request, until }: Asked) => {
    try {
      if (request.do !== "close") {
        if (perform(writer, request, until)) answer(undefined);
        return;
      }
      while (writer.take(until));
      isOver = true;
      answer(undefined);
    } catch (error) {
      isOver ||= request.do === "close";
      answer(faultOf(error) ?? "useless");
    }
  };
  const takeSome = (until: number) => {
    try {
      writer.take(until);
      retryAt = 0;
    } catch (error) {
      retryAt = performance.now() + retryMs;
      if ((faultOf(error) ?? "useless") === "useless") port.postMessage({ lost: true });
    }
  };

  if (data.isUnsure && !quickCheck(opened.database)) port.postMessage({ lost: true });
  while (!isOver) {
    const seen = Atomics.load(wake, 0);
    const until = marks[0] ?? 0;
    for (let next = receiveMessageOnPort(port); next; next = receiveMessageOnPort(port)) {
      receive(next.message);
    }
    const [first] = asked;
    const waitMs = retryAt === 0 ? 0 : retryAt - performance.now();
    setPriority(until - writer.mark < farBehindBytes && first === undefined);
    if (first !== undefined) performFirst(first);
    else if (until > writer.mark && waitMs <= 0) {
      if (until - writer.mark < gathered.bytes) Atomics.wait(wake, 0, seen, gathered.ms);
      takeSome(until);
    } else {
      Atomics.store(wake, 1, 1);
      if (waitMs > 0) Atomics.wait(wake, 0, seen, waitMs);
      else if ((marks[0] ?? 0) <= writer.mark) Atomics.wait(wake, 0, seen);
      Atomics.store(wake, 1, 0);
    }
    marks[1] = writer.mark;
    Atomics.store(wake, 2, retryAt === 0 ? 0 : 1);
    for (const collection of writer.doubtful) port.postMessage({ doubtful: collection });
    writer.doubtful.clear();
  }
  writer.close();
  opened.database.close();
  port.close();
}

/** Bytes come as plain ones from another thread. */
function withBuffers(message: Asked): Asked {
  const { request } = message;
  if (request.do !== "add") return message;
  const batches = request.batches.map((batch) => ({
    ...batch,
    body: Buffer.from(batch.body.buffer, batch.body.byteOffset, batch.body.length),
    line: Buffer.from(batch.line.buffer, batch.line.byteOffset, batch.line.length),
  }));
  return { ...message, request: { ...request, batches } };
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
