// The index in SQLite, written by either thread, against one in maps. What its answers must be is the contract
// of log stores (src/testing), which every storage keeps with its index.
import assert from "node:assert/strict";
import fs from "node:fs";
import os from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { setImmediate as nextPass } from "node:timers/promises";
import fc from "fast-check";
import { openMemoryIndex } from "../../../../test/support/memory-index.ts";
import type { Timers } from "../../timers.ts";
import type { ListOptions, LogProjection, LogRow } from "../log-store.ts";
import { firstSeqOf, type IndexedBatch, type IndexedContent, type LogIndex } from "./log-index.ts";
import { openSqliteIndex, type SqliteIndex } from "./sqlite-index.ts";

const projection: LogProjection = {
  sortedAt: (head) => String(head["at"]),
  labels: (head) => (head["labels"] ?? []) as string[],
  text: ({ text }) => (typeof text === "string" ? text : undefined),
  hides: ({ hides }) => (typeof hides === "string" ? hides : undefined),
};

const onLost = () => assert.fail("the index was lost");

// Nothing here is about a power cut: where there is a disk in memory, syncing it costs nothing.
const disk = fs.existsSync("/dev/shm") ? "/dev/shm" : os.tmpdir();

function temporaryPath(t?: TestContext): string {
  const home = fs.mkdtempSync(join(disk, "throughline-index-"));
  t?.after(() => fs.rmSync(home, { recursive: true, force: true }));
  return join(home, "index.db");
}

/** Nothing is written before it has to be, so that no thread is started. */
const never: Timers = { after: () => () => undefined };

/** What waits is written in the next pass of the event loop. */
const atOnce: Timers = {
  after(_, call) {
    const timer = setImmediate(call);
    return () => clearImmediate(timer);
  },
};

/** Opens an index that this thread writes. */
const openWithoutThread = (path: string): SqliteIndex =>
  openSqliteIndex(path, { onLost, timers: never });

/** Opens an index that another thread writes. */
async function openWithThread(path: string): Promise<SqliteIndex> {
  const file = openSqliteIndex(path, { onLost, timers: atOnce });
  const others = file.open("others", projection);
  const logs = new Logs();
  others.remove("other"); // of the time before, if it is opened again
  for (let i = 0; i < 64; i++) others.add(logs.batch("other", [{}]));
  await file.sync();
  return file;
}

/** Logs of a test: gives every batch the numbers and offsets that follow. */
class Logs {
  readonly #ends = new Map<string, { readonly seq: number; readonly end: number }>();

  batch(
    key: string,
    records: readonly Partial<IndexedContent>[],
    { bytes = 100, at = "2026-01-01", labels = [] as readonly string[], damaged = false } = {},
  ): IndexedBatch {
    const { seq, end } = this.#ends.get(key) ?? { seq: 0, end: 0 };
    const stored = records.map((record, i) => ({
      id: `m${seq + i + 1}`,
      ...record,
      seq: seq + i + 1,
    }));
    const last = { seq: seq + records.length, end: end + bytes };
    this.#ends.set(key, last);
    const crc = last.end.toString(16).padStart(8, "0");
    const head = { at, labels };
    const headJson = JSON.stringify(head);
    return { key, ...last, crc, start: end, headJson, damaged, records: stored };
  }

  forget(key: string): void {
    this.#ends.delete(key);
  }
}

/** Every row, page by page. */
function listAll(index: LogIndex, options: ListOptions): LogRow[] {
  const rows: LogRow[] = [];
  let cursor: string | undefined;
  do {
    const page = index.list({ ...options, cursor });
    assert.ok(page.rows.length <= options.limit);
    rows.push(...page.rows);
    cursor = page.cursor;
  } while (cursor !== undefined);
  return rows;
}

const hits = (index: LogIndex, query: string, key?: string) =>
  index.search(query, { limit: 1_000, key }).map((hit) => `${hit.key} ${hit.seq}`);

test("the places of a log are kept so that 64 KiB, or one batch, are read at most", (t) => {
  const file = openWithoutThread(temporaryPath(t));
  t.after(() => file.close());
  const index = file.open("chats", projection);
  const logs = new Logs();
  assert.equal(index.seek("a", 1), 0);
  const batches: IndexedBatch[] = [];
  for (let i = 0; i < 60; i++) {
    const bytes = 1_000 + ((i * 7_919) % 50_000) + (i % 20 === 0 ? 100_000 : 0);
    const batch = logs.batch("a", new Array(1 + (i % 3)).fill({}), { bytes });
    batches.push(batch);
    index.add(batch);
  }
  for (const batch of batches) {
    for (let seq = firstSeqOf(batch); seq <= batch.seq; seq++) {
      const place = index.seek("a", seq);
      assert.ok(batches.some(({ start }) => start === place && place <= batch.start));
      assert.ok(place === batch.start || batch.end - place <= 64 * 1024, `record ${seq}`);
    }
  }
  const last = batches.at(-1)!;
  assert.equal(index.seek("a", 1_000_000), index.seek("a", last.seq));
  assert.equal(index.seek("a", 0), 0);
});

/** What damage leaves of logs, each after the index has taken it in and again once it is written. */
const damaged: Record<
  string,
  (index: LogIndex, logs: Logs, flush: () => Promise<void>) => unknown
> = {
  "a log of which nothing is readable is listed": (index) => {
    const nothing = { key: "a", seq: 0, end: 0, crc: "", headJson: "{}", start: 0, records: [] };
    index.add({ ...nothing, damaged: true });
    const row = { key: "a", seq: 0, head: {}, damaged: true };
    assert.deepEqual(index.list({ limit: 1 }), { rows: [row] });
  },
  async "records between which damage took some keep their numbers"(index, logs, flush) {
    const records = [
      { id: "x", seq: 1, text: "hello" },
      { id: "z", seq: 4, text: "hello" },
    ];
    index.add({ ...logs.batch("a", [{}, {}, {}, {}]), damaged: true, records });
    for (const isWritten of [false, true]) {
      if (isWritten) await flush();
      assert.deepEqual(index.find("a", "z"), { seq: 4, start: 0 });
      assert.deepEqual(hits(index, "hello"), ["a 4", "a 1"]);
    }
    index.add(logs.batch("a", [{ hides: "z" }]));
    assert.deepEqual(hits(index, "hello"), ["a 1"]);
  },
  async "no log begins in its middle, unless its beginning is damaged"(index, logs, flush) {
    logs.batch("a", [{}]);
    logs.batch("b", [{}]);
    index.add(logs.batch("a", [{ id: "x", text: "hello" }]));
    index.markDamaged("a", false);
    index.add(logs.batch("b", [{}], { damaged: true }));
    for (const isWritten of [false, true]) {
      if (isWritten) await flush();
      assert.equal(index.entry("a"), undefined);
      assert.equal(index.find("a", "x"), undefined);
      assert.deepEqual(hits(index, "hello", "a"), []);
      assert.equal(index.entry("b")?.seq, 2);
      assert.deepEqual([...index.keys()], ["b"]);
      assert.deepEqual(
        listAll(index, { limit: 9 }).map(({ key }) => key),
        ["b"],
      );
    }
  },
};
for (const [says, proof] of Object.entries(damaged)) {
  test(says, async (t) => {
    const file = openWithoutThread(temporaryPath(t));
    t.after(() => file.close());
    await proof(file.open("chats", projection), new Logs(), () => file.sync());
  });
}

// The model: whatever is done, the file answers as the maps do, also while some of it waits and the
// thread takes it in.
const keys = ["a", "b", "B", "ä", "\u{1f642}"];
const ids = ["m1", "m2", "m3", "x", "y", "M1"];
const labels = ["red", "blue"];
const words = ["red", "Réd", "fox", "東京", "京", "don't", "a b", "\u{1f642}"];

type Step =
  | { readonly do: "add"; readonly batch: AnyBatch }
  | { readonly do: "flush" }
  | { readonly do: "reopen" }
  | { readonly do: "erase" }
  | { readonly do: "pass"; readonly times: number }
  | { readonly do: "mark"; readonly key: string; readonly damaged: boolean }
  | { readonly do: "remove"; readonly key: string };

type AnyBatch = typeof anyBatch extends fc.Arbitrary<infer Batch> ? Batch : never;

const anyKey = fc.constantFrom(...keys);
const anyRecord = fc.record(
  {
    text: fc.array(fc.constantFrom(...words), { maxLength: 4 }).map((list) => list.join(" ")),
    hides: fc.constantFrom(...ids),
    id: fc.constantFrom("x", "y", "M1"),
  },
  { requiredKeys: [] },
);
const anyBatch = fc.record({
  key: anyKey,
  records: fc.array(anyRecord, { minLength: 1, maxLength: 4 }),
  bytes: fc.integer({ min: 1, max: 100_000 }),
  at: fc.constantFrom("", "2026-01-01", "2026-01-02", "2026-01-03"),
  labels: fc.subarray(labels),
  damaged: fc.boolean(),
});
const anyStep: fc.Arbitrary<Step> = fc.oneof(
  { weight: 8, arbitrary: fc.record({ do: fc.constant("add" as const), batch: anyBatch }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constantFrom("flush" as const, "reopen", "erase") }),
  },
  {
    weight: 3,
    arbitrary: fc.nat(40).map((times) => ({ do: "pass", times }) as const),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant("mark" as const),
      key: anyKey,
      damaged: fc.boolean(),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("remove" as const), key: anyKey }) },
);

function answers(index: LogIndex): unknown {
  return {
    keys: [...index.keys()].sort(),
    entries: keys.map((key) => index.entry(key)),
    damaged: keys.map((key) => index.isDamaged(key)),
    found: keys.flatMap((key) => ids.map((id) => index.find(key, id))),
    lists: [undefined, ...labels].flatMap((label) =>
      [1, 2, 100].map((limit) => listAll(index, { limit, label })),
    ),
    hits: words.flatMap((word) => [undefined, ...keys].map((key) => hits(index, word, key))),
    few: words.map((word) => index.search(word, { limit: 2 })),
    open: ["r", "fo", "東", "don't p"].map((query) =>
      index.search(query, { limit: 9, prefix: true }),
    ),
  };
}

const placesOf = (index: LogIndex) =>
  keys.flatMap((key) => [0, 1, 2, 5, 9, 99].map((seq) => index.seek(key, seq)));

/** A place is no worse than those that are kept of a log, and not past the batch that is looked for. */
function checkPlaces(index: LogIndex, memory: LogIndex): void {
  for (const key of keys) {
    for (const id of ids) {
      const found = memory.find(key, id);
      if (found === undefined) continue;
      const place = index.seek(key, found.seq);
      assert.ok(place <= found.start && place >= memory.seek(key, found.seq), `${key} ${id}`);
    }
  }
}

/** One index in SQLite and one in maps, to which the same is done. */
class Pair {
  readonly #path = temporaryPath();
  readonly #memory = openMemoryIndex()("chats", projection);
  readonly #logs = new Logs();
  readonly #open: (path: string) => SqliteIndex | Promise<SqliteIndex>;
  #file: SqliteIndex | undefined;
  #index = this.#memory;

  constructor(open: (path: string) => SqliteIndex | Promise<SqliteIndex>) {
    this.#open = open;
  }

  async open(): Promise<void> {
    this.#file = await this.#open(this.#path);
    this.#index = this.#file.open("chats", projection);
  }

  async take(step: Step): Promise<void> {
    const both = [this.#index, this.#memory];
    if (step.do === "add") {
      const { key, records, ...options } = step.batch;
      const batch = this.#logs.batch(key, records, options);
      for (const each of both) each.add(batch);
    } else if (step.do === "mark") {
      for (const each of both) each.markDamaged(step.key, step.damaged);
    } else if (step.do === "remove") {
      for (const each of both) each.remove(step.key);
      this.#logs.forget(step.key);
    } else if (step.do === "reopen") {
      await this.#file?.close();
      await this.open();
      assert.equal(this.#file?.clean, true);
    } else if (step.do === "flush") {
      await this.#file?.sync();
      assert.deepEqual(this.#file?.behind, { batches: 0, bytes: 0 });
    } else if (step.do === "erase") await this.#index.erase();
    else for (let i = 0; i < step.times; i++) await nextPass();
  }

  check(): void {
    assert.deepEqual(answers(this.#index), answers(this.#memory));
    checkPlaces(this.#index, this.#memory);
  }

  async checkAtEnd(): Promise<void> {
    await this.#file?.sync();
    this.check();
    assert.deepEqual(placesOf(this.#index), placesOf(this.#memory));
  }

  async close(): Promise<void> {
    await this.#file?.close();
    fs.rmSync(join(this.#path, ".."), { recursive: true });
  }
}

const isFull = process.env["THROUGHLINE_FULL"] === "1";
for (const { written, open, numRuns } of [
  { written: "by the main thread", open: openWithoutThread, numRuns: isFull ? 60 : 20 },
  { written: "by a thread of its own", open: openWithThread, numRuns: isFull ? 15 : 5 },
]) {
  test(`the index in SQLite, written ${written}, answers as the one in memory after every one of ${numRuns} times 25 steps`, async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(anyStep, { maxLength: 25 }), async (steps) => {
        const pair = new Pair(open);
        await pair.open();
        try {
          for (const step of steps) {
            await pair.take(step);
            pair.check();
          }
          await pair.checkAtEnd();
        } finally {
          await pair.close();
        }
      }),
      { numRuns },
    );
  });
}
