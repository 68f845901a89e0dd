import assert from "node:assert/strict";
import { test } from "node:test";
import type { Cluster } from "../../src/core/storage/cluster.ts";
import type { Lease, Leases } from "../../src/core/storage/leases.ts";
import type { LogStore } from "../../src/core/storage/log-store.ts";
import type { Storage } from "../../src/core/storage/storage.ts";
import { changed } from "./changed.ts";
import { named } from "./contracts/named.ts";
import { sharedStorageClauses as clauses } from "./contracts/shared-storage.ts";
import { MemorySharedPlace } from "./memory-shared-place.ts";

test("every clause of the shared storage contract has a sentence of its own", () => {
  assert.equal(new Set(clauses.map(({ says }) => says)).size, clauses.length);
  for (const { says } of clauses) assert.doesNotMatch(says, /^[A-Z]|\.$/, says);
});

// Method: the memory driver passes every clause. Each row breaks one promise of it, and names the
// clauses that must notice. A clause that stays green here proves nothing.

interface Bug {
  readonly bug: string;
  readonly caughtBy: readonly string[];
  readonly logs?: (log: LogStore) => Partial<LogStore>;
  readonly leases?: (leases: Leases, processId: string) => Partial<Leases>;
  readonly cluster?: (cluster: Cluster) => Partial<Cluster>;
}

const bugs: readonly Bug[] = [
  {
    bug: "looks where the log ends before it appends, not while it does",
    caughtBy: ["in each of 20"],
    logs: (log) => ({
      async append(key, records, { expectedSeq, ...options } = {}) {
        const seq = (await log.tail(key, 0))?.seq ?? 0;
        if (expectedSeq === undefined || expectedSeq === seq) {
          return log.append(key, records, options);
        }
        return log.append(key, records, { expectedSeq, ...options });
      },
    }),
  },
  {
    bug: "looks where the log ends before it erases, not while it does",
    caughtBy: ["an erasure that expects the end,"],
    logs: (log) => ({
      async erase(key, ids, { expectedSeq, ...options } = {}) {
        const seq = (await log.tail(key, 0))?.seq ?? 0;
        if (expectedSeq === undefined || expectedSeq === seq) return log.erase(key, ids, options);
        return log.erase(key, ids, { expectedSeq, ...options });
      },
    }),
  },
  {
    bug: "ignores the expected seq of an erasure",
    caughtBy: ["what three processes set"],
    logs: (log) => ({
      erase: (key, ids, { expectedSeq: _, ...options } = {}) => log.erase(key, ids, options),
    }),
  },
  {
    bug: "stores a batch record by record",
    caughtBy: ["batches that three processes"],
    logs: (log) => ({
      async append(key, records, options) {
        let seq = 0;
        for (const record of records) {
          await Promise.resolve();
          seq = await log.append(key, [record], options);
        }
        return seq;
      },
    }),
  },
  {
    bug: "remembers the end of a log",
    caughtBy: ["every way of reading", "a log that one process deleted is"],
    logs: (log) => {
      const known = new Map<string, ReturnType<LogStore["tail"]>>();
      return {
        tail(key, limit) {
          const tail = known.get(key) ?? log.tail(key, limit);
          known.set(key, tail);
          return tail;
        },
      };
    },
  },
  {
    bug: "leases without regard to other processes",
    caughtBy: ["a name that one", "of four processes that", "every write of a"],
    leases: (leases, processId) => {
      const own = (collection: string) => `${processId} ${collection}`;
      return {
        acquire: ({ collection, key }, options) =>
          leases.acquire({ collection: own(collection), key }, options),
        tryAcquire: ({ collection, key }) =>
          leases.tryAcquire({ collection: own(collection), key }),
      };
    },
  },
  {
    bug: "leases all keys of a collection at once",
    caughtBy: ["the name of every"],
    leases: (leases) => ({
      acquire: (name, options) => leases.acquire({ ...name, key: "all" }, options),
      tryAcquire: (name) => leases.tryAcquire({ ...name, key: "all" }),
    }),
  },
  {
    bug: "forgets the lease's epoch once it is lost",
    caughtBy: ["every write of a", "a holder that slept is refused"],
    leases: (leases) => ({
      acquire: async (name, options) => {
        const lease = await leases.acquire(name, options);
        lease.lost.addEventListener("abort", () => void lease.release());
        return lease;
      },
    }),
  },
  {
    bug: "counts the epochs of each process from 1",
    caughtBy: [
      "the epoch of every holder is greater",
      "a holder whose log",
      "a waiter for a name that",
    ],
    leases: (leases) => {
      let epoch = 0;
      return { acquire: async (name, options) => withEpoch(await leases.acquire(name, options)) };
      function withEpoch(lease: Lease): Lease {
        epoch++;
        return { epoch, lost: lease.lost, release: () => lease.release() };
      }
    },
  },
  {
    bug: "tells no holder that its lease is lost",
    caughtBy: [
      "a holder that slept too",
      "a holder that slept is notified",
      "closing a storage frees",
    ],
    leases: (leases) => ({
      acquire: async (name, options) => {
        const lease = await leases.acquire(name, options);
        const { signal: lost } = new AbortController();
        return { epoch: lease.epoch, lost, release: () => lease.release() };
      },
    }),
  },
  {
    bug: "pays no regard to the signal of whoever waits",
    caughtBy: ["a call whose signal is aborted, before it or while it waits for"],
    leases: (leases) => ({ acquire: (name) => leases.acquire(name) }),
  },
  {
    bug: "tells everything twice",
    caughtBy: ["when four processes publish"],
    cluster: (cluster) => ({
      publish(message) {
        cluster.publish(message);
        if (message["end"] !== true) cluster.publish(message);
      },
    }),
  },
  {
    bug: "tells long messages later than short ones",
    caughtBy: ["messages of 7,000 bytes"],
    cluster: (cluster) => ({
      publish(message) {
        if (JSON.stringify(message).length < 7_900) cluster.publish(message);
        else queueMicrotask(() => cluster.publish(message));
      },
    }),
  },
  {
    bug: "tells itself too",
    caughtBy: ["when four processes publish"],
    cluster: (cluster) => {
      const listeners: ((message: object, processId: string) => void)[] = [];
      return {
        publish(message) {
          cluster.publish(message);
          for (const listener of listeners) listener(message, cluster.processId);
        },
        subscribe(listener) {
          listeners.push(listener as (message: object, processId: string) => void);
          return cluster.subscribe(listener);
        },
      };
    },
  },
  {
    bug: "tells text as its encoding has it",
    caughtBy: ["texts and values of every kind arrive"],
    cluster: (cluster) => ({
      publish: (message) => {
        const text = JSON.stringify(message).replaceAll(/\\u[0-9a-f]{4}/g, "\ufffd");
        cluster.publish(JSON.parse(text));
      },
    }),
  },
];

function broken({ logs, leases, cluster }: Bug): (storage: Storage) => Storage {
  return (storage) => {
    const known = new Map<LogStore, LogStore>();
    return changed(storage, {
      leases: changed(storage.leases, leases?.(storage.leases, storage.cluster.processId)),
      cluster: changed(storage.cluster, cluster?.(storage.cluster)),
      logs(collection, projection) {
        const log = storage.logs(collection, projection);
        const own = known.get(log) ?? changed(log, logs?.(log));
        known.set(log, own);
        return own;
      },
    });
  };
}

for (const bug of bugs) {
  test(`a driver that ${bug.bug} is found`, async () => {
    for (const { says, proof } of named(clauses, bug.caughtBy)) {
      await assert.rejects(
        proof(async () => new MemorySharedPlace(broken(bug))),
        says,
      );
    }
  });
}
