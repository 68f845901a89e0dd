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
  { name: "no id", value: undefined },
  { name: "null", value: null },
  { name: "a number", value: 7 },
  { name: "an object", value: { id: "m1" } },
  { name: "the empty text", value: "" },
  { name: "257 bytes", value: "a".repeat(257) },
  { name: "129 characters of 258 bytes", value: "é".repeat(129) },
  { name: "NUL", value: "a\0b" },
  { name: "a lone surrogate", value: "a\ud800b" },
];

/** Ids that are easily taken for one another, and the longest. */
const oddIds: readonly string[] = [
  ...["a", "A", "a ", " a", "é", "e\u0301", "İ", "i", "__proto__", "constructor", "null"],
  ...["..", "a/b", "a\\b", "%", "'", '"', "\n", "\u2028", "👩‍👧", "0", "00"],
  "a".repeat(logLimits.idBytes),
  "é".repeat(logLimits.idBytes / 2),
];

const ids: readonly Clause[] = [
  clauseWithTable(
    "what is no id is refused in a record, with its batch, and by find and erase",
    badIds,
    ({ value }) =>
      withLogs(async (log) => {
        const call = log.append(chat, [message("m1"), untyped({ ...message("m2"), id: value })]);
        await refuses("THROUGHLINE_INVALID", call);
        await isAbsent(log);
        await log.append(chat, messages(1, 1));
        await refuses("THROUGHLINE_INVALID", log.find(chat, untyped(value)));
        await refuses("THROUGHLINE_INVALID", log.erase(chat, untyped(["m1", value])));
        await refuses("THROUGHLINE_INVALID", log.erase(chat, untyped(value)));
        assert.deepEqual(await everything(log), numbered(messages(1, 1)));
      }),
  ),
  {
    says: `ids of up to ${logLimits.idBytes} bytes that differ at all are different ids, each of its log only`,
    proof: withLogs(async (log) => {
      for (const id of oddIds) await log.append(chat, [message(id)]);
      assert.deepEqual(await idsIn(log), oddIds);
      for (const [index, id] of oddIds.entries()) {
        assert.deepEqual(await log.find(chat, id), { ...message(id), seq: index + 1 });
      }
      await log.append("telegram:4", [message("elsewhere")]);
      for (const id of ["elsewhere", "b", "e", "__PROTO__"]) {
        assert.equal(await log.find(chat, id), undefined);
      }
    }),
  },
  {
    says: "a batch that holds one id twice is refused, with equal content too, and known or not",
    proof: withLogs(async (log) => {
      for (const second of [message("m1", "hi"), message("m1", "ho")]) {
        const batch = [message("m1", "hi"), message("m2"), second];
        await refuses("THROUGHLINE_INVALID", log.append(chat, batch));
      }
      await isAbsent(log);
      await log.append(chat, messages(1, 1));
      const known = [...messages(1, 1), ...messages(1, 1)];
      await refuses("THROUGHLINE_INVALID", log.append(chat, known));
    }),
  },
];

const [one, two, three] = messages(1, 3) as [LogRecord, LogRecord, LogRecord];

const retries: readonly Clause[] = [
  clauseWithTable(
    "known records are not stored again: the call answers the seq of the last one given, however often",
    [
      { name: "the batch as it was", batch: [one, two, three], answer: 3 },
      { name: "one record of it", batch: [two], answer: 2 },
      { name: "its records in another order", batch: [three, one, two], answer: 2 },
      { name: "records of two batches", batch: [...messages(2, 6), one], answer: 1 },
    ],
    ({ batch, answer }) =>
      withLogs(async (log) => {
        await log.append(chat, [one, two, three]);
        await log.append(chat, messages(4, 6));
        for (let times = 0; times < 5; times++) assert.equal(await log.append(chat, batch), answer);
        assert.deepEqual(await everything(log), numbered(messages(1, 6)));
        assert.deepEqual(await found(log, "m2"), ["m2"]);
      }),
  ),
  {
    says: "a record is known for as long as its log lives, however much was added since",
    proof: withLogs(async (log) => {
      await log.append(chat, messages(1, 1_000));
      await log.append(chat, messages(1_001, 2_000));
      assert.equal(await log.append(chat, messages(1, 1_000)), 1_000);
      assert.equal(await log.append(chat, messages(777, 777)), 777);
      assert.equal((await log.tail(chat, 0))?.seq, 2_000);
    }),
  },
  {
    says: "a batch that is partly known stores the missing records, in their order, and answers the seq of its last record",
    proof: withLogs(async (log) => {
      await log.append(chat, messages(1, 2));
      assert.equal(await log.append(chat, [message("x"), two, message("y")]), 4);
      assert.equal(await log.append(chat, [message("z"), one]), 1);
      assert.deepEqual(await idsIn(log), ["m1", "m2", "x", "y", "z"]);
    }),
  },
  clauseWithTable(
    "neither the order of keys nor a property that is undefined makes other content",
    [
      {
        name: "the order of keys, at any depth",
        was: { id: "m1", a: 1, b: { c: [{ d: 1, e: 2 }], f: 3 } },
        is: { b: { f: 3, c: [{ e: 2, d: 1 }] }, a: 1, id: "m1" },
      },
      {
        name: "a property that is undefined",
        was: message("m1", "hi"),
        is: message("m1", "hi", { name: undefined }),
      },
    ],
    ({ was, is }) =>
      withLogs(async (log) => {
        await log.append(chat, [was]);
        assert.equal(await log.append(chat, [is]), 1);
        assert.deepEqual(await everything(log), numbered([was]));
      }),
  ),
];

interface Pair {
  /** Where the two differ. */
  readonly name: string;
  readonly was: Json;
  readonly is: Json;
}

const pairs: readonly Pair[] = [
  { name: "text", was: "hi", is: "ho" },
  { name: "case", was: "Hi", is: "hi" },
  { name: "final-space", was: "hi", is: "hi " },
  { name: "unicode-form", was: "caf\u00e9", is: "cafe\u0301" },
  { name: "lone-surrogate", was: "\ud800", is: "\ufffd" },
  { name: "kind", was: 1, is: "1" },
  { name: "null", was: null, is: false },
  { name: "nested", was: { a: [{ b: 1 }] }, is: { a: [{ b: 2 }] } },
  { name: "more", was: { a: 1 }, is: { a: 1, b: null } },
  { name: "less", was: { a: 1, b: null }, is: { a: 1 } },
  { name: "key", was: { a: 1 }, is: { b: 1 } },
  { name: "order", was: [1, 2], is: [2, 1] },
  { name: "count", was: [1, 2], is: [1, 2, 2] },
  { name: "array", was: [], is: {} },
  { name: "a key that every object has", was: { a: 1 }, is: { toString: 1 } },
  { name: "a prototype", was: { a: 1, b: 2 }, is: JSON.parse('{"a":1,"__proto__":2}') },
  { name: "an empty prototype", was: JSON.parse('{"__proto__":{}}'), is: { a: 1 } },
];

const conflicts: readonly Clause[] = [
  clauseWithTable(
    "a known id with content that differs at all is a conflict, whatever seq is expected",
    pairs,
    ({ was, is }) =>
      withLogs(async (log) => {
        await log.append(chat, [{ id: "m1", value: was }]);
        for (const options of [{}, { expectedSeq: 1 }]) {
          const call = log.append(chat, [{ id: "m1", value: is }], options);
          await refuses("THROUGHLINE_ID_CONFLICT", call);
        }
        assert.deepEqual(await everything(log), [{ id: "m1", value: was, seq: 1 }]);
      }),
  ),
  {
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
];

/** What an id is, and what a repeated append does. */
export const retryClauses: readonly Clause[] = [...ids, ...retries, ...conflicts];
