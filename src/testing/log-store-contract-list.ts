import assert from "node:assert/strict";
import type { LogHead, LogStore } from "../core/storage/log-store.ts";
import { type Clause, clauseWithTable } from "./contract.ts";
import { refusedLimits, zeroLimit } from "./corpus.ts";
import {
  chat,
  contractProjection,
  isAbsent,
  listed,
  message,
  refuses,
  untyped,
  withLogs,
} from "./log-store-contract-fixtures.ts";

/** The head of a log that changed at this minute. */
function at(minute: number, more: LogHead = {}): LogHead {
  return { updated_at: `2026-03-01T10:${String(minute).padStart(2, "0")}:00.000Z`, ...more };
}

let made = 0;
async function touch(log: LogStore, key: string, head?: LogHead): Promise<void> {
  await log.append(key, [message(`t${++made}`)], head === undefined ? {} : { head });
}

/** Every page of a list: what `between` does happens after each. */
async function pages(
  log: LogStore,
  limit: number,
  between: (page: number) => Promise<unknown> = async () => undefined,
  label?: string,
): Promise<string[][]> {
  const all: string[][] = [];
  let cursor: string | undefined;
  do {
    const options = { limit, ...(cursor === undefined ? {} : { cursor }) };
    const page = await log.list(label === undefined ? options : { ...options, label });
    all.push(page.rows.map((row) => row.key));
    cursor = page.cursor;
    await between(all.length);
    assert.ok(all.length <= 50, "a list comes to its end");
  } while (cursor !== undefined);
  return all;
}

const rows: readonly Clause[] = [
  {
    id: "log.list.empty",
    says: "a list of no logs is one page without rows and without a cursor",
    proof: withLogs(async (log) => {
      assert.deepEqual(await log.list({ limit: 10 }), { rows: [] });
      assert.deepEqual(await log.list({ limit: 10, label: "x" }), { rows: [] });
    }),
  },
  {
    id: "log.list.row",
    says: "a row is the key, the seq, the head, and that the log is undamaged",
    proof: withLogs(async (log) => {
      await log.append(chat, [message("m1"), message("m2")], { head: at(1, { title: "a" }) });
      const row = { key: chat, seq: 2, head: at(1, { title: "a" }), damaged: false };
      assert.deepEqual(await log.list({ limit: 10 }), { rows: [row] });
    }),
  },
  {
    id: "log.list.order",
    says: "a list is sorted by the projection's instant, newest first",
    proof: withLogs(async (log) => {
      for (const [key, minute] of [
        ["a", 3],
        ["b", 1],
        ["c", 5],
        ["d", 2],
      ] as const) {
        await touch(log, key, at(minute));
      }
      assert.deepEqual(await listed(log), ["c", "a", "d", "b"]);
    }),
  },
  {
    id: "log.list.ties",
    says: "logs of the same instant are sorted by key, upper case before lower case",
    proof: withLogs(async (log) => {
      for (const key of ["b", "a:1", "B", "a", "10", "9"]) await touch(log, key, at(1));
      assert.deepEqual(await listed(log), ["10", "9", "B", "a", "a:1", "b"]);
    }),
  },
  {
    id: "log.list.moves",
    says: "a new head moves its log to its new place at once, forwards and back",
    proof: withLogs(async (log) => {
      for (const [key, minute] of [
        ["a", 1],
        ["b", 2],
        ["c", 3],
      ] as const) {
        await touch(log, key, at(minute));
      }
      await touch(log, "a", at(9));
      assert.deepEqual(await listed(log), ["a", "c", "b"]);
      await touch(log, "a", at(0));
      assert.deepEqual(await listed(log), ["c", "b", "a"]);
    }),
  },
  {
    id: "log.list.stays",
    says: "an append without a head counts in the row and leaves it in its place",
    proof: withLogs(async (log) => {
      await touch(log, "a", at(1));
      await touch(log, "b", at(2));
      await touch(log, "a");
      const { rows } = await log.list({ limit: 10 });
      assert.deepEqual(
        rows.map((row) => [row.key, row.seq]),
        [
          ["b", 1],
          ["a", 2],
        ],
      );
    }),
  },
  {
    id: "log.list.no-head",
    says: "a log without a head is listed, where the projection of an empty head puts it",
    proof: withLogs(async (log) => {
      await touch(log, "a");
      await touch(log, "b", at(1));
      assert.deepEqual(await listed(log), ["b", "a"]);
    }),
  },
  {
    id: "log.list.refused",
    says: "an append that was refused makes no row",
    proof: withLogs(async (log) => {
      const bad = message("m1", "hi", { at: Number.NaN });
      await refuses("THROUGHLINE_INVALID", log.append("a", [bad], { head: at(1) }));
      await isAbsent(log, "a");
    }),
  },
  {
    id: "log.list.deleted",
    says: "a deleted log is not listed, by its labels neither",
    proof: withLogs(async (log) => {
      await touch(log, "a", at(1, { labels: ["x"] }));
      await touch(log, "b", at(2, { labels: ["x"] }));
      await log.delete("b");
      assert.deepEqual(await listed(log), ["a"]);
      assert.deepEqual(await listed(log, "x"), ["a"]);
    }),
  },
  {
    id: "log.list.erased",
    says: "a log whose records were all erased is listed with the seq that it had",
    proof: withLogs(async (log) => {
      await log.append("a", [message("m1"), message("m2")], { head: at(1) });
      await log.erase("a", ["m1", "m2"]);
      const row = { key: "a", seq: 2, head: at(1), damaged: false };
      assert.deepEqual((await log.list({ limit: 10 })).rows, [row]);
    }),
  },
];

const labels: readonly Clause[] = [
  {
    id: "log.list.label",
    says: "a list by label holds the logs that carry it, sorted as any list",
    proof: withLogs(async (log) => {
      await touch(log, "a", at(1, { labels: ["x", "y"] }));
      await touch(log, "b", at(2, { labels: ["y"] }));
      await touch(log, "c", at(3));
      await touch(log, "d", at(4, { labels: ["x"] }));
      assert.deepEqual(await listed(log, "x"), ["d", "a"]);
      assert.deepEqual(await listed(log, "y"), ["b", "a"]);
    }),
  },
  {
    id: "log.list.label-exact",
    says: "a label is matched whole and as it is written",
    proof: withLogs(async (log) => {
      await touch(log, "a", at(1, { labels: ["person:ada", "100%", "a,b"] }));
      for (const label of ["person:ad", "Person:ada", "ada", "100_", "%", "a", ""]) {
        assert.deepEqual(await listed(log, label), [], label);
      }
      for (const label of ["person:ada", "100%", "a,b"]) {
        assert.deepEqual(await listed(log, label), ["a"], label);
      }
    }),
  },
  {
    id: "log.list.label-changed",
    says: "a new head takes away the labels that it does not carry",
    proof: withLogs(async (log) => {
      await touch(log, "a", at(1, { labels: ["x", "y"] }));
      await touch(log, "a", at(2, { labels: ["y", "z"] }));
      assert.deepEqual(await listed(log, "x"), []);
      assert.deepEqual(await listed(log, "y"), ["a"]);
      assert.deepEqual(await listed(log, "z"), ["a"]);
      await touch(log, "a", at(3));
      assert.deepEqual(await listed(log, "y"), []);
    }),
  },
  {
    id: "log.list.label-twice",
    says: "a log that carries a label twice is listed once",
    proof: withLogs(async (log) => {
      await touch(log, "a", at(1, { labels: ["x", "x"] }));
      assert.deepEqual(await listed(log, "x"), ["a"]);
    }),
  },
];

const paging: readonly Clause[] = [
  {
    id: "log.list.pages",
    says: "the pages of a list hold every log once, in order, whatever the limit",
    proof: withLogs(async (log) => {
      const keys = ["a", "b", "c", "d", "e", "f"];
      for (const [index, key] of keys.entries()) await touch(log, key, at(9 - index));
      assert.deepEqual(await pages(log, 4), [
        ["a", "b", "c", "d"],
        ["e", "f"],
      ]);
      for (const limit of [1, 2, 3, 5, 6, 7, 1_000]) {
        assert.deepEqual((await pages(log, limit)).flat(), keys);
      }
    }),
  },
  {
    id: "log.list.pages-of-ties",
    says: "the pages of a list of logs of the same instant hold every log once",
    proof: withLogs(async (log) => {
      for (const key of ["c", "a", "d", "b", "e"]) await touch(log, key, at(1));
      assert.deepEqual(await pages(log, 2), [["a", "b"], ["c", "d"], ["e"]]);
    }),
  },
  {
    id: "log.list.pages-without-heads",
    says: "the pages of a list of logs without a head hold every log once",
    proof: withLogs(async (log) => {
      for (const key of ["c", "a", "b"]) await touch(log, key);
      assert.deepEqual(await pages(log, 1), [["a"], ["b"], ["c"]]);
    }),
  },
  {
    id: "log.list.last-page",
    says: "the last page has no cursor, also when it is full",
    proof: withLogs(async (log) => {
      for (const key of ["a", "b", "c", "d"]) await touch(log, key, at(1));
      assert.deepEqual(await pages(log, 2), [
        ["a", "b"],
        ["c", "d"],
      ]);
      assert.equal("cursor" in (await log.list({ limit: 4 })), false);
    }),
  },
  {
    id: "log.list.pages-by-label",
    says: "the pages of a list by label hold every log that carries it once",
    proof: withLogs(async (log) => {
      for (const [index, key] of ["a", "b", "c", "d", "e", "f"].entries()) {
        await touch(log, key, at(9 - index, { labels: [index % 2 === 0 ? "even" : "odd"] }));
      }
      const found = await pages(log, 2, undefined, "even");
      assert.deepEqual(found, [["a", "c"], ["e"]]);
    }),
  },
  {
    id: "log.list.while-logs-arrive",
    says: "a list that is paged while new logs arrive repeats no row and skips no old one",
    proof: withLogs(async (log) => {
      const keys = ["a", "b", "c", "d", "e", "f", "g"];
      for (const [index, key] of keys.entries()) await touch(log, key, at(20 - index));
      const all = await pages(log, 2, (page) => touch(log, `new${page}`, at(30 + page)));
      assert.deepEqual(all.flat(), keys);
    }),
  },
  {
    id: "log.list.while-logs-move",
    says: "a list that is paged while its logs move to the front repeats no row",
    proof: withLogs(async (log) => {
      const keys = ["a", "b", "c", "d", "e", "f"];
      for (const [index, key] of keys.entries()) await touch(log, key, at(20 - index));
      const all = await pages(log, 2, (page) => touch(log, keys[page - 1] ?? "a", at(30 + page)));
      assert.deepEqual(all.flat(), keys);
    }),
  },
  {
    id: "log.list.while-logs-go",
    says: "a list that is paged while logs are deleted goes on where it was",
    proof: withLogs(async (log) => {
      const keys = ["a", "b", "c", "d", "e", "f"];
      for (const [index, key] of keys.entries()) await touch(log, key, at(20 - index));
      const gone = ["b", "e"];
      const all = await pages(log, 2, (page) => log.delete(gone[page - 1] ?? "none"));
      assert.deepEqual(all, [["a", "b"], ["c", "d"], ["f"]]);
    }),
  },
  {
    id: "log.list.cursor-twice",
    says: "a cursor can be used again and answers the same page",
    proof: withLogs(async (log) => {
      for (const key of ["a", "b", "c"]) await touch(log, key, at(1));
      const { cursor } = await log.list({ limit: 1 });
      const options = untyped<{ limit: number; cursor: string }>({ limit: 2, cursor });
      assert.deepEqual(await log.list(options), await log.list(options));
      assert.deepEqual(
        (await log.list(options)).rows.map((row) => row.key),
        ["b", "c"],
      );
    }),
  },
  clauseWithTable(
    "log.list.cursor-invalid",
    "a cursor that no list answered is refused",
    ["", "0", "next", "eyJhIjoxfQ", "WzEsMl0", "../..", "\ud800", 7, {}],
    (cursor) =>
      withLogs(async (log) => {
        await touch(log, "a", at(1));
        await refuses("THROUGHLINE_INVALID", log.list(untyped({ limit: 1, cursor })));
      }),
  ),
  clauseWithTable(
    "log.list.refused-limit",
    "list refuses a limit that is out of bounds",
    [zeroLimit, ...refusedLimits],
    ({ value: limit }) =>
      withLogs(async (log) => {
        await refuses("THROUGHLINE_INVALID", log.list(untyped({ limit })));
      }),
  ),
];

const collections: readonly Clause[] = [
  {
    id: "log.list.of-its-collection",
    says: "a list holds the logs of its collection only",
    proof: withLogs(async (log, storage) => {
      const runs = storage.logs("runs", contractProjection);
      await touch(log, "a", at(1));
      await touch(runs, "b", at(2));
      assert.deepEqual(await listed(log), ["a"]);
      assert.deepEqual(await listed(runs), ["b"]);
    }),
  },
];

/** Lists of logs. */
export const listClauses: readonly Clause[] = [...rows, ...labels, ...paging, ...collections];
