import assert from "node:assert/strict";
import type { LogStore } from "../core/storage/log-store.ts";
import type { Clause } from "./contract.ts";
import {
  chat,
  contractProjection,
  found,
  message,
  messages,
  numbered,
  redaction,
  refuses,
  untyped,
  withLogs,
} from "./log-store-contract-fixtures.ts";

const order: readonly Clause[] = [
  {
    id: "log.search.newest-first",
    says: "the hits of one log come newest first",
    proof: withLogs(async (log) => {
      await log.append(chat, [message("m1", "tea"), message("m2", "milk"), message("m3", "tea")]);
      await log.append(chat, [message("m4", "tea")]);
      assert.deepEqual(await found(log, "tea"), ["m4", "m3", "m1"]);
    }),
  },
  {
    id: "log.search.across-logs",
    says: "hits come in the order of the list of logs, and within a log newest first",
    proof: withLogs(async (log) => {
      const days = { a: "2026-03-01", b: "2026-03-03", c: "2026-03-02", d: "2026-03-02" };
      for (const [key, day] of Object.entries(days)) {
        const batch = [message(`${key}1`, "tea"), message(`${key}2`, "tea")];
        await log.append(key, batch, { head: { updated_at: day } });
      }
      const expected = ["b2", "b1", "c2", "c1", "d2", "d1", "a2", "a1"];
      assert.deepEqual(await found(log, "tea"), expected);
      await log.append("a", [message("a3", "milk")], { head: { updated_at: "2026-03-09" } });
      assert.deepEqual((await found(log, "tea")).slice(0, 3), ["a2", "a1", "b2"]);
    }),
  },
  {
    id: "log.search.limit",
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
    id: "log.search.hit",
    says: "a hit is the key and the record as it is stored",
    proof: withLogs(async (log) => {
      const given = message("m2", "green tea", { list: [{ a: 1 }] });
      await log.append(chat, [message("m1", "milk"), given]);
      const hit = { key: chat, record: { ...given, seq: 2 } };
      assert.deepEqual(await log.search("tea", { limit: 5 }), [hit]);
    }),
  },
  {
    id: "log.search.key",
    says: "a search of one log finds its records only",
    proof: withLogs(async (log) => {
      await log.append(chat, [message("m1", "tea")]);
      await log.append("telegram:4", [message("m2", "tea")]);
      assert.deepEqual(await found(log, "tea", chat), ["m1"]);
      assert.deepEqual(await found(log, "tea", "telegram:4"), ["m2"]);
      assert.deepEqual(await found(log, "tea", "missing"), []);
    }),
  },
  {
    id: "log.search.invalid",
    says: "a query that is no text, a limit out of bounds and a bad key are refused",
    proof: withLogs(async (log) => {
      await log.append(chat, [message("m1", "tea")]);
      for (const limit of [0, -1, 1_001, 0.5, Number.NaN, "1", undefined]) {
        await refuses("THROUGHLINE_INVALID", log.search("tea", untyped({ limit })));
        await refuses("THROUGHLINE_INVALID", log.search("", untyped({ limit })));
      }
      await refuses("THROUGHLINE_INVALID", log.search(untyped(7), { limit: 1 }));
      await refuses("THROUGHLINE_INVALID", log.search("tea", { limit: 1, key: "" }));
      await refuses("THROUGHLINE_INVALID", log.search("tea", untyped({ limit: 1, prefix: "yes" })));
    }),
  },
];

async function twoTexts(log: LogStore): Promise<void> {
  await log.append(chat, [message("m1", "tea at five"), message("m2", "tea at six")]);
}

const hidden: readonly Clause[] = [
  {
    id: "log.search.no-text",
    says: "records without a text are not searched",
    proof: withLogs(async (log) => {
      await log.append(chat, [
        { id: "m1", kind: "session", title: "tea" },
        { id: "m2", content: { text: "tea" } },
        message("m3", "tea"),
      ]);
      assert.deepEqual(await found(log, "tea"), ["m3"]);
    }),
  },
  {
    id: "log.search.redacted",
    says: "a record that a later record hides is not found; it is still read as it was",
    proof: withLogs(async (log) => {
      await twoTexts(log);
      await log.append(chat, [redaction("r1", "m1")]);
      assert.deepEqual(await found(log, "tea"), ["m2"]);
      assert.deepEqual(await log.find(chat, "m1"), numbered([message("m1", "tea at five")])[0]);
    }),
  },
  {
    id: "log.search.redacted-in-batch",
    says: "a record that is hidden by a record of its own batch is not found",
    proof: withLogs(async (log) => {
      await log.append(chat, [message("m1", "tea"), redaction("r1", "m1"), message("m2", "tea")]);
      assert.deepEqual(await found(log, "tea"), ["m2"]);
    }),
  },
  {
    id: "log.search.redacted-in-its-log",
    says: "a record hides the record of its own log only",
    proof: withLogs(async (log) => {
      await log.append(chat, [message("m1", "tea")]);
      await log.append("telegram:4", [message("m1", "tea"), redaction("r1", "m1")]);
      const hits = await log.search("tea", { limit: 5 });
      assert.deepEqual(
        hits.map((hit) => hit.key),
        [chat],
      );
    }),
  },
  {
    id: "log.search.redacted-retry",
    says: "a hidden record that is appended again stays hidden",
    proof: withLogs(async (log) => {
      await twoTexts(log);
      await log.append(chat, [redaction("r1", "m1")]);
      await twoTexts(log);
      assert.deepEqual(await found(log, "tea"), ["m2"]);
    }),
  },
  {
    id: "log.search.redacted-unknown",
    says: "hiding a record that the log does not hold hides nothing",
    proof: withLogs(async (log) => {
      await twoTexts(log);
      await log.append(chat, [redaction("r1", "m9"), redaction("r2", "r2")]);
      assert.deepEqual(await found(log, "tea"), ["m2", "m1"]);
    }),
  },
  {
    id: "log.search.erased",
    says: "an erased record is not found, by no word of it",
    proof: withLogs(async (log) => {
      await twoTexts(log);
      await log.erase(chat, ["m1"]);
      assert.deepEqual(await found(log, "tea"), ["m2"]);
      assert.deepEqual(await found(log, "five"), []);
      assert.deepEqual(await found(log, "erased"), []);
      assert.deepEqual(await found(log, "five", chat), []);
    }),
  },
  {
    id: "log.search.deleted",
    says: "a deleted log is not found, also when a new one has its key",
    proof: withLogs(async (log) => {
      await twoTexts(log);
      await log.delete(chat);
      assert.deepEqual(await found(log, "tea"), []);
      await log.append(chat, [message("m1", "milk")]);
      assert.deepEqual(await found(log, "tea", chat), []);
      assert.deepEqual(await found(log, "milk"), ["m1"]);
    }),
  },
  {
    id: "log.search.redaction-deleted",
    says: "a redaction goes with the log that held it",
    proof: withLogs(async (log) => {
      await twoTexts(log);
      await log.append(chat, [redaction("r1", "m1")]);
      await log.delete(chat);
      await twoTexts(log);
      assert.deepEqual(await found(log, "tea"), ["m2", "m1"]);
    }),
  },
  {
    id: "log.search.refused",
    says: "what was refused is not found",
    proof: withLogs(async (log) => {
      await twoTexts(log);
      const other = [message("m3", "coffee"), message("m1", "other tea")];
      await refuses("THROUGHLINE_ID_CONFLICT", log.append(chat, other));
      const late = log.append(chat, [message("m3", "coffee")], { expectedSeq: 0 });
      await refuses("THROUGHLINE_CONFLICT", late);
      assert.deepEqual(await found(log, "coffee"), []);
    }),
  },
  {
    id: "log.search.at-once",
    says: "search finds a record as soon as its append has resolved",
    proof: withLogs(async (log) => {
      for (const { id } of messages(1, 30)) {
        await log.append(chat, [message(id, `word${id}`)]);
        assert.deepEqual(await found(log, `word${id}`), [id]);
      }
    }),
  },
  {
    id: "log.search.of-its-collection",
    says: "a search finds the records of its collection only",
    proof: withLogs(async (log, storage) => {
      await storage.logs("runs", contractProjection).append(chat, [message("m1", "tea")]);
      assert.deepEqual(await found(log, "tea"), []);
    }),
  },
];

/** In which order search answers, and what it must not find. */
export const searchClauses: readonly Clause[] = [...order, ...hidden];
