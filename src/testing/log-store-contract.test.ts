import assert from "node:assert/strict";
import { test } from "node:test";
import { changed } from "../../test/support/changed.ts";
import type { LogStore } from "../core/storage/log-store.ts";
import { openMemoryStorage } from "../core/storage/memory/memory-storage.ts";
import type { Storage } from "../core/storage/storage.ts";
import { type Contract, runContract } from "./contract.ts";
import { documentStoreContract } from "./document-store-contract.ts";
import { fileStoreContract } from "./file-store-contract.ts";
import { leaseContract } from "./lease-contract.ts";
import { logStoreContract } from "./log-store-contract.ts";
import { collect } from "./log-store-contract-fixtures.ts";

const contracts = [logStoreContract, documentStoreContract, fileStoreContract, leaseContract];
for (const contract of contracts) {
  test(`every clause of the ${contract.name} contract has an id and a sentence of its own`, () => {
    const ids = contract.clauses.map((clause) => clause.id);
    const sentences = contract.clauses.map((clause) => clause.says);
    assert.deepEqual(ids.length, new Set(ids).size);
    assert.deepEqual(sentences.length, new Set(sentences).size);
    for (const id of ids) assert.match(id, /^(log|document|file|lease)(\.[\w-]+)+$/);
    for (const says of sentences) assert.doesNotMatch(says, /^[A-Z]|\.$/, says);
  });
}

// Method: the memory driver passes every clause. Each row breaks one promise of it, and names the
// clauses that must notice. A clause that stays green here proves nothing.

interface Bug {
  readonly bug: string;
  readonly caughtBy: readonly string[];
  /** The calls that the broken driver answers in its own way. */
  readonly breaks: (log: LogStore) => Partial<LogStore>;
}

const bugs: readonly Bug[] = [
  {
    bug: "ignores the expected seq",
    caughtBy: ["log.expected-seq.append", "log.expected-seq.race"],
    breaks: (log) => ({
      append: (key, records, { expectedSeq: _, ...options } = {}) =>
        log.append(key, records, options),
    }),
  },
  {
    bug: "ignores the expected seq of an erasure",
    caughtBy: ["log.expected-seq.erase", "log.expected-seq.erase-in-order"],
    breaks: (log) => ({
      erase: (key, ids, { expectedSeq: _, ...options } = {}) => log.erase(key, ids, options),
    }),
  },
  {
    bug: "erases first and looks where the log ends then",
    caughtBy: ["log.expected-seq.erase"],
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
    caughtBy: ["log.expected-seq.retry"],
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
    caughtBy: ["log.refuse.whole-batch", "log.id-conflict.stores-nothing", "log.at-once.tails"],
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
    caughtBy: ["log.append.copied"],
    breaks: (log) => ({
      append: async (key, records, options) => {
        await Promise.resolve();
        return log.append(key, records, options);
      },
    }),
  },
  {
    bug: "forgets the head",
    caughtBy: ["log.head.newest", "log.list.order", "log.copy.heads"],
    breaks: (log) => ({
      append: (key, records, { head: _, ...options } = {}) => log.append(key, records, options),
    }),
  },
  {
    bug: "replaces the head also when it stores nothing",
    caughtBy: ["log.head.newest"],
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
    caughtBy: ["log.erase.leaves", "log.erase.id-stays-used", "log.search.gone"],
    breaks: () => ({ erase: async (_key, ids) => ids.length }),
  },
  {
    bug: "deletes nothing",
    caughtBy: ["log.delete.forgets", "log.delete.begins-again", "log.at-once.delete-wins"],
    breaks: (log) => ({
      delete: async (key) => (await log.tail(key, 0)) !== undefined,
    }),
  },
  {
    bug: "deletes every log whose key begins alike",
    caughtBy: ["log.delete.no-other"],
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
    caughtBy: ["log.key.all-different"],
    breaks: (log) => ({
      append: (key, records, options) => log.append(key.toLowerCase(), records, options),
      read: (key, options) => log.read(key.toLowerCase(), options),
    }),
  },
  {
    bug: "normalises text",
    caughtBy: ["log.text.corpus"],
    breaks: (log) => ({
      append: (key, records, options) => {
        const text = JSON.stringify(records).normalize("NFC").replaceAll("\ufeff", "");
        return log.append(key, JSON.parse(text), options);
      },
    }),
  },
  {
    bug: "lets a read see what is appended while it runs",
    caughtBy: ["log.read.snapshot"],
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
    caughtBy: ["log.copy.records"],
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
    caughtBy: ["log.list.while-changing"],
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
    caughtBy: ["log.list.pages"],
    breaks: (log) => ({
      async list(options) {
        const page = await log.list(options);
        return page.rows.length === options.limit ? { cursor: "more", ...page } : page;
      },
    }),
  },
  {
    bug: "searches for the query as one piece",
    caughtBy: ["log.search.words"],
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
  test(`a driver that ${bug.bug} is found by ${bug.caughtBy.join(", ")}`, async () => {
    const clauses = logStoreContract.clauses.filter(({ id }) => bug.caughtBy.includes(id));
    assert.equal(clauses.length, bug.caughtBy.length);
    const contract: Contract = { name: "log store", clauses };
    const whole = await Array.fromAsync(runContract(contract, async () => openMemoryStorage()));
    assert.deepEqual(
      whole.filter(({ ok }) => !ok),
      [],
    );
    const results = await Array.fromAsync(runContract(contract, async () => broken(bug)));
    assert.deepEqual(
      results.filter(({ ok }) => ok),
      [],
    );
  });
}
