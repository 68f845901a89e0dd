import assert from "node:assert/strict";
import { isThroughlineError } from "../core/errors.ts";
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
  withLogs,
} from "./log-store-contract-fixtures.ts";
import { seededRandom } from "./random.ts";

const appends: readonly Clause[] = [
  {
    id: "log.at-once.order",
    says: "50 appends at once are stored in the order of the calls, and each answers its seq",
    proof: withLogs(async (log) => {
      const calls = messages(1, 50).map((record) => log.append(chat, [record]));
      const expected = numbered(messages(1, 50));
      assert.deepEqual(
        await Promise.all(calls),
        expected.map((record) => record.seq),
      );
      assert.deepEqual(await everything(log), expected);
    }),
  },
  {
    id: "log.at-once.batches",
    says: "batches appended at once are each stored whole, none inside another",
    proof: withLogs(async (log) => {
      const calls = Array.from({ length: 20 }, (_, index) =>
        log.append(chat, messages(index * 7 + 1, index * 7 + 7)),
      );
      assert.deepEqual(
        await Promise.all(calls),
        calls.map((_, index) => index * 7 + 7),
      );
      assert.deepEqual(await everything(log), numbered(messages(1, 140)));
    }),
  },
  {
    id: "log.at-once.two-logs",
    says: "two logs appended to at once do not disturb each other",
    proof: withLogs(async (log) => {
      const both = messages(1, 25).flatMap((record) => [
        log.append(chat, [record]),
        log.append("telegram:4", [{ ...record, content: "other" }]),
      ]);
      await Promise.all(both);
      assert.deepEqual(await everything(log), numbered(messages(1, 25)));
      const others = messages(1, 25).map((record) => ({ ...record, content: "other" }));
      assert.deepEqual(await everything(log, "telegram:4"), numbered(others));
    }),
  },
  {
    id: "log.at-once.40-logs",
    says: "40 logs begun and appended to at once are all whole and all listed",
    proof: withLogs(async (log) => {
      const keys = Array.from({ length: 40 }, (_, index) => `chat:${10 + index}`);
      const calls = keys.flatMap((key) =>
        messages(1, 5).map((record) => log.append(key, [record])),
      );
      await Promise.all(calls);
      for (const key of keys)
        assert.deepEqual(await everything(log, key), numbered(messages(1, 5)));
      assert.deepEqual(await listed(log), keys);
    }),
  },
  {
    id: "log.at-once.refused",
    says: "an append that is refused does not harm the appends around it",
    proof: withLogs(async (log) => {
      const bad = message("bad", "hi", { at: Number.NaN });
      const calls = messages(1, 20).map((record, index) =>
        log.append(chat, index % 5 === 2 ? [record, bad] : [record]),
      );
      const outcomes = await Promise.allSettled(calls);
      const kept = messages(1, 20).filter((_, index) => index % 5 !== 2);
      assert.deepEqual(await everything(log), numbered(kept));
      assert.deepEqual(
        outcomes.flatMap((outcome) => (outcome.status === "fulfilled" ? [outcome.value] : [])),
        kept.map((_, index) => index + 1),
      );
    }),
  },
  {
    id: "log.at-once.late-answers",
    says: "an append whose answer is not awaited is stored all the same",
    proof: withLogs(async (log) => {
      void log.append(chat, messages(1, 1));
      void log.append(chat, messages(2, 2));
      assert.equal(await log.append(chat, messages(3, 3)), 3);
      assert.deepEqual(await idsIn(log), ["m1", "m2", "m3"]);
    }),
  },
];

const repeats: readonly Clause[] = [
  {
    id: "log.at-once.same-batch",
    says: "one batch appended 20 times at once is stored once, and all calls answer the same",
    proof: withLogs(async (log) => {
      const calls = Array.from({ length: 20 }, () => log.append(chat, messages(1, 3)));
      assert.deepEqual(new Set(await Promise.all(calls)), new Set([3]));
      assert.deepEqual(await everything(log), numbered(messages(1, 3)));
    }),
  },
  {
    id: "log.at-once.same-batch-expected",
    says: "one conditional batch appended 20 times at once is stored once, without a conflict",
    proof: withLogs(async (log) => {
      const calls = Array.from({ length: 20 }, () =>
        log.append(chat, messages(1, 2), { expectedSeq: 0 }),
      );
      assert.deepEqual(new Set(await Promise.all(calls)), new Set([2]));
      assert.deepEqual(await idsIn(log), ["m1", "m2"]);
    }),
  },
  {
    id: "log.at-once.overlapping",
    says: "batches that share records, appended at once, store each record once",
    proof: withLogs(async (log) => {
      const batches = [messages(1, 3), messages(2, 5), messages(3, 6), messages(1, 1)];
      const answers = await Promise.all(batches.map((batch) => log.append(chat, batch)));
      assert.deepEqual(answers, [3, 5, 6, 1]);
      assert.deepEqual(await everything(log), numbered(messages(1, 6)));
    }),
  },
  {
    id: "log.at-once.same-id",
    says: "of 20 appends at once of one id with different content the first is stored",
    proof: withLogs(async (log) => {
      const calls = messages(1, 20).map((record) => log.append(chat, [{ ...record, id: "m1" }]));
      const outcomes = await Promise.allSettled(calls);
      for (const [index, outcome] of outcomes.entries()) {
        if (outcome.status === "fulfilled") assert.deepEqual([index, outcome.value], [0, 1]);
        else assert.ok(isThroughlineError(outcome.reason, "THROUGHLINE_ID_CONFLICT"));
      }
      assert.deepEqual(await everything(log), numbered(messages(1, 1)));
    }),
  },
  {
    id: "log.at-once.same-id-two-logs",
    says: "one id appended to two logs at once is stored in both",
    proof: withLogs(async (log) => {
      const calls = [log.append(chat, messages(1, 1)), log.append("b", [message("m1", "other")])];
      assert.deepEqual(await Promise.all(calls), [1, 1]);
    }),
  },
  {
    id: "log.at-once.found-once",
    says: "a batch appended 10 times at once is found once and listed once",
    proof: withLogs(async (log) => {
      const batch = [message("m1", "violin"), message("m2", "viola")];
      const calls = Array.from({ length: 10 }, () => log.append(chat, batch));
      await Promise.all(calls);
      assert.deepEqual(await found(log, "violin"), ["m1"]);
      assert.deepEqual(await listed(log), [chat]);
    }),
  },
  clauseWithTable(
    "log.at-once.duplicates",
    "batches sent again and out of order are stored as if sent once",
    [1, 2, 3, 4, 5, 6],
    (seed) =>
      withLogs(async (log) => {
        const random = seededRandom(seed);
        const sent = Array.from({ length: 15 }, (_, index) => index * 3 + 1);
        const first = sent.map((start) => log.append(chat, messages(start, start + 2)));
        const again = Array.from({ length: 30 }, () => {
          const start = sent[random(sent.length)] ?? 1;
          return { start, answer: log.append(chat, messages(start, start + 2)) };
        });
        const answers = await Promise.all(first);
        for (const { start, answer } of again) {
          assert.equal(await answer, answers[sent.indexOf(start)]);
        }
        assert.deepEqual(await everything(log), numbered(messages(1, 45)));
      }),
  ),
];

const readers: readonly Clause[] = [
  {
    id: "log.at-once.tails",
    says: "a tail taken while records are appended ends in whole batches, without a gap",
    proof: withLogs(async (log) => {
      const calls = Array.from({ length: 30 }, (_, index) =>
        log.append(chat, messages(index * 2 + 1, index * 2 + 2)),
      );
      for (let times = 0; times < 30; times++) {
        const tail = await log.tail(chat, 1_000);
        if (tail === undefined) continue;
        assert.equal(tail.seq % 2, 0);
        assert.deepEqual(tail.records, numbered(messages(1, tail.seq)));
      }
      await Promise.all(calls);
      assert.equal((await log.tail(chat, 0))?.seq, 60);
    }),
  },
  {
    id: "log.at-once.reads",
    says: "a read begun while records are appended yields whole batches, without a gap",
    proof: withLogs(async (log) => {
      const calls = Array.from({ length: 30 }, (_, index) =>
        log.append(chat, messages(index * 2 + 1, index * 2 + 2)),
      );
      for (let times = 0; times < 10; times++) {
        const records = await everything(log);
        assert.equal(records.length % 2, 0);
        assert.deepEqual(records, numbered(messages(1, records.length)));
      }
      await Promise.all(calls);
    }),
  },
  {
    id: "log.at-once.own-write",
    says: "after an awaited append every way of reading shows it, others under way or not",
    proof: withLogs(async (log) => {
      const others = messages(100, 130).map((record) => log.append(chat, [record]));
      const seq = await log.append(chat, [message("mine", "violin")]);
      assert.ok(((await log.tail(chat, 0))?.seq ?? 0) >= seq);
      assert.equal((await log.find(chat, "mine"))?.seq, seq);
      assert.deepEqual((await log.page(chat, { after: seq - 1, limit: 1 }))[0]?.id, "mine");
      assert.deepEqual(await found(log, "violin"), ["mine"]);
      assert.deepEqual(await listed(log), [chat]);
      await Promise.all(others);
    }),
  },
  {
    id: "log.at-once.finds",
    says: "a record is found by its id while its log grows",
    proof: withLogs(async (log) => {
      await log.append(chat, messages(1, 10));
      const calls = messages(11, 40).map((record) => log.append(chat, [record]));
      for (let seq = 1; seq <= 10; seq++) {
        assert.deepEqual(await log.find(chat, `m${seq}`), { ...message(`m${seq}`), seq });
      }
      await Promise.all(calls);
    }),
  },
];

const forgetting: readonly Clause[] = [
  {
    id: "log.at-once.erase-twice",
    says: "one record erased 10 times at once is counted once",
    proof: withLogs(async (log) => {
      await log.append(chat, messages(1, 3));
      const counts = await Promise.all(
        Array.from({ length: 10 }, () => log.erase(chat, ["m2", "m3"])),
      );
      assert.equal(
        counts.reduce((sum, count) => sum + count, 0),
        2,
      );
    }),
  },
  {
    id: "log.at-once.erase-and-append",
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
    id: "log.at-once.erase-and-retry",
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
  {
    id: "log.at-once.delete-wins",
    says: "a delete forgets the appends that were called before it, answered or not",
    proof: withLogs(async (log) => {
      await log.append(chat, messages(1, 3));
      const late = messages(4, 30).map((record) => log.append(chat, [record]));
      assert.equal(await log.delete(chat), true);
      await isAbsent(log);
      await Promise.allSettled(late);
      await isAbsent(log);
      assert.deepEqual(await found(log, "says"), []);
    }),
  },
  {
    id: "log.at-once.delete-a-new-log",
    says: "a delete forgets a log whose first append is still under way",
    proof: withLogs(async (log) => {
      const first = log.append(chat, messages(1, 3));
      await log.delete(chat);
      await Promise.allSettled([first]);
      await isAbsent(log);
    }),
  },
  {
    id: "log.at-once.after-delete",
    says: "appends called after a delete, even before it has answered, begin the log again",
    proof: withLogs(async (log) => {
      await log.append(chat, messages(1, 3));
      const before = log.append(chat, messages(4, 4));
      const deleted = log.delete(chat);
      const after = [log.append(chat, messages(5, 5)), log.append(chat, messages(1, 1))];
      assert.equal(await deleted, true);
      assert.deepEqual(await Promise.all(after), [1, 2]);
      await Promise.allSettled([before]);
      assert.deepEqual(await idsIn(log), ["m5", "m1"]);
    }),
  },
  {
    id: "log.at-once.deletes-and-appends",
    says: "after appends and deletes in turn, all at once, the appends after the last delete stay",
    proof: withLogs(async (log) => {
      const calls: Promise<unknown>[] = [];
      for (let round = 0; round < 10; round++) {
        calls.push(log.append(chat, messages(1, 2)), log.append(chat, messages(3, 3)));
        calls.push(log.delete(chat));
      }
      calls.push(log.append(chat, messages(7, 8)));
      await Promise.allSettled(calls);
      assert.deepEqual(await everything(log), numbered(messages(7, 8)));
      assert.deepEqual(await listed(log), [chat]);
    }),
  },
  {
    id: "log.at-once.delete-one",
    says: "a delete does not touch another log that is being appended to",
    proof: withLogs(async (log) => {
      await log.append(chat, messages(1, 3));
      const calls = messages(1, 20).map((record) => log.append("telegram:4", [record]));
      await log.delete(chat);
      await Promise.all(calls);
      assert.deepEqual(await everything(log, "telegram:4"), numbered(messages(1, 20)));
    }),
  },
  {
    id: "log.at-once.delete-and-erase",
    says: "a log that is deleted while records of it are erased is gone",
    proof: withLogs(async (log) => {
      await log.append(chat, messages(1, 20));
      const calls = [log.erase(chat, ["m1", "m2"]), log.delete(chat), log.erase(chat, ["m3"])];
      await Promise.all(calls);
      await isAbsent(log);
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
