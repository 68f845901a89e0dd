import assert from "node:assert/strict";
import { isThroughlineError } from "../core/errors.ts";
import type { LogStore } from "../core/storage/log-store.ts";
import type { Storage } from "../core/storage/storage.ts";
import { type Clause, clauseWithTable } from "./contract.ts";
import {
  chat,
  collect,
  everything,
  found,
  idsIn,
  isAbsent,
  listed,
  logsOf,
  message,
  messages,
  numbered,
  refuses,
  upTo,
  withLogs,
} from "./log-store-contract-fixtures.ts";

type Call = (log: LogStore, storage: Storage) => Promise<unknown>;

const calls: readonly (readonly [name: string, call: Call])[] = [
  ["append", (log) => log.append(chat, messages(2, 2))],
  ["append again", (log) => log.append(chat, messages(1, 1))],
  ["tail", (log) => log.tail(chat, 1)],
  ["page", (log) => log.page(chat, { limit: 1 })],
  ["read", (log) => collect(log.read(chat))],
  ["read of no log", (log) => collect(log.read("missing"))],
  ["find", (log) => log.find(chat, "m1")],
  ["findAll", (log) => log.findAll(chat, ["m1"])],
  ["erase", (log) => log.erase(chat, ["m1"])],
  ["delete", (log) => log.delete(chat)],
  ["list", (log) => log.list({ limit: 1 })],
  ["search", (log) => log.search("says", { limit: 1 })],
  ["ready", (_log, storage) => storage.ready()],
];

const closing: readonly Clause[] = [
  clauseWithTable(
    "every call succeeds on an open storage, and rejects with THROUGHLINE_CLOSED once close was called",
    calls,
    ([, call]) =>
      withLogs(async (log, storage) => {
        await log.append(chat, messages(1, 1));
        await call(log, storage);
        const closed = storage.close();
        await refuses("THROUGHLINE_CLOSED", call(log, storage));
        await closed;
        await refuses("THROUGHLINE_CLOSED", call(log, storage));
      }),
  ),
  {
    says: "a read under way when the storage is closed yields the rest or rejects, never less",
    proof: withLogs(async (log, storage) => {
      await log.append(chat, messages(1, 500));
      const records = log.read(chat)[Symbol.asyncIterator]();
      await records.next();
      await storage.close();
      try {
        const rest = await collect({ [Symbol.asyncIterator]: () => records });
        assert.equal(rest.length, 499);
      } catch (error) {
        assert.ok(isThroughlineError(error, "THROUGHLINE_CLOSED"), String(error));
      }
    }),
  },
  {
    says: "appends that are under way when the storage is closed are finished",
    proof: withLogs(async (log, storage) => {
      const pending = messages(1, 20).map((record) => log.append(chat, [record]));
      await storage.close();
      assert.deepEqual(await Promise.all(pending), upTo(20));
    }),
  },
  {
    says: "a storage, used or not, can be closed twice, twice at once, and by leaving the scope of `await using`",
    async proof(open) {
      const unused = await open();
      await unused.close();
      let log: LogStore | undefined;
      {
        await using storage = await open();
        log = logsOf(storage);
        await log.append(chat, messages(1, 1));
      }
      await refuses("THROUGHLINE_CLOSED", log.tail(chat, 1));
      await using storage = await open();
      await logsOf(storage).append(chat, messages(1, 1));
      await Promise.all([storage.close(), storage.close()]);
      await storage.close();
    },
  },
];

const storages: readonly Clause[] = [
  {
    says: "a collection has one object, and the same key in two collections is two logs, for reading, lists, searches and deletion",
    proof: withLogs(async (log, storage) => {
      const runs = logsOf(storage, "runs");
      assert.equal(logsOf(storage, "runs"), runs);
      await log.append("runs", messages(1, 2), { head: { title: "a" } });
      await runs.append("runs", [message("m1", "violin")]);
      await runs.append(chat, messages(1, 1));
      assert.deepEqual(await everything(log, "runs"), numbered(messages(1, 2)));
      assert.deepEqual(await everything(runs, "runs"), numbered([message("m1", "violin")]));
      assert.deepEqual((await runs.tail("runs", 0))?.head, {});
      assert.deepEqual([await listed(log), await listed(runs)], [["runs"], ["runs", chat]]);
      assert.deepEqual([await found(log, "violin"), await found(runs, "m2")], [[], []]);
      await runs.delete("runs");
      assert.deepEqual(await idsIn(log, "runs"), ["m1", "m2"]);
    }),
  },
  {
    says: "two storages that were opened empty share nothing",
    async proof(open) {
      await using one = await open();
      await using two = await open();
      await logsOf(one).append(chat, messages(1, 1));
      await one.documents("session").write(chat, { a: 1 });
      await isAbsent(logsOf(two));
      assert.deepEqual(await two.documents("session").keys(), []);
      assert.equal(await logsOf(two).append(chat, [message("m1", "other")]), 1);
    },
  },
];

/** Opening, closing, and what a storage is beside its stores. */
export const lifecycleClauses: readonly Clause[] = [...closing, ...storages];
