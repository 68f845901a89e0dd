import assert from "node:assert/strict";
import { type Clause, clauseWithTable } from "./contract.ts";
import {
  chat,
  erased,
  everything,
  found,
  idsIn,
  isAbsent,
  listed,
  message,
  messages,
  numbered,
  outcomesOf,
  upTo,
  withLogs,
} from "./log-store-contract-fixtures.ts";
import { seededRandom } from "./random.ts";

const appends: readonly Clause[] = [
  {
    says: "batches appended at once are each stored whole, in the order of the calls, and each answers its seq",
    proof: withLogs(async (log) => {
      const ends = upTo(50).map((n) => n * 3);
      const calls = ends.map((end) => log.append(chat, messages(end - 2, end)));
      await calls.at(-1);
      assert.deepEqual(await everything(log), numbered(messages(1, 150)));
      assert.deepEqual(await Promise.all(calls), ends);
    }),
  },
  {
    says: "40 logs begun and appended to at once, under the same ids, are all whole and all listed",
    proof: withLogs(async (log) => {
      const keys = upTo(40).map((n) => `chat:${10 + n}`);
      const said = (key: string) => messages(1, 5).map(({ id }) => message(id, `${id} in ${key}`));
      const calls = keys.flatMap((key) => said(key).map((record) => log.append(key, [record])));
      await Promise.all(calls);
      for (const key of keys) assert.deepEqual(await everything(log, key), numbered(said(key)));
      assert.deepEqual(await listed(log), keys);
    }),
  },
  {
    says: "an append that is refused does not harm the appends around it",
    proof: withLogs(async (log) => {
      const bad = message("bad", "hi", { at: Number.NaN });
      const calls = messages(1, 20).map((record, index) =>
        log.append(chat, index % 5 === 2 ? [record, bad] : [record]),
      );
      const { answers, codes } = await outcomesOf(calls);
      const kept = messages(1, 20).filter((_, index) => index % 5 !== 2);
      assert.deepEqual(await everything(log), numbered(kept));
      assert.deepEqual(answers, upTo(16));
      assert.deepEqual(codes, new Array(4).fill("THROUGHLINE_INVALID"));
    }),
  },
];

const repeats: readonly Clause[] = [
  clauseWithTable(
    "one batch appended 20 times at once is stored, found and listed once, without a conflict",
    [
      { name: "without an expected seq", options: {} },
      { name: "with an expected seq", options: { expectedSeq: 0 } },
    ],
    ({ options }) =>
      withLogs(async (log) => {
        const batch = [message("m1", "violin"), ...messages(2, 3)];
        const calls = upTo(20).map(() => log.append(chat, batch, options));
        assert.deepEqual(new Set(await Promise.all(calls)), new Set([3]));
        assert.deepEqual(await everything(log), numbered(batch));
        assert.deepEqual(await found(log, "violin"), ["m1"]);
        assert.deepEqual(await listed(log), [chat]);
      }),
  ),
  clauseWithTable(
    "batches sent again, in part and out of order are stored as if sent once",
    [1, 2, 3, 4, 5, 6],
    (seed) =>
      withLogs(async (log) => {
        const random = seededRandom(seed);
        const sent = upTo(15).map((n) => n * 3 - 2);
        const first = sent.map((start) => log.append(chat, messages(start, start + 2)));
        const again = upTo(30).map(() => {
          const start = 1 + random(43);
          return { start, answer: log.append(chat, messages(start, start + 2)) };
        });
        assert.deepEqual(
          await Promise.all(first),
          sent.map((start) => start + 2),
        );
        for (const { start, answer } of again) assert.equal(await answer, start + 2);
        assert.deepEqual(await everything(log), numbered(messages(1, 45)));
      }),
  ),
  {
    says: "of 20 appends at once of one id with different content the first is stored",
    proof: withLogs(async (log) => {
      const calls = messages(1, 20).map((record) => log.append(chat, [{ ...record, id: "m1" }]));
      const { answers, codes } = await outcomesOf(calls);
      assert.deepEqual(answers, [1]);
      assert.deepEqual(codes, new Array(19).fill("THROUGHLINE_ID_CONFLICT"));
      assert.deepEqual(await everything(log), numbered(messages(1, 1)));
    }),
  },
];

const readers: readonly Clause[] = [
  {
    says: "a tail or a read begun while batches are appended ends in a whole one, without a gap; a tail has the head of the last",
    proof: withLogs(async (log) => {
      const calls = upTo(30).map((n) =>
        log.append(chat, messages(n * 2 - 1, n * 2), { head: { appended: n * 2 } }),
      );
      for (let times = 0; times < 30; times++) {
        const tail = await log.tail(chat, 1_000);
        const { seq = 0, records = [], head } = tail ?? {};
        assert.equal(seq % 2, 0);
        assert.deepEqual(records, numbered(messages(1, seq)));
        if (tail !== undefined) assert.deepEqual(head, { appended: seq });
        const read = await everything(log);
        assert.ok(read.length >= seq && read.length % 2 === 0);
        assert.deepEqual(read, numbered(messages(1, read.length)));
      }
      await Promise.all(calls);
      assert.equal((await log.tail(chat, 0))?.seq, 60);
    }),
  },
  {
    says: "after an awaited append every way of reading shows it, others under way or not",
    proof: withLogs(async (log) => {
      const others = messages(100, 130).map((record) => log.append(chat, [record]));
      for (const { id } of messages(1, 20)) {
        const seq = await log.append(chat, [message(id, `word${id}`)]);
        assert.ok(((await log.tail(chat, 0))?.seq ?? 0) >= seq);
        assert.equal((await log.find(chat, id))?.seq, seq);
        assert.deepEqual((await log.page(chat, { after: seq - 1, limit: 1 }))[0]?.id, id);
        assert.deepEqual(await found(log, `word${id}`), [id]);
        assert.deepEqual(await listed(log), [chat]);
      }
      await Promise.all(others);
    }),
  },
];

const forgetting: readonly Clause[] = [
  {
    says: "records erased while others are appended: none is lost and none comes back",
    proof: withLogs(async (log) => {
      await log.append(chat, messages(1, 10));
      const calls = messages(11, 30).flatMap((record, index) => [
        log.append(chat, [record]),
        log.erase(chat, [`m${(index % 10) + 1}`]),
      ]);
      await Promise.all(calls);
      const expected = [
        ...messages(1, 10).map((record, index) => erased(record.id, index + 1)),
        ...numbered(messages(11, 30), 11),
      ];
      assert.deepEqual(await everything(log), expected);
    }),
  },
  {
    says: "a record that is erased while it is appended again stays erased",
    proof: withLogs(async (log) => {
      await log.append(chat, [message("m1", "violin"), message("m2")]);
      const batch = [message("m1", "violin")];
      const calls = [
        log.append(chat, batch),
        log.erase(chat, ["m1"]),
        log.append(chat, batch),
        log.append(chat, batch),
      ];
      assert.deepEqual(await Promise.all(calls), [1, 1, 1, 1]);
      assert.deepEqual(await log.find(chat, "m1"), erased("m1", 1));
      assert.deepEqual(await found(log, "violin"), []);
    }),
  },
  clauseWithTable(
    "a delete forgets the appends and erasures that were called before it, answered or not, and touches no other log",
    [
      { name: "a log that is there", stored: 3 },
      { name: "a log whose first append is under way", stored: 0 },
    ],
    ({ stored }) =>
      withLogs(async (log) => {
        if (stored > 0) await log.append(chat, messages(1, stored));
        const late = messages(stored + 1, 30).map((record) => log.append(chat, [record]));
        const erasure = log.erase(chat, ["m1", "m2"], { head: { title: "erased" } });
        const others = messages(1, 20).map((record) => log.append("telegram:4", [record]));
        const deleted = log.delete(chat);
        const after = log.erase(chat, ["m3"], { head: { title: "erased" } });
        if (stored > 0) assert.equal(await deleted, true);
        await deleted;
        await isAbsent(log);
        await Promise.allSettled([...late, erasure, after]);
        await isAbsent(log);
        assert.deepEqual(await found(log, "says", chat), []);
        await Promise.all(others);
        assert.deepEqual(await everything(log, "telegram:4"), numbered(messages(1, 20)));
      }),
  ),
  {
    says: "appends called after a delete, even before it has answered, begin the log again, and only those after the last one stay",
    proof: withLogs(async (log) => {
      await log.append(chat, messages(1, 3));
      const calls: Promise<unknown>[] = [];
      for (let round = 0; round < 10; round++) {
        calls.push(log.append(chat, messages(1, 2)), log.append(chat, messages(4, 4)));
        calls.push(log.delete(chat));
      }
      const after = [log.append(chat, messages(7, 8)), log.append(chat, messages(1, 1))];
      assert.deepEqual(await Promise.all(after), [2, 3]);
      await Promise.allSettled(calls);
      assert.deepEqual(await idsIn(log), ["m7", "m8", "m1"]);
      assert.deepEqual(await listed(log), [chat]);
    }),
  },
];

/** Calls that are under way at the same time. */
export const concurrencyClauses: readonly Clause[] = [
  ...appends,
  ...repeats,
  ...readers,
  ...forgetting,
];
