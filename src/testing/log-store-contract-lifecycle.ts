import assert from "node:assert/strict";
import { isThroughlineError } from "../core/errors.ts";
import type { LogStore } from "../core/storage/log-store.ts";
import { type Clause, clauseWithTable } from "./contract.ts";
import {
  chat,
  collect,
  everything,
  idsIn,
  isAbsent,
  logsOf,
  message,
  messages,
  numbered,
  refuses,
  withLogs,
} from "./log-store-contract-fixtures.ts";

const calls: readonly (readonly [name: string, call: (log: LogStore) => Promise<unknown>])[] = [
  ["append", (log) => log.append(chat, messages(2, 2))],
  ["append again", (log) => log.append(chat, messages(1, 1))],
  ["tail", (log) => log.tail(chat, 1)],
  ["page", (log) => log.page(chat, { limit: 1 })],
  ["read", (log) => collect(log.read(chat))],
  ["read of no log", (log) => collect(log.read("missing"))],
  ["find", (log) => log.find(chat, "m1")],
  ["erase", (log) => log.erase(chat, ["m1"])],
  ["delete", (log) => log.delete(chat)],
  ["list", (log) => log.list({ limit: 1 })],
  ["search", (log) => log.search("says", { limit: 1 })],
];

const closing: readonly Clause[] = [
  clauseWithTable(
    "log.closed.calls",
    "every call rejects with THROUGHLINE_CLOSED after the storage was closed",
    calls,
    ([, call]) =>
      withLogs(async (log, storage) => {
        await log.append(chat, messages(1, 1));
        await storage.close();
        await refuses("THROUGHLINE_CLOSED", call(log));
      }),
  ),
  {
    id: "log.closed.ready",
    says: "a storage is ready, and no longer after it was closed",
    proof: withLogs(async (_log, storage) => {
      await storage.ready();
      await storage.close();
      await refuses("THROUGHLINE_CLOSED", storage.ready());
    }),
  },
  {
    id: "log.closed.read-under-way",
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
      await refuses("THROUGHLINE_CLOSED", everything(log));
    }),
  },
  {
    id: "log.closed.pending",
    says: "appends that are under way when the storage is closed are finished",
    proof: withLogs(async (log, storage) => {
      const pending = messages(1, 20).map((record) => log.append(chat, [record]));
      const closed = storage.close();
      assert.deepEqual(
        await Promise.all(pending),
        messages(1, 20).map((_, index) => index + 1),
      );
      await closed;
      await refuses("THROUGHLINE_CLOSED", log.append(chat, messages(21, 21)));
    }),
  },
  {
    id: "log.closed.at-the-call",
    says: "a call made after close was called is refused, though close has not answered",
    proof: withLogs(async (log, storage) => {
      await log.append(chat, messages(1, 1));
      const closed = storage.close();
      await refuses("THROUGHLINE_CLOSED", log.append(chat, messages(2, 2)));
      await closed;
    }),
  },
];

const storages: readonly Clause[] = [
  {
    id: "log.storage.same-object",
    says: "the logs of one collection are the same object each time",
    proof: withLogs(async (log, storage) => {
      assert.equal(logsOf(storage), log);
      assert.notEqual(logsOf(storage, "runs"), log);
    }),
  },
  {
    id: "log.storage.collections",
    says: "the same key in two collections is two logs, and a key can be a collection's name",
    proof: withLogs(async (log, storage) => {
      const runs = logsOf(storage, "runs");
      await log.append("runs", messages(1, 2), { head: { title: "a" } });
      await runs.append("runs", [message("m1", "other")]);
      assert.deepEqual(await everything(log, "runs"), numbered(messages(1, 2)));
      assert.deepEqual(await everything(runs, "runs"), numbered([message("m1", "other")]));
      assert.deepEqual((await runs.tail("runs", 0))?.head, {});
      await runs.delete("runs");
      assert.deepEqual(await idsIn(log, "runs"), ["m1", "m2"]);
    }),
  },
  {
    id: "log.storage.two-storages",
    says: "two storages that were opened empty share nothing",
    async proof(open) {
      await using one = await open();
      await using two = await open();
      await logsOf(one).append(chat, messages(1, 1));
      await isAbsent(logsOf(two));
      assert.equal(await logsOf(two).append(chat, [message("m1", "other")]), 1);
    },
  },
  {
    id: "log.storage.no-repairs",
    says: "a storage in which nothing was damaged reports no repair",
    proof: withLogs(async (log, storage) => {
      const reports: unknown[] = [];
      const end = storage.onRepair((report) => reports.push(report));
      await log.append(chat, messages(1, 3));
      await log.erase(chat, ["m1"]);
      await log.delete(chat);
      end();
      end();
      assert.deepEqual([storage.repairs(), reports], [[], []]);
    }),
  },
  {
    id: "log.storage.close-twice",
    says: "closing twice, or twice at once, is closing once",
    proof: withLogs(async (log, storage) => {
      await log.append(chat, messages(1, 1));
      await Promise.all([storage.close(), storage.close()]);
      await storage.close();
      await storage[Symbol.asyncDispose]();
    }),
  },
  {
    id: "log.storage.close-unused",
    says: "a storage that was never used can be closed",
    async proof(open) {
      const storage = await open();
      await storage.close();
    },
  },
  {
    id: "log.storage.disposed",
    says: "a storage that leaves the scope of `await using` is closed",
    async proof(open) {
      let log: LogStore | undefined;
      {
        await using storage = await open();
        log = logsOf(storage);
        await log.append(chat, messages(1, 1));
      }
      await refuses("THROUGHLINE_CLOSED", log.tail(chat, 1));
    },
  },
];

/** Opening, closing, and what a storage is beside its stores. */
export const lifecycleClauses: readonly Clause[] = [...closing, ...storages];
