import assert from "node:assert/strict";
import type { LogStore } from "../core/storage/log-store.ts";
import { type Clause, clauseWithTable } from "./contract.ts";
import { refusedLimits, refusedPositions, zeroLimit } from "./corpus.ts";
import {
  chat,
  collect,
  everything,
  found,
  idsIn,
  isAbsent,
  message,
  messages,
  numbered,
  refuses,
  scribbleOn,
  untyped,
  withLogs,
} from "./log-store-contract-fixtures.ts";

async function fill(log: LogStore, last: number, size: number): Promise<void> {
  for (let first = 1; first <= last; first += size) {
    await log.append(chat, messages(first, Math.min(first + size - 1, last)));
  }
}

const reads: readonly Clause[] = [
  clauseWithTable(
    "log.read.missing",
    "a log that was never written is empty in every way of reading, also if its key is the beginning or the end of another",
    ["a", "a:", "a:b", "a:b:", "a:b:c:", "b:c", ":", "A:B:C"],
    (key) =>
      withLogs(async (log) => {
        await log.append("a:b:c", messages(1, 3));
        await isAbsent(log, key);
        for (const options of [{ limit: 5 }, { before: 9, limit: 5 }, { after: 0, limit: 5 }]) {
          assert.deepEqual(await log.page(key, options), []);
        }
        assert.equal(await log.find(key, "m1"), undefined);
        assert.deepEqual(await found(log, "says", key), []);
        assert.equal(await log.erase(key, ["m1"], { head: { title: "a" } }), 0);
        assert.equal(await log.delete(key), false);
        await isAbsent(log, key);
        assert.deepEqual(await idsIn(log, "a:b:c"), ["m1", "m2", "m3"]);
      }),
  ),
  {
    id: "log.read.tail",
    says: "a tail of n records is the seq, the head and the newest n, oldest first, over the bounds of batches",
    proof: withLogs(async (log) => {
      await log.append(chat, messages(1, 3));
      await log.append(chat, messages(4, 4));
      await log.append(chat, messages(5, 9), { head: { title: "a" } });
      for (let limit = 0; limit <= 10; limit++) {
        const records = limit === 0 ? [] : numbered(messages(1, 9)).slice(-limit);
        const tail = { seq: 9, head: { title: "a" }, records, damaged: false };
        assert.deepEqual(await log.tail(chat, limit), tail);
      }
    }),
  },
  {
    id: "log.read.after",
    says: "reading after a seq yields the records with a greater one, oldest first",
    proof: withLogs(async (log) => {
      await log.append(chat, messages(1, 3));
      await log.append(chat, messages(4, 7));
      const all = numbered(messages(1, 7));
      for (let after = 0; after <= 9; after++) {
        assert.deepEqual(await collect(log.read(chat, { after })), all.slice(after));
      }
    }),
  },
  {
    id: "log.read.long",
    says: "a log of 5,000 records is read, paged and searched by id as a short one is",
    proof: withLogs(async (log) => {
      await fill(log, 5_000, 1_000);
      const all = numbered(messages(1, 5_000));
      assert.deepEqual(await everything(log), all);
      assert.deepEqual((await log.tail(chat, 1_000))?.records, all.slice(-1_000));
      assert.deepEqual(
        await log.page(chat, { before: 2_551, limit: 100 }),
        all.slice(2_450, 2_550),
      );
      assert.deepEqual(await log.page(chat, { after: 2_450, limit: 100 }), all.slice(2_450, 2_550));
      for (const seq of [1, 2, 999, 1_000, 1_001, 4_999, 5_000]) {
        assert.deepEqual(await log.find(chat, `m${seq}`), all[seq - 1]);
      }
    }),
  },
  clauseWithTable(
    "log.read.snapshot",
    "a read that has begun does not see later appends, however long the log is",
    [
      { name: "3 records", count: 3 },
      { name: "2,000 records", count: 2_000 },
    ],
    ({ count }) =>
      withLogs(async (log) => {
        await fill(log, count, 1_000);
        const seen: number[] = [];
        for await (const record of log.read(chat)) {
          seen.push(record.seq);
          if (record.seq < 4) await log.append(chat, [message(`later than ${record.id}`)]);
        }
        assert.deepEqual(
          seen,
          Array.from({ length: count }, (_, index) => index + 1),
        );
        assert.equal((await log.tail(chat, 0))?.seq, count + 3);
      }),
  ),
  {
    id: "log.read.ended-early",
    says: "reads of one log at once, and reads that are left early, disturb no other",
    proof: withLogs(async (log) => {
      await log.append(chat, messages(1, 100));
      for (let times = 0; times < 50; times++) {
        for await (const record of log.read(chat)) if (record.seq === 2) break;
      }
      const [one, two] = [log.read(chat), log.read(chat, { after: 10 })];
      const [all, rest] = await Promise.all([collect(one), collect(two)]);
      assert.deepEqual([all.length, rest.length], [100, 90]);
      assert.equal(await log.append(chat, messages(101, 101)), 101);
    }),
  },
  {
    id: "log.read.find-unknown",
    says: "an id that the log does not hold is not found, nor is one of another log",
    proof: withLogs(async (log) => {
      await log.append(chat, messages(1, 1));
      await log.append("telegram:4", messages(2, 2));
      for (const id of ["m2", "M1", "m", "__proto__"]) {
        assert.equal(await log.find(chat, id), undefined);
      }
    }),
  },
];

const refused: readonly Clause[] = [
  clauseWithTable(
    "log.read.refused-limit",
    "a limit that is no whole number from 1 to 1,000 is refused by every call that takes one; a tail can have 0 records",
    [zeroLimit, ...refusedLimits],
    ({ value: limit }) =>
      withLogs(async (log) => {
        await log.append(chat, messages(1, 1));
        for (const key of [chat, "missing"]) {
          if (limit !== 0) await refuses("THROUGHLINE_INVALID", log.tail(key, untyped(limit)));
          await refuses("THROUGHLINE_INVALID", log.page(key, untyped({ limit })));
        }
        await refuses("THROUGHLINE_INVALID", log.list(untyped({ limit })));
        await refuses("THROUGHLINE_INVALID", log.search("says", untyped({ limit })));
        await refuses("THROUGHLINE_INVALID", log.search("", untyped({ limit })));
      }),
  ),
  clauseWithTable(
    "log.read.refused-seq",
    "reading before or after what is no seq is refused, and so is a page that is before one and after another",
    refusedPositions,
    ({ value: seq }) =>
      withLogs(async (log) => {
        await log.append(chat, messages(1, 1));
        if (seq !== null) {
          await refuses("THROUGHLINE_INVALID", collect(log.read(chat, untyped({ after: seq }))));
        }
        for (const options of [{ before: seq }, { after: seq }, { before: 5, after: 1 }]) {
          await refuses("THROUGHLINE_INVALID", log.page(chat, untyped({ ...options, limit: 2 })));
        }
      }),
  ),
];

const copies: readonly Clause[] = [
  {
    id: "log.copy.records",
    says: "what a reader does to the records that it got changes nothing for the next, and makes no conflict",
    proof: withLogs(async (log) => {
      const given = message("m1", "violin", { list: [{ a: 1 }] });
      await log.append(chat, [given]);
      scribbleOn(await log.tail(chat, 10));
      scribbleOn(await log.page(chat, { limit: 10 }));
      scribbleOn(await log.find(chat, "m1"));
      scribbleOn(await log.search("violin", { limit: 10 }));
      scribbleOn(await everything(log));
      const [expected] = numbered([given]);
      assert.deepEqual((await log.tail(chat, 10))?.records, [expected]);
      assert.deepEqual(await log.page(chat, { limit: 10 }), [expected]);
      assert.deepEqual(await log.find(chat, "m1"), expected);
      assert.deepEqual(await log.search("violin", { limit: 1 }), [{ key: chat, record: expected }]);
      assert.deepEqual(await everything(log), [expected]);
      assert.equal(await log.append(chat, [given]), 1);
    }),
  },
  {
    id: "log.copy.heads",
    says: "what a reader does to the heads and rows that it got changes nothing for the next",
    proof: withLogs(async (log) => {
      const head = { title: "a", labels: ["x"], nested: { deep: [1] } };
      await log.append(chat, messages(1, 1), { head });
      scribbleOn(await log.tail(chat, 0));
      scribbleOn(await log.list({ limit: 10 }));
      assert.deepEqual((await log.tail(chat, 0))?.head, head);
      const { rows } = await log.list({ limit: 10, label: "x" });
      assert.deepEqual(rows, [{ key: chat, seq: 1, head, damaged: false }]);
    }),
  },
];

/** The end of a log, the whole of it, and one record of it. */
export const readingClauses: readonly Clause[] = [...reads, ...refused, ...copies];
