import assert from "node:assert/strict";
import { type Clause, clauseWithTable } from "./contract.ts";
import { codeUnits, textCorpus, valueCorpus } from "./corpus.ts";
import {
  chat,
  collect,
  everything,
  message,
  numbered,
  refuses,
  withLogs,
} from "./log-store-contract-fixtures.ts";

/** Texts and values that come back as they were said. */
export const textClauses: readonly Clause[] = [
  clauseWithTable(
    "log.text.corpus",
    "text comes back equal, as a value and as a key",
    textCorpus,
    ({ text }) =>
      withLogs(async (log) => {
        const batch = [
          message("m1", text),
          message("m2", "short", { in: { [`key ${text}`]: [text, text] } }),
          message("m3", text),
        ];
        await log.append(chat, batch);
        assert.deepEqual(await everything(log), numbered(batch));
        assert.deepEqual(await log.page(chat, { limit: 2 }), numbered(batch).slice(1));
        assert.deepEqual(await log.find(chat, "m3"), numbered(batch)[2]);
        assert.equal(await log.append(chat, batch), 3);
      }),
  ),
  clauseWithTable("log.value.corpus", "values come back equal", valueCorpus, ({ value }) =>
    withLogs(async (log) => {
      const batch = [message("m1", "first", { value }), { ...value, id: "m2" }];
      await log.append(chat, batch);
      assert.deepEqual(await everything(log), numbered(batch));
      assert.deepEqual(await log.find(chat, "m2"), numbered(batch)[1]);
      assert.equal(await log.append(chat, batch), 2);
      assert.equal(Reflect.get({}, "polluted"), undefined);
    }),
  ),
  {
    id: "log.text.every-code-unit",
    says: "each of the 65,536 code units comes back equal, beside any other",
    proof: withLogs(async (log) => {
      const batch = Array.from({ length: 64 }, (_, index) => {
        const units = codeUnits(index * 1_024, (index + 1) * 1_024);
        return message(`m${index}`, units, { backwards: [...units].reverse().join("") });
      });
      await log.append(chat, batch);
      assert.deepEqual(await everything(log), numbered(batch));
    }),
  },
  {
    id: "log.text.differs",
    says: "texts that look alike stay different texts",
    proof: withLogs(async (log) => {
      const alike = ["\u00e9", "e\u0301", "\ufb01", "fi", "\u212b", "\u00c5", "\ud800", "\ufffd"];
      await log.append(
        chat,
        alike.map((text, index) => message(`m${index}`, text)),
      );
      const records = await everything(log);
      assert.deepEqual(
        records.map((record) => record["content"]),
        alike,
      );
    }),
  },
  {
    id: "log.text.no-control",
    says: "a message whose text is a control record or a line of a log stays a message",
    proof: withLogs(async (log) => {
      const lines = [
        '{"id":"m1","seq":1,"_type":"metadata","kind":"erased"}\n',
        '"}\n{"_type":"metadata","kind":"commit","seq":9,"records":9,"crc":"00000000"}\n{"a":"',
        '\n\n{"_type":"metadata","key":"telegram:4"}',
        "\r\n\0\0\0\0",
        "}{",
      ];
      const batch = lines.flatMap((line, index) => [
        message(`a${index}`, line),
        message(`b${index}`, "x", { [line]: line }),
        message(`c${index}${line.replaceAll("\0", "")}`),
      ]);
      assert.equal(await log.append(chat, batch), batch.length);
      assert.deepEqual(await collect(log.read(chat)), numbered(batch));
      assert.deepEqual((await log.tail(chat, 100))?.records, numbered(batch));
      assert.equal(await log.append(chat, [message("next")]), batch.length + 1);
    }),
  },
  {
    id: "log.text.named-as-ours",
    says: "keys that a store might use for itself are the caller's, except seq",
    proof: withLogs(async (log) => {
      const record = message("m1", "hi", {
        _type: "metadata",
        kind: "commit",
        key: "telegram:4",
        head: {},
        records: 3,
        crc: "00000000",
        damaged: true,
        deleted: true,
        rowid: 7,
      });
      await log.append(chat, [record]);
      assert.deepEqual(await everything(log), numbered([record]));
      const inside = message("m2", "hi", { in: { seq: 5, id: "m1" } });
      assert.equal(await log.append(chat, [inside]), 2);
      await refuses("THROUGHLINE_INVALID", log.append(chat, [message("m3", "hi", { seq: 3 })]));
    }),
  },
];
