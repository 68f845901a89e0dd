import assert from "node:assert/strict";
import { isThroughlineError } from "../core/errors.ts";
import {
  chat,
  everything,
  message,
  messages,
  numbered,
  refuses,
} from "./log-store-contract-fixtures.ts";
import {
  outcomesOf,
  upTo,
  type Writer,
  wholeIds,
  withFour,
  withTwo,
} from "./shared-storage-contract-fixtures.ts";
import type { SharedClause } from "./shared-storage-contract-place.ts";

/** Reads where the log ends and appends there, again when somebody else was first. */
async function appendAtEnd({ log }: Writer, id: string): Promise<void> {
  for (let attempt = 0; attempt < 200; attempt++) {
    const seq = (await log.tail(chat, 0))?.seq ?? 0;
    try {
      const head = { last: id };
      assert.equal(await log.append(chat, [message(id)], { expectedSeq: seq, head }), seq + 1);
      return;
    } catch (error) {
      if (!isThroughlineError(error, "THROUGHLINE_CONFLICT")) throw error;
    }
  }
  assert.fail("one append was a conflict 200 times");
}

/** Appends of several processes that expect where the log ends. */
export const sharedExpectationClauses: readonly SharedClause[] = [
  {
    id: "shared.expected-seq.two",
    says: "of two appends of two processes that expect one seq one is stored, the other a conflict",
    proof: withTwo(async (a, b) => {
      await a.log.append(chat, messages(1, 2));
      const { answers, codes } = await outcomesOf([
        a.log.append(chat, [message("a")], { expectedSeq: 2 }),
        b.log.append(chat, [message("b")], { expectedSeq: 2 }),
      ]);
      assert.deepEqual(answers, [3]);
      assert.deepEqual(codes, ["THROUGHLINE_CONFLICT"]);
      assert.equal((await wholeIds(a.log)).length, 3);
    }),
  },
  {
    id: "shared.expected-seq.rounds",
    says: "in each of 20 rounds of four processes that expect one seq exactly one append is stored",
    proof: withFour(async (writers) => {
      for (const n of upTo(20)) {
        const calls = writers.map(({ log }, index) =>
          log.append(chat, [message(`m${n}.${index}`)], { expectedSeq: n - 1 }),
        );
        const { answers, codes } = await outcomesOf(calls);
        assert.deepEqual(answers, [n]);
        assert.deepEqual(codes, new Array(3).fill("THROUGHLINE_CONFLICT"));
      }
      for (const { log } of writers) assert.equal((await wholeIds(log)).length, 20);
    }),
  },
  {
    id: "shared.expected-seq.new",
    says: "of four processes that expect no log one begins it",
    proof: withFour(async (writers) => {
      const calls = writers.map(({ log }, index) =>
        log.append(chat, [message(`m${index}.1`), message(`m${index}.2`)], { expectedSeq: 0 }),
      );
      const { answers, codes } = await outcomesOf(calls);
      assert.deepEqual(answers, [2]);
      assert.deepEqual(codes, new Array(3).fill("THROUGHLINE_CONFLICT"));
      const ids = await wholeIds(writers[2]?.log ?? assert.fail());
      assert.equal(new Set(ids.map((id) => id.split(".")[0])).size, 1);
    }),
  },
  {
    id: "shared.expected-seq.stale",
    says: "an append that expects the seq before another process's append is a conflict",
    proof: withTwo(async (a, b) => {
      const seq = await a.log.append(chat, messages(1, 3));
      await b.log.append(chat, messages(4, 4));
      const late = a.log.append(chat, [message("late")], {
        expectedSeq: seq,
        head: { title: "late" },
      });
      await refuses("THROUGHLINE_CONFLICT", late);
      assert.deepEqual(await everything(a.log), numbered(messages(1, 4)));
      assert.deepEqual((await a.log.tail(chat, 0))?.head, {});
    }),
  },
  {
    id: "shared.expected-seq.optimistic",
    says: "four processes that read the end and append there again after a conflict lose nothing",
    proof: withFour(async (writers) => {
      const all = writers.map(async (writer, index) => {
        for (const n of upTo(5)) await appendAtEnd(writer, `m${index}.${n}`);
      });
      await Promise.all(all);
      const { log } = writers[0] ?? assert.fail();
      const ids = await wholeIds(log);
      assert.equal(ids.length, 20);
      assert.deepEqual((await log.tail(chat, 0))?.head, { last: ids.at(-1) });
    }),
  },
  {
    id: "shared.expected-seq.mixed",
    says: "an append that expects a seq is stored there or not at all while another process appends",
    proof: withTwo(async (a, b) => {
      for (const n of upTo(10)) {
        const key = `chat:${n}`;
        await a.log.append(key, messages(1, 1));
        const free = b.log.append(key, [message("free")]);
        const { answers } = await outcomesOf([
          a.log.append(key, [message("bound")], { expectedSeq: 1 }),
        ]);
        await free;
        const ids = await wholeIds(b.log, key);
        assert.deepEqual(ids, answers.length > 0 ? ["m1", "bound", "free"] : ["m1", "free"]);
      }
    }),
  },
  {
    id: "shared.expected-seq.repeat",
    says: "an append that one process made is no conflict for another that repeats it",
    proof: withTwo(async (a, b) => {
      const calls = [a, b].map(({ log }) => log.append(chat, messages(1, 2), { expectedSeq: 0 }));
      assert.deepEqual(await Promise.all(calls), [2, 2]);
      assert.deepEqual(await everything(b.log), numbered(messages(1, 2)));
    }),
  },
];
