// What a start trusts the index for, and what is kept until it can.
import type { SeededBug } from "./seeded-bugs.ts";

const files = "src/core/storage/files";

type Row = readonly [id: string, file: string, find: string, replace: string, named: string];

const ofStart: readonly Row[] = [
  [
    "a start after a kill compares all logs first",
    "reconcile.ts",
    'if (coverage === "covered" && !ports.verifyAll) return "covered";',
    "",
    "before the folder of chats is read",
  ],
  [
    "what others did while nobody ran is never looked for",
    "file-log-store.ts",
    "this.#comparing = compare(",
    "void compare; this.#comparing = Promise.resolve(undefined); void (",
    "is found while nobody waits",
  ],
  [
    "a name that changed since a clean end is not looked for",
    "sqlite-index.ts",
    'noted === options.changed?.(collection) ? "all" : "names"',
    '"all"',
    "unless a name in it changed",
  ],
  [
    "a log that is taken out of the index leaves it covered",
    "file-log-store.ts",
    "    await this.#ports.index.noteCovered(false);\n    const result",
    "    const result",
    "a kill in the middle of",
  ],
  [
    "what only the journal had of a collection is forgotten",
    "segments.ts",
    "      if (!segment.isReusable) await this.recovered.leaveUnindexed();\n",
    "",
    "what only the journal had",
  ],
  [
    "all of the journal is looked up in the index",
    "recovered-logs.ts",
    "if (!isIndexed) this.#unindexed.set",
    "void isIndexed;\n      this.#unindexed.set",
    "is not looked up again",
  ],
  [
    "the index is told to have what waits elsewhere",
    "journal.ts",
    "    if (!this.segments.recovered.areIndexed) return undefined;\n",
    "",
    "of two collections",
  ],
  [
    "a segment is freed that the index did not take up",
    "segments.ts",
    "      if (segment.logs.size > 0) await this.#syncIndex(segment);\n",
    "",
    "could not take for good",
  ],
  [
    "an index that is begun again looks for files that the journal has yet to make",
    "reconcile.ts",
    "of withoutFile) {",
    "of withoutFile.slice(0, 0)) {",
    "lists a chat that only the journal has",
  ],
  [
    "an idle home frees nothing",
    "segments.ts",
    "if (this.position === seen) this.#checkpoint();",
    "if (this.position === seen) return;",
    "a home that is idle",
  ],
];

const openLogs: SeededBug = {
  id: "index: a log that was closed keeps its place among the open ones",
  file: `${files}/open-logs.ts`,
  find: "      this.#slots.delete(slot.key);\n      closing",
  replace: "      closing",
  test: `${files}/open-logs.test.ts`,
  named: "the least used are closed",
};

export const indexBugs: readonly SeededBug[] = [
  openLogs,
  ...ofStart.map(
    ([id, file, find, replace, named]): SeededBug => ({
      id: `index: ${id}`,
      file: `${files}/${file}`,
      find,
      replace,
      test: `${files}/start.test.ts`,
      named,
    }),
  ),
];
