// Both indexes against one table of cases, and against each other.
import assert from "node:assert/strict";
import fs from "node:fs";
import os from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import fc from "fast-check";
import { openMemoryIndex } from "../../../../test/support/memory-index.ts";
import { isThroughlineError } from "../../errors.ts";
import type { JsonObject } from "../../json.ts";
import type { ListOptions, LogProjection, LogRow, StoredRecord } from "../log-store.ts";
import type { IndexedBatch, LogIndex, OpenLogIndex } from "./log-index.ts";
import { openSqliteIndex } from "./sqlite-index.ts";

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

const indexes: Record<string, (t: TestContext) => OpenLogIndex> = {
  "the index in memory": () => openMemoryIndex(),
  "the index in SQLite": (t) => {
    const index = openSqliteIndex(temporaryPath(t), { onLost });
    t.after(() => index.close());
    return index.open;
  },
};

/** Logs of a test: gives every batch the numbers and offsets that follow. */
class Logs {
  readonly #ends = new Map<string, { readonly seq: number; readonly end: number }>();

  batch(
    key: string,
    records: readonly JsonObject[],
    { bytes = 100, at = "2026-01-01", labels = [] as readonly string[], damaged = false } = {},
  ): IndexedBatch {
    const { seq, end } = this.#ends.get(key) ?? { seq: 0, end: 0 };
    const stored = records.map((record, i) => {
      return { id: `m${seq + i + 1}`, ...record, seq: seq + i + 1 };
    });
    const last = { seq: seq + records.length, end: end + bytes };
    this.#ends.set(key, last);
    const crc = last.end.toString(16).padStart(8, "0");
    const head = { at, labels };
    const of = { ids: stored.map(({ id }) => id), records: stored };
    return { key, ...last, crc, start: end, head, damaged, ...of };
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
    const page = index.list({ ...options, ...(cursor === undefined ? {} : { cursor }) });
    assert.ok(page.rows.length <= options.limit);
    rows.push(...page.rows);
    cursor = page.cursor;
  } while (cursor !== undefined);
  return rows;
}

const hits = (index: LogIndex, query: string, key?: string) =>
  index
    .search(query, { limit: 1_000, ...(key === undefined ? {} : { key }) })
    .map((hit) => `${hit.key} ${hit.seq}`);

const cases: Record<string, (index: LogIndex, logs: Logs, open: OpenLogIndex) => void> = {
  "tells where a log ended when it last heard of it"(index, logs) {
    assert.equal(index.entry("a"), undefined);
    index.add(logs.batch("a", [{}, {}]));
    assert.deepEqual(index.entry("a"), { seq: 2, end: 100, crc: "00000064" });
    index.flush();
    assert.deepEqual(index.entry("a"), { seq: 2, end: 100, crc: "00000064" });
    index.add(logs.batch("a", [{}]));
    assert.deepEqual(index.entry("a"), { seq: 3, end: 200, crc: "000000c8" });
  },

  "finds ids in their own log only, buffered or not"(index, logs) {
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
    index.drain(1);
    check();
    index.flush();
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
      for (const { seq } of batch.records) {
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
    index.add(
      logs.batch("b", [{ text: "RED, the colour" }, { other: "red" }], { at: "2026-02-01" }),
    );
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

  "forgets a log, buffered or not, and no other; it can come back as another one"(index, logs) {
    for (const written of [false, true]) {
      for (const bytes of ["now", "later"] as const) {
        const labels = ["red"];
        index.add(logs.batch("a", [{ id: "x", text: "hello" }], { labels }));
        index.add(logs.batch("b", [{ id: "x", text: "hello" }], { labels }));
        if (written) index.flush();
        index.remove("a", bytes);
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
        for (const key of ["a", "b", "never there"]) index.remove(key, bytes);
        for (const key of ["a", "b"]) logs.forget(key);
        while (index.erase());
      }
    }
  },

  "gives nothing of a forgotten log to one that comes after it"(index, logs) {
    const labels = ["red"];
    for (let i = 0; i < 40; i++) {
      index.add(logs.batch("a", [{ text: "hello" }], { bytes: 50_000, labels }));
    }
    index.flush();
    index.remove("a");
    for (let i = 0; i < 40; i++) index.add(logs.batch("b", [{ id: `b${i}` }], { bytes: 10 }));
    assert.equal(index.find("b", "m7"), undefined);
    index.flush();
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

  "lists a log of which nothing is readable"(index) {
    const nothing = { key: "a", seq: 0, end: 0, crc: "", head: {}, start: 0, ids: [], records: [] };
    index.add({ ...nothing, damaged: true });
    const row = { key: "a", seq: 0, head: {}, damaged: true };
    assert.deepEqual(index.list({ limit: 1 }), { rows: [row] });
  },

  "does not begin in the middle of a log, unless its beginning is damaged"(index, logs) {
    logs.batch("a", [{}]);
    logs.batch("b", [{}]);
    index.add(logs.batch("a", [{}]));
    index.add(logs.batch("b", [{}], { damaged: true }));
    index.flush();
    assert.equal(index.entry("a"), undefined);
    assert.equal(index.entry("b")?.seq, 2);
    assert.deepEqual([...index.keys()], ["b"]);
  },

  "keeps collections apart"(index, logs, open) {
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
    test(`${name} ${says}`, (t) => {
      const opened = open(t);
      proof(opened("chats", projection), new Logs(), opened);
    });
  }
}

// The model: whatever is done, the file answers as the maps do.
const keys = ["a", "b", "B", "ä", "\u{1f642}"];
const ids = ["m1", "m2", "m3", "x", "y", "M1"];
const labels = ["red", "blue"];
const words = ["red", "Réd", "fox", "東京", "京", "don't", "a b", "\u{1f642}"];

type Step =
  | { readonly do: "add"; readonly batch: IndexedBatch }
  | { readonly do: "drain" | "flush" | "reopen" | "erase" }
  | { readonly do: "mark"; readonly key: string; readonly damaged: boolean }
  | { readonly do: "remove"; readonly key: string; readonly bytes: "now" | "later" };

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
const anyStep = fc.oneof(
  { weight: 8, arbitrary: anyBatch.map((batch) => ({ do: "add", batch }) as const) },
  {
    weight: 3,
    arbitrary: fc.constantFrom("drain", "flush", "reopen", "erase").map((name) => ({ do: name })),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant("mark"), key: anyKey, damaged: fc.boolean() }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant("remove"),
      key: anyKey,
      bytes: fc.constantFrom("now", "later"),
    }),
  },
);

function answers(index: LogIndex): unknown {
  return {
    keys: [...index.keys()].sort(),
    entries: keys.map((key) => index.entry(key)),
    found: keys.flatMap((key) => ids.map((id) => index.find(key, id))),
    places: keys.flatMap((key) => [0, 1, 2, 5, 9, 99].map((seq) => index.seek(key, seq))),
    lists: [undefined, ...labels].flatMap((label) =>
      [1, 2, 100].map((limit) =>
        listAll(index, { limit, ...(label === undefined ? {} : { label }) }),
      ),
    ),
    hits: words.flatMap((word) => [undefined, ...keys].map((key) => hits(index, word, key))),
    few: words.map((word) => index.search(word, { limit: 2 })),
  };
}

/** What is asked without anything being written out. */
function quickAnswers(index: LogIndex): unknown {
  return [
    keys.map((key) => [index.entry(key), ids.map((id) => index.find(key, id))]),
    ...[undefined, ...labels].map((label) =>
      listAll(index, { limit: 2, ...(label === undefined ? {} : { label }) }),
    ),
  ];
}

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

test("the index in SQLite answers as the one in memory, after any steps and any reopening", () => {
  fc.assert(
    fc.property(fc.array(anyStep, { maxLength: 25 }), (steps) => {
      const path = temporaryPath();
      const memory = openMemoryIndex()("chats", projection);
      let file = openSqliteIndex(path, { onLost });
      let index = file.open("chats", projection);
      const logs = new Logs();
      try {
        for (const step of steps as unknown as readonly Step[]) {
          if (step.do === "add") {
            const { key, records, ...options } = step.batch as unknown as {
              readonly key: string;
              readonly records: readonly StoredRecord[];
            };
            const batch = logs.batch(key, records, options);
            index.add(batch);
            memory.add(batch);
          } else if (step.do === "mark") {
            for (const each of [index, memory]) each.markDamaged(step.key, step.damaged);
          } else if (step.do === "remove") {
            for (const each of [index, memory]) each.remove(step.key, step.bytes);
            logs.forget(step.key);
          } else if (step.do === "reopen") {
            file.close();
            file = openSqliteIndex(path, { onLost });
            assert.ok(file.clean);
            index = file.open("chats", projection);
          } else if (step.do === "drain") index.drain(1);
          else if (step.do === "flush") index.flush();
          else index.erase();
          assert.deepEqual(quickAnswers(index), quickAnswers(memory));
          checkPlaces(index, memory);
        }
        assert.deepEqual(answers(index), answers(memory));
      } finally {
        file.close();
        fs.rmSync(join(path, ".."), { recursive: true });
      }
    }),
    { numRuns: 60 },
  );
});
