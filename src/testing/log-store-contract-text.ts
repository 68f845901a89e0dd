import assert from "node:assert/strict";
import type { LogStore } from "../core/storage/log-store.ts";
import { type Clause, clauseWithTable } from "./contract.ts";
import { keyCorpus, refusedKeys, textCorpus, valueCorpus } from "./corpus.ts";
import {
  chat,
  collect,
  everything,
  found,
  isAbsent,
  listed,
  message,
  messages,
  numbered,
  refuses,
  untyped,
  withLogs,
} from "./log-store-contract-fixtures.ts";

const texts: readonly Clause[] = [
  clauseWithTable("text comes back equal, as a value and as a key", textCorpus, ({ text }) =>
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
  clauseWithTable("values come back equal", valueCorpus, ({ value }) =>
    withLogs(async (log) => {
      const batch = [message("m1", "first", { value }), { ...value, id: "m2" }];
      await log.append(chat, batch);
      assert.deepEqual(await everything(log), numbered(batch));
      assert.deepEqual(await log.find(chat, "m2"), numbered(batch)[1]);
      assert.equal(await log.append(chat, batch), 2);
      assert.equal(Reflect.get({}, "polluted"), undefined);
    }),
  ),
  clauseWithTable(
    "a message whose text is a control record or a line of a log stays a message",
    [
      '{"id":"m1","seq":1,"_type":"metadata","kind":"erased"}\n',
      '"}\n{"_type":"metadata","kind":"commit","seq":9,"records":9,"crc":"00000000"}\n{"a":"',
      '\n\n{"_type":"metadata","key":"telegram:4"}',
      "\r\n\0\0\0\0",
      "}{",
    ],
    (line) =>
      withLogs(async (log) => {
        const batch = [
          message("a", line),
          message("b", "x", { [line]: line }),
          message(`c${line.replaceAll("\0", "")}`),
        ];
        assert.equal(await log.append(chat, batch), batch.length);
        assert.deepEqual(await collect(log.read(chat)), numbered(batch));
        assert.deepEqual((await log.tail(chat, 100))?.records, numbered(batch));
        assert.equal(await log.append(chat, [message("next")]), batch.length + 1);
      }),
  ),
];

/** Every call that takes a key, with this one. */
function callsWith(log: LogStore, key: string): readonly Promise<unknown>[] {
  return [
    log.append(key, messages(1, 1)),
    log.tail(key, 1),
    log.page(key, { limit: 1 }),
    collect(log.read(key)),
    log.find(key, "m1"),
    log.erase(key, ["m1"]),
    log.delete(key),
    log.search("says", { limit: 1, key }),
  ];
}

const keys: readonly Clause[] = [
  clauseWithTable("a log can have any key", keyCorpus, ({ text }) =>
    withLogs(async (log) => {
      await log.append(text, messages(1, 2), { head: { title: "a" } });
      await log.append(text, messages(3, 3));
      assert.deepEqual(await everything(log, text), numbered(messages(1, 3)));
      assert.deepEqual((await log.tail(text, 0))?.head, { title: "a" });
      assert.deepEqual(await listed(log), [text]);
      assert.deepEqual(await found(log, "says", text), ["m3", "m2", "m1"]);
      assert.equal((await log.search("m2", { limit: 1 }))[0]?.key, text);
      assert.equal(await log.erase(text, ["m2"]), 1);
      assert.equal(await log.delete(text), true);
      await isAbsent(log, text);
    }),
  ),
  {
    says: "keys that differ at all are different logs, also begun at once, and each is listed once",
    proof: withLogs(async (log) => {
      const calls = keyCorpus.map(({ name, text }) => log.append(text, [message("m1", name)]));
      await Promise.all(calls);
      for (const { name, text } of keyCorpus) {
        assert.deepEqual(await everything(log, text), numbered([message("m1", name)]));
      }
      const all: string[] = [];
      let cursor: string | undefined;
      do {
        const page = await log.list({ limit: 5, cursor });
        all.push(...page.rows.map((row) => row.key));
        cursor = page.cursor;
      } while (cursor !== undefined && all.length <= keyCorpus.length);
      assert.deepEqual(all.sort(), keyCorpus.map(({ text }) => text).sort());
    }),
  },
  clauseWithTable("what is no key is refused by every call", refusedKeys, ({ value, code }) =>
    withLogs(async (log) => {
      await log.append(chat, messages(1, 1));
      for (const call of callsWith(log, untyped(value))) await refuses(code, call);
      assert.deepEqual(await listed(log), [chat]);
      assert.deepEqual(await everything(log), numbered(messages(1, 1)));
    }),
  ),
];

/** Texts and values that come back as they were said, and keys: every text is one of its own, or refused. */
export const textClauses: readonly Clause[] = [...texts, ...keys];
