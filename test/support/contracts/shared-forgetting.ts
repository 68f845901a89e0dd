import assert from "node:assert/strict";
import type { LogHead } from "../../../src/core/storage/log-store.ts";
import { state } from "../../../src/testing/document-store-contract-fixtures.ts";
import {
  chat,
  erased,
  everything,
  found,
  isAbsent,
  message,
  messages,
  numbered,
  outcomesOf,
  refuses,
  untilNoConflict,
  upTo,
} from "../../../src/testing/log-store-contract-fixtures.ts";
import { inOrderOf, type Writer, wholeIds, withFour, withTwo } from "./shared-fixtures.ts";
import type { SharedClause } from "./shared-place.ts";

/** Adds a name to the head where the log ends, and again when another process was first. */
function addToHead(
  { log }: Writer,
  name: string,
  write: (expectedSeq: number, head: LogHead) => Promise<unknown>,
): Promise<void> {
  return untilNoConflict(async () => {
    const tail = await log.tail(chat, 0);
    await write(tail?.seq ?? 0, { ...tail?.head, [name]: true });
  });
}

const erasures: readonly SharedClause[] = [
  {
    says: "what one process erased is erased for the others, in every kind of reading, with the head that came with it",
    proof: withTwo(async (a, b) => {
      await a.log.append(chat, messages(1, 3), { head: { title: "what m2 says" } });
      assert.deepEqual(await found(b.log, "says"), ["m3", "m2", "m1"]);
      assert.equal(await b.log.erase(chat, ["m2"], { head: { title: "erased" } }), 1);
      assert.equal(await a.log.append(chat, messages(2, 2)), 2, "the id stays used");
      const left = [...numbered(messages(1, 1)), erased("m2", 2), ...numbered(messages(3, 3), 3)];
      assert.deepEqual(await everything(a.log), left);
      assert.deepEqual((await a.log.tail(chat, 9))?.records, left);
      assert.deepEqual(await a.log.page(chat, { limit: 9 }), left);
      assert.deepEqual(await a.log.find(chat, "m2"), erased("m2", 2));
      assert.deepEqual(await found(a.log, "says"), ["m3", "m1"]);
      assert.deepEqual((await a.log.tail(chat, 0))?.head, { title: "erased" });
      assert.deepEqual((await a.log.list({ limit: 9 })).rows[0]?.head, { title: "erased" });
    }),
  },
  {
    says: "of two processes that erase the same records, or delete the same log or document, at once one is answered that it did",
    proof: withTwo(async (a, b) => {
      await a.log.append(chat, messages(1, 6));
      await a.documents.write(state, { n: 1 });
      const ids = messages(1, 6).map(({ id }) => id);
      const counts = await Promise.all([a, b].map(({ log }) => log.erase(chat, ids)));
      assert.equal((counts[0] ?? 0) + (counts[1] ?? 0), 6);
      assert.deepEqual(
        await everything(a.log),
        ids.map((id, index) => erased(id, index + 1)),
      );
      const logs = await Promise.all([a, b].map(({ log }) => log.delete(chat)));
      const documents = await Promise.all([a, b].map(({ documents }) => documents.delete(state)));
      assert.deepEqual([logs.filter(Boolean), documents.filter(Boolean)], [[true], [true]]);
    }),
  },
  {
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
    says: "a log that one process deleted begins again at 1 for another that expects none, also with a used id",
    proof: withTwo(async (a, b) => {
      const seq = await b.log.append(chat, messages(1, 5), { head: { title: "old" } });
      await a.log.delete(chat);
      const late = b.log.append(chat, messages(6, 6), { expectedSeq: seq });
      await refuses("THROUGHLINE_CONFLICT", late);
      await isAbsent(b.log);
      const again = [message("m2", "new")];
      assert.equal(await b.log.append(chat, again, { expectedSeq: 0 }), 1);
      assert.deepEqual(await everything(a.log), numbered(again));
      assert.deepEqual((await a.log.tail(chat, 0))?.head, {});
    }),
  },
  {
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
];

/** Erasing and deleting what other processes read and write. */
export const sharedForgettingClauses: readonly SharedClause[] = [...erasures, ...deletions];
