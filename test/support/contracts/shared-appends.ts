import assert from "node:assert/strict";
import { clauseWithTable } from "../../../src/testing/contract.ts";
import {
  chat,
  everything,
  listed,
  message,
  messages,
  numbered,
  outcomesOf,
  untilNoConflict,
  upTo,
} from "../../../src/testing/log-store-contract-fixtures.ts";
import {
  inOrderOf,
  messagesOf,
  type Writer,
  wholeIds,
  withFour,
  withThree,
  withTwo,
} from "./shared-fixtures.ts";
import type { SharedClause } from "./shared-place.ts";

const names = ["a", "b", "c", "d"] as const;

const orders: readonly SharedClause[] = [
  {
    says: "60 appends of four processes at once are one order without gaps, each process's in its own, and each answers the seq that its record has for all",
    proof: withFour(async (writers) => {
      const calls = upTo(15).flatMap((n) =>
        writers.map(async ({ log }, index) => {
          const id = `${names[index]}${n}`;
          return { id, seq: await log.append(chat, [message(id)]) };
        }),
      );
      const answers = (await Promise.all(calls)).sort((one, other) => one.seq - other.seq);
      for (const { log } of writers) {
        const stored = (await everything(log)).map(({ id, seq }) => ({ id, seq }));
        assert.deepEqual(stored, answers);
        assert.deepEqual(await listed(log), [chat]);
        const ids = await wholeIds(log);
        for (const name of names) assert.deepEqual(inOrderOf(name, ids), upTo(15));
      }
    }),
  },
  clauseWithTable(
    "batches that three processes append at once are each stored whole, none inside another",
    [
      { name: "10 batches of 5 records each", batches: 10, size: 5 },
      { name: "one batch of 500 records each", batches: 1, size: 500 },
    ],
    ({ batches, size }) =>
      withThree(async (...[a, b, c]) => {
        const calls = upTo(batches).flatMap((n) =>
          [a, b, c].map(({ log }, index) =>
            log.append(chat, messagesOf(`${names[index]}${n}.`, size)),
          ),
        );
        await Promise.all(calls);
        const ids = await wholeIds(b.log);
        assert.equal(ids.length, 3 * batches * size);
        for (let at = 0; at < ids.length; at += size) {
          const name = ids[at]?.slice(0, -1) ?? "";
          assert.deepEqual(inOrderOf(name, ids.slice(at, at + size)), upTo(size));
        }
      }),
  ),
  {
    says: "the head of a log is that of the append that stored its last record, from any process",
    proof: withTwo(async (a, b) => {
      const calls = upTo(20).map((n) => {
        const { log } = n % 2 === 0 ? a : b;
        return log.append(chat, messages(n, n), { head: { last: `m${n}` } });
      });
      await Promise.all(calls);
      const tail = await a.log.tail(chat, 1);
      assert.deepEqual(tail?.head, { last: tail?.records[0]?.id });
      assert.deepEqual(await b.log.tail(chat, 1), tail);
    }),
  },
];

const repeats: readonly SharedClause[] = [
  {
    says: "four processes that each append the same records at once, in batches that overlap, store each record once",
    proof: withFour(async (writers) => {
      const calls = writers.flatMap(({ log }, index) =>
        upTo(10).map((n) => log.append(chat, messages(n, n + index))),
      );
      await Promise.all(calls);
      const { log } = writers[3] ?? assert.fail();
      assert.deepEqual(
        (await wholeIds(log)).sort(),
        messages(1, 13)
          .map(({ id }) => id)
          .sort(),
      );
    }),
  },
  {
    says: "an append that another process repeats later answers what the first one did, and leaves the head",
    proof: withTwo(async (a, b) => {
      await a.log.append(chat, messages(1, 2));
      await a.log.append(chat, messages(3, 9), { head: { title: "kept" } });
      for (const options of [{}, { expectedSeq: 0 }, { head: { title: "lost" } }]) {
        assert.equal(await b.log.append(chat, messages(1, 2), options), 2);
      }
      assert.deepEqual(await everything(b.log), numbered(messages(1, 9)));
      assert.deepEqual((await a.log.tail(chat, 0))?.head, { title: "kept" });
    }),
  },
  {
    says: "of two processes that append one id with two contents at once one is refused",
    proof: withTwo(async (a, b) => {
      const { answers, codes } = await outcomesOf([
        a.log.append(chat, [message("m1", "from a")]),
        b.log.append(chat, [message("m1", "from b")]),
      ]);
      assert.deepEqual(answers, [1]);
      assert.deepEqual(codes, ["THROUGHLINE_ID_CONFLICT"]);
      assert.deepEqual(await everything(a.log), await everything(b.log));
      assert.deepEqual(await wholeIds(a.log), ["m1"]);
    }),
  },
];

/** Reads where the log ends and appends there, again when another process was first. */
function appendAtEnd({ log }: Writer, id: string): Promise<void> {
  return untilNoConflict(async () => {
    const seq = (await log.tail(chat, 0))?.seq ?? 0;
    const head = { last: id };
    assert.equal(await log.append(chat, [message(id)], { expectedSeq: seq, head }), seq + 1);
  });
}

const expectations: readonly SharedClause[] = [
  {
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
];

/** Appends of several processes, whether they expect where the log ends or not. */
export const sharedAppendClauses: readonly SharedClause[] = [
  ...orders,
  ...repeats,
  ...expectations,
];
