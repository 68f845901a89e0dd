import assert from "node:assert/strict";
import { test } from "node:test";
import { changed } from "../../test/support/changed.ts";
import { named } from "../../test/support/contracts/named.ts";
import type { Lease, Leases } from "../core/storage/leases.ts";
import { openMemoryStorage } from "../core/storage/memory/memory-storage.ts";
import type { Storage } from "../core/storage/storage.ts";
import { leaseContract } from "./lease-contract.ts";

// Method: as in the test of the log store's contract. The memory driver passes every clause; each row
// breaks one promise, and names the clauses that must notice.

const bugs: readonly (readonly [
  bug: string,
  caughtBy: readonly string[],
  breaks: (leases: Leases) => Partial<Leases>,
])[] = [
  [
    "gives a name to everyone",
    ["a name that is", "five calls that wait"],
    (leases) => {
      let n = 0;
      const own = (key: string) => ({ collection: String(++n), key });
      return {
        acquire: ({ key }, options) => leases.acquire(own(key), options),
        tryAcquire: ({ key }) => leases.tryAcquire(own(key)),
      };
    },
  ],
  [
    "holds all keys at once",
    ["every key is a"],
    (leases) => ({ tryAcquire: (name) => leases.tryAcquire({ ...name, key: "all" }) }),
  ],
  [
    "counts every holder as the first",
    ["the epoch of every holder is a"],
    (leases) => ({ acquire: async (name) => withOther(await leases.acquire(name), { epoch: 1 }) }),
  ],
  [
    "pays no regard to the signal of a call",
    ["a call whose signal is aborted, before it or while it waits,"],
    (leases) => ({ acquire: (name) => leases.acquire(name) }),
  ],
  [
    "tells no holder that its lease is lost",
    ["closing a storage ends its waiting, its"],
    (leases) => {
      const { signal: lost } = new AbortController();
      return { acquire: async (name) => withOther(await leases.acquire(name), { lost }) };
    },
  ],
  [
    "leases names of every kind",
    ["a name whose key"],
    (leases) => ({ acquire: () => leases.acquire({ collection: "", key: "any" }) }),
  ],
];

function withOther(lease: Lease, changes: Partial<Lease>): Lease {
  return { epoch: lease.epoch, lost: lease.lost, release: () => lease.release(), ...changes };
}

function broken(breaks: (leases: Leases) => Partial<Leases>): Storage {
  const storage = openMemoryStorage();
  const { leases } = storage;
  const own: Leases = {
    acquire: (...args) => leases.acquire(...args),
    tryAcquire: (...args) => leases.tryAcquire(...args),
    ...breaks(leases),
  };
  return changed(storage, { leases: own });
}

const cannot = () => Promise.reject(new TypeError("these clauses open nothing again"));

for (const [bug, caughtBy, breaks] of bugs) {
  for (const { says, proof } of named(leaseContract.clauses, caughtBy)) {
    test(`a driver that ${bug} is found: ${says}`, async () => {
      await proof(async () => openMemoryStorage(), cannot);
      // What never comes is noticed by the runner.
      const late = new Promise<void>((_, reject) => setTimeout(reject, 200, new Error("late")));
      await assert.rejects(Promise.race([proof(async () => broken(breaks), cannot), late]));
    });
  }
}
