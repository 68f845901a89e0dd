// How tests have their logs indexed, in a module that the thread of the index can load.
import { isMainThread } from "node:worker_threads";
import type { LogProjection } from "../../src/core/storage/log-store.ts";

/** Heads have `at` and `labels`, records `content`, and `hides` names an earlier record. */
export const saidProjection: LogProjection = {
  module: `${import.meta.url}#saidProjection`,
  sortedAt: (head) => String(head["at"] ?? ""),
  labels: (head) => (head["labels"] ?? []) as string[],
  text: ({ content }) => (typeof content === "string" ? content : undefined),
  hides: ({ hides }) => (typeof hides === "string" ? hides : undefined),
};

/** The same, but that it takes the thread of the index long to index a record. */
export const slowProjection: LogProjection = {
  ...saidProjection,
  module: `${import.meta.url}#slowProjection`,
  text(record) {
    if (!isMainThread) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 50);
    return saidProjection.text(record);
  },
};
