import assert from "node:assert/strict";
import type { JsonObject } from "../core/json.ts";
import { logLimits, reservedHeadNames } from "../core/storage/log-store.ts";
import type { Clause } from "./contract.ts";
import { nested, refusedValues, textCorpus, valueCorpus } from "./corpus.ts";
import {
  chat,
  isAbsent,
  messages,
  numbered,
  refuses,
  untyped,
  withLogs,
} from "./log-store-contract-fixtures.ts";

/** Whether a store takes an object as a head: on disk, a line of the store's own says some names. */
function isHead(value: JsonObject): boolean {
  return !reservedHeadNames.some((name) => Object.hasOwn(value, name));
}

const replaced: readonly Clause[] = [
  {
    id: "log.head.none",
    says: "a log that was given no head has an empty one",
    proof: withLogs(async (log) => {
      await log.append(chat, messages(1, 1));
      assert.deepEqual((await log.tail(chat, 0))?.head, {});
      assert.deepEqual((await log.list({ limit: 1 })).rows[0]?.head, {});
    }),
  },
  {
    id: "log.head.stays",
    says: "an append without a head leaves the head that is there",
    proof: withLogs(async (log) => {
      await log.append(chat, messages(1, 1), { head: { title: "a" } });
      await log.append(chat, messages(2, 2));
      await log.append(chat, messages(3, 3), { expectedSeq: 2 });
      assert.deepEqual((await log.tail(chat, 0))?.head, { title: "a" });
    }),
  },
  {
    id: "log.head.replaced",
    says: "a head replaces the whole head before it: nothing is merged",
    proof: withLogs(async (log) => {
      await log.append(chat, messages(1, 1), { head: { title: "a", labels: ["x"] } });
      await log.append(chat, messages(2, 2), { head: { other: 1 } });
      assert.deepEqual((await log.tail(chat, 0))?.head, { other: 1 });
      assert.deepEqual((await log.list({ limit: 1 })).rows[0]?.head, { other: 1 });
      await log.append(chat, messages(3, 3), { head: {} });
      assert.deepEqual((await log.tail(chat, 0))?.head, {});
    }),
  },
  {
    id: "log.head.of-its-log",
    says: "every log has a head of its own",
    proof: withLogs(async (log) => {
      await log.append(chat, messages(1, 1), { head: { title: "a" } });
      await log.append("telegram:4", messages(1, 1), { head: { title: "b" } });
      assert.deepEqual((await log.tail(chat, 0))?.head, { title: "a" });
      assert.deepEqual((await log.tail("telegram:4", 0))?.head, { title: "b" });
    }),
  },
  {
    id: "log.head.retry",
    says: "a repeated append stores no record, and so does not replace the head",
    proof: withLogs(async (log) => {
      await log.append(chat, messages(1, 1), { head: { title: "first" } });
      await log.append(chat, messages(2, 2), { head: { title: "second" } });
      await log.append(chat, messages(1, 1), { head: { title: "first" } });
      await log.append(chat, messages(1, 2), { head: { title: "third" } });
      assert.deepEqual((await log.tail(chat, 0))?.head, { title: "second" });
      assert.deepEqual((await log.list({ limit: 1 })).rows[0]?.head, { title: "second" });
    }),
  },
  {
    id: "log.head.partly-known",
    says: "a partly known batch stores a record, and so replaces the head",
    proof: withLogs(async (log) => {
      await log.append(chat, messages(1, 1), { head: { title: "first" } });
      await log.append(chat, messages(1, 2), { head: { title: "second" } });
      assert.deepEqual((await log.tail(chat, 0))?.head, { title: "second" });
    }),
  },
  {
    id: "log.head.at-once",
    says: "of 20 appends at once with a head, the head of the last call stays",
    proof: withLogs(async (log) => {
      await Promise.all(
        messages(1, 20).map((record) => log.append(chat, [record], { head: { from: record.id } })),
      );
      assert.deepEqual((await log.tail(chat, 0))?.head, { from: "m20" });
      assert.deepEqual((await log.list({ limit: 1 })).rows[0]?.head, { from: "m20" });
    }),
  },
  {
    id: "log.head.with-its-records",
    says: "a reader never sees a head without the records that it came with",
    proof: withLogs(async (log) => {
      const appends = messages(1, 40).map((record, index) =>
        log.append(chat, [record], { head: { appended: index + 1 } }),
      );
      for (let times = 0; times < 40; times++) {
        const tail = await log.tail(chat, 1);
        if (tail === undefined) continue;
        assert.deepEqual(tail.head, { appended: tail.seq });
        assert.equal(tail.records.at(-1)?.seq, tail.seq);
      }
      await Promise.all(appends);
    }),
  },
  {
    id: "log.head.after-erase",
    says: "erasing records leaves the head as it is",
    proof: withLogs(async (log) => {
      await log.append(chat, messages(1, 2), { head: { title: "a" } });
      await log.erase(chat, ["m1", "m2"]);
      assert.deepEqual((await log.tail(chat, 0))?.head, { title: "a" });
    }),
  },
  {
    id: "log.head.after-delete",
    says: "a log that was deleted and begun again does not have its old head",
    proof: withLogs(async (log) => {
      await log.append(chat, messages(1, 1), { head: { title: "a" } });
      await log.delete(chat);
      await log.append(chat, messages(1, 1));
      assert.deepEqual((await log.tail(chat, 0))?.head, {});
    }),
  },
  {
    id: "log.head.as-given",
    says: "texts and values of every kind come back equal in a head",
    proof: withLogs(async (log) => {
      const texts = textCorpus.filter(({ text }) => text.length < 1_000);
      const heads = [
        ...texts.map(({ text }) => ({ text, [text]: 1 })),
        ...valueCorpus.map(({ value }) => ({ value })),
        ...valueCorpus.map(({ value }) => value).filter(isHead),
      ];
      for (const [index, head] of heads.entries()) {
        if (Buffer.byteLength(JSON.stringify(head)) > logLimits.headBytes) continue;
        await log.append(chat, messages(index + 1, index + 1), { head });
        assert.deepEqual((await log.tail(chat, 0))?.head, head);
        assert.deepEqual((await log.list({ limit: 1 })).rows[0]?.head, head);
      }
    }),
  },
];

const refused: readonly Clause[] = [
  {
    id: "log.head.limit",
    says: `a head of ${logLimits.headBytes} bytes of JSON is stored, one byte more is too large`,
    proof: withLogs(async (log) => {
      const room = logLimits.headBytes - Buffer.byteLength(JSON.stringify({ title: "" }));
      const head = { title: "x".repeat(room + 1) };
      await refuses("THROUGHLINE_TOO_LARGE", log.append(chat, messages(1, 1), { head }));
      await isAbsent(log);
      const largest = { title: "x".repeat(room) };
      assert.equal(await log.append(chat, messages(1, 1), { head: largest }), 1);
      assert.deepEqual((await log.tail(chat, 0))?.head, largest);
    }),
  },
  {
    id: "log.head.limit-in-bytes",
    says: "the size of a head is counted in bytes of UTF-8, not in characters",
    proof: withLogs(async (log) => {
      const head = { title: "é".repeat(logLimits.headBytes / 2) };
      await refuses("THROUGHLINE_TOO_LARGE", log.append(chat, messages(1, 1), { head }));
      await isAbsent(log);
    }),
  },
  {
    id: "log.head.too-large",
    says: "a head that is too large refuses its records too and keeps the head before it",
    proof: withLogs(async (log) => {
      await log.append(chat, messages(1, 1), { head: { title: "kept" } });
      const head = { title: "x".repeat(logLimits.headBytes) };
      await refuses("THROUGHLINE_TOO_LARGE", log.append(chat, messages(2, 2), { head }));
      const tail = await log.tail(chat, 10);
      assert.deepEqual(tail?.records, numbered(messages(1, 1)));
      assert.deepEqual(tail.head, { title: "kept" });
    }),
  },
  {
    id: "log.head.reserved",
    says: `a head with one of the names that a store uses is refused: ${reservedHeadNames.join(", ")}`,
    proof: withLogs(async (log) => {
      for (const name of reservedHeadNames) {
        for (const head of [{ [name]: 1 }, { [name]: null, title: "a" }]) {
          await refuses("THROUGHLINE_INVALID", log.append(chat, messages(1, 1), { head }));
        }
      }
      await isAbsent(log);
      const inside = { title: Object.fromEntries(reservedHeadNames.map((name) => [name, 1])) };
      assert.equal(await log.append(chat, messages(1, 1), { head: inside }), 1);
      assert.deepEqual((await log.tail(chat, 0))?.head, inside);
    }),
  },
  {
    id: "log.head.depth",
    says: "a head that is too deep is too large",
    proof: withLogs(async (log) => {
      const head = { deep: nested(64) };
      await refuses("THROUGHLINE_TOO_LARGE", log.append(chat, messages(1, 1), { head }));
      await isAbsent(log);
    }),
  },
  {
    id: "log.head.no-object",
    says: "a head that is no plain object is refused, and its records with it",
    proof: withLogs(async (log) => {
      for (const head of [null, "title", 1, true, ["title"], new Map()]) {
        const call = log.append(chat, messages(1, 1), untyped({ head }));
        await refuses("THROUGHLINE_INVALID", call);
      }
      await isAbsent(log);
    }),
  },
  {
    id: "log.head.no-json",
    says: "a head that holds what is no JSON is refused, and its records with it",
    proof: withLogs(async (log) => {
      for (const { value } of refusedValues) {
        const call = log.append(chat, messages(1, 1), untyped({ head: { value } }));
        await refuses("THROUGHLINE_INVALID", call);
      }
      await isAbsent(log);
    }),
  },
];

/** The small object that stands for a log. */
export const headClauses: readonly Clause[] = [...replaced, ...refused];
