import assert from "node:assert/strict";
import { isThroughlineError } from "../core/errors.ts";
import type { LogHead } from "../core/storage/log-store.ts";
import {
  chat,
  erased,
  everything,
  found,
  isAbsent,
  listed,
  message,
  messages,
  numbered,
  refuses,
} from "./log-store-contract-fixtures.ts";
import {
  inOrderOf,
  outcomesOf,
  upTo,
  type Writer,
  wholeIds,
  withFour,
  withTwo,
} from "./shared-storage-contract-fixtures.ts";
import type { SharedClause } from "./shared-storage-contract-place.ts";

/** Adds a name to the head where the log ends, and again when somebody else was first. */
async function addToHead(
  { log }: Writer,
  name: string,
  write: (expectedSeq: number, head: LogHead) => Promise<unknown>,
): Promise<void> {
  for (let attempt = 0; attempt < 200; attempt++) {
    const tail = await log.tail(chat, 0);
    try {
      await write(tail?.seq ?? 0, { ...tail?.head, [name]: true });
      return;
    } catch (error) {
      if (!isThroughlineError(error, "THROUGHLINE_CONFLICT")) throw error;
    }
  }
  assert.fail("one write was a conflict 200 times");
}

const erasures: readonly SharedClause[] = [
  {
    id: "shared.erase.seen",
    says: "what one process erased is erased for the others, in every kind of reading",
    proof: withTwo(async (a, b) => {
      await a.log.append(chat, messages(1, 3));
      assert.equal(await b.log.erase(chat, ["m2"]), 1);
      const left = [...numbered(messages(1, 1)), erased("m2", 2), ...numbered(messages(3, 3), 3)];
      assert.deepEqual(await everything(a.log), left);
      assert.deepEqual((await a.log.tail(chat, 9))?.records, left);
      assert.deepEqual(await a.log.page(chat, { limit: 9 }), left);
      assert.deepEqual(await a.log.find(chat, "m2"), erased("m2", 2));
    }),
  },
  {
    id: "shared.erase.search",
    says: "what one process erased is found by no other",
    proof: withTwo(async (a, b) => {
      await a.log.append(chat, [message("m1", "a secret"), message("m2", "a secret too")]);
      assert.deepEqual(await found(b.log, "secret"), ["m2", "m1"]);
      await b.log.erase(chat, ["m1"]);
      assert.deepEqual(await found(a.log, "secret"), ["m2"]);
    }),
  },
  {
    id: "shared.erase.once",
    says: "of two processes that erase the same records at once each record counts for one of them",
    proof: withTwo(async (a, b) => {
      await a.log.append(chat, messages(1, 6));
      const ids = messages(1, 6).map(({ id }) => id);
      const counts = await Promise.all([a, b].map(({ log }) => log.erase(chat, ids)));
      assert.equal((counts[0] ?? 0) + (counts[1] ?? 0), 6);
      assert.deepEqual(
        await everything(a.log),
        ids.map((id, index) => erased(id, index + 1)),
      );
    }),
  },
  {
    id: "shared.erase.beside-appends",
    says: "an erasure by one process and appends by another at once are all done",
    proof: withTwo(async (a, b) => {
      await a.log.append(chat, messages(1, 3));
      const calls = upTo(10).map((n) => a.log.append(chat, messages(3 + n, 3 + n)));
      const count = b.log.erase(chat, ["m1", "m3"]);
      assert.deepEqual(
        await Promise.all(calls),
        upTo(10).map((n) => n + 3),
      );
      assert.equal(await count, 2);
      const records = await everything(b.log);
      assert.deepEqual(records[0], erased("m1", 1));
      assert.deepEqual(records.slice(3), numbered(messages(4, 13), 4));
    }),
  },
  {
    id: "shared.erase.id-stays-used",
    says: "an id that one process erased stays used: another that repeats it stores nothing",
    proof: withTwo(async (a, b) => {
      await a.log.append(chat, messages(1, 2));
      await b.log.erase(chat, ["m1"]);
      assert.equal(await a.log.append(chat, messages(1, 1)), 1);
      assert.deepEqual(await everything(b.log), [erased("m1", 1), ...numbered(messages(2, 2), 2)]);
    }),
  },
  {
    id: "shared.erase.head",
    says: "a head that came with an erasure is the head for the others",
    proof: withTwo(async (a, b) => {
      await a.log.append(chat, messages(1, 1), { head: { title: "a secret" } });
      await b.log.erase(chat, ["m1"], { head: { title: "erased" } });
      assert.deepEqual((await a.log.tail(chat, 0))?.head, { title: "erased" });
      assert.deepEqual((await a.log.list({ limit: 9 })).rows[0]?.head, { title: "erased" });
    }),
  },
  {
    id: "shared.erase.expected-seq",
    says: "an erasure that expects the seq before another process's append is a conflict, and changes nothing",
    proof: withTwo(async (a, b) => {
      const seq = await a.log.append(chat, messages(1, 2), { head: { title: "first" } });
      await b.log.append(chat, messages(3, 3), { head: { title: "second" } });
      const late = a.log.erase(chat, ["m1"], { expectedSeq: seq, head: { title: "" } });
      await refuses("THROUGHLINE_CONFLICT", late);
      assert.deepEqual(await everything(b.log), numbered(messages(1, 3)));
      assert.deepEqual((await a.log.tail(chat, 0))?.head, { title: "second" });
    }),
  },
  {
    id: "shared.erase.expected-seq-race",
    says: "an erasure that expects the end, and an append by another process at once: the append's head stays",
    proof: withTwo(async (a, b) => {
      for (const round of upTo(10)) {
        const key = `chat:${round}`;
        await a.log.append(key, messages(1, 1));
        const erase = a.log.erase(key, ["m1"], { expectedSeq: 1, head: { title: "erased" } });
        const append = b.log.append(key, messages(2, 2), { head: { title: "appended" } });
        const { answers, codes } = await outcomesOf([erase]);
        assert.deepEqual([...answers, ...codes], codes.length > 0 ? ["THROUGHLINE_CONFLICT"] : [1]);
        assert.equal(await append, 2);
        assert.deepEqual((await a.log.tail(key, 0))?.head, { title: "appended" });
      }
    }),
  },
  {
    id: "shared.erase.expected-seq-writers",
    says: "what three processes set in the head by conditional appends is kept beside a fourth's conditional erasures",
    proof: withFour(async (writers) => {
      const [eraser = assert.fail(), ...others] = writers;
      await eraser.log.append(chat, messages(1, 5));
      const names = others.flatMap((_, index) => upTo(5).map((n) => `a${index}.${n}`));
      const appends = others.map(async (writer, index) => {
        for (const n of upTo(5)) {
          const name = `a${index}.${n}`;
          await addToHead(writer, name, (expectedSeq, head) =>
            writer.log.append(chat, [message(name)], { expectedSeq, head }),
          );
        }
      });
      for (const n of upTo(5)) {
        await addToHead(eraser, `erased${n}`, (expectedSeq, head) =>
          eraser.log.erase(chat, [`m${n}`], { expectedSeq, head }),
        );
      }
      await Promise.all(appends);
      const { head = {}, seq } = (await others[0]?.log.tail(chat, 0)) ?? {};
      assert.equal(seq, 20);
      const set = Object.keys(head).filter((name) => name.startsWith("a"));
      assert.deepEqual(set.sort(), names.sort());
      const records = await everything(eraser.log);
      assert.deepEqual(
        records.slice(0, 5),
        upTo(5).map((n) => erased(`m${n}`, n)),
      );
    }),
  },
];

const deletions: readonly SharedClause[] = [
  {
    id: "shared.delete.seen",
    says: "a log that one process deleted is there for no other, in no list and no search",
    proof: withTwo(async (a, b) => {
      await a.log.append(chat, [message("m1", "a secret")]);
      assert.equal((await b.log.tail(chat, 1))?.seq, 1);
      assert.equal(await a.log.delete(chat), true);
      await isAbsent(b.log);
      assert.deepEqual(await found(b.log, "secret"), []);
      assert.equal(await b.log.find(chat, "m1"), undefined);
      assert.deepEqual(await b.log.page(chat, { limit: 9 }), []);
    }),
  },
  {
    id: "shared.delete.once",
    says: "of four processes that delete one log at once one answers that there was something",
    proof: withFour(async (writers) => {
      await writers[0]?.log.append(chat, messages(1, 5));
      const answers = await Promise.all(writers.map(({ log }) => log.delete(chat)));
      assert.deepEqual(answers.filter(Boolean), [true]);
    }),
  },
  {
    id: "shared.delete.begins-again",
    says: "a log that one process deleted begins again at 1 for another, also with a used id",
    proof: withTwo(async (a, b) => {
      await b.log.append(chat, messages(1, 5), { head: { title: "old" } });
      await a.log.delete(chat);
      const again = [message("m2", "new")];
      assert.equal(await b.log.append(chat, again, { expectedSeq: 0 }), 1);
      assert.deepEqual(await everything(a.log), numbered(again));
      assert.deepEqual((await a.log.tail(chat, 0))?.head, {});
    }),
  },
  {
    id: "shared.delete.expected-seq",
    says: "an append that expects the end of a log which another process deleted begins none",
    proof: withTwo(async (a, b) => {
      const seq = await a.log.append(chat, messages(1, 5));
      await b.log.delete(chat);
      const late = a.log.append(chat, messages(6, 6), { expectedSeq: seq });
      await refuses("THROUGHLINE_CONFLICT", late);
      await isAbsent(a.log);
    }),
  },
  {
    id: "shared.delete.against-appends",
    says: "a delete by one process while another appends leaves what came after it, from 1 on",
    proof: withTwo(async (a, b) => {
      for (const round of upTo(5)) {
        const key = `chat:${round}`;
        await a.log.append(key, messages(1, 1));
        const appends = upTo(10).map((n) => a.log.append(key, [message(`a${n}`)]));
        assert.equal(await b.log.delete(key), true);
        const { codes } = await outcomesOf(appends);
        assert.deepEqual(codes, []);
        await a.log.append(key, [message("a11")]);
        const ids = await wholeIds(b.log, key);
        const left = inOrderOf("a", ids);
        assert.deepEqual(left, upTo(11).slice(11 - ids.length));
      }
    }),
  },
  {
    id: "shared.delete.against-expectations",
    says: "a delete by one process wins against, or loses to, an append by another that expects the end",
    proof: withTwo(async (a, b) => {
      for (const round of upTo(10)) {
        const key = `chat:${round}`;
        await a.log.append(key, messages(1, 3));
        const append = outcomesOf([a.log.append(key, messages(4, 4), { expectedSeq: 3 })]);
        assert.equal(await b.log.delete(key), true);
        const { answers, codes } = await append;
        assert.deepEqual(
          [...answers, ...codes],
          answers.length > 0 ? [4] : ["THROUGHLINE_CONFLICT"],
        );
        await isAbsent(b.log, key);
      }
    }),
  },
  {
    id: "shared.delete.against-erase",
    says: "an erasure by one process of a log that another deletes does not bring it back",
    proof: withTwo(async (a, b) => {
      for (const round of upTo(5)) {
        const key = `chat:${round}`;
        await a.log.append(key, messages(1, 3));
        const erase = a.log.erase(key, ["m1", "m2"], { head: { title: "erased" } });
        await b.log.delete(key);
        assert.ok([0, 2].includes(await erase));
        await isAbsent(a.log, key);
      }
    }),
  },
  {
    id: "shared.delete.no-other",
    says: "a delete by one process leaves the other logs of another",
    proof: withTwo(async (a, b) => {
      for (const key of ["a", "ab", "a:b"]) await a.log.append(key, messages(1, 2));
      await b.log.delete("a");
      assert.deepEqual(await listed(a.log), ["a:b", "ab"]);
      assert.deepEqual(await everything(a.log, "ab"), numbered(messages(1, 2)));
    }),
  },
  {
    id: "shared.delete.own-key",
    says: "a delete called right after an append of the same process leaves nothing for any reader",
    proof: withTwo(async (a, b) => {
      for (const round of upTo(5)) {
        const key = `chat:${round}`;
        const append = a.log.append(key, messages(1, 3));
        const gone = a.log.delete(key);
        await Promise.all([append, gone]);
        await isAbsent(b.log, key);
      }
    }),
  },
];

/** Erasing and deleting what other processes read and write. */
export const sharedForgettingClauses: readonly SharedClause[] = [...erasures, ...deletions];
