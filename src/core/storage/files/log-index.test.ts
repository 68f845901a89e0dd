// The index in memory and the one in SQLite, written by either thread: one table of cases, and a model.
import assert from "node:assert/strict";
import fs from "node:fs";
import os from "node:os";
import { join } from "node:path";
import { after, type TestContext, test } from "node:test";
import { setImmediate as nextPass } from "node:timers/promises";
import fc from "fast-check";
import { openMemoryIndex } from "../../../../test/support/memory-index.ts";
import { isThroughlineError } from "../../errors.ts";
import type { Timers } from "../../timers.ts";
import type { ListOptions, LogProjection, LogRow } from "../log-store.ts";
import {
  firstSeqOf,
  type IndexedBatch,
  type IndexedContent,
  type LogIndex,
  type OpenLogIndex,
} from "./log-index.ts";
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

interface Opened {
  readonly open: OpenLogIndex;
  /** Resolves when all that was added is written. */
  flush(): Promise<void>;
}

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

const openedOf = (file: SqliteIndex): Opened => ({ open: file.open, flush: () => file.sync() });

/** Starting a thread takes long: all cases share one, each with collections of its own. */
let shared: Promise<SqliteIndex> | undefined;
const sharedPath = temporaryPath();
after(async () => {
  await (await shared)?.close();
  fs.rmSync(join(sharedPath, ".."), { recursive: true });
});

const indexes: Record<string, (t: TestContext) => Promise<Opened>> = {
  "the index in memory": async () => ({ open: openMemoryIndex(), flush: async () => undefined }),
  "the index in SQLite": async (t) => {
    const file = openWithoutThread(temporaryPath(t));
    t.after(() => file.close());
    return openedOf(file);
  },
  "the index in SQLite that a thread writes": async (t) => {
    shared ??= openWithThread(sharedPath);
    const { open, flush } = openedOf(await shared);
    return { open: (collection, shows) => open(`${collection} of ${t.name}`, shows), flush };
  },
};

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

type Proof = (index: LogIndex, logs: Logs, opened: Opened) => void | Promise<void>;

const cases: Record<string, Proof> = {
  async "tells where a log ended when it last heard of it"(index, logs, { flush }) {
    assert.equal(index.entry("a"), undefined);
    index.add(logs.batch("a", [{}, {}]));
    assert.deepEqual(index.entry("a"), { seq: 2, end: 100, crc: "00000064" });
    await flush();
    assert.deepEqual(index.entry("a"), { seq: 2, end: 100, crc: "00000064" });
    index.add(logs.batch("a", [{}]));
    assert.deepEqual(index.entry("a"), { seq: 3, end: 200, crc: "000000c8" });
  },

  async "finds ids in their own log only, written or not"(index, logs, { flush }) {
    index.add(logs.batch("a", [{ id: "x" }, { id: "y" }]));
    index.add(logs.batch("a", [{ id: "z" }, { id: "X" }, { id: "__proto__" }]));
    const check = () => {
      assert.deepEqual(index.find("a", "y"), { seq: 2, start: 0 });
      assert.deepEqual(index.find("a", "z"), { seq: 3, start: 100 });
      assert.deepEqual(index.find("a", "X"), { seq: 4, start: 100 });
      assert.deepEqual(index.find("a", "__proto__"), { seq: 5, start: 100 });
      assert.equal(index.find("a", "w"), undefined);
      assert.equal(index.find("a", "toString"), undefined);
      assert.equal(index.find("b", "y"), undefined);
    };
    check();
    await flush();
    check();
    index.add(logs.batch("b", [{ id: "w" }]));
    assert.deepEqual(index.find("b", "w"), { seq: 1, start: 0 });
    check();
  },

  "keeps the places of a log so that 64 KiB, or one batch, are read at most"(index, logs) {
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
  },

  "lists newest first, equal instants by key, in pages of any size"(index, logs) {
    const keys = ["b", "a", "\u{1f642}", "\uffee", "B", "a/b", "a b", ".."];
    for (const key of keys) index.add(logs.batch(key, [{}]));
    index.add(logs.batch("old", [{}], { at: "2025-01-01" }));
    index.add(logs.batch("new", [{}], { at: "2027-01-01" }));
    const expected = ["new", "..", "B", "a", "a b", "a/b", "b", "\uffee", "\u{1f642}", "old"];
    for (let limit = 1; limit <= 11; limit++) {
      assert.deepEqual(
        listAll(index, { limit }).map(({ key }) => key),
        expected,
      );
    }
    index.add(logs.batch("old", [{}], { at: "2028-01-01" }));
    assert.equal(index.list({ limit: 1 }).rows[0]?.key, "old");
  },

  "lists a row with the head of the last batch"(index, logs) {
    index.add(logs.batch("a", [{}]));
    index.add(logs.batch("a", [{}, {}], { at: "2026-02-02", labels: ["\ud800", "é"] }));
    const head = { at: "2026-02-02", labels: ["\ud800", "é"] };
    const row = { key: "a", seq: 3, head, damaged: false };
    assert.deepEqual(index.list({ limit: 10 }), { rows: [row] });
  },

  "lists by label what carries it now, each log once"(index, logs) {
    index.add(logs.batch("a", [{}], { labels: ["red", "red", "blue", "\ud800"] }));
    index.add(logs.batch("b", [{}], { labels: ["red"], at: "2026-02-01" }));
    index.add(logs.batch("c", [{}]));
    const keys = (label: string) => listAll(index, { limit: 1, label }).map(({ key }) => key);
    assert.deepEqual(keys("red"), ["b", "a"]);
    assert.deepEqual(keys("blue"), ["a"]);
    assert.deepEqual(keys("\ud800"), ["a"]);
    assert.deepEqual(keys("Red"), []);
    index.add(logs.batch("a", [{}], { labels: ["red"], at: "2026-03-01" }));
    assert.deepEqual(keys("red"), ["a", "b"]);
    assert.deepEqual(keys("blue"), []);
    index.add(logs.batch("b", [{}], { labels: ["red"], at: "2026-04-01" }));
    assert.deepEqual(keys("red"), ["b", "a"]);
    index.remove("b");
    assert.deepEqual(keys("red"), ["a"]);
  },

  "refuses a cursor that no list answered"(index, logs) {
    index.add(logs.batch("a", [{}]));
    for (const cursor of ["", "x", "bnVsbA", "e30", "WzEsMl0", "WyJhIl0", "\ud800", "AAAA", "[]"]) {
      for (const label of [{}, { label: "red" }]) {
        assert.throws(
          () => index.list({ limit: 1, cursor, ...label }),
          (error) => isThroughlineError(error, "THROUGHLINE_INVALID"),
          cursor,
        );
      }
    }
  },

  "finds the records that hold every word, newest log first, newest record first"(index, logs) {
    index.add(
      logs.batch("a", [{ text: "the red fox" }, { text: "a red house" }, { text: "blue" }]),
    );
    index.add(logs.batch("b", [{ text: "RED, the colour" }, {}], { at: "2026-02-01" }));
    index.add(logs.batch("a", [{ text: "house on a hill" }, { text: "redhouse" }]));
    assert.deepEqual(hits(index, "red"), ["b 1", "a 2", "a 1"]);
    assert.deepEqual(hits(index, "the Red"), ["b 1", "a 1"]);
    assert.deepEqual(hits(index, "house red"), ["a 2"]);
    assert.deepEqual(hits(index, "house", "a"), ["a 4", "a 2"]);
    assert.deepEqual(hits(index, "red", "b"), ["b 1"]);
    assert.deepEqual(hits(index, "red", "c"), []);
    assert.deepEqual(hits(index, "green"), []);
    assert.deepEqual(
      index.search("red", { limit: 2 }).map(({ key }) => key),
      ["b", "a"],
    );
    assert.deepEqual(index.search("house", { limit: 1, key: "a" }), [{ key: "a", seq: 4 }]);
  },

  "finds words of any script without regard to case and accents"(index, logs) {
    const texts = [
      "Café Straße",
      "今日は東京へ行く",
      "서울에서",
      "don't panic",
      "naïve İstanbul",
      "γλώσσας",
    ];
    index.add(
      logs.batch(
        "a",
        texts.map((text) => ({ text })),
      ),
    );
    const rows: readonly (readonly [query: string, seq: number])[] = [
      ...([
        ["cafe", 1],
        ["CAFÉ", 1],
        ["strasse", 1],
        ["東京", 2],
        ["京へ", 2],
      ] as const),
      ...([
        ["서울", 3],
        ["don't", 4],
        ["panic don't", 4],
        ["istanbul naive", 5],
        ["ΓΛΏΣΣΑΣ", 6],
      ] as const),
    ];
    for (const [query, seq] of rows) assert.deepEqual(hits(index, query), [`a ${seq}`], query);
    assert.deepEqual(hits(index, "東行"), []);
    assert.deepEqual(hits(index, "caf"), []);
  },

  "takes every query as words, never as syntax"(index, logs) {
    index.add(logs.batch("a", [{ text: "plain AND text OR NOT NEAR words" }]));
    const hostile = ['"', "''", "*", "^a", "a*", "-a", "NEAR(a b, 2)", "text:a", "{a} : b"];
    const more = [
      "a + b",
      "(",
      ")",
      "\0",
      '" OR a"',
      "a\0b",
      "\ud800",
      "%",
      "_",
      ";drop table logs",
    ];
    for (const query of [...hostile, ...more, "", " ", "\u{1f642}"]) {
      assert.deepEqual(hits(index, query), [], query);
      assert.deepEqual(hits(index, query, "a"), [], query);
    }
    for (const query of [
      "AND",
      "or",
      "NOT",
      "NEAR(",
      "plain AND text",
      "plain - text",
      '"words"',
    ]) {
      assert.deepEqual(hits(index, query), ["a 1"], query);
    }
  },

  "takes a query of 400 words, and one of 400 characters without a space"(index, logs) {
    const words = Array.from({ length: 400 }, (_, i) => `w${i}`);
    const run = "山".repeat(400);
    index.add(logs.batch("a", [{ text: words.join(" ") }, { text: run }]));
    assert.deepEqual(hits(index, words.toReversed().join(" ")), ["a 1"]);
    assert.deepEqual(hits(index, `${words.join(" ")} w400`), []);
    assert.deepEqual(hits(index, run), ["a 2"]);
    assert.deepEqual(hits(index, `${run}山`), []);
  },

  "finds in the newest logs and in all others alike"(index, logs) {
    for (let i = 0; i < 40; i++) {
      const at = `2026-01-01T00:${String(i).padStart(2, "0")}`;
      const text = i % 2 === 0 ? "common rare" : "common";
      index.add(logs.batch(`log ${i}`, [{ text }, { text: i === 3 ? "single" : "x" }], { at }));
    }
    const newest = (count: number, step: number) =>
      Array.from({ length: count }, (_, i) => `log ${(step === 2 ? 38 : 39) - i * step} 1`);
    for (const limit of [1, 10, 16, 17, 40, 1_000]) {
      const found = (query: string) =>
        index.search(query, { limit }).map(({ key, seq }) => `${key} ${seq}`);
      assert.deepEqual(found("common"), newest(Math.min(limit, 40), 1), `limit ${limit}`);
      assert.deepEqual(found("rare"), newest(Math.min(limit, 20), 2), `limit ${limit}`);
      assert.deepEqual(found("single"), ["log 3 2"]);
    }
  },

  "no longer finds what a later record hides"(index, logs) {
    index.add(
      logs.batch("a", [
        { id: "x", text: "secret" },
        { id: "y", text: "secret" },
      ]),
    );
    index.add(logs.batch("b", [{ id: "x", text: "secret" }]));
    assert.deepEqual(hits(index, "secret"), ["a 2", "a 1", "b 1"]);
    index.add(logs.batch("a", [{ hides: "x", text: "it was secret" }, { hides: "nothing" }]));
    assert.deepEqual(hits(index, "secret"), ["a 3", "a 2", "b 1"]);
    index.add(
      logs.batch("a", [
        { id: "p", text: "secret" },
        { hides: "p" },
        { id: "q", hides: "q", text: "own" },
      ]),
    );
    assert.deepEqual(hits(index, "secret"), ["a 3", "a 2", "b 1"]);
    assert.deepEqual(hits(index, "own"), ["a 7"]);
    assert.deepEqual(index.find("a", "x"), { seq: 1, start: 0 });
  },

  async "finds as many as are wanted beside those that what waits hides"(index, logs, { flush }) {
    index.add(logs.batch("a", [{ text: "red" }, { id: "x", text: "red" }, { text: "blue" }]));
    await flush();
    index.add(logs.batch("a", [{ hides: "x" }]));
    for (const key of ["a", undefined]) {
      assert.deepEqual(index.search("red", { limit: 1, key }), [{ key: "a", seq: 1 }]);
    }
  },

  async "forgets a log, written or not, and no other; it can come back as another one"(
    index,
    logs,
    { flush },
  ) {
    for (const isWritten of [false, true]) {
      for (const isErased of [true, false]) {
        const labels = ["red"];
        index.add(logs.batch("a", [{ id: "x", text: "hello" }], { labels }));
        index.add(logs.batch("b", [{ id: "x", text: "hello" }], { labels }));
        if (isWritten) await flush();
        index.remove("a");
        if (isErased) await index.erase();
        assert.equal(index.entry("a"), undefined);
        assert.equal(index.find("a", "x"), undefined);
        assert.equal(index.seek("a", 1), 0);
        assert.deepEqual([...index.keys()], ["b"]);
        assert.deepEqual(
          listAll(index, { limit: 10 }).map(({ key }) => key),
          ["b"],
        );
        assert.deepEqual(listAll(index, { limit: 10, label: "red" }).length, 1);
        assert.deepEqual(hits(index, "hello"), ["b 1"]);
        logs.forget("a");
        index.add(logs.batch("a", [{ id: "z", text: "hello again" }]));
        assert.deepEqual(hits(index, "hello", "a"), ["a 1"]);
        assert.equal(index.find("a", "x"), undefined);
        for (const key of ["a", "b", "never there"]) index.remove(key);
        for (const key of ["a", "b"]) logs.forget(key);
        assert.deepEqual([...index.keys()], []);
        if (isErased) await index.erase();
      }
    }
  },

  async "gives nothing of a forgotten log to one that comes after it"(index, logs, { flush }) {
    const labels = ["red"];
    for (let i = 0; i < 40; i++) {
      index.add(logs.batch("a", [{ text: "hello" }], { bytes: 50_000, labels }));
    }
    await flush();
    index.remove("a");
    for (let i = 0; i < 40; i++) index.add(logs.batch("b", [{ id: `b${i}` }], { bytes: 10 }));
    assert.equal(index.find("b", "m7"), undefined);
    await flush();
    assert.equal(index.seek("b", 40), 0);
    assert.equal(index.find("b", "m7"), undefined);
    assert.deepEqual(hits(index, "hello"), []);
    assert.deepEqual(listAll(index, { limit: 1, label: "red" }), []);
  },

  "marks a log as damaged and as whole again, and no log that it does not know"(index, logs) {
    index.add(logs.batch("a", [{}]));
    index.markDamaged("a", true);
    index.markDamaged("b", true);
    const flags = () => index.list({ limit: 10 }).rows.map(({ key, damaged }) => [key, damaged]);
    assert.deepEqual(flags(), [["a", true]]);
    index.markDamaged("a", false);
    assert.deepEqual(flags(), [["a", false]]);
    index.add(logs.batch("a", [{}], { damaged: true }));
    assert.deepEqual(flags(), [["a", true]]);
  },

  async "keeps the numbers of records between which damage took some"(index, logs, { flush }) {
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

  "lists a log of which nothing is readable"(index) {
    const nothing = { key: "a", seq: 0, end: 0, crc: "", headJson: "{}", start: 0, records: [] };
    index.add({ ...nothing, damaged: true });
    const row = { key: "a", seq: 0, head: {}, damaged: true };
    assert.deepEqual(index.list({ limit: 1 }), { rows: [row] });
  },

  async "does not begin in the middle of a log, unless its beginning is damaged, written or not"(
    index,
    logs,
    { flush },
  ) {
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

  "keeps collections apart"(index, logs, { open }) {
    const runs = open("runs", projection);
    index.add(logs.batch("a", [{ id: "x", text: "hello" }], { labels: ["red"] }));
    assert.equal(runs.entry("a"), undefined);
    runs.add(new Logs().batch("a", [{ id: "y", text: "hello" }, {}]));
    assert.deepEqual(hits(index, "hello"), ["a 1"]);
    assert.deepEqual(hits(runs, "hello"), ["a 1"]);
    assert.equal(runs.find("a", "x"), undefined);
    assert.deepEqual(listAll(runs, { limit: 1, label: "red" }), []);
    index.remove("a");
    assert.deepEqual(hits(runs, "hello"), ["a 1"]);
    assert.deepEqual([...index.keys()], []);
    assert.equal(runs.list({ limit: 1 }).rows[0]?.seq, 2);
  },
};

for (const [name, open] of Object.entries(indexes)) {
  for (const [says, proof] of Object.entries(cases)) {
    test(`${name} ${says}`, async (t) => {
      const opened = await open(t);
      await proof(opened.open("chats", projection), new Logs(), opened);
    });
  }
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

for (const { written, open, numRuns } of [
  { written: "by the main thread", open: openWithoutThread, numRuns: 60 },
  { written: "by a thread of its own", open: openWithThread, numRuns: 15 },
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
