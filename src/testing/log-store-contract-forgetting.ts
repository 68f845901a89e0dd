import assert from "node:assert/strict";
import { type Clause, clauseWithTable } from "./contract.ts";
import { keyCorpus } from "./corpus.ts";
import {
  chat,
  collect,
  erased,
  everything,
  found,
  idsIn,
  isAbsent,
  listed,
  message,
  messages,
  numbered,
  refuses,
  upTo,
  withLogs,
} from "./log-store-contract-fixtures.ts";

const erasing: readonly Clause[] = [
  {
    says: "an erased record leaves its id, its seq and that it was erased, wherever it is read",
    proof: withLogs(async (log) => {
      await log.append(chat, messages(1, 3));
      assert.equal(await log.erase(chat, ["m2"]), 1);
      const expected = [
        ...numbered(messages(1, 1)),
        erased("m2", 2),
        ...numbered(messages(3, 3), 3),
      ];
      assert.deepEqual(await everything(log), expected);
      assert.deepEqual((await log.tail(chat, 10))?.records, expected);
      assert.deepEqual(await log.page(chat, { limit: 10 }), expected);
      assert.deepEqual(await log.page(chat, { after: 1, limit: 1 }), [erased("m2", 2)]);
      assert.deepEqual(await log.find(chat, "m2"), erased("m2", 2));
    }),
  },
  clauseWithTable<readonly [name: string, ids: readonly string[], count: number]>(
    "erase answers how many records it erased, each counted once; ids that the log does not hold are passed over",
    [
      ["two ids, one of them twice", ["m1", "m3", "m1"], 2],
      ["unknown ids", ["x", "m2", "M1"], 1],
      ["unknown ids only", ["x"], 0],
      ["no ids", [], 0],
    ],
    ([, ids, count]) =>
      withLogs(async (log) => {
        await log.append(chat, messages(1, 3));
        await log.append("telegram:4", messages(1, 3));
        assert.equal(await log.erase(chat, ids), count);
        assert.equal(await log.erase(chat, ids), 0);
        const expected = numbered(messages(1, 3)).map((record) =>
          ids.includes(record.id) ? erased(record.id, record.seq) : record,
        );
        assert.deepEqual(await everything(log), expected);
        assert.deepEqual(await everything(log, "telegram:4"), numbered(messages(1, 3)));
      }),
  ),
  {
    says: "every second of 2,000 records is erased, and the others stay",
    proof: withLogs(async (log) => {
      await log.append(chat, messages(1, 1_000));
      await log.append(chat, messages(1_001, 2_000));
      const odd = messages(1, 2_000).filter((_, index) => index % 2 === 0);
      const ids = odd.map((record) => record.id);
      assert.equal(await log.erase(chat, ids), 1_000);
      for (const record of await everything(log)) {
        const { id, seq } = record;
        assert.deepEqual(record, seq % 2 === 1 ? erased(id, seq) : { ...message(id), seq });
      }
    }),
  },
  {
    says: "an erased record appended again, with any content, answers its seq and stays erased",
    proof: withLogs(async (log) => {
      await log.append(chat, messages(1, 3));
      await log.erase(chat, ["m2"]);
      assert.equal(await log.append(chat, messages(2, 2)), 2);
      assert.equal(await log.append(chat, [message("m2", "something else")]), 2);
      assert.equal(await log.append(chat, messages(1, 3)), 3);
      assert.equal(await log.append(chat, [message("m2", "something else"), message("x")]), 4);
      assert.deepEqual(await log.find(chat, "m2"), erased("m2", 2));
      assert.deepEqual(await idsIn(log), ["m1", "m2", "m3", "x"]);
      assert.deepEqual(await found(log, "m2"), []);
      assert.deepEqual(await found(log, "something"), []);
    }),
  },
  {
    says: "an erasure can replace the head, in the log, in lists and for labels, at once with it",
    proof: withLogs(async (log) => {
      const head = { title: "what m1 says", labels: ["x"], updated_at: "2026-03-01" };
      await log.append(chat, messages(1, 2), { head });
      await log.append("b", messages(1, 1), { head: { updated_at: "2026-03-02" } });
      const bare = { labels: ["y"], updated_at: "2026-03-03" };
      assert.equal(await log.erase(chat, ["m1"], { head: bare }), 1);
      assert.deepEqual((await log.tail(chat, 0))?.head, bare);
      const row = { key: chat, seq: 2, head: bare, damaged: false };
      assert.deepEqual((await log.list({ limit: 1 })).rows, [row]);
      assert.deepEqual([await listed(log, "x"), await listed(log, "y")], [[], [chat]]);
    }),
  },
  {
    says: "a record that says that it was erased, and holds content, is erased as any other",
    proof: withLogs(async (log) => {
      const like = { id: "m1", _type: "metadata", kind: "erased", content: "violin" };
      await log.append(chat, [like]);
      assert.deepEqual(await everything(log), numbered([like]));
      await refuses("THROUGHLINE_ID_CONFLICT", log.append(chat, [message("m1", "other")]));
      assert.equal(await log.erase(chat, ["m1"]), 1);
      assert.deepEqual(await everything(log), [erased("m1", 1)]);
      assert.deepEqual(await found(log, "violin"), []);
    }),
  },
];

const deleting: readonly Clause[] = [
  {
    says: "a deleted log is gone from every way of reading; delete answers whether there was one",
    proof: withLogs(async (log) => {
      assert.equal(await log.delete(chat), false);
      await log.append(chat, messages(1, 3), { head: { labels: ["x"] } });
      assert.equal(await log.delete(chat), true);
      assert.equal(await log.delete(chat), false);
      await isAbsent(log);
      assert.deepEqual(await log.page(chat, { limit: 5 }), []);
      assert.equal(await log.find(chat, "m1"), undefined);
      assert.equal(await log.erase(chat, ["m1"]), 0);
      assert.deepEqual(await listed(log, "x"), []);
      assert.deepEqual(await found(log, "says"), []);
    }),
  },
  {
    says: "a deleted log begins again at seq 1, any number of times, with the old ids free, erased ones too",
    proof: withLogs(async (log) => {
      for (let life = 1; life <= 5; life++) {
        const batch = [message("m3", `life ${life}`), message("m1", `life ${life}`)];
        assert.equal(await log.append(chat, batch), 2);
        assert.deepEqual(await everything(log), numbered(batch));
        assert.equal(await log.append(chat, messages(4, 5)), 4);
        await log.erase(chat, ["m1"]);
        await log.delete(chat);
      }
      assert.equal(await log.append(chat, messages(1, 1)), 1);
      assert.equal(await log.find(chat, "m4"), undefined);
    }),
  },
  {
    says: "of erasures and of deletes at once one answers that there was something",
    proof: withLogs(async (log) => {
      await log.append(chat, messages(1, 3));
      const counts = await Promise.all(upTo(5).map(() => log.erase(chat, ["m2", "m3"])));
      assert.deepEqual(counts.filter(Boolean), [2]);
      const answers = await Promise.all(upTo(5).map(() => log.delete(chat)));
      assert.deepEqual(answers.filter(Boolean), [true]);
      await isAbsent(log);
    }),
  },
  {
    says: "delete forgets that key and no other, however alike they are",
    proof: withLogs(async (log) => {
      for (const { text } of keyCorpus) await log.append(text, [message("m1", "violin")]);
      assert.equal(await log.delete(chat), true);
      for (const { name, text } of keyCorpus) {
        const expected = text === chat ? [] : ["m1"];
        assert.deepEqual(await idsIn(log, text), expected, name);
        assert.deepEqual(await found(log, "violin", text), expected, name);
      }
    }),
  },
  {
    says: "a read that has begun ends when its log is deleted, without an error and without a gap",
    proof: withLogs(async (log) => {
      await log.append(chat, messages(1, 1_000));
      const records = log.read(chat)[Symbol.asyncIterator]();
      assert.equal((await records.next()).value?.seq, 1);
      await log.delete(chat);
      const rest = await collect({ [Symbol.asyncIterator]: () => records });
      const seqs = rest.map((record) => record.seq);
      assert.deepEqual(
        seqs,
        seqs.map((_, index) => index + 2),
      );
    }),
  },
];

/** Erasing records and deleting logs. */
export const forgettingClauses: readonly Clause[] = [...erasing, ...deleting];
