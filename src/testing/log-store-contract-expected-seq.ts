import assert from "node:assert/strict";
import type { LogStore } from "../core/storage/log-store.ts";
import { type Clause, clauseWithTable } from "./contract.ts";
import { refusedPositions } from "./corpus.ts";
import {
  chat,
  erased,
  everything,
  isAbsent,
  message,
  messages,
  numbered,
  outcomesOf,
  refuses,
  untyped,
  upTo,
  withLogs,
} from "./log-store-contract-fixtures.ts";

interface End {
  readonly name: string;
  /** The seq at which the log ends after `before`. */
  readonly seq: number;
  readonly before: (log: LogStore) => Promise<unknown>;
}

async function threeMessages(log: LogStore): Promise<void> {
  await log.append(chat, messages(1, 3), { head: { title: "kept" } });
}

const ends: readonly End[] = [
  {
    name: "a log that is not there, beside another",
    seq: 0,
    before: (log) => log.append("telegram:4", messages(1, 7)),
  },
  { name: "a log of three records", seq: 3, before: threeMessages },
  {
    name: "a log whose newest records were erased",
    seq: 3,
    async before(log) {
      await threeMessages(log);
      await log.erase(chat, ["m2", "m3"]);
    },
  },
  {
    name: "a log that was deleted",
    seq: 0,
    async before(log) {
      await threeMessages(log);
      await log.delete(chat);
    },
  },
];

function otherThan(seq: number): number[] {
  return [0, 1, 2, 3, 4, 7].filter((other) => other !== seq);
}

const conditions: readonly Clause[] = [
  clauseWithTable(
    "an append that expects the seq at which the log ends is stored; any other is a conflict, which stores nothing and keeps the head",
    ends,
    ({ seq, before }) =>
      withLogs(async (log) => {
        await before(log);
        const was = await log.tail(chat, 10);
        const batch = [message("x"), message("y")];
        for (const expectedSeq of otherThan(seq)) {
          const call = log.append(chat, batch, { expectedSeq, head: { title: "lost" } });
          await refuses("THROUGHLINE_CONFLICT", call);
          assert.deepEqual(await log.tail(chat, 10), was);
        }
        assert.equal(await log.append(chat, batch, { expectedSeq: seq }), seq + 2);
      }),
  ),
  clauseWithTable(
    "an erasure that expects the seq at which the log ends is done and moves no end; any other is a conflict, which erases nothing and keeps the head",
    ends,
    ({ seq, before }) =>
      withLogs(async (log) => {
        await before(log);
        const was = await log.tail(chat, 10);
        for (const expectedSeq of otherThan(seq)) {
          for (const ids of [["m1"], ["unknown"], []]) {
            const call = log.erase(chat, ids, { expectedSeq, head: { title: "lost" } });
            await refuses("THROUGHLINE_CONFLICT", call);
          }
          assert.deepEqual(await log.tail(chat, 10), was);
        }
        const options = { expectedSeq: seq, head: { title: "right" } };
        assert.equal(await log.erase(chat, ["m1"], options), seq === 0 ? 0 : 1);
        assert.equal(await log.erase(chat, ["m1"], options), 0);
        if (seq === 0) await isAbsent(log);
        else {
          assert.deepEqual(await log.find(chat, "m1"), erased("m1", 1));
          assert.deepEqual((await log.tail(chat, 0))?.head, { title: "right" });
        }
        assert.equal(await log.append(chat, [message("x")], { expectedSeq: seq }), seq + 1);
      }),
  ),
  clauseWithTable(
    "an expected seq that is no whole number from 0 is refused",
    refusedPositions,
    ({ value: expectedSeq }) =>
      withLogs(async (log) => {
        await log.append(chat, messages(1, 1));
        const options = untyped<{ expectedSeq: number }>({ expectedSeq });
        await refuses("THROUGHLINE_INVALID", log.append(chat, messages(2, 2), options));
        await refuses("THROUGHLINE_INVALID", log.erase(chat, ["m1"], options));
        assert.deepEqual(await everything(log), numbered(messages(1, 1)));
      }),
  ),
  {
    says: "a repeated append is no conflict, whatever seq it expects and whatever was appended since; a batch with a missing record is held to it",
    proof: withLogs(async (log) => {
      await log.append(chat, messages(1, 1));
      assert.equal(await log.append(chat, messages(2, 3), { expectedSeq: 1 }), 3);
      assert.equal(await log.append(chat, messages(2, 3), { expectedSeq: 1 }), 3);
      await log.append(chat, messages(4, 6));
      for (const expectedSeq of [0, 1, 3, 6, 99]) {
        assert.equal(await log.append(chat, messages(2, 3), { expectedSeq }), 3);
      }
      const partly = messages(6, 7);
      await refuses("THROUGHLINE_CONFLICT", log.append(chat, partly, { expectedSeq: 5 }));
      assert.deepEqual(await everything(log), numbered(messages(1, 6)));
      assert.equal(await log.append(chat, partly, { expectedSeq: 6 }), 7);
    }),
  },
];

const races: readonly Clause[] = [
  clauseWithTable(
    "of 20 appends at once that expect the same seq one is stored, the others are conflicts",
    [
      { name: "no log", seq: 0 },
      { name: "a log of two records", seq: 2 },
    ],
    ({ seq }) =>
      withLogs(async (log) => {
        if (seq > 0) await log.append(chat, messages(1, seq));
        const calls = messages(seq + 1, seq + 20).map((record) =>
          log.append(chat, [record], { expectedSeq: seq }),
        );
        const { answers, codes } = await outcomesOf(calls);
        assert.deepEqual(answers, [seq + 1]);
        assert.deepEqual(codes, new Array(19).fill("THROUGHLINE_CONFLICT"));
        assert.equal((await everything(log)).length, seq + 1);
      }),
  ),
  {
    says: "appends that each expect the end of the one before may all be under way at once",
    proof: withLogs(async (log) => {
      const calls = upTo(30).map((n) => log.append(chat, messages(n, n), { expectedSeq: n - 1 }));
      assert.deepEqual(await Promise.all(calls), upTo(30));
    }),
  },
  {
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
];

/** Appends and erasures that name the seq at which the log must end. */
export const expectedSeqClauses: readonly Clause[] = [...conditions, ...races];
