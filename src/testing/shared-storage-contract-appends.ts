import assert from "node:assert/strict";
import {
  chat,
  everything,
  listed,
  logsOf,
  message,
  messages,
  numbered,
} from "./log-store-contract-fixtures.ts";
import {
  inOrderOf,
  messagesOf,
  outcomesOf,
  upTo,
  wholeIds,
  withFour,
  withThree,
  withTwo,
} from "./shared-storage-contract-fixtures.ts";
import type { SharedClause } from "./shared-storage-contract-place.ts";

const names = ["a", "b", "c", "d"] as const;

const orders: readonly SharedClause[] = [
  {
    id: "shared.append.two-at-once",
    says: "50 appends of two processes at once are one order without gaps, each process's in its own",
    proof: withTwo(async (a, b) => {
      const calls = upTo(25).flatMap((n) => [
        a.log.append(chat, [message(`a${n}`)]),
        b.log.append(chat, [message(`b${n}`)]),
      ]);
      const answers = await Promise.all(calls);
      assert.deepEqual([...answers].sort(byNumber), upTo(50));
      const ids = await wholeIds(a.log);
      assert.deepEqual(inOrderOf("a", ids), upTo(25));
      assert.deepEqual(inOrderOf("b", ids), upTo(25));
    }),
  },
  {
    id: "shared.append.four-at-once",
    says: "60 appends of four processes at once each answer the seq that their record has for all",
    proof: withFour(async (writers) => {
      const calls = upTo(15).flatMap((n) =>
        writers.map(async ({ log }, index) => {
          const id = `${names[index]}${n}`;
          return { id, seq: await log.append(chat, [message(id)]) };
        }),
      );
      const answers = await Promise.all(calls);
      for (const { log } of writers) {
        const stored = (await everything(log)).map(({ id, seq }) => ({ id, seq }));
        assert.deepEqual(
          stored,
          [...answers].sort((one, other) => one.seq - other.seq),
        );
      }
    }),
  },
  {
    id: "shared.append.batches",
    says: "batches that three processes append at once are each stored whole, none inside another",
    proof: withThree(async (...[a, b, c]) => {
      const calls = upTo(10).flatMap((n) =>
        [a, b, c].map(({ log }, index) => log.append(chat, messagesOf(`${names[index]}${n}.`, 5))),
      );
      await Promise.all(calls);
      const ids = await wholeIds(b.log);
      assert.equal(ids.length, 150);
      for (let at = 0; at < ids.length; at += 5) {
        const name = ids[at]?.slice(0, -1) ?? "";
        assert.deepEqual(inOrderOf(name, ids.slice(at, at + 5)), upTo(5));
      }
    }),
  },
  {
    id: "shared.append.large-batches",
    says: "two batches of 500 records that are appended at once are stored one after the other",
    proof: withTwo(async (a, b) => {
      const calls = [
        a.log.append(chat, messagesOf("a", 500)),
        b.log.append(chat, messagesOf("b", 500)),
      ];
      assert.deepEqual((await Promise.all(calls)).sort(byNumber), [500, 1_000]);
      const ids = await wholeIds(a.log);
      assert.equal(new Set(ids.slice(0, 500).map((id) => id[0])).size, 1);
    }),
  },
  {
    id: "shared.append.begun-at-once",
    says: "four processes that begin one log at once make one log",
    proof: withFour(async (writers) => {
      const calls = writers.map(({ log }, index) => log.append(chat, [message(`m${index}`)]));
      assert.deepEqual((await Promise.all(calls)).sort(byNumber), upTo(4));
      for (const { log } of writers) assert.deepEqual(await listed(log), [chat]);
      await wholeIds(writers[0]?.log ?? assert.fail());
    }),
  },
  {
    id: "shared.append.many-logs",
    says: "40 logs that four processes append to at once are all whole for all of them",
    proof: withFour(async (writers) => {
      const keys = upTo(40).map((n) => `chat:${100 + n}`);
      const calls = keys.flatMap((key) =>
        writers.map(({ log }, index) => log.append(key, messagesOf(names[index] ?? "", 2))),
      );
      await Promise.all(calls);
      for (const { log } of writers) assert.deepEqual(await listed(log), keys);
      for (const key of keys)
        assert.equal((await wholeIds(writers[1]?.log ?? assert.fail(), key)).length, 8);
    }),
  },
  {
    id: "shared.append.alternating",
    says: "two processes that append in turn each go on where the other ended",
    proof: withTwo(async (a, b) => {
      for (const n of upTo(20)) {
        const { log } = n % 2 === 0 ? a : b;
        const seq = await log.append(chat, messages(n, n), { expectedSeq: n - 1 });
        assert.equal(seq, n);
      }
      assert.deepEqual(await everything(a.log), numbered(messages(1, 20)));
    }),
  },
  {
    id: "shared.append.refused",
    says: "a call that one process is refused does not harm those of another",
    proof: withTwo(async (a, b) => {
      const bad = message("bad", "hi", { at: Number.NaN });
      const calls = upTo(10).flatMap((n) => [
        a.log.append(chat, [message(`a${n}`)]),
        b.log.append(chat, [message(`b${n}`), bad]),
      ]);
      const { answers, codes } = await outcomesOf(calls);
      assert.deepEqual(answers, upTo(10));
      assert.deepEqual(codes, new Array(10).fill("THROUGHLINE_INVALID"));
      assert.deepEqual(inOrderOf("a", await wholeIds(b.log)), upTo(10));
    }),
  },
  {
    id: "shared.append.collections",
    says: "two processes that append to the same key in two collections make two logs",
    proof: withTwo(async (a, b) => {
      const runs = logsOf(b.storage, "runs");
      await Promise.all(upTo(10).map((n) => a.log.append(chat, messages(n, n))));
      await Promise.all(upTo(5).map((n) => runs.append(chat, [message(`m${n}`, "a run")])));
      assert.deepEqual(await everything(b.log), numbered(messages(1, 10)));
      assert.equal((await everything(logsOf(a.storage, "runs"))).length, 5);
    }),
  },
  {
    id: "shared.append.heads",
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
    id: "shared.repeat.at-once",
    says: "a batch that two processes append at once under the same ids is stored once",
    proof: withTwo(async (a, b) => {
      const calls = [a, b, a, b].map(({ log }) => log.append(chat, messages(1, 3)));
      assert.deepEqual(await Promise.all(calls), [3, 3, 3, 3]);
      assert.deepEqual(await everything(a.log), numbered(messages(1, 3)));
    }),
  },
  {
    id: "shared.repeat.four",
    says: "four processes that each append the same 10 records at once store each record once",
    proof: withFour(async (writers) => {
      const calls = writers.flatMap(({ log }) =>
        upTo(10).map((n) => log.append(chat, messages(n, n))),
      );
      await Promise.all(calls);
      const { log } = writers[3] ?? assert.fail();
      assert.deepEqual(
        (await wholeIds(log)).sort(),
        messages(1, 10)
          .map(({ id }) => id)
          .sort(),
      );
    }),
  },
  {
    id: "shared.repeat.late",
    says: "an append that another process repeats later answers what the first one did",
    proof: withTwo(async (a, b) => {
      await a.log.append(chat, messages(1, 2));
      await a.log.append(chat, messages(3, 9));
      assert.equal(await b.log.append(chat, messages(1, 2)), 2);
      assert.equal(await b.log.append(chat, messages(1, 2), { expectedSeq: 0 }), 2);
      assert.deepEqual(await everything(b.log), numbered(messages(1, 9)));
    }),
  },
  {
    id: "shared.repeat.other-content",
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
  {
    id: "shared.repeat.overlap",
    says: "two batches that share a record, appended at once, store it once and the others too",
    proof: withTwo(async (a, b) => {
      await Promise.all([
        a.log.append(chat, [message("m1"), message("m2")]),
        b.log.append(chat, [message("m2"), message("m3")]),
      ]);
      assert.deepEqual((await wholeIds(b.log)).sort(), ["m1", "m2", "m3"]);
    }),
  },
  {
    id: "shared.repeat.head",
    says: "an append that another process repeats leaves the head as it is",
    proof: withTwo(async (a, b) => {
      await a.log.append(chat, messages(1, 1), { head: { title: "kept" } });
      await b.log.append(chat, messages(1, 1), { head: { title: "lost" } });
      assert.deepEqual((await a.log.tail(chat, 0))?.head, { title: "kept" });
    }),
  },
];

/** Appends of several processes that expect nothing. */
export const sharedAppendClauses: readonly SharedClause[] = [...orders, ...repeats];

function byNumber(one: number, other: number): number {
  return one - other;
}
