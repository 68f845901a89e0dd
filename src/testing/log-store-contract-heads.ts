import assert from "node:assert/strict";
import type { ErrorCode } from "../core/errors.ts";
import type { JsonObject } from "../core/json.ts";
import {
  type LogHead,
  type LogStore,
  logLimits,
  reservedHeadNames,
} from "../core/storage/log-store.ts";
import { type Clause, clauseWithTable } from "./contract.ts";
import { nested, refusedValues, textCorpus, valueCorpus } from "./corpus.ts";
import {
  chat,
  isAbsent,
  messages,
  numbered,
  refuses,
  untyped,
  withLogs,
} from "./log-store-contract-fixtures.ts";

/** Whether a store takes an object as a head: on disk, a line of the store's own says some names. */
function isHead(value: JsonObject): boolean {
  return !reservedHeadNames.some((name) => Object.hasOwn(value, name));
}

/** What happens to a log that began with one message and the head `{ title: "a" }`. */
interface History {
  readonly name: string;
  readonly does: (log: LogStore) => Promise<unknown>;
  readonly head: LogHead;
}

const first = { head: { title: "a" } };
const second = { head: { other: 1 } };

const histories: readonly History[] = [
  {
    name: "appends without a head",
    async does(log) {
      await log.append(chat, messages(2, 2));
      await log.append(chat, messages(3, 3), { expectedSeq: 2 });
    },
    head: { title: "a" },
  },
  {
    name: "another head, into which nothing is merged",
    does: (log) => log.append(chat, messages(2, 2), second),
    head: { other: 1 },
  },
  {
    name: "an empty head",
    does: (log) => log.append(chat, messages(2, 2), { head: {} }),
    head: {},
  },
  {
    name: "a repeated append, which stores nothing",
    async does(log) {
      await log.append(chat, messages(2, 2), second);
      await log.append(chat, messages(1, 1), first);
      await log.append(chat, messages(1, 2), { head: { title: "third" } });
    },
    head: { other: 1 },
  },
  {
    name: "a partly known batch, which stores a record",
    does: (log) => log.append(chat, messages(1, 2), second),
    head: { other: 1 },
  },
  {
    name: "the head of another log",
    does: (log) => log.append("telegram:4", messages(1, 1), second),
    head: { title: "a" },
  },
  {
    name: "20 appends at once, each with a head",
    does: (log) =>
      Promise.all(
        messages(2, 21).map((record) => log.append(chat, [record], { head: { from: record.id } })),
      ),
    head: { from: "m21" },
  },
  {
    name: "an erasure without a head",
    does: (log) => log.erase(chat, ["m1"]),
    head: { title: "a" },
  },
  {
    name: "an erasure that erases nothing, with a head",
    does: (log) => log.erase(chat, [], second),
    head: { other: 1 },
  },
  {
    name: "a second life after a deletion, without a head",
    async does(log) {
      await log.delete(chat);
      await log.append(chat, messages(1, 1));
    },
    head: {},
  },
];

interface RefusedHead {
  readonly name: string;
  readonly head: unknown;
  readonly code?: ErrorCode;
}

const tooLarge = "THROUGHLINE_TOO_LARGE";
const spaceInHead = logLimits.headBytes - Buffer.byteLength(JSON.stringify({ title: "" }));

const refusedHeads: readonly RefusedHead[] = [
  { name: "one byte too many", head: { title: "x".repeat(spaceInHead + 1) }, code: tooLarge },
  {
    name: "too many bytes in fewer characters",
    head: { title: "é".repeat(spaceInHead / 2 + 1) },
    code: tooLarge,
  },
  { name: "too many levels", head: { deep: nested(64) }, code: tooLarge },
  ...[null, "title", 1, true, ["title"], new Map()].map((head) => ({
    name: `no plain object: ${String(head)}`,
    head,
  })),
  ...refusedValues.map(({ name, value }) => ({ name, head: { value } })),
  ...reservedHeadNames.flatMap((name) => [
    { name, head: { [name]: 1 } },
    { name: `${name} and another`, head: { [name]: null, title: "a" } },
  ]),
];

/** The small object that stands for a log. */
export const headClauses: readonly Clause[] = [
  clauseWithTable(
    "the head of a log is the whole of the newest one that came with a stored record or an erasure, in the log and in lists",
    histories,
    ({ does, head }) =>
      withLogs(async (log) => {
        await log.append(chat, messages(1, 1), first);
        await does(log);
        assert.deepEqual((await log.tail(chat, 0))?.head, head);
        const { rows } = await log.list({ limit: 10 });
        assert.deepEqual(rows.find(({ key }) => key === chat)?.head, head);
      }),
  ),
  {
    says: `texts and values of every kind come back equal in a head of up to ${logLimits.headBytes} bytes of JSON`,
    proof: withLogs(async (log) => {
      const texts = textCorpus.filter(({ text }) => text.length < 1_000);
      const heads = [
        ...texts.map(({ text }) => ({ text, [text]: 1 })),
        ...valueCorpus.map(({ value }) => ({ value })),
        ...valueCorpus.map(({ value }) => value).filter(isHead),
        { title: Object.fromEntries(reservedHeadNames.map((name) => [name, 1])) },
        { title: "x".repeat(spaceInHead) },
      ];
      for (const [index, head] of heads.entries()) {
        if (Buffer.byteLength(JSON.stringify(head)) > logLimits.headBytes) continue;
        await log.append(chat, messages(index + 1, index + 1), { head });
        assert.deepEqual((await log.tail(chat, 0))?.head, head);
        assert.deepEqual((await log.list({ limit: 1 })).rows[0]?.head, head);
      }
    }),
  },
  clauseWithTable(
    `a head that is too large, no plain JSON object, or uses a name of the store (${reservedHeadNames.join(", ")}) is refused, with its records or its erasure`,
    refusedHeads,
    ({ head, code = "THROUGHLINE_INVALID" }) =>
      withLogs(async (log) => {
        await refuses(code, log.append(chat, messages(1, 1), untyped({ head })));
        await isAbsent(log);
        await log.append(chat, messages(1, 1), first);
        await refuses(code, log.append(chat, messages(2, 2), untyped({ head })));
        await refuses(code, log.erase(chat, ["m1"], untyped({ head })));
        const tail = await log.tail(chat, 10);
        assert.deepEqual([tail?.records, tail?.head], [numbered(messages(1, 1)), { title: "a" }]);
      }),
  ),
];
