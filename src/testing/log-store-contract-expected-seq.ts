import assert from "node:assert/strict";
import { isThroughlineError } from "../core/errors.ts";
import type { LogStore } from "../core/storage/log-store.ts";
import { type Clause, clauseWithTable } from "./contract.ts";
import { refusedPositions } from "./corpus.ts";
import {
  chat,
  erased,
  everything,
  found,
  idsIn,
  isAbsent,
  message,
  messages,
  numbered,
  refuses,
  untyped,
  withLogs,
} from "./log-store-contract-fixtures.ts";

const conditions: readonly Clause[] = [
  {
    id: "log.expected-seq.new",
    says: "an append that expects 0 begins a log",
    proof: withLogs(async (log) => {
      assert.equal(await log.append(chat, messages(1, 2), { expectedSeq: 0 }), 2);
    }),
  },
  {
    id: "log.expected-seq.not-new",
    says: "an append that expects 0 of a log that is there is a conflict and stores nothing",
    proof: withLogs(async (log) => {
      await log.append(chat, messages(1, 1));
      await refuses("THROUGHLINE_CONFLICT", log.append(chat, messages(2, 2), { expectedSeq: 0 }));
      assert.deepEqual(await everything(log), numbered(messages(1, 1)));
    }),
  },
  {
    id: "log.expected-seq.end",
    says: "an append that expects the seq at which the log ends is stored",
    proof: withLogs(async (log) => {
      await log.append(chat, messages(1, 3));
      assert.equal(await log.append(chat, messages(4, 5), { expectedSeq: 3 }), 5);
    }),
  },
  {
    id: "log.expected-seq.behind",
    says: "an append that expects a smaller seq than the last is a conflict and stores nothing",
    proof: withLogs(async (log) => {
      await log.append(chat, messages(1, 3));
      await refuses("THROUGHLINE_CONFLICT", log.append(chat, messages(4, 4), { expectedSeq: 2 }));
      assert.deepEqual(await everything(log), numbered(messages(1, 3)));
    }),
  },
  {
    id: "log.expected-seq.ahead",
    says: "an append that expects a greater seq than the last is a conflict and stores nothing",
    proof: withLogs(async (log) => {
      await log.append(chat, messages(1, 3));
      await refuses("THROUGHLINE_CONFLICT", log.append(chat, messages(4, 4), { expectedSeq: 4 }));
      assert.deepEqual(await everything(log), numbered(messages(1, 3)));
    }),
  },
  {
    id: "log.expected-seq.missing",
    says: "an append that expects more than 0 of a log that is not there begins none",
    proof: withLogs(async (log) => {
      await refuses("THROUGHLINE_CONFLICT", log.append(chat, messages(1, 1), { expectedSeq: 1 }));
      await isAbsent(log);
    }),
  },
  {
    id: "log.expected-seq.keeps-head",
    says: "an append that is a conflict keeps the head",
    proof: withLogs(async (log) => {
      await log.append(chat, messages(1, 1), { head: { title: "kept" } });
      const options = { expectedSeq: 0, head: { title: "lost" } };
      await refuses("THROUGHLINE_CONFLICT", log.append(chat, messages(2, 2), options));
      assert.deepEqual((await log.tail(chat, 0))?.head, { title: "kept" });
    }),
  },
  {
    id: "log.expected-seq.after-conflict",
    says: "after a conflict the same batch is stored with the right seq",
    proof: withLogs(async (log) => {
      await log.append(chat, messages(1, 2));
      await refuses("THROUGHLINE_CONFLICT", log.append(chat, messages(3, 4), { expectedSeq: 1 }));
      assert.equal(await log.append(chat, messages(3, 4), { expectedSeq: 2 }), 4);
      assert.deepEqual(await idsIn(log), ["m1", "m2", "m3", "m4"]);
    }),
  },
  {
    id: "log.expected-seq.of-its-log",
    says: "the seq that is expected is that of the log itself, whatever other logs hold",
    proof: withLogs(async (log) => {
      await log.append("telegram:4", messages(1, 7));
      assert.equal(await log.append(chat, messages(1, 1), { expectedSeq: 0 }), 1);
      assert.equal(await log.append("telegram:4", messages(8, 8), { expectedSeq: 7 }), 8);
    }),
  },
  {
    id: "log.expected-seq.erased",
    says: "erased records count for the seq that is expected",
    proof: withLogs(async (log) => {
      await log.append(chat, messages(1, 3));
      await log.erase(chat, ["m2", "m3"]);
      assert.equal(await log.append(chat, messages(4, 4), { expectedSeq: 3 }), 4);
    }),
  },
  {
    id: "log.expected-seq.deleted",
    says: "a log that was deleted ends at 0",
    proof: withLogs(async (log) => {
      await log.append(chat, messages(1, 3));
      await log.delete(chat);
      await refuses("THROUGHLINE_CONFLICT", log.append(chat, messages(4, 4), { expectedSeq: 3 }));
      assert.equal(await log.append(chat, messages(4, 4), { expectedSeq: 0 }), 1);
    }),
  },
  clauseWithTable(
    "log.expected-seq.refused",
    "an expected seq that is no whole number from 0 is refused",
    refusedPositions,
    ({ value: expectedSeq }) =>
      withLogs(async (log) => {
        await log.append(chat, messages(1, 1));
        const options = untyped<{ expectedSeq: number }>({ expectedSeq });
        await refuses("THROUGHLINE_INVALID", log.append(chat, messages(2, 2), options));
        assert.deepEqual(await idsIn(log), ["m1"]);
      }),
  ),
];

const retries: readonly Clause[] = [
  {
    id: "log.expected-seq.retry",
    says: "a conditional append repeated as it was answers as the first time, not as a conflict",
    proof: withLogs(async (log) => {
      await log.append(chat, messages(1, 1));
      assert.equal(await log.append(chat, messages(2, 3), { expectedSeq: 1 }), 3);
      assert.equal(await log.append(chat, messages(2, 3), { expectedSeq: 1 }), 3);
      assert.deepEqual(await idsIn(log), ["m1", "m2", "m3"]);
    }),
  },
  {
    id: "log.expected-seq.retry-late",
    says: "a conditional append repeated after others answers as the first time",
    proof: withLogs(async (log) => {
      assert.equal(await log.append(chat, messages(1, 1), { expectedSeq: 0 }), 1);
      await log.append(chat, messages(2, 4));
      assert.equal(await log.append(chat, messages(1, 1), { expectedSeq: 0 }), 1);
    }),
  },
  {
    id: "log.expected-seq.retry-any",
    says: "known records answer their seq whatever seq is expected",
    proof: withLogs(async (log) => {
      await log.append(chat, messages(1, 3));
      for (const expectedSeq of [0, 1, 3, 99]) {
        assert.equal(await log.append(chat, messages(1, 3), { expectedSeq }), 3);
      }
    }),
  },
  {
    id: "log.expected-seq.partly-known",
    says: "a batch with a missing record is held to the seq that it expects",
    proof: withLogs(async (log) => {
      await log.append(chat, messages(1, 3));
      const batch = [...messages(3, 3), message("x")];
      await refuses("THROUGHLINE_CONFLICT", log.append(chat, batch, { expectedSeq: 2 }));
      assert.deepEqual(await idsIn(log), ["m1", "m2", "m3"]);
      assert.equal(await log.append(chat, batch, { expectedSeq: 3 }), 4);
    }),
  },
];

/** Appends one record at the end that was read, and reads again for as long as others are faster. */
async function appendAtTheEnd(log: LogStore, id: string): Promise<void> {
  for (let attempt = 0; attempt < 100; attempt++) {
    const seq = (await log.tail(chat, 0))?.seq ?? 0;
    try {
      assert.equal(await log.append(chat, [message(id, `${seq}`)], { expectedSeq: seq }), seq + 1);
      return;
    } catch (error) {
      if (!isThroughlineError(error, "THROUGHLINE_CONFLICT")) throw error;
    }
  }
  assert.fail(`${id} was a conflict 100 times`);
}

const races: readonly Clause[] = [
  {
    id: "log.expected-seq.race",
    says: "of 20 appends at once that expect the same seq one is stored, the others are conflicts",
    proof: withLogs(async (log) => {
      await log.append(chat, messages(1, 2));
      const calls = messages(3, 22).map((record) => log.append(chat, [record], { expectedSeq: 2 }));
      const outcomes = await Promise.allSettled(calls);
      const won = outcomes.filter((outcome) => outcome.status === "fulfilled");
      assert.deepEqual(won, [{ status: "fulfilled", value: 3 }]);
      for (const outcome of outcomes) {
        if (outcome.status === "fulfilled") continue;
        assert.ok(isThroughlineError(outcome.reason, "THROUGHLINE_CONFLICT"));
      }
      assert.equal((await log.tail(chat, 0))?.seq, 3);
    }),
  },
  {
    id: "log.expected-seq.race-new",
    says: "of 20 appends at once that expect no log one begins it",
    proof: withLogs(async (log) => {
      const calls = messages(1, 20).map((record) => log.append(chat, [record], { expectedSeq: 0 }));
      const outcomes = await Promise.allSettled(calls);
      assert.equal(outcomes.filter((outcome) => outcome.status === "fulfilled").length, 1);
      assert.equal((await everything(log)).length, 1);
    }),
  },
  {
    id: "log.expected-seq.chain",
    says: "appends that each expect the end of the one before may all be under way at once",
    proof: withLogs(async (log) => {
      const calls = messages(1, 30).map((record, index) =>
        log.append(chat, [record], { expectedSeq: index }),
      );
      assert.deepEqual(
        await Promise.all(calls),
        messages(1, 30).map((_, index) => index + 1),
      );
    }),
  },
  {
    id: "log.expected-seq.optimistic",
    says: "10 writers that read the end and append there lose no record and see none twice",
    proof: withLogs(async (log) => {
      const writers = messages(1, 10).map((record) => appendAtTheEnd(log, record.id));
      await Promise.all(writers);
      const records = await everything(log);
      assert.equal(records.length, 10);
      for (const record of records) assert.equal(record["content"], `${record.seq - 1}`);
    }),
  },
];

const erasures: readonly Clause[] = [
  {
    id: "log.expected-seq.erase",
    says: "an erasure that expects the seq at which the log ends is done, and the log ends there still",
    proof: withLogs(async (log) => {
      await log.append(chat, messages(1, 3), { head: { title: "m2" } });
      assert.equal(await log.erase(chat, ["m2"], { expectedSeq: 3, head: { title: "" } }), 1);
      assert.deepEqual(await log.find(chat, "m2"), erased("m2", 2));
      assert.deepEqual(await log.tail(chat, 0), { ...bare, seq: 3, head: { title: "" } });
      assert.equal(await log.append(chat, messages(4, 4), { expectedSeq: 3 }), 4);
    }),
  },
  clauseWithTable(
    "log.expected-seq.erase-conflict",
    "an erasure that expects another end of the log is a conflict, erases nothing and keeps the head",
    [
      { name: "behind", phrase: "a smaller seq than the last", expectedSeq: 2 },
      { name: "ahead", phrase: "a greater seq than the last", expectedSeq: 4 },
      { name: "not-new", phrase: "0 of a log that is there", expectedSeq: 0 },
    ],
    ({ expectedSeq }) =>
      withLogs(async (log) => {
        await log.append(chat, messages(1, 3), { head: { title: "kept" } });
        const options = { expectedSeq, head: { title: "lost" } };
        for (const ids of [["m2"], ["unknown"], []]) {
          await refuses("THROUGHLINE_CONFLICT", log.erase(chat, ids, options));
        }
        assert.deepEqual(await everything(log), numbered(messages(1, 3)));
        assert.deepEqual(await found(log, "m2"), ["m2"]);
        assert.deepEqual((await log.tail(chat, 0))?.head, { title: "kept" });
        assert.equal(await log.erase(chat, ["m2"], { expectedSeq: 3 }), 1);
      }),
  ),
  {
    id: "log.expected-seq.erase-missing",
    says: "a log that is not there ends at 0: an erasure that expects more is a conflict, and none begins it",
    proof: withLogs(async (log) => {
      const head = { title: "x" };
      await refuses("THROUGHLINE_CONFLICT", log.erase(chat, ["m1"], { expectedSeq: 1, head }));
      assert.equal(await log.erase(chat, ["m1"], { expectedSeq: 0, head }), 0);
      await isAbsent(log);
      await log.append(chat, messages(1, 3));
      await log.delete(chat);
      await refuses("THROUGHLINE_CONFLICT", log.erase(chat, ["m1"], { expectedSeq: 3, head }));
      await isAbsent(log);
    }),
  },
  {
    id: "log.expected-seq.erase-again",
    says: "an erasure moves no end: repeated as it was it erases nothing, and is no conflict",
    proof: withLogs(async (log) => {
      await log.append(chat, messages(1, 3));
      assert.equal(await log.erase(chat, ["m1", "m3"], { expectedSeq: 3 }), 2);
      assert.equal(await log.erase(chat, ["m1", "m3"], { expectedSeq: 3 }), 0);
      assert.equal(await log.erase(chat, ["m2"], { expectedSeq: 3 }), 1);
    }),
  },
  {
    id: "log.expected-seq.erase-in-order",
    says: "an erasure that is called while an append is under way expects where that one ends",
    proof: withLogs(async (log) => {
      await log.append(chat, messages(1, 3));
      const append = log.append(chat, messages(4, 4));
      const late = log.erase(chat, ["m1"], { expectedSeq: 3 });
      const erase = log.erase(chat, ["m2"], { expectedSeq: 4 });
      await refuses("THROUGHLINE_CONFLICT", late);
      assert.deepEqual([await append, await erase], [4, 1]);
      assert.deepEqual(await everything(log), [
        ...[...numbered(messages(1, 1)), erased("m2", 2)],
        ...numbered(messages(3, 4), 3),
      ]);
    }),
  },
  clauseWithTable(
    "log.expected-seq.erase-refused",
    "an erasure that expects what is no seq is refused, and nothing is erased",
    refusedPositions,
    ({ value: expectedSeq }) =>
      withLogs(async (log) => {
        await log.append(chat, messages(1, 1));
        const options = untyped<{ expectedSeq: number }>({ expectedSeq });
        await refuses("THROUGHLINE_INVALID", log.erase(chat, ["m1"], options));
        assert.deepEqual(await everything(log), numbered(messages(1, 1)));
      }),
  ),
];

const bare = { records: [], damaged: false };

/** Appends and erasures that name the seq at which the log must end. */
export const expectedSeqClauses: readonly Clause[] = [
  ...conditions,
  ...retries,
  ...races,
  ...erasures,
];
