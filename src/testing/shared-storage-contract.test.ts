import assert from "node:assert/strict";
import { test } from "node:test";
import { changed } from "../../test/support/changed.ts";
import { MemorySharedPlace } from "../../test/support/memory-shared-place.ts";
import type { Cluster } from "../core/storage/cluster.ts";
import type { Lease, Leases } from "../core/storage/leases.ts";
import type { LogStore } from "../core/storage/log-store.ts";
import type { Storage } from "../core/storage/storage.ts";
import { runSharedContract, sharedStorageContract } from "./shared-storage-contract.ts";

const { clauses } = sharedStorageContract;

test("every clause of the shared storage contract has an id and a sentence of its own", () => {
  assert.equal(new Set(clauses.map(({ id }) => id)).size, clauses.length);
  assert.equal(new Set(clauses.map(({ says }) => says)).size, clauses.length);
  for (const { id } of clauses) assert.match(id, /^shared(\.[\w-]+)+$/);
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
    caughtBy: ["shared.expected-seq.rounds"],
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
    caughtBy: ["shared.erase.expected-seq-race"],
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
    caughtBy: ["shared.erase.expected-seq-writers"],
    logs: (log) => ({
      erase: (key, ids, { expectedSeq: _, ...options } = {}) => log.erase(key, ids, options),
    }),
  },
  {
    bug: "stores a batch record by record",
    caughtBy: ["shared.append.batches"],
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
    caughtBy: ["shared.read.at-once", "shared.delete.seen"],
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
    caughtBy: ["shared.lease.exclusive", "shared.lease.race", "shared.fence.writes"],
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
    caughtBy: ["shared.lease.names"],
    leases: (leases) => ({
      acquire: (name, options) => leases.acquire({ ...name, key: "all" }, options),
      tryAcquire: (name) => leases.tryAcquire({ ...name, key: "all" }),
    }),
  },
  {
    bug: "forgets the lease's epoch once it is lost",
    caughtBy: ["shared.fence.writes", "shared.fence.after-release"],
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
    caughtBy: ["shared.epoch.grows", "shared.epoch.deleted", "shared.wait.release"],
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
    caughtBy: ["shared.lost.notified", "shared.lost.not-taken-over", "shared.wait.close-frees"],
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
    caughtBy: ["shared.wait.abort"],
    leases: (leases) => ({ acquire: (name) => leases.acquire(name) }),
  },
  {
    bug: "tells everything twice",
    caughtBy: ["shared.publish.all-at-once"],
    cluster: (cluster) => ({
      publish(message) {
        cluster.publish(message);
        if (message["end"] !== true) cluster.publish(message);
      },
    }),
  },
  {
    bug: "tells long messages later than short ones",
    caughtBy: ["shared.publish.sizes"],
    cluster: (cluster) => ({
      publish(message) {
        if (JSON.stringify(message).length < 7_900) cluster.publish(message);
        else queueMicrotask(() => cluster.publish(message));
      },
    }),
  },
  {
    bug: "tells itself too",
    caughtBy: ["shared.publish.all-at-once"],
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
    caughtBy: ["shared.publish.text"],
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
  test(`a driver that ${bug.bug} is found by ${bug.caughtBy.join(", ")}`, async () => {
    const asked = clauses.filter(({ id }) => bug.caughtBy.includes(id));
    assert.equal(asked.length, bug.caughtBy.length);
    const results = await Array.fromAsync(
      runSharedContract(
        { name: "shared storage", clauses: asked },
        { openPlace: async () => new MemorySharedPlace(broken(bug)) },
      ),
    );
    assert.deepEqual(
      results.filter(({ ok }) => ok).map(({ id }) => id),
      [],
    );
  });
}
