import assert from "node:assert/strict";
import type { LogStore } from "../core/storage/log-store.ts";
import { type Clause, clauseWithTable } from "./contract.ts";
import { keyCorpus, refusedKeys } from "./corpus.ts";
import {
  chat,
  collect,
  everything,
  found,
  idsIn,
  isAbsent,
  listed,
  message,
  messages,
  numbered,
  refuses,
  untyped,
  withLogs,
} from "./log-store-contract-fixtures.ts";

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

/** Keys: every text is a key of its own, or refused. */
export const keyClauses: readonly Clause[] = [
  clauseWithTable("log.key.corpus", "a log can have any key", keyCorpus, ({ text }) =>
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
    id: "log.key.all-different",
    says: "keys that differ at all are different logs",
    proof: withLogs(async (log) => {
      for (const { name, text } of keyCorpus) await log.append(text, [message("m1", name)]);
      for (const { name, text } of keyCorpus) {
        const expected = numbered([message("m1", name)]);
        assert.deepEqual(await everything(log, text), expected);
      }
      assert.deepEqual((await listed(log)).sort(), keyCorpus.map(({ text }) => text).sort());
    }),
  },
  {
    id: "log.key.all-at-once",
    says: "logs with any keys can be begun at once",
    proof: withLogs(async (log) => {
      const calls = keyCorpus.map(({ name, text }) => log.append(text, [message("m1", name)]));
      await Promise.all(calls);
      for (const { name, text } of keyCorpus) {
        assert.equal((await log.find(text, "m1"))?.["content"], name);
      }
    }),
  },
  {
    id: "log.key.pages",
    says: "a list pages through any keys, each once",
    proof: withLogs(async (log) => {
      for (const { text } of keyCorpus) await log.append(text, messages(1, 1));
      const keys: string[] = [];
      let page = await log.list({ limit: 5 });
      keys.push(...page.rows.map((row) => row.key));
      while (page.cursor !== undefined && keys.length <= keyCorpus.length) {
        page = await log.list({ limit: 5, cursor: page.cursor });
        keys.push(...page.rows.map((row) => row.key));
      }
      assert.deepEqual(keys.sort(), keyCorpus.map(({ text }) => text).sort());
    }),
  },
  {
    id: "log.key.beginning-of-another",
    says: "a key that is the beginning of another is another log, found or not",
    proof: withLogs(async (log) => {
      await log.append("a:b:c", messages(1, 3));
      for (const key of ["a", "a:", "a:b", "a:b:", "a:b:c:", "b:c", ":"]) {
        await isAbsent(log, key);
        assert.deepEqual(await found(log, "says", key), []);
        assert.equal(await log.delete(key), false);
      }
      assert.deepEqual(await idsIn(log, "a:b:c"), ["m1", "m2", "m3"]);
    }),
  },
  clauseWithTable(
    "log.key.refused",
    "what is no key is refused by every call",
    refusedKeys,
    ({ value, code }) =>
      withLogs(async (log) => {
        await log.append(chat, messages(1, 1));
        for (const call of callsWith(log, untyped(value))) await refuses(code, call);
        assert.deepEqual(await listed(log), [chat]);
        assert.deepEqual(await everything(log), numbered(messages(1, 1)));
      }),
  ),
];
