import assert from "node:assert/strict";
import type { LogStore, SearchOptions } from "../../../src/core/storage/log-store.ts";
import { type Clause, type Contract, clauseWithTable } from "../../../src/testing/contract.ts";
import {
  chat,
  found,
  message,
  refuses,
  removal,
  untyped,
  withLogs,
} from "../../../src/testing/log-store-contract-fixtures.ts";
import { searchWordClauses } from "./search-words.ts";

const order: readonly Clause[] = [
  {
    says: "hits come in the order of the list of logs, and within a log newest first",
    proof: withLogs(async (log) => {
      const days = { a: "2026-03-01", b: "2026-03-03", c: "2026-03-02", d: "2026-03-02" };
      for (const [key, day] of Object.entries(days)) {
        const batch = [message(`${key}1`, "tea"), message(`${key}2`, "tea")];
        await log.append(key, batch, { head: { updated_at: day } });
      }
      await log.append("c", [message("c3", "tea")]);
      const expected = ["b2", "b1", "c3", "c2", "c1", "d2", "d1", "a2", "a1"];
      assert.deepEqual(await found(log, "tea"), expected);
      await log.append("a", [message("a3", "milk")], { head: { updated_at: "2026-03-09" } });
      assert.deepEqual((await found(log, "tea")).slice(0, 3), ["a2", "a1", "b2"]);
    }),
  },
  {
    says: "a search answers at most as many hits as it is asked for, the first ones",
    proof: withLogs(async (log) => {
      const batch = Array.from({ length: 1_000 }, (_, index) => message(`m${index + 1}`, "tea"));
      await log.append(chat, batch);
      await log.append("telegram:4", batch);
      const hits = await log.search("tea", { limit: 3, key: chat });
      assert.deepEqual(
        hits.map((hit) => hit.record.seq),
        [1_000, 999, 998],
      );
      assert.equal((await log.search("tea", { limit: 1_000 })).length, 1_000);
      assert.equal((await log.search("tea", { limit: 1 })).length, 1);
    }),
  },
  {
    says: "a hit is the key and the record as it is stored; with a key, of that log only",
    proof: withLogs(async (log) => {
      const given = message("m2", "green tea", { list: [{ a: 1 }] });
      await log.append(chat, [message("m1", "milk"), given]);
      const hit = { key: chat, record: { ...given, seq: 2 } };
      assert.deepEqual(await log.search("tea", { limit: 5 }), [hit]);
      await log.append("telegram:4", [message("m3", "tea")]);
      assert.deepEqual(await log.search("tea", { limit: 5, key: chat }), [hit]);
      assert.deepEqual(await found(log, "tea", "telegram:4"), ["m3"]);
      assert.deepEqual(await found(log, "tea", "missing"), []);
    }),
  },
  clauseWithTable<readonly [name: string, query: unknown, options: object]>(
    "a query that is no text, a bad key and a prefix that is neither true nor false are refused",
    [
      ["a number for a query", 7, {}],
      ["an empty key", "tea", { key: "" }],
      ["a text for prefix", "tea", { prefix: "yes" }],
    ],
    ([, query, options]) =>
      withLogs(async (log) => {
        await log.append(chat, [message("m1", "tea")]);
        const all = untyped<SearchOptions>({ limit: 1, ...options });
        await refuses("THROUGHLINE_INVALID", log.search(untyped(query), all));
      }),
  ),
];

async function twoTexts(log: LogStore): Promise<void> {
  await log.append(chat, [message("m1", "tea at five"), message("m2", "tea at six")]);
}

interface Searched {
  readonly name: string;
  readonly does: (log: LogStore) => Promise<unknown>;
  /** The records that a search for tea finds then. */
  readonly tea: readonly string[];
}

const unfound: readonly Searched[] = [
  {
    name: "a later record hides one",
    async does(log) {
      await twoTexts(log);
      await log.append(chat, [removal("r1", "m1")]);
      const kept = { ...message("m1", "tea at five"), seq: 1 };
      assert.deepEqual(await log.find(chat, "m1"), kept, "it is still read as it was");
    },
    tea: ["m2"],
  },
  {
    name: "a record of its own batch hides one",
    does: (log) =>
      log.append(chat, [message("m1", "tea"), removal("r1", "m1"), message("m2", "tea")]),
    tea: ["m2"],
  },
  {
    name: "a record of another log hides its own",
    async does(log) {
      await twoTexts(log);
      await log.append("telegram:4", [message("m1", "tea"), removal("r1", "m1")]);
    },
    tea: ["m2", "m1"],
  },
  {
    name: "a hidden record is appended again",
    async does(log) {
      await twoTexts(log);
      await log.append(chat, [removal("r1", "m1")]);
      await twoTexts(log);
    },
    tea: ["m2"],
  },
  {
    name: "a record hides what the log does not hold",
    async does(log) {
      await twoTexts(log);
      await log.append(chat, [removal("r1", "m9"), removal("r2", "r2")]);
    },
    tea: ["m2", "m1"],
  },
  {
    name: "a removal is deleted with its log",
    async does(log) {
      await twoTexts(log);
      await log.append(chat, [removal("r1", "m1")]);
      await log.delete(chat);
      await twoTexts(log);
    },
    tea: ["m2", "m1"],
  },
  {
    name: "records without a text",
    does: (log) =>
      log.append(chat, [
        { id: "m1", kind: "session", title: "tea" },
        { id: "m2", content: { text: "tea" } },
        message("m3", "tea"),
      ]),
    tea: ["m3"],
  },
  {
    name: "an erased record",
    async does(log) {
      await twoTexts(log);
      await log.erase(chat, ["m1"]);
      for (const word of ["five", "erased"]) assert.deepEqual(await found(log, word), []);
      assert.deepEqual(await found(log, "five", chat), []);
    },
    tea: ["m2"],
  },
  {
    name: "a deleted log, also when a new one has its key",
    async does(log) {
      await twoTexts(log);
      await log.delete(chat);
      assert.deepEqual(await found(log, "tea"), []);
      await log.append(chat, [message("m1", "milk")]);
    },
    tea: [],
  },
  {
    name: "what was refused",
    async does(log) {
      await log.append(chat, [message("m1", "milk")]);
      const other = [message("m3", "tea"), message("m1", "tea")];
      await refuses("THROUGHLINE_ID_CONFLICT", log.append(chat, other));
      const late = log.append(chat, [message("m3", "tea")], { expectedSeq: 0 });
      await refuses("THROUGHLINE_CONFLICT", late);
    },
    tea: [],
  },
];

function findsTea({ does, tea }: Searched): Clause["proof"] {
  return withLogs(async (log) => {
    await does(log);
    assert.deepEqual(await found(log, "tea", chat), tea);
    const everywhere = await log.search("tea", { limit: 100 });
    assert.deepEqual(
      everywhere.map(({ key, record }) => [key, record.id]),
      tea.map((id) => [chat, id]),
    );
  });
}

/** What search finds, on every driver that searches. */
export const searchContract: Contract = {
  name: "search",
  clauses: [
    ...searchWordClauses,
    ...order,
    clauseWithTable(
      "what another record of its log hides, what has no text, and what was erased, deleted or refused is not found",
      unfound,
      findsTea,
    ),
  ],
};
