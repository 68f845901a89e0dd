import assert from "node:assert/strict";
import { type LogStore, logLimits, type PageOptions } from "../core/storage/log-store.ts";
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
  messageOfBytes,
  messages,
  numbered,
  refuses,
  scribbleOn,
  untyped,
  upTo,
  withLogs,
} from "./log-store-contract-fixtures.ts";

async function fill(log: LogStore, last: number, size: number): Promise<void> {
  for (let first = 1; first <= last; first += size) {
    await log.append(chat, messages(first, Math.min(first + size - 1, last)));
  }
}

const reads: readonly Clause[] = [
  clauseWithTable(
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
        assert.equal((await log.findAll(key, ["m1"])).size, 0);
        assert.deepEqual(await found(log, "says", key), []);
        assert.equal(await log.erase(key, ["m1"], { head: { title: "a" } }), 0);
        assert.equal(await log.delete(key), false);
        await isAbsent(log, key);
        assert.deepEqual(await idsIn(log, "a:b:c"), ["m1", "m2", "m3"]);
      }),
  ),
  {
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
  {
    says: "what is looked up by several ids is what each id finds, in whatever order, doubled or unknown",
    proof: withLogs(async (log) => {
      await fill(log, 400, 7);
      await log.erase(chat, ["m30"]);
      const ids = ["m400", "m1", "m29", "m30", "none", "m31", "m1", "m200"];
      const all = await log.findAll(chat, ids);
      assert.equal(all.size, 6);
      for (const id of ids) assert.deepEqual(all.get(id), await log.find(chat, id));
      assert.equal((await log.findAll(chat, [])).size, 0);
      await refuses("THROUGHLINE_INVALID", log.findAll(chat, ["m1", ""]));
    }),
  },
  clauseWithTable(
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
        assert.deepEqual(seen, upTo(count));
        assert.equal((await log.tail(chat, 0))?.seq, count + 3);
      }),
  ),
  {
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
];

const refused: readonly Clause[] = [
  clauseWithTable(
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
    "reading before or after what is no seq is refused, and so is a page that is before one and after another",
    refusedPositions,
    ({ value: seq }) =>
      withLogs(async (log) => {
        await log.append(chat, messages(1, 1));
        await refuses("THROUGHLINE_INVALID", collect(log.read(chat, untyped({ after: seq }))));
        for (const options of [{ before: seq }, { after: seq }, { before: 5, after: 1 }]) {
          await refuses("THROUGHLINE_INVALID", log.page(chat, untyped({ ...options, limit: 2 })));
        }
      }),
  ),
];

const copies: readonly Clause[] = [
  {
    says: "what a reader does to the records that it got changes nothing for the next, and makes no conflict",
    proof: withLogs(async (log) => {
      const given = message("m1", "violin", { list: [{ a: 1 }] });
      await log.append(chat, [given]);
      scribbleOn(await log.tail(chat, 10));
      scribbleOn(await log.page(chat, { limit: 10 }));
      scribbleOn(await log.page(chat, { limit: 10, isShared: true }));
      scribbleOn(await log.find(chat, "m1"));
      scribbleOn(await log.search("violin", { limit: 10 }));
      scribbleOn(await everything(log));
      const [expected] = numbered([given]);
      assert.deepEqual((await log.tail(chat, 10))?.records, [expected]);
      assert.deepEqual(await log.page(chat, { limit: 10 }), [expected]);
      assert.deepEqual(await log.page(chat, { limit: 10, isShared: true }), [expected]);
      assert.deepEqual(await log.find(chat, "m1"), expected);
      assert.deepEqual(await log.search("violin", { limit: 1 }), [{ key: chat, record: expected }]);
      assert.deepEqual(await everything(log), [expected]);
      assert.equal(await log.append(chat, [given]), 1);
    }),
  },
  {
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

type Page = readonly [name: string, options: PageOptions, seqs: readonly number[]];

const far = Number.MAX_SAFE_INTEGER;

/** Of a log that holds 1 to 9. */
const pages: readonly Page[] = [
  ["the newest", { limit: 3 }, [7, 8, 9]],
  ["the whole log", { limit: 1_000 }, [1, 2, 3, 4, 5, 6, 7, 8, 9]],
  ["before a seq", { before: 7, limit: 4 }, [3, 4, 5, 6]],
  ["before a seq near the beginning", { before: 3, limit: 4 }, [1, 2]],
  ["before the first", { before: 1, limit: 4 }, []],
  ["before 0", { before: 0, limit: 4 }, []],
  ["before the seq that comes next", { before: 10, limit: 2 }, [8, 9]],
  ["before a seq far past the end", { before: far, limit: 2 }, [8, 9]],
  ["after a seq", { after: 3, limit: 4 }, [4, 5, 6, 7]],
  ["after 0", { after: 0, limit: 4 }, [1, 2, 3, 4]],
  ["after a seq near the end", { after: 8, limit: 4 }, [9]],
  ["after the last", { after: 9, limit: 4 }, []],
  ["after a seq far past the end", { after: far, limit: 4 }, []],
];

/** Pages from the newest back to the first. */
async function seqsBackwards(
  log: LogStore,
  limit: number,
  look: (count: number) => void = () => undefined,
): Promise<number[]> {
  const seqs: number[] = [];
  for (let before = far; before > 1; before = seqs[0] ?? 0) {
    const records = await log.page(chat, { before, limit });
    look(records.length);
    seqs.unshift(...records.map((record) => record.seq));
  }
  return seqs;
}

/** Pages from the first to the newest, which has the seq `last`. */
async function seqsForwards(
  log: LogStore,
  limit: number,
  last: number,
  look: (count: number) => void = () => undefined,
): Promise<number[]> {
  const seqs: number[] = [];
  for (let after = 0; after < last; after = seqs.at(-1) ?? last) {
    const records = await log.page(chat, { after, limit });
    look(records.length);
    seqs.push(...records.map((record) => record.seq));
  }
  return seqs;
}

const paging: readonly Clause[] = [
  clauseWithTable(
    "a page ends just before a seq, begins just after one, or is the newest; it holds what is there, oldest first",
    pages,
    ([, options, seqs]) =>
      withLogs(async (log) => {
        await fill(log, 9, 4);
        const records = seqs.map((seq) => ({ ...message(`m${seq}`), seq }));
        assert.deepEqual(await log.page(chat, options), records);
      }),
  ),
  clauseWithTable(
    "pages going back from the newest, or on from the oldest, hold every record once, whatever the limit",
    [1, 2, 3, 4, 8, 9, 10],
    (limit) =>
      withLogs(async (log) => {
        await fill(log, 9, 4);
        assert.deepEqual(await seqsBackwards(log, limit), upTo(9));
        assert.deepEqual(await seqsForwards(log, limit, 9), upTo(9));
      }),
  ),
  {
    says: `a page and a tail end early where they hold ${logLimits.pageBytes} bytes; the next page continues there`,
    proof: withLogs(async (log) => {
      const all = upTo(10);
      for (const n of all) {
        await log.append(chat, [messageOfBytes(`m${n}`, logLimits.recordBytes)]);
      }
      const most = Math.ceil(logLimits.pageBytes / logLimits.recordBytes) + 1;
      const look = (count: number) => {
        assert.ok(count >= 1 && count <= most, `${count} records`);
      };
      assert.deepEqual(await seqsBackwards(log, 1_000, look), all);
      assert.deepEqual(await seqsForwards(log, 1_000, 10, look), all);
      const { records: tail = [] } = (await log.tail(chat, 1_000)) ?? {};
      for (const newest of [await log.page(chat, { limit: 1_000 }), tail]) {
        look(newest.length);
        assert.equal(newest.at(-1)?.seq, 10);
      }
    }),
  },
];

/** The end of a log, the whole of it, one record of it, and its pages in both directions. */
export const readingClauses: readonly Clause[] = [...reads, ...paging, ...refused, ...copies];
