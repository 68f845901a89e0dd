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
    "index.ts",
    'noted === this.#options.changed?.(collection) ? "all" : "names"',
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
    "index-writer.ts",
    "      for (const collection of this.#passed) this.#sql.uncover.run(collection);\n",
    "",
    "what only the journal had",
  ],
  [
    "all of the journal is looked up in the index",
    "recovered-logs.ts",
    "changes.filter(({ position }) => position >= mark)",
    "changes.filter(({ position }) => position >= Math.min(0, mark))",
    "is not looked up again",
  ],
  [
    "the index is told to have what waits elsewhere",
    "index-writer.ts",
    "...(this.#held ?? [this.#journal.nthAt(to), to])",
    "this.#journal.nthAt(to), to",
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

type IndexRow = readonly [...Row, test: string];

const ofJournal: readonly IndexRow[] = [
  [
    "a search does not look through what the index lacks",
    "index-search.ts",
    "let at = part.file.mark; at < durable",
    "let at = durable; at < durable",
    "a search, a list and an id at every position",
    "index-journal",
  ],
  [
    "a list does not show what the index lacks",
    "collection-index.ts",
    "if (each.position > mark) changed.set(key, each);",
    "if (each.position > mark * Number.MAX_VALUE) changed.set(key, each);",
    "a search, a list and an id at every position",
    "index-journal",
  ],
  [
    "ids that the index lacks are forgotten at a start",
    "reconcile.ts",
    "if (!isSame(index.written(key))) await remember(index, log);",
    "void remember;",
    "killed again soon after a start",
    "index-journal",
  ],
  [
    "the index does not keep how far it read the journal",
    "index-writer.ts",
    "this.#sql.setMark.run(...",
    "void (() => [] as unknown[])(...",
    "killed again soon after a start",
    "index-journal",
  ],
  [
    "an index is not checked after a kill",
    "index-schema.ts",
    'const isUnsure = isChecked && sql.state.get()?.["clean"] !== 1;',
    'const isUnsure = isChecked && sql.state.get()?.["clean"] === 2;',
    "an index with a damaged page",
    "index-journal",
  ],
  [
    "what a log was cut back to is not read",
    "index-writer.ts",
    "if (known !== undefined) this.#remove(collection, known.key);",
    "if (known !== undefined) return;",
    "a log that is cut back",
    "index-journal",
  ],
  [
    "appends do not wait for an index that is far behind",
    "index.ts",
    "if (this.durable - this.mark <= most || this.#isFull) return undefined;",
    "if (this.durable >= most - most) return undefined;",
    "an index that is far behind",
    "index",
  ],
];

export const indexBugs: readonly SeededBug[] = [
  ...ofJournal.map(
    ([id, file, find, replace, named, test]): SeededBug => ({
      id: `index: ${id}`,
      file: `${files}/${file}`,
      find,
      replace,
      test: `${files}/${test}.test.ts`,
      named,
    }),
  ),
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
