import assert from "node:assert/strict";
import { test } from "node:test";
import { changed } from "../../test/support/changed.ts";
import { named } from "../../test/support/contracts/named.ts";
import { searchContract } from "../../test/support/contracts/search.ts";
import type { LogStore } from "../core/storage/log-store.ts";
import { openMemoryStorage } from "../core/storage/memory/memory-storage.ts";
import type { Storage } from "../core/storage/storage.ts";
import { logStoreContract } from "./log-store-contract.ts";
import { collect } from "./log-store-contract-fixtures.ts";

const clauses = [...logStoreContract.clauses, ...searchContract.clauses];
const cannot = () => Promise.reject(new TypeError("these clauses open nothing again"));

// Method: the memory driver passes every clause. Each row breaks one promise of it, and names the
// clauses that must notice. A clause that stays green here proves nothing.

interface Bug {
  readonly bug: string;
  /** How their sentences begin. */
  readonly caughtBy: readonly string[];
  /** The calls that the broken driver answers in its own way. */
  readonly breaks: (log: LogStore) => Partial<LogStore>;
}

const bugs: readonly Bug[] = [
  {
    bug: "ignores the expected seq",
    caughtBy: ["an append that expects the", "of 20 appends at once that"],
    breaks: (log) => ({
      append: (key, records, { expectedSeq: _, ...options } = {}) =>
        log.append(key, records, options),
    }),
  },
  {
    bug: "ignores the expected seq of an erasure",
    caughtBy: ["an erasure that expects the seq", "an erasure that is"],
    breaks: (log) => ({
      erase: (key, ids, { expectedSeq: _, ...options } = {}) => log.erase(key, ids, options),
    }),
  },
  {
    bug: "erases first and looks where the log ends then",
    caughtBy: ["an erasure that expects the seq"],
    breaks: (log) => ({
      async erase(key, ids, { expectedSeq, ...options } = {}) {
        const erased = await log.erase(key, ids, options);
        if (expectedSeq !== undefined) await log.erase(key, [], { expectedSeq });
        return erased;
      },
    }),
  },
  {
    bug: "judges a repeated append by the expected seq",
    caughtBy: ["a repeated append is"],
    breaks: (log) => ({
      async append(key, records, options = {}) {
        const seq = (await log.tail(key, 0))?.seq ?? 0;
        const { expectedSeq = seq } = options;
        if (expectedSeq === seq) return log.append(key, records, options);
        return log.append(key, [{ id: "new" }, ...records], options);
      },
    }),
  },
  {
    bug: "stores a batch record by record",
    caughtBy: ["one record that is", "a batch with one", "a tail or a"],
    breaks: (log) => ({
      async append(key, records, options) {
        let seq = 0;
        for (const record of records) seq = await log.append(key, [record], options);
        return seq;
      },
    }),
  },
  {
    bug: "copies records only after a moment",
    caughtBy: ["what the caller does"],
    breaks: (log) => ({
      append: async (key, records, options) => {
        await Promise.resolve();
        return log.append(key, records, options);
      },
    }),
  },
  {
    bug: "forgets the head",
    caughtBy: ["the head of a log is the", "a list is sorted", "what a reader does to the heads"],
    breaks: (log) => ({
      append: (key, records, { head: _, ...options } = {}) => log.append(key, records, options),
    }),
  },
  {
    bug: "replaces the head also when it stores nothing",
    caughtBy: ["the head of a log is the"],
    breaks: (log) => ({
      async append(key, records, options = {}) {
        const seq = await log.append(key, records, options);
        await log.erase(key, [], options.head === undefined ? {} : { head: options.head });
        return seq;
      },
    }),
  },
  {
    bug: "has no mark of what was erased",
    caughtBy: ["an erased record leaves", "an erased record appended", "what another record of"],
    breaks: () => ({ erase: async (_key, ids) => ids.length }),
  },
  {
    bug: "deletes nothing",
    caughtBy: ["a deleted log is", "a deleted log begins", "a delete forgets the appends"],
    breaks: (log) => ({
      delete: async (key) => (await log.tail(key, 0)) !== undefined,
    }),
  },
  {
    bug: "deletes every log whose key begins alike",
    caughtBy: ["delete forgets that key"],
    breaks: (log) => ({
      async delete(key) {
        const { rows } = await log.list({ limit: 1_000 });
        for (const row of rows) if (row.key.startsWith(key)) await log.delete(row.key);
        return rows.some((row) => row.key === key);
      },
    }),
  },
  {
    bug: "treats keys without regard to case",
    caughtBy: ["keys that differ at all are different logs,"],
    breaks: (log) => ({
      append: (key, records, options) => log.append(key.toLowerCase(), records, options),
      read: (key, options) => log.read(key.toLowerCase(), options),
    }),
  },
  {
    bug: "normalises text",
    caughtBy: ["text comes back equal, as a value and as a key"],
    breaks: (log) => ({
      append: (key, records, options) => {
        const text = JSON.stringify(records).normalize("NFC").replaceAll("\ufeff", "");
        return log.append(key, JSON.parse(text), options);
      },
    }),
  },
  {
    bug: "lets a read see what is appended while it runs",
    caughtBy: ["a read that has begun does"],
    breaks: (log) => ({
      async *read(key, options = {}) {
        let { after = 0 } = options;
        for (let more = true; more; ) {
          const page = await log.page(key, { after, limit: 2 });
          yield* page;
          after = page.at(-1)?.seq ?? after;
          more = page.length > 0 && after < 3_000;
        }
      },
    }),
  },
  {
    bug: "answers one list for all readers",
    caughtBy: ["what a reader does to the records"],
    breaks: (log) => {
      const known = new Map<string, Awaited<ReturnType<LogStore["page"]>>>();
      return {
        async page(key, options) {
          const page = known.get(key) ?? (await log.page(key, options));
          known.set(key, page);
          return page;
        },
      };
    },
  },
  {
    bug: "pages a list by counting rows",
    caughtBy: ["a list that is"],
    breaks: (log) => ({
      async list({ cursor, ...options }) {
        const { rows } = await log.list({ ...options, limit: 1_000 });
        const start = Number(cursor ?? 0);
        const end = start + options.limit;
        return {
          rows: rows.slice(start, end),
          ...(end < rows.length ? { cursor: String(end) } : {}),
        };
      },
    }),
  },
  {
    bug: "answers a cursor after a full last page",
    caughtBy: ["the pages of a"],
    breaks: (log) => ({
      async list(options) {
        const page = await log.list(options);
        return page.rows.length === options.limit ? { cursor: "more", ...page } : page;
      },
    }),
  },
  {
    bug: "searches for the query as one piece",
    caughtBy: ["search finds whole words,"],
    breaks: (log) => ({
      async search(query, { key = "telegram:42", limit }) {
        const records = await collect(log.read(key));
        const hits = records.filter((record) => String(record["content"]).includes(query));
        return hits.map((record) => ({ key, record })).slice(0, limit);
      },
    }),
  },
];

function broken({ breaks }: Bug): Storage {
  const storage = openMemoryStorage();
  return changed(storage, {
    logs(collection, projection) {
      const log = storage.logs(collection, projection);
      return changed(log, breaks(log));
    },
  });
}

for (const bug of bugs) {
  test(`a driver that ${bug.bug} is found`, async () => {
    for (const { says, proof } of named(clauses, bug.caughtBy)) {
      await proof(async () => openMemoryStorage(), cannot);
      await assert.rejects(
        proof(async () => broken(bug), cannot),
        says,
      );
    }
  });
}
