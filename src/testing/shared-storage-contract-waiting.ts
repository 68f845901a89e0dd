import assert from "node:assert/strict";
import { chat, everything, messages, numbered, refuses } from "./log-store-contract-fixtures.ts";
import { chatLease, upTo, withThree, withTwo } from "./shared-storage-contract-fixtures.ts";
import type { SharedClause } from "./shared-storage-contract-place.ts";

const turns: readonly SharedClause[] = [
  {
    id: "shared.wait.release",
    says: "a waiter for a name that another process holds gets it once it is released",
    proof: withTwo(async (a, b) => {
      const lease = await a.leases.acquire(chatLease);
      let isHeld = false;
      const waiting = b.leases.acquire(chatLease).then((next) => {
        isHeld = true;
        return next;
      });
      await b.log.append(chat, messages(1, 1));
      assert.equal(isHeld, false);
      await lease.release();
      assert.ok((await waiting).epoch > lease.epoch);
    }),
  },
  {
    id: "shared.wait.all",
    says: "two processes that both wait for a name of a third both get it, one after the other",
    proof: withThree(async (a, b, c) => {
      const lease = await a.leases.acquire(chatLease);
      let inside = 0;
      const waiting = [b, c].map(async ({ leases, log }) => {
        const next = await leases.acquire(chatLease);
        assert.equal(++inside, 1);
        await log.tail(chat, 0);
        inside--;
        await next.release();
      });
      await lease.release();
      await Promise.all(waiting);
    }),
  },
  {
    id: "shared.wait.names-apart",
    says: "a waiter for one name does not wait for another, nor keeps others from it",
    proof: withTwo(async (a, b) => {
      const lease = await a.leases.acquire(chatLease);
      const waiting = b.leases.acquire(chatLease);
      const other = await b.leases.acquire({ ...chatLease, key: "telegram:4" });
      await other.release();
      await (await a.leases.acquire({ ...chatLease, key: "telegram:4" })).release();
      await lease.release();
      await (await waiting).release();
    }),
  },
];

const abort = new Error("the caller stopped waiting");

const aborts: readonly SharedClause[] = [
  {
    id: "shared.wait.abort",
    says: "waiting for another process ends by the signal, with its reason, and takes nothing",
    proof: withThree(async (a, b, c) => {
      const lease = await a.leases.acquire(chatLease);
      const ends = new AbortController();
      const waiting = b.leases.acquire(chatLease, { signal: ends.signal });
      await b.log.tail(chat, 0);
      ends.abort(abort);
      await assert.rejects(waiting, abort);
      await lease.release();
      assert.ok(await c.leases.tryAcquire(chatLease));
    }),
  },
  {
    id: "shared.wait.aborted-before",
    says: "a call whose signal was aborted before holds nothing, also if the name is free",
    proof: withTwo(async (a, b) => {
      await assert.rejects(
        a.leases.acquire(chatLease, { signal: AbortSignal.abort(abort) }),
        abort,
      );
      assert.ok(await b.leases.tryAcquire(chatLease));
    }),
  },
  {
    id: "shared.wait.aborted-after",
    says: "a signal that is aborted after the name was acquired takes nothing away",
    proof: withTwo(async (a, b) => {
      const ends = new AbortController();
      const lease = await a.leases.acquire(chatLease, { signal: ends.signal });
      ends.abort(abort);
      assert.equal(await b.leases.tryAcquire(chatLease), undefined);
      assert.equal(lease.lost.aborted, false);
    }),
  },
];

const endings: readonly SharedClause[] = [
  {
    id: "shared.wait.close-frees",
    says: "closing a storage frees its leases for waiters, and tells their holders",
    proof: withTwo(async (a, b) => {
      const lease = await a.leases.acquire(chatLease);
      const waiting = b.leases.acquire(chatLease);
      await a.storage.close();
      assert.ok((await waiting).epoch > lease.epoch);
      assert.equal(lease.lost.aborted, true);
      await lease.release();
    }),
  },
  {
    id: "shared.wait.close-ends",
    says: "closing a storage ends its waiting with THROUGHLINE_CLOSED, in every line of it",
    proof: withTwo(async (a, b) => {
      const lease = await a.leases.acquire(chatLease);
      const waiting = [b, b, b].map(({ leases }) =>
        refuses("THROUGHLINE_CLOSED", leases.acquire(chatLease)),
      );
      await b.log.tail(chat, 0);
      await b.storage.close();
      await Promise.all(waiting);
      await lease.release();
      assert.ok(await a.leases.tryAcquire(chatLease));
    }),
  },
  {
    id: "shared.wait.closed",
    says: "acquire and tryAcquire reject with THROUGHLINE_CLOSED after the storage was closed",
    proof: withTwo(async (a, b) => {
      await a.storage.close();
      await refuses("THROUGHLINE_CLOSED", a.leases.acquire(chatLease));
      await refuses("THROUGHLINE_CLOSED", a.leases.tryAcquire(chatLease));
      assert.ok(await b.leases.tryAcquire(chatLease));
    }),
  },
  {
    id: "shared.wait.killed",
    says: "a waiter for a name whose holder is killed gets it, with a greater epoch",
    proof: withTwo(async (a, b, place) => {
      const lease = await a.leases.acquire(chatLease);
      const waiting = b.leases.acquire(chatLease);
      await b.log.tail(chat, 0);
      await place.kill(a.storage);
      assert.ok((await waiting).epoch > lease.epoch);
    }),
  },
  {
    id: "shared.wait.killed-before",
    says: "asking for a name after its holder was killed gets it, and finds what was stored",
    proof: withTwo(async (a, b, place) => {
      await a.leases.acquire(chatLease);
      await a.log.append(chat, messages(1, 3), { expectedSeq: 0 });
      await place.kill(a.storage);
      const next = await b.leases.acquire(chatLease);
      assert.deepEqual(await everything(b.log), numbered(messages(1, 3)));
      assert.equal(await b.log.append(chat, messages(4, 4), { expectedSeq: 3 }), 4);
      await next.release();
    }),
  },
  {
    id: "shared.wait.killed-all",
    says: "all the names of a killed holder become free",
    proof: withTwo(async (a, b, place) => {
      const names = upTo(10).map((n) => ({ collection: "chats", key: `chat:${n}` }));
      await Promise.all(names.map((name) => a.leases.acquire(name)));
      await place.kill(a.storage);
      const leases = await Promise.all(names.map((name) => b.leases.acquire(name)));
      assert.equal(leases.length, 10);
    }),
  },
];

/** Waiting for a name, and what ends it. */
export const leaseWaitClauses: readonly SharedClause[] = [...turns, ...aborts, ...endings];
