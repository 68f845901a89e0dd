import assert from "node:assert/strict";
import type { LogHead, LogStore } from "../core/storage/log-store.ts";
import { type Clause, clauseWithTable } from "./contract.ts";
import {
  chat,
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
  options: { readonly limit: number; readonly label?: string | undefined },
  between: (page: number) => Promise<unknown> = async () => undefined,
): Promise<string[][]> {
  const all: string[][] = [];
  let cursor: string | undefined;
  do {
    const page = await log.list({ ...options, cursor });
    assert.deepEqual(await log.list({ ...options, cursor }), page, "a cursor can be used again");
    all.push(page.rows.map((row) => row.key));
    cursor = page.cursor;
    await between(all.length);
    assert.ok(all.length <= 50, "a list comes to its end");
  } while (cursor !== undefined);
  return all;
}

const keys = ["a", "b", "c", "d", "e", "f"];

interface Paged {
  readonly name: string;
  /** The head of the log of this key, by its place in the list. */
  readonly head: (index: number) => LogHead | undefined;
  readonly label?: string;
}

const paged: readonly Paged[] = [
  { name: "logs of different instants", head: (index) => at(20 - index) },
  { name: "logs of the same instant", head: () => at(1) },
  { name: "logs without a head", head: () => undefined },
  {
    name: "logs of one label",
    head: (index) => at(20 - index, { labels: ["x", "y"] }),
    label: "y",
  },
];

interface Change {
  readonly name: string;
  readonly between: (log: LogStore, page: number) => Promise<unknown>;
  readonly pages: readonly (readonly string[])[];
}

const inTwos = [
  ["a", "b"],
  ["c", "d"],
  ["e", "f"],
];

const changes: readonly Change[] = [
  {
    name: "new logs arrive",
    between: (log, page) => touch(log, `new${page}`, at(30 + page)),
    pages: inTwos,
  },
  {
    name: "logs that were listed move to the front",
    between: (log, page) => touch(log, keys[page - 1] ?? "a", at(30 + page)),
    pages: inTwos,
  },
  {
    name: "logs are deleted",
    between: (log, page) => log.delete(["b", "e"][page - 1] ?? "none"),
    pages: [["a", "b"], ["c", "d"], ["f"]],
  },
];

/** Lists of logs. */
export const listClauses: readonly Clause[] = [
  {
    says: "a row is the key, the seq, the head, and that the log is undamaged, until the log is deleted",
    proof: withLogs(async (log) => {
      assert.deepEqual(await log.list({ limit: 10 }), { rows: [] });
      assert.deepEqual(await log.list({ limit: 10, label: "x" }), { rows: [] });
      const head = at(1, { title: "a", labels: ["x"] });
      await log.append(chat, [message("m1"), message("m2")], { head });
      const rows = [{ key: chat, seq: 2, head, damaged: false }];
      assert.deepEqual(await log.list({ limit: 10 }), { rows });
      await log.erase(chat, ["m1", "m2"]);
      assert.deepEqual(await log.list({ limit: 10, label: "x" }), { rows });
      await log.delete(chat);
      assert.deepEqual([await listed(log), await listed(log, "x")], [[], []]);
    }),
  },
  {
    says: "a list is sorted by the projection's instant, newest first, then by key, upper case before lower case",
    proof: withLogs(async (log) => {
      await touch(log, "without a head");
      for (const [key, minute] of Object.entries({ b: 3, c: 1, "a:1": 3, B: 3, a: 3, d: 5 })) {
        await touch(log, key, at(minute));
      }
      assert.deepEqual(await listed(log), ["d", "B", "a", "a:1", "b", "c", "without a head"]);
    }),
  },
  {
    says: "a new head moves its log to its new place at once, forwards and back; an append without one leaves it",
    proof: withLogs(async (log) => {
      for (const [key, minute] of Object.entries({ a: 1, b: 2, c: 3 })) {
        await touch(log, key, at(minute));
      }
      await touch(log, "a", at(9));
      assert.deepEqual(await listed(log), ["a", "c", "b"]);
      await touch(log, "a", at(0));
      assert.deepEqual(await listed(log), ["c", "b", "a"]);
      await touch(log, "a");
      const { rows } = await log.list({ limit: 10 });
      assert.deepEqual([rows.at(-1)?.key, rows.at(-1)?.seq], ["a", 4]);
    }),
  },
  {
    says: "a list by label holds each log whose head carries just that label, once, sorted as any list",
    proof: withLogs(async (log) => {
      await touch(log, "a", at(1, { labels: ["x", "y", "x"] }));
      await touch(log, "b", at(2, { labels: ["y", "person:ada", "100%", "a,b"] }));
      await touch(log, "c", at(3));
      await touch(log, "d", at(4, { labels: ["x"] }));
      assert.deepEqual(await listed(log, "x"), ["d", "a"]);
      assert.deepEqual(await listed(log, "y"), ["b", "a"]);
      for (const label of ["person:ad", "Person:ada", "ada", "100_", "%", "a", "", "X"]) {
        assert.deepEqual(await listed(log, label), [], label);
      }
      for (const label of ["person:ada", "100%", "a,b"]) {
        assert.deepEqual(await listed(log, label), ["b"], label);
      }
      const long = "session:".padEnd(2_000, "x");
      for (const key of ["e", "f"]) await touch(log, key, at(5, { labels: [long + key] }));
      assert.deepEqual([await listed(log, `${long}e`), await listed(log, long)], [["e"], []]);
      await touch(log, "a", at(5, { labels: ["y", "z"] }));
      assert.deepEqual([await listed(log, "x"), await listed(log, "z")], [["d"], ["a"]]);
      await touch(log, "a", at(6));
      assert.deepEqual([await listed(log, "y"), await listed(log, "z")], [["b"], []]);
    }),
  },
  clauseWithTable(
    "the pages of a list hold every log once, in order, whatever the limit; the last has no cursor, also when it is full",
    paged,
    ({ head, label }) =>
      withLogs(async (log) => {
        for (const key of ["c", "f", "a", "e", "b", "d"]) {
          await touch(log, key, head(keys.indexOf(key)));
        }
        if (label !== undefined) await touch(log, "other", at(25, { labels: ["z"] }));
        for (const limit of [1, 2, 3, 4, 5, 6, 7, 1_000]) {
          const all = await pages(log, { limit, label });
          assert.deepEqual(all.flat(), keys, `limit ${limit}`);
          assert.equal(all.length, Math.ceil(keys.length / limit), `limit ${limit}`);
        }
        assert.equal("cursor" in (await log.list({ limit: 6, label })), false);
      }),
  ),
  {
    says: "logs of the same instant are listed in the order of their keys' UTF-8",
    proof: withLogs(async (log) => {
      const inOrder = ["~", "\u00e9", "\ud7ff", "\uffee", "\u{1f9f5}"];
      for (const key of inOrder.toReversed()) await touch(log, key, at(1));
      assert.deepEqual((await pages(log, { limit: 2 })).flat(), inOrder);
    }),
  },
  clauseWithTable(
    "a list that is paged while logs arrive, move to the front or are deleted repeats no row and skips no old one",
    changes,
    ({ between, pages: expected }) =>
      withLogs(async (log) => {
        for (const [index, key] of keys.entries()) await touch(log, key, at(20 - index));
        assert.deepEqual(await pages(log, { limit: 2 }, (page) => between(log, page)), expected);
      }),
  ),
  clauseWithTable(
    "a cursor that no list answered is refused",
    ["", "0", "next", "eyJhIjoxfQ", "WzEsMl0", "../..", "\ud800", 7, {}],
    (cursor) =>
      withLogs(async (log) => {
        await touch(log, "a", at(1));
        await refuses("THROUGHLINE_INVALID", log.list(untyped({ limit: 1, cursor })));
      }),
  ),
];
