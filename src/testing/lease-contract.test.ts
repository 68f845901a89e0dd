import assert from "node:assert/strict";
import { test } from "node:test";
import { changed } from "../../test/support/changed.ts";
import type { Lease, Leases } from "../core/storage/leases.ts";
import { openMemoryStorage } from "../core/storage/memory/memory-storage.ts";
import type { Storage } from "../core/storage/storage.ts";
import { runContract } from "./contract.ts";
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
    ["lease.exclusive", "lease.order"],
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
    ["lease.names"],
    (leases) => ({ tryAcquire: (name) => leases.tryAcquire({ ...name, key: "all" }) }),
  ],
  [
    "counts every holder as the first",
    ["lease.epoch"],
    (leases) => ({ acquire: async (name) => withOther(await leases.acquire(name), { epoch: 1 }) }),
  ],
  [
    "pays no regard to the signal of a call",
    ["lease.abort"],
    (leases) => ({ acquire: (name) => leases.acquire(name) }),
  ],
  [
    "tells no holder that its lease is lost",
    ["lease.closed"],
    (leases) => {
      const { signal: lost } = new AbortController();
      return { acquire: async (name) => withOther(await leases.acquire(name), { lost }) };
    },
  ],
  [
    "leases names of every kind",
    ["lease.refused"],
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

for (const [bug, caughtBy, breaks] of bugs) {
  for (const id of caughtBy) {
    test(`a driver that ${bug} is found by ${id}`, async () => {
      const clauses = leaseContract.clauses.filter((clause) => clause.id === id);
      assert.equal(clauses.length, 1);
      const results = runContract({ name: "leases", clauses }, async () => broken(breaks), {});
      // What never comes is noticed by the runner.
      const late = new Promise<undefined>((resolve) => setTimeout(resolve, 200, undefined));
      const first = await Promise.race([results.next(), late]);
      assert.notEqual(first?.value?.ok, true);
    });
  }
}

test("the memory driver keeps its leases as every storage does", async () => {
  const results = await Array.fromAsync(
    runContract(leaseContract, async () => openMemoryStorage(), {}),
  );
  assert.deepEqual(
    results.filter(({ ok }) => !ok),
    [],
  );
});
