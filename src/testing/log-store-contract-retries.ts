import assert from "node:assert/strict";
import type { Json } from "../core/json.ts";
import { type LogRecord, logLimits } from "../core/storage/log-store.ts";
import { type Clause, clauseWithTable } from "./contract.ts";
import type { RefusedValue } from "./corpus.ts";
import {
  chat,
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

const badIds: readonly RefusedValue[] = [
  { name: "missing", phrase: "no id", value: undefined },
  { name: "null", phrase: "null for an id", value: null },
  { name: "number", phrase: "a number for an id", value: 7 },
  { name: "object", phrase: "an object for an id", value: { id: "m1" } },
  { name: "empty", phrase: "an empty id", value: "" },
  { name: "257-bytes", phrase: "an id of 257 bytes", value: "a".repeat(257) },
  { name: "129-characters", phrase: "an id of 129 characters, 258 bytes", value: "é".repeat(129) },
  { name: "nul", phrase: "an id that holds NUL", value: "a\0b" },
  { name: "lone-surrogate", phrase: "an id that holds a lone surrogate", value: "a\ud800b" },
];

const ids: readonly Clause[] = [
  clauseWithTable(
    "log.id.refused",
    "a record with what is no id is refused, and its batch with it",
    badIds,
    ({ value }) =>
      withLogs(async (log) => {
        const call = log.append(chat, [message("m1"), untyped({ ...message("m2"), id: value })]);
        await refuses("THROUGHLINE_INVALID", call);
        await isAbsent(log);
      }),
  ),
  {
    id: "log.id.longest",
    says: `an id of ${logLimits.idBytes} bytes is an id`,
    proof: withLogs(async (log) => {
      const longest = ["a".repeat(logLimits.idBytes), "é".repeat(logLimits.idBytes / 2)];
      await log.append(
        chat,
        longest.map((id) => message(id)),
      );
      assert.deepEqual(await idsIn(log), longest);
    }),
  },
  {
    id: "log.id.any-text",
    says: "ids that differ at all are different ids",
    proof: withLogs(async (log) => {
      const odd = ["a", "A", "a ", " a", "é", "e\u0301", "İ", "i", "__proto__", "constructor"];
      odd.push("..", "a/b", "a\\b", "%", "'", '"', "\n", "\u2028", "👩‍👧", "0", "00", "null");
      for (const id of odd) await log.append(chat, [message(id)]);
      assert.deepEqual(await idsIn(log), odd);
      for (const [index, id] of odd.entries()) {
        assert.deepEqual(await log.find(chat, id), { ...message(id), seq: index + 1 });
      }
    }),
  },
  {
    id: "log.id.of-its-log",
    says: "an id is taken in its own log only",
    proof: withLogs(async (log) => {
      assert.equal(await log.append(chat, [message("m1", "here")]), 1);
      assert.equal(await log.append("telegram:43", [message("m1", "there")]), 1);
      assert.deepEqual(await everything(log), numbered([message("m1", "here")]));
    }),
  },
  {
    id: "log.id.twice-in-a-batch",
    says: "a batch that holds one id twice is refused, with equal content too",
    proof: withLogs(async (log) => {
      for (const second of [message("m1", "hi"), message("m1", "ho")]) {
        const batch = [message("m1", "hi"), message("m2"), second];
        await refuses("THROUGHLINE_INVALID", log.append(chat, batch));
      }
      await isAbsent(log);
    }),
  },
  {
    id: "log.id.twice-in-a-known-batch",
    says: "a batch that holds one id twice is refused also when the log holds that record",
    proof: withLogs(async (log) => {
      await log.append(chat, [message("m1")]);
      const batch = [message("m1"), message("m1")];
      await refuses("THROUGHLINE_INVALID", log.append(chat, batch));
    }),
  },
];

const retries: readonly Clause[] = [
  {
    id: "log.retry.batch",
    says: "a batch appended twice under the same ids is stored once, and answers the same",
    proof: withLogs(async (log) => {
      assert.equal(await log.append(chat, messages(1, 3)), 3);
      assert.equal(await log.append(chat, messages(1, 3)), 3);
      assert.deepEqual(await everything(log), numbered(messages(1, 3)));
    }),
  },
  {
    id: "log.retry.many",
    says: "a batch appended ten times is stored once, and answers the same each time",
    proof: withLogs(async (log) => {
      for (let times = 0; times < 10; times++) {
        assert.equal(await log.append(chat, messages(1, 2)), 2);
      }
      assert.deepEqual(await idsIn(log), ["m1", "m2"]);
    }),
  },
  {
    id: "log.retry.late",
    says: "a batch repeated after later appends answers as the first time, and stays in its place",
    proof: withLogs(async (log) => {
      assert.equal(await log.append(chat, messages(1, 2)), 2);
      await log.append(chat, messages(3, 6));
      assert.equal(await log.append(chat, messages(1, 2)), 2);
      assert.deepEqual(await everything(log), numbered(messages(1, 6)));
    }),
  },
  {
    id: "log.retry.1000-records",
    says: "a batch of 1,000 records is repeated as one of a single record is",
    proof: withLogs(async (log) => {
      await log.append(chat, messages(1, 1_000));
      assert.equal(await log.append(chat, messages(1, 1_000)), 1_000);
      assert.equal((await log.tail(chat, 0))?.seq, 1_000);
    }),
  },
  {
    id: "log.retry.far-back",
    says: "a record is known for as long as its log lives, however much was added since",
    proof: withLogs(async (log) => {
      for (let first = 1; first < 2_000; first += 500) {
        await log.append(chat, messages(first, first + 499));
      }
      assert.equal(await log.append(chat, messages(1, 1)), 1);
      assert.equal(await log.append(chat, messages(777, 777)), 777);
      assert.equal((await log.tail(chat, 0))?.seq, 2_000);
    }),
  },
  {
    id: "log.retry.part",
    says: "one record of an earlier batch, repeated alone, answers its own seq",
    proof: withLogs(async (log) => {
      await log.append(chat, messages(1, 3));
      assert.equal(await log.append(chat, messages(2, 2)), 2);
      assert.equal((await log.tail(chat, 0))?.seq, 3);
    }),
  },
  {
    id: "log.retry.other-order",
    says: "known records in another order answer the seq of the last one given",
    proof: withLogs(async (log) => {
      await log.append(chat, messages(1, 3));
      const [one, two, three] = messages(1, 3) as [LogRecord, LogRecord, LogRecord];
      assert.equal(await log.append(chat, [three, one, two]), 2);
      assert.deepEqual(await idsIn(log), ["m1", "m2", "m3"]);
    }),
  },
  {
    id: "log.retry.partly-known",
    says: "a batch that is partly known stores the missing records only, in their order",
    proof: withLogs(async (log) => {
      await log.append(chat, messages(1, 2));
      const [x, y] = [message("x"), message("y")];
      assert.equal(await log.append(chat, [x, ...messages(2, 2), y]), 4);
      assert.deepEqual(await everything(log), numbered([...messages(1, 2), x, y]));
    }),
  },
  {
    id: "log.retry.known-last",
    says: "a partly known batch that ends in a known record answers the seq of that record",
    proof: withLogs(async (log) => {
      await log.append(chat, messages(1, 2));
      assert.equal(await log.append(chat, [message("x"), ...messages(1, 1)]), 1);
      assert.deepEqual(await idsIn(log), ["m1", "m2", "x"]);
    }),
  },
  {
    id: "log.retry.after-refusal",
    says: "a batch that was refused is not known: corrected under the same ids it is stored",
    proof: withLogs(async (log) => {
      const bad = [message("m1"), message("m2", "hi", { at: Number.NaN })];
      await refuses("THROUGHLINE_INVALID", log.append(chat, bad));
      assert.equal(await log.append(chat, messages(1, 2)), 2);
    }),
  },
  {
    id: "log.retry.key-order",
    says: "the order of keys does not make other content, at any depth",
    proof: withLogs(async (log) => {
      await log.append(chat, [{ id: "m1", a: 1, b: { c: [{ d: 1, e: 2 }], f: 3 } }]);
      const turned = { b: { f: 3, c: [{ e: 2, d: 1 }] }, a: 1, id: "m1" };
      assert.equal(await log.append(chat, [turned]), 1);
      assert.equal((await log.tail(chat, 0))?.seq, 1);
    }),
  },
  {
    id: "log.retry.undefined",
    says: "a property that is undefined does not make other content",
    proof: withLogs(async (log) => {
      await log.append(chat, [message("m1", "hi")]);
      assert.equal(await log.append(chat, [message("m1", "hi", { name: undefined })]), 1);
    }),
  },
  {
    id: "log.retry.found-once",
    says: "a record that was appended again is found once",
    proof: withLogs(async (log) => {
      for (let times = 0; times < 3; times++) await log.append(chat, [message("m1", "violin")]);
      assert.deepEqual(await found(log, "violin"), ["m1"]);
    }),
  },
];

interface Pair {
  readonly name: string;
  /** Where the two differ, as it stands in a sentence. */
  readonly phrase: string;
  readonly was: Json;
  readonly is: Json;
}

const pairs: readonly Pair[] = [
  { name: "text", phrase: "in a text", was: "hi", is: "ho" },
  { name: "case", phrase: "in case", was: "Hi", is: "hi" },
  { name: "final-space", phrase: "in a space at the end", was: "hi", is: "hi " },
  { name: "unicode-form", phrase: "in its Unicode form", was: "caf\u00e9", is: "cafe\u0301" },
  { name: "lone-surrogate", phrase: "in a lone surrogate", was: "\ud800", is: "\ufffd" },
  { name: "kind", phrase: "in the kind of a value", was: 1, is: "1" },
  { name: "null", phrase: "in null and false", was: null, is: false },
  { name: "nested", phrase: "deep inside", was: { a: [{ b: 1 }] }, is: { a: [{ b: 2 }] } },
  { name: "more", phrase: "in a key more", was: { a: 1 }, is: { a: 1, b: null } },
  { name: "less", phrase: "in a key less", was: { a: 1, b: null }, is: { a: 1 } },
  { name: "key", phrase: "in the name of a key", was: { a: 1 }, is: { b: 1 } },
  { name: "order", phrase: "in the order of items", was: [1, 2], is: [2, 1] },
  { name: "count", phrase: "in the number of items", was: [1, 2], is: [1, 2, 2] },
  { name: "array", phrase: "in an array and an object", was: [], is: {} },
];

const conflicts: readonly Clause[] = [
  clauseWithTable(
    "log.id-conflict.content",
    "a known id with content that differs at all is a conflict",
    pairs,
    ({ was, is }) =>
      withLogs(async (log) => {
        await log.append(chat, [{ id: "m1", value: was }]);
        const call = log.append(chat, [{ id: "m1", value: is }]);
        await refuses("THROUGHLINE_ID_CONFLICT", call);
        assert.deepEqual(await everything(log), [{ id: "m1", value: was, seq: 1 }]);
      }),
  ),
  {
    id: "log.id-conflict.stores-nothing",
    says: "a batch with one conflicting id stores none of its records and keeps the head",
    proof: withLogs(async (log) => {
      await log.append(chat, messages(1, 2), { head: { title: "kept" } });
      const batch = [message("x"), message("m2", "other"), message("y")];
      const call = log.append(chat, batch, { head: { title: "lost" } });
      await refuses("THROUGHLINE_ID_CONFLICT", call);
      const tail = await log.tail(chat, 10);
      assert.deepEqual(tail?.records, numbered(messages(1, 2)));
      assert.deepEqual(tail.head, { title: "kept" });
      assert.deepEqual(await found(log, "x"), []);
      assert.equal(await log.append(chat, [message("x")]), 3);
    }),
  },
  {
    id: "log.id-conflict.despite-expected-seq",
    says: "the expected seq does not make a conflicting id acceptable",
    proof: withLogs(async (log) => {
      await log.append(chat, [message("m1", "hi")]);
      const call = log.append(chat, [message("m1", "ho")], { expectedSeq: 1 });
      await refuses("THROUGHLINE_ID_CONFLICT", call);
    }),
  },
];

/** What an id is, and what a repeated append does. */
export const retryClauses: readonly Clause[] = [...ids, ...retries, ...conflicts];
