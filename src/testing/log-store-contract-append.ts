import assert from "node:assert/strict";
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

const stored: readonly Clause[] = [
  {
    id: "log.append.first",
    says: "the first record of a log has the seq 1",
    proof: withLogs(async (log) => {
      assert.equal(await log.append(chat, [message("m1")]), 1);
      assert.deepEqual(await everything(log), [{ ...message("m1"), seq: 1 }]);
    }),
  },
  {
    id: "log.append.gapless",
    says: "the seq counts on without gaps over batches of any size",
    proof: withLogs(async (log) => {
      for (const batch of [messages(1, 3), messages(4, 4), messages(5, 9)]) {
        await log.append(chat, batch);
      }
      assert.deepEqual(await everything(log), numbered(messages(1, 9)));
    }),
  },
  {
    id: "log.append.answer",
    says: "append answers the seq of the batch's last record",
    proof: withLogs(async (log) => {
      assert.equal(await log.append(chat, messages(1, 3)), 3);
      assert.equal(await log.append(chat, messages(4, 5)), 5);
    }),
  },
  {
    id: "log.append.as-given",
    says: "a record comes back with all that was given, and with its seq",
    proof: withLogs(async (log) => {
      const given = { tool_calls: [{ id: "c", at: 0.5, ok: true, none: null, list: [[], {}] }] };
      await log.append(chat, [{ b: 1, ...message("m1", "hi", given), a: 2 }]);
      const [record] = await everything(log);
      assert.deepEqual(record, { b: 1, ...message("m1", "hi", given), a: 2, seq: 1 });
    }),
  },
  {
    id: "log.append.undefined",
    says: "a property that is undefined is left out, as JSON leaves it out",
    proof: withLogs(async (log) => {
      await log.append(chat, [message("m1", "hi", { name: undefined })]);
      assert.deepEqual(await everything(log), [{ ...message("m1", "hi"), seq: 1 }]);
    }),
  },
  {
    id: "log.append.no-prototype",
    says: "a record without a prototype is a record like any other",
    proof: withLogs(async (log) => {
      const bare = Object.setPrototypeOf({ ...message("m1", "hi") }, null) as LogRecord;
      assert.equal(await log.append(chat, [bare]), 1);
      assert.deepEqual(await everything(log), [{ ...message("m1", "hi"), seq: 1 }]);
    }),
  },
  {
    id: "log.append.copied",
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
  {
    id: "log.append.1000-records",
    says: `a batch of ${logLimits.batchRecords} records is stored`,
    proof: withLogs(async (log) => {
      const batch = messages(1, logLimits.batchRecords);
      assert.equal(await log.append(chat, batch), logLimits.batchRecords);
      assert.deepEqual(await everything(log), numbered(batch));
    }),
  },
  {
    id: "log.append.record-limit",
    says: `a record of ${logLimits.recordBytes} bytes of JSON is stored, one byte more is too large`,
    proof: withLogs(async (log) => {
      const more = messageOfBytes("m1", logLimits.recordBytes + 1);
      await refuses("THROUGHLINE_TOO_LARGE", log.append(chat, [more]));
      await isAbsent(log);
      const largest = messageOfBytes("m1", logLimits.recordBytes);
      assert.equal(await log.append(chat, [largest]), 1);
      assert.deepEqual(await everything(log), numbered([largest]));
    }),
  },
  {
    id: "log.append.record-limit-in-bytes",
    says: "the size of a record is counted in bytes of UTF-8, not in characters",
    proof: withLogs(async (log) => {
      const half = "é".repeat(logLimits.recordBytes / 2);
      await refuses("THROUGHLINE_TOO_LARGE", log.append(chat, [message("m1", half)]));
      const room = Buffer.byteLength(JSON.stringify(message("m1", "")));
      const fits = half.slice(Math.ceil(room / 2));
      assert.equal(await log.append(chat, [message("m1", fits)]), 1);
      assert.deepEqual(await everything(log), numbered([message("m1", fits)]));
    }),
  },
  {
    id: "log.append.record-limit-escaped",
    says: "a lone surrogate counts as the six bytes of its escape",
    proof: withLogs(async (log) => {
      const alone = "\ud800".repeat(logLimits.recordBytes / 6);
      await refuses("THROUGHLINE_TOO_LARGE", log.append(chat, [message("m1", alone)]));
      const fits = alone.slice(20);
      assert.equal(await log.append(chat, [message("m1", fits)]), 1);
      assert.deepEqual(await everything(log), numbered([message("m1", fits)]));
    }),
  },
  {
    id: "log.append.batch-limit",
    says: `a batch of ${logLimits.batchBytes} bytes of JSON is stored, one byte more is too large`,
    proof: withLogs(async (log) => {
      const full = Array.from({ length: 8 }, (_, index) =>
        messageOfBytes(`m${index + 1}`, logLimits.batchBytes / 8),
      );
      const more = [...full.slice(1), messageOfBytes("m9", logLimits.batchBytes / 8 - 59)];
      more.push(messageOfBytes("m10", 60));
      await refuses("THROUGHLINE_TOO_LARGE", log.append(chat, more));
      await isAbsent(log);
      assert.equal(await log.append(chat, full), 8);
      assert.deepEqual(await everything(log), numbered(full));
    }),
  },
  {
    id: "log.append.batch-limit-in-bytes",
    says: "the size of a batch is counted in bytes of UTF-8, not in characters",
    proof: withLogs(async (log) => {
      const half = "é".repeat(logLimits.recordBytes / 2 - 100);
      const batch = messages(1, 9).map((record) => ({ ...record, content: half }));
      await refuses("THROUGHLINE_TOO_LARGE", log.append(chat, batch));
      await isAbsent(log);
      assert.equal(await log.append(chat, batch.slice(1)), 8);
    }),
  },
  {
    id: "log.append.depth",
    says: `a record of ${jsonLimits.depth} levels is stored, one of ${jsonLimits.depth + 1} is too large`,
    proof: withLogs(async (log) => {
      const deeper = message("m1", "hi", { deep: nested(jsonLimits.depth) });
      await refuses("THROUGHLINE_TOO_LARGE", log.append(chat, [deeper]));
      await isAbsent(log);
      const deepest = message("m1", "hi", { deep: nested(jsonLimits.depth - 1) });
      assert.equal(await log.append(chat, [deepest]), 1);
      assert.deepEqual(await everything(log), numbered([deepest]));
    }),
  },
  {
    id: "log.append.keys",
    says: `a record of ${jsonLimits.keys} keys and items is stored, one more is too large`,
    proof: withLogs(async (log) => {
      const wide = (items: number) => ({ id: "m1", wide: new Array<number>(items).fill(0) });
      const more = wide(jsonLimits.keys - 1);
      await refuses("THROUGHLINE_TOO_LARGE", log.append(chat, [more]));
      await isAbsent(log);
      assert.equal(await log.append(chat, [wide(jsonLimits.keys - 2)]), 1);
      assert.deepEqual(await everything(log), numbered([wide(jsonLimits.keys - 2)]));
    }),
  },
];

const refused: readonly Clause[] = [
  {
    id: "log.refuse.empty-batch",
    says: "a batch of no records is refused and makes no log",
    proof: withLogs(async (log) => {
      await refuses("THROUGHLINE_INVALID", log.append(chat, []));
      await refuses("THROUGHLINE_INVALID", log.append(chat, [], { head: { a: 1 } }));
      await isAbsent(log);
    }),
  },
  {
    id: "log.refuse.no-array",
    says: "a batch that is no array is refused",
    proof: withLogs(async (log) => {
      for (const batch of [undefined, null, "m1", { length: 1 }, message("m1")]) {
        await refuses("THROUGHLINE_INVALID", log.append(chat, untyped(batch)));
      }
      await isAbsent(log);
    }),
  },
  {
    id: "log.refuse.no-object",
    says: "a record that is no plain object is refused",
    proof: withLogs(async (log) => {
      for (const record of [null, undefined, "m1", 1, ["m1"], new Map([["id", "m1"]])]) {
        await refuses("THROUGHLINE_INVALID", log.append(chat, [untyped(record)]));
      }
      await isAbsent(log);
    }),
  },
  {
    id: "log.refuse.seq",
    says: "a record that brings a seq of its own is refused, whatever its value",
    proof: withLogs(async (log) => {
      for (const seq of [1, 7, null, "1"]) {
        await refuses("THROUGHLINE_INVALID", log.append(chat, [message("m1", "hi", { seq })]));
      }
      await isAbsent(log);
    }),
  },
  {
    id: "log.refuse.1001-records",
    says: `a batch of ${logLimits.batchRecords + 1} records is too large`,
    proof: withLogs(async (log) => {
      const batch = messages(1, logLimits.batchRecords + 1);
      await refuses("THROUGHLINE_TOO_LARGE", log.append(chat, batch));
      await isAbsent(log);
    }),
  },
  {
    id: "log.refuse.whole-batch",
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
  {
    id: "log.refuse.cycle",
    says: "a record that holds itself is too deep",
    proof: withLogs(async (log) => {
      const cycle: Record<string, unknown> = { id: "m1" };
      cycle["self"] = cycle;
      await refuses("THROUGHLINE_TOO_LARGE", log.append(chat, [untyped(cycle)]));
      await isAbsent(log);
    }),
  },
  clauseWithTable(
    "log.refuse.value",
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
];

/** What append stores, and what it refuses to store. */
export const appendClauses: readonly Clause[] = [...stored, ...refused];
