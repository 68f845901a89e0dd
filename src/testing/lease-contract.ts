import assert from "node:assert/strict";
import type { LeaseName } from "../core/storage/leases.ts";
import type { Storage } from "../core/storage/storage.ts";
import type { Clause, Contract } from "./contract.ts";
import { keyCorpus, refusedKeys } from "./corpus.ts";
import { refuses, untyped } from "./log-store-contract-fixtures.ts";

const name: LeaseName = { collection: "chats", key: "telegram:42" };
const gone = new Error("given up");

/** A proof about one storage. */
function proof(proves: (storage: Storage) => Promise<void>): Clause["proof"] {
  return async (open) => {
    await using storage = await open();
    await proves(storage);
  };
}

const clauses: readonly Clause[] = [
  {
    says: "a name that is held is not acquired a second time until it is released; releasing twice is releasing once",
    proof: proof(async ({ leases }) => {
      const lease = await leases.acquire(name);
      assert.equal(await leases.tryAcquire(name), undefined);
      await Promise.all([lease.release(), lease.release()]);
      const next = await leases.acquire(name);
      await lease.release();
      assert.equal(await leases.tryAcquire(name), undefined);
      assert.equal(next.lost.aborted, false);
    }),
  },
  {
    says: "every key is a name of its own, in every collection, also in the one without a name",
    proof: proof(async ({ leases }) => {
      for (const { text: key } of keyCorpus) {
        for (const collection of ["chats", "runs", ""]) {
          assert.ok(await leases.tryAcquire({ collection, key }), key);
        }
      }
    }),
  },
  {
    says: "five calls that wait for one name get it one at a time, in the order of the calls",
    proof: proof(async ({ leases }) => {
      const order: string[] = [];
      const calls = [1, 2, 3, 4, 5].map(async (n) => {
        const lease = await leases.acquire(name);
        order.push(`${n} begins`);
        await new Promise((resolve) => setImmediate(resolve));
        order.push(`${n} ends`);
        await lease.release();
      });
      await Promise.all(calls);
      const expected = [1, 2, 3, 4, 5].flatMap((n) => [`${n} begins`, `${n} ends`]);
      assert.deepEqual(order, expected);
    }),
  },
  {
    says: "the epoch of every holder is a whole number greater than that of the one before",
    proof: proof(async ({ leases }) => {
      let last = 0;
      for (let n = 0; n < 3; n++) {
        const lease = await leases.acquire(name);
        assert.ok(Number.isSafeInteger(lease.epoch) && lease.epoch > last);
        last = lease.epoch;
        await lease.release();
      }
    }),
  },
  {
    says: "a call whose signal is aborted, before it or while it waits, rejects with the signal's reason and leaves its turn to the next",
    proof: proof(async ({ leases }) => {
      await assert.rejects(leases.acquire(name, { signal: AbortSignal.abort(gone) }), gone);
      const lease = await leases.tryAcquire(name);
      assert.ok(lease);
      const ends = new AbortController();
      const waiting = leases.acquire(name, { signal: ends.signal });
      const next = leases.acquire(name);
      ends.abort(gone);
      await assert.rejects(waiting, gone);
      await lease.release();
      await (await next).release();
    }),
  },
  {
    says: "closing a storage ends its waiting, its leases are lost, and later calls are refused",
    proof: proof(async (storage) => {
      const { leases } = storage;
      const lease = await leases.acquire(name);
      const waiting = refuses("THROUGHLINE_CLOSED", leases.acquire(name));
      await storage.close();
      await waiting;
      assert.equal(lease.lost.aborted, true);
      await lease.release();
      await refuses("THROUGHLINE_CLOSED", leases.acquire(name));
      await refuses("THROUGHLINE_CLOSED", leases.tryAcquire(name));
    }),
  },
  {
    says: "a name whose key no log can have is refused, as the log would be",
    proof: proof(async ({ leases }) => {
      for (const { value, code } of refusedKeys) {
        const bad = { collection: "chats", key: untyped<string>(value) };
        await refuses(code, leases.acquire(bad));
        await refuses(code, leases.tryAcquire(bad));
      }
    }),
  },
];

/** What the leases of every storage promise, also of one that one process alone writes. */
export const leaseContract: Contract = { name: "leases", clauses };
