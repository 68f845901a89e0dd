import assert from "node:assert/strict";
import type { ErrorCode } from "../core/errors.ts";
import { jsonLimits } from "../core/json.ts";
import { type LogRecord, logLimits } from "../core/storage/log-store.ts";
import { type Clause, clauseWithTable } from "./contract.ts";
import { nested, refusedValues } from "./corpus.ts";
import {
  chat,
  everything,
  isAbsent,
  message,
  messageOfBytes,
  messages,
  numbered,
  refuses,
  scribbleOn,
  untyped,
  withLogs,
} from "./log-store-contract-fixtures.ts";

interface Given {
  readonly name: string;
  readonly given: LogRecord;
  readonly back: LogRecord;
}

const odd = { tool_calls: [{ id: "c", at: 0.5, ok: true, none: null, list: [[], {}] }] };
const ours = {
  _type: "metadata",
  kind: "commit",
  key: "telegram:4",
  head: {},
  records: 3,
  crc: "00000000",
  damaged: true,
  deleted: true,
  rowid: 7,
  in: { seq: 5, id: "m1" },
};

const given: readonly Given[] = [
  same("values of every kind", { b: 1, ...message("m1", "hi", odd), a: 2 }),
  same("keys that a store might use for itself", message("m1", "hi", ours)),
  {
    name: "a property that is undefined",
    given: message("m1", "hi", { name: undefined }),
    back: message("m1", "hi"),
  },
  {
    name: "no prototype",
    given: Object.setPrototypeOf({ ...message("m1", "hi") }, null) as LogRecord,
    back: message("m1", "hi"),
  },
];

function same(name: string, record: LogRecord): Given {
  return { name, given: record, back: record };
}

interface Limit {
  readonly name: string;
  /** The largest batch that is stored, and the smallest that is not. */
  readonly batches: () => readonly [fits: readonly LogRecord[], passes: readonly LogRecord[]];
}

const { recordBytes, batchBytes, batchRecords } = logLimits;

/** As many of a character as a record has space for, and more of them. */
function filled(character: string, bytes: number, more = 0): LogRecord {
  const envelope = Buffer.byteLength(JSON.stringify(message("m1", "")));
  return message("m1", character.repeat(Math.floor((recordBytes - envelope) / bytes) + more));
}

function eighths(): LogRecord[] {
  return messages(1, 8).map(({ id }) => messageOfBytes(id, batchBytes / 8));
}

function wide(items: number): LogRecord[] {
  return [{ id: "m1", wide: new Array<number>(items).fill(0) }];
}

function deep(levels: number): LogRecord[] {
  return [message("m1", "hi", { deep: nested(levels - 1) })];
}

const limits: readonly Limit[] = [
  {
    name: `a record of ${recordBytes} bytes of JSON`,
    batches: () => [[filled("x", 1)], [filled("x", 1, 1)]],
  },
  {
    name: "a record of two-byte characters, counted in bytes",
    batches: () => [[filled("é", 2)], [filled("é", 2, 1)]],
  },
  {
    name: "a record of lone surrogates, each counted as the six bytes of its escape",
    batches: () => [[filled("\ud800", 6)], [filled("\ud800", 6, 1)]],
  },
  {
    name: `a batch of ${batchBytes} bytes of JSON`,
    batches: () => {
      const rest = [messageOfBytes("m8", batchBytes / 8 - 59), messageOfBytes("m9", 60)];
      return [eighths(), [...eighths().slice(1), ...rest].map(withOwnId)];
    },
  },
  {
    name: "a batch of two-byte characters, counted in bytes",
    batches: () => {
      const content = "é".repeat(recordBytes / 2 - 100);
      const batch = messages(1, 9).map((record) => ({ ...record, content }));
      return [batch.slice(1), batch];
    },
  },
  {
    name: `a batch of ${batchRecords} records`,
    batches: () => [messages(1, batchRecords), messages(1, batchRecords + 1)],
  },
  {
    name: `a record of ${jsonLimits.depth} levels`,
    batches: () => [deep(jsonLimits.depth), deep(jsonLimits.depth + 1)],
  },
  {
    name: `a record of ${jsonLimits.keys} keys and items`,
    batches: () => [wide(jsonLimits.keys - 2), wide(jsonLimits.keys - 1)],
  },
];

/** The same sizes under ids that are all different. */
function withOwnId(record: LogRecord, index: number): LogRecord {
  return { ...record, id: `m${index + 1}` };
}

interface NoBatch {
  readonly name: string;
  readonly batch: unknown;
  readonly code?: ErrorCode;
}

const noBatches: readonly NoBatch[] = [
  { name: "no records", batch: [] },
  { name: "undefined", batch: undefined },
  { name: "null", batch: null },
  { name: "a text", batch: "m1" },
  { name: "an object with a length", batch: { length: 1 } },
  { name: "a record alone", batch: message("m1") },
  { name: "null for a record", batch: [null] },
  { name: "undefined for a record", batch: [undefined] },
  { name: "a text for a record", batch: ["m1"] },
  { name: "a number for a record", batch: [1] },
  { name: "an array for a record", batch: [["m1"]] },
  { name: "a Map for a record", batch: [new Map([["id", "m1"]])] },
  { name: "a record with the seq 1", batch: [message("m1", "hi", { seq: 1 })] },
  { name: "a record with another seq", batch: [message("m1", "hi", { seq: 7 })] },
  { name: "a record with null for a seq", batch: [message("m1", "hi", { seq: null })] },
  { name: "a record with a text for a seq", batch: [message("m1", "hi", { seq: "1" })] },
  { name: "a record that holds itself", batch: [cycle()], code: "THROUGHLINE_TOO_LARGE" },
];

function cycle(): unknown {
  const record: Record<string, unknown> = { id: "m1" };
  record["self"] = record;
  return record;
}

/** What append stores, and what it refuses to store. */
export const appendClauses: readonly Clause[] = [
  {
    says: "append numbers the records from 1 without gaps, over batches of any size, and answers the seq of the last",
    proof: withLogs(async (log) => {
      for (const [first, last] of [
        [1, 3],
        [4, 4],
        [5, 9],
      ] as const) {
        assert.equal(await log.append(chat, messages(first, last)), last);
      }
      assert.deepEqual(await everything(log), numbered(messages(1, 9)));
    }),
  },
  clauseWithTable(
    "a record comes back as it was given, with its seq; what is undefined is left out",
    given,
    ({ given, back }) =>
      withLogs(async (log) => {
        assert.equal(await log.append(chat, [given]), 1);
        assert.deepEqual(await everything(log), numbered([back]));
      }),
  ),
  {
    says: "what the caller does to a record, a batch or a head after the call changes nothing",
    proof: withLogs(async (log) => {
      const record = message("m1", "said", { list: [{ a: 1 }] });
      const batch = [record];
      const head = { title: "before" };
      const appended = log.append(chat, batch, { head });
      scribbleOn(record);
      scribbleOn(head);
      batch.push(message("m2"));
      assert.equal(await appended, 1);
      scribbleOn(record);
      scribbleOn(head);
      const tail = await log.tail(chat, 10);
      assert.deepEqual(tail?.records, numbered([message("m1", "said", { list: [{ a: 1 }] })]));
      assert.deepEqual(tail.head, { title: "before" });
    }),
  },
  clauseWithTable(
    `a record of ${recordBytes} bytes, ${jsonLimits.depth} levels and ${jsonLimits.keys} keys and items is stored, and so is a batch of ${batchRecords} records and ${batchBytes} bytes; more is too large`,
    limits,
    ({ batches }) =>
      withLogs(async (log) => {
        const [fits, passes] = batches();
        await refuses("THROUGHLINE_TOO_LARGE", log.append(chat, passes));
        await isAbsent(log);
        assert.equal(await log.append(chat, fits), fits.length);
        assert.deepEqual(await everything(log), numbered(fits));
      }),
  ),
  clauseWithTable(
    "what is no batch of records is refused and makes no log, and so is a record with a seq of its own",
    noBatches,
    ({ batch, code = "THROUGHLINE_INVALID" }) =>
      withLogs(async (log) => {
        await refuses(code, log.append(chat, untyped(batch)));
        await refuses(code, log.append(chat, untyped(batch), { head: { a: 1 } }));
        await isAbsent(log);
      }),
  ),
  clauseWithTable(
    "a record that holds what JSON cannot hold is refused",
    refusedValues,
    ({ value }) =>
      withLogs(async (log) => {
        for (const holds of [value, [value], { in: { it: value } }]) {
          const record = message("m1", "hi", untyped({ holds }));
          await refuses("THROUGHLINE_INVALID", log.append(chat, [record]));
        }
        await isAbsent(log);
      }),
  ),
  {
    says: "one record that is refused refuses its whole batch, and the next append is as before",
    proof: withLogs(async (log) => {
      await log.append(chat, messages(1, 2), { head: { title: "kept" } });
      const bad = message("m5", "hi", { at: Number.NaN });
      const call = log.append(chat, [...messages(3, 4), bad], { head: { title: "lost" } });
      await refuses("THROUGHLINE_INVALID", call);
      const tail = await log.tail(chat, 10);
      assert.deepEqual(tail?.records, numbered(messages(1, 2)));
      assert.deepEqual(tail.head, { title: "kept" });
      assert.equal(await log.append(chat, messages(3, 4)), 4);
    }),
  },
];
