import assert from "node:assert/strict";
import { type Clause, clauseWithTable } from "./contract.ts";
import { refusedLimits } from "./corpus.ts";
import {
  chat,
  collect,
  everything,
  idsIn,
  message,
  messages,
  numbered,
  refuses,
  scribbleOn,
  untyped,
  withLogs,
} from "./log-store-contract-fixtures.ts";

const tails: readonly Clause[] = [
  {
    id: "log.tail.missing",
    says: "the tail of a log that was never written is undefined",
    proof: withLogs(async (log) => {
      await log.append("telegram:4", messages(1, 1));
      assert.equal(await log.tail(chat, 10), undefined);
    }),
  },
  {
    id: "log.tail.whole",
    says: "a tail of an undamaged log is its seq, head, records, and that it is undamaged",
    proof: withLogs(async (log) => {
      await log.append(chat, messages(1, 2), { head: { title: "a" } });
      const records = numbered(messages(1, 2));
      const tail = { seq: 2, head: { title: "a" }, records, damaged: false };
      assert.deepEqual(await log.tail(chat, 10), tail);
    }),
  },
  {
    id: "log.tail.none",
    says: "a tail of 0 records is the seq and the head alone",
    proof: withLogs(async (log) => {
      await log.append(chat, messages(1, 2));
      assert.deepEqual(await log.tail(chat, 0), { seq: 2, head: {}, records: [], damaged: false });
    }),
  },
  {
    id: "log.tail.newest",
    says: "a tail of n records is the newest n, oldest first, over the bounds of batches",
    proof: withLogs(async (log) => {
      for (const [first, last] of [
        [1, 3],
        [4, 4],
        [5, 9],
      ] as const) {
        await log.append(chat, messages(first, last));
      }
      const all = numbered(messages(1, 9));
      for (let limit = 1; limit <= 10; limit++) {
        assert.deepEqual((await log.tail(chat, limit))?.records, all.slice(-limit));
      }
    }),
  },
  {
    id: "log.tail.1000",
    says: "a tail of 1,000 records is the newest 1,000 of a longer log",
    proof: withLogs(async (log) => {
      await log.append(chat, messages(1, 1_000));
      await log.append(chat, messages(1_001, 1_234));
      const tail = await log.tail(chat, 1_000);
      assert.deepEqual(tail?.records, numbered(messages(235, 1_234), 235));
    }),
  },
  clauseWithTable(
    "log.tail.refused",
    "tail refuses a limit that is out of bounds",
    refusedLimits,
    ({ value: limit }) =>
      withLogs(async (log) => {
        await log.append(chat, messages(1, 1));
        await refuses("THROUGHLINE_INVALID", log.tail(chat, untyped(limit)));
        await refuses("THROUGHLINE_INVALID", log.tail("missing", untyped(limit)));
      }),
  ),
];

const reads: readonly Clause[] = [
  {
    id: "log.read.missing",
    says: "reading a log that is not there yields nothing",
    proof: withLogs(async (log) => {
      assert.deepEqual(await everything(log), []);
      assert.equal(await log.tail(chat, 1), undefined);
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
    says: "reading 5,000 records yields each once, in order",
    proof: withLogs(async (log) => {
      for (let first = 1; first < 5_000; first += 1_000) {
        await log.append(chat, messages(first, first + 999));
      }
      assert.deepEqual(await everything(log), numbered(messages(1, 5_000)));
    }),
  },
  {
    id: "log.read.invalid",
    says: "reading after what is no seq is refused",
    proof: withLogs(async (log) => {
      await log.append(chat, messages(1, 1));
      for (const after of [-1, 0.5, Number.NaN, "1"]) {
        await refuses("THROUGHLINE_INVALID", collect(log.read(chat, untyped({ after }))));
      }
    }),
  },
  {
    id: "log.read.snapshot",
    says: "a read that has begun does not see later appends",
    proof: withLogs(async (log) => {
      await log.append(chat, messages(1, 3));
      const seen: string[] = [];
      for await (const record of log.read(chat)) {
        seen.push(record.id);
        await log.append(chat, [message(`later than ${record.id}`)]);
      }
      assert.deepEqual(seen, ["m1", "m2", "m3"]);
      assert.equal((await log.tail(chat, 0))?.seq, 6);
    }),
  },
  {
    id: "log.read.long-snapshot",
    says: "a read that has begun does not see later appends in a log of 2,000 records either",
    proof: withLogs(async (log) => {
      await log.append(chat, messages(1, 1_000));
      await log.append(chat, messages(1_001, 2_000));
      const records = log.read(chat)[Symbol.asyncIterator]();
      assert.equal((await records.next()).value?.seq, 1);
      await log.append(chat, messages(2_001, 2_010));
      let last = 1;
      for (let next = await records.next(); !next.done; next = await records.next()) {
        assert.equal(next.value.seq, ++last);
      }
      assert.equal(last, 2_000);
    }),
  },
  {
    id: "log.read.ended-early",
    says: "a read that is left early leaves the log as usable as before",
    proof: withLogs(async (log) => {
      await log.append(chat, messages(1, 100));
      for (let times = 0; times < 50; times++) {
        for await (const record of log.read(chat)) if (record.seq === 2) break;
      }
      assert.equal(await log.append(chat, messages(101, 101)), 101);
      assert.equal((await everything(log)).length, 101);
    }),
  },
  {
    id: "log.read.side-by-side",
    says: "two reads of one log do not disturb each other",
    proof: withLogs(async (log) => {
      await log.append(chat, messages(1, 20));
      const [one, two] = [log.read(chat), log.read(chat, { after: 10 })];
      const [all, half] = await Promise.all([collect(one), collect(two)]);
      assert.deepEqual([all.length, half.length], [20, 10]);
    }),
  },
];

const finds: readonly Clause[] = [
  {
    id: "log.find.by-id",
    says: "a record is found by its id, wherever in the log it is",
    proof: withLogs(async (log) => {
      await log.append(chat, messages(1, 500));
      await log.append(chat, messages(501, 900));
      for (const seq of [1, 2, 499, 500, 501, 899, 900]) {
        assert.deepEqual(await log.find(chat, `m${seq}`), { ...message(`m${seq}`), seq });
      }
    }),
  },
  {
    id: "log.find.unknown",
    says: "an id that the log does not hold is not found, nor is one of another log",
    proof: withLogs(async (log) => {
      await log.append(chat, messages(1, 1));
      await log.append("telegram:4", messages(2, 2));
      assert.equal(await log.find(chat, "m2"), undefined);
      assert.equal(await log.find(chat, "M1"), undefined);
      assert.equal(await log.find(chat, "__proto__"), undefined);
      assert.equal(await log.find("missing", "m1"), undefined);
    }),
  },
  {
    id: "log.find.invalid",
    says: "looking for what cannot be an id is refused",
    proof: withLogs(async (log) => {
      await log.append(chat, messages(1, 1));
      for (const id of ["", "a\0", "\ud800", "a".repeat(257), 7, undefined]) {
        await refuses("THROUGHLINE_INVALID", log.find(chat, untyped(id)));
      }
    }),
  },
  {
    id: "log.find.at-once",
    says: "a record is found as soon as its append has resolved",
    proof: withLogs(async (log) => {
      for (let seq = 1; seq <= 50; seq++) {
        await log.append(chat, [message(`m${seq}`)]);
        assert.equal((await log.find(chat, `m${seq}`))?.seq, seq);
      }
    }),
  },
];

const copies: readonly Clause[] = [
  {
    id: "log.copy.records",
    says: "what a reader does to the records that it got changes nothing for the next",
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
  {
    id: "log.copy.retry",
    says: "what a reader does to a record does not make its repetition a conflict",
    proof: withLogs(async (log) => {
      await log.append(chat, messages(1, 1));
      scribbleOn(await everything(log));
      assert.equal(await log.append(chat, messages(1, 1)), 1);
      assert.deepEqual(await idsIn(log), ["m1"]);
    }),
  },
];

/** The end of a log, the whole of it, and one record of it. */
export const readingClauses: readonly Clause[] = [...tails, ...reads, ...finds, ...copies];
