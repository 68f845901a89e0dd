import assert from "node:assert/strict";
import type { Lease, LeaseName } from "../../../src/core/storage/leases.ts";
import { keyCorpus } from "../../../src/testing/corpus.ts";
import {
  chat,
  everything,
  isAbsent,
  messages,
  numbered,
  refuses,
  upTo,
} from "../../../src/testing/log-store-contract-fixtures.ts";
import { chatLease, withFour, withThree, withTwo } from "./shared-fixtures.ts";
import type { SharedClause } from "./shared-place.ts";

const holding: readonly SharedClause[] = [
  {
    says: "a name that one process holds is held by no other until it is released; releasing twice is releasing once",
    proof: withThree(async (a, b, c) => {
      const lease = await a.leases.acquire(chatLease);
      assert.equal(await b.leases.tryAcquire(chatLease), undefined);
      assert.equal(await c.leases.tryAcquire(chatLease), undefined);
      await Promise.all([lease.release(), lease.release()]);
      const next = await b.leases.tryAcquire(chatLease);
      assert.ok(next);
      await lease.release();
      assert.equal(await a.leases.tryAcquire(chatLease), undefined);
      assert.equal(await c.leases.tryAcquire(chatLease), undefined);
      assert.equal(next.lost.aborted, false);
    }),
  },
  {
    says: "of four processes that try for one name at once one gets it, in each of 10 rounds",
    proof: withFour(async (writers) => {
      for (const _ of upTo(10)) {
        const tries = await Promise.all(writers.map(({ leases }) => leases.tryAcquire(chatLease)));
        const won = tries.filter((lease) => lease !== undefined);
        assert.equal(won.length, 1);
        await won[0]?.release();
      }
    }),
  },
  {
    says: "20 sections of four processes, each under the lease, never overlap, and all come to pass",
    proof: withFour(async (writers) => {
      let inside = 0;
      const sections = writers.flatMap(({ leases, log }, index) =>
        upTo(5).map(async (n) => {
          const lease = await leases.acquire(chatLease);
          assert.equal(++inside, 1);
          const seq = (await log.tail(chat, 0))?.seq ?? 0;
          await log.append(chat, [{ id: `m${index}.${n}` }], { expectedSeq: seq });
          assert.equal(inside--, 1);
          await lease.release();
        }),
      );
      await Promise.all(sections);
      assert.equal((await writers[0]?.log.tail(chat, 0))?.seq, 20);
    }),
  },
  {
    says: "the name of every key is a lease of its own in every collection, also in the one without a name",
    proof: withTwo(async (a, b) => {
      const names = keyCorpus.flatMap(({ text }): LeaseName[] => [
        { collection: "chats", key: text },
        { collection: "runs", key: text },
        { collection: "", key: text },
      ]);
      const leases = await Promise.all(names.map((name) => a.leases.tryAcquire(name)));
      assert.ok(leases.every((lease) => lease !== undefined));
      const others = await Promise.all(names.map((name) => b.leases.tryAcquire(name)));
      assert.ok(others.every((lease) => lease === undefined));
    }),
  },
  {
    says: "a lease on a log that does not exist makes none, while it is held and when it was released",
    proof: withTwo(async (a, b) => {
      const lease = await a.leases.acquire(chatLease);
      for (const { log } of [a, b]) {
        await isAbsent(log);
        assert.equal(await log.delete(chat), false);
        assert.equal(await log.erase(chat, ["m1"], { head: { title: "none" } }), 0);
        await isAbsent(log);
      }
      assert.equal(await a.log.append(chat, messages(1, 2), { expectedSeq: 0 }), 2);
      assert.equal(await b.log.delete(chat), true);
      await lease.release();
      await isAbsent(b.log);
    }),
  },
  {
    says: "the holder of a log appends, erases and deletes as if there were no lease",
    proof: withTwo(async (a, b) => {
      await using _ = released(await a.leases.acquire(chatLease));
      assert.equal(await a.log.append(chat, messages(1, 3), { expectedSeq: 0 }), 3);
      assert.equal(await a.log.append(chat, messages(1, 3)), 3);
      const other = a.log.append(chat, [{ id: "m1", content: "other" }]);
      await refuses("THROUGHLINE_ID_CONFLICT", other);
      await refuses("THROUGHLINE_CONFLICT", a.log.append(chat, messages(4, 4), { expectedSeq: 2 }));
      assert.equal(await a.log.erase(chat, ["m1", "none"]), 1);
      assert.equal((await b.log.tail(chat, 0))?.seq, 3);
      assert.equal(await a.log.delete(chat), true);
      assert.equal(await a.log.delete(chat), false);
      await isAbsent(b.log);
      assert.equal(await a.log.append(chat, messages(1, 1), { expectedSeq: 0 }), 1);
    }),
  },
  {
    says: "a holder that lives keeps its lease, however long another process sleeps",
    proof: withThree(async (a, b, c, place) => {
      const lease = await a.leases.acquire(chatLease);
      await place.sleep(b.storage);
      await place.wake(b.storage);
      assert.equal(lease.lost.aborted, false);
      assert.equal(await c.leases.tryAcquire(chatLease), undefined);
      assert.equal(await b.leases.tryAcquire(chatLease), undefined);
    }),
  },
];

const epochs: readonly SharedClause[] = [
  {
    says: "the epoch of every holder is greater than that of the one before, in any process",
    proof: withThree(async (...[a, b, c]) => {
      let last = 0;
      for (const { leases } of [a, b, a, c, c, b, a]) {
        const lease = await leases.acquire(chatLease);
        assert.ok(Number.isSafeInteger(lease.epoch) && lease.epoch > last);
        last = lease.epoch;
        await lease.release();
      }
    }),
  },
  {
    says: "a holder whose log is deleted, by itself or another, holds the name on, and the next one has a greater epoch",
    proof: withTwo(async (a, b) => {
      const lease = await a.leases.acquire(chatLease);
      for (const { log } of [a, b]) {
        await a.log.append(chat, messages(1, 2));
        await log.delete(chat);
        assert.equal(await b.leases.tryAcquire(chatLease), undefined);
      }
      await lease.release();
      await b.log.append(chat, messages(1, 2));
      await b.log.delete(chat);
      const next = await b.leases.acquire(chatLease);
      assert.ok(next.epoch > lease.epoch);
    }),
  },
];

function released(lease: Lease): AsyncDisposable {
  return { [Symbol.asyncDispose]: () => lease.release() };
}

const turns: readonly SharedClause[] = [
  {
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
    says: "a call whose signal is aborted, before it or while it waits for another process, ends with the signal's reason and takes nothing; once it holds the name, the signal changes nothing",
    proof: withThree(async (a, b, c) => {
      const aborted = { signal: AbortSignal.abort(abort) };
      await assert.rejects(b.leases.acquire(chatLease, aborted), abort);
      const lease = await a.leases.tryAcquire(chatLease);
      assert.ok(lease);
      const ends = new AbortController();
      const waiting = b.leases.acquire(chatLease, { signal: ends.signal });
      await b.log.tail(chat, 0);
      ends.abort(abort);
      await assert.rejects(waiting, abort);
      await lease.release();
      const later = new AbortController();
      const next = await c.leases.acquire(chatLease, { signal: later.signal });
      later.abort(abort);
      assert.equal(await b.leases.tryAcquire(chatLease), undefined);
      assert.equal(next.lost.aborted, false);
    }),
  },
];

const endings: readonly SharedClause[] = [
  {
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
    says: "closing a storage ends its waiting, and every later call for a name, with THROUGHLINE_CLOSED",
    proof: withTwo(async (a, b) => {
      const lease = await a.leases.acquire(chatLease);
      const waiting = [b, b, b].map(({ leases }) =>
        refuses("THROUGHLINE_CLOSED", leases.acquire(chatLease)),
      );
      await b.log.tail(chat, 0);
      await b.storage.close();
      await Promise.all(waiting);
      await lease.release();
      await refuses("THROUGHLINE_CLOSED", b.leases.acquire(chatLease));
      await refuses("THROUGHLINE_CLOSED", b.leases.tryAcquire(chatLease));
      assert.ok(await a.leases.tryAcquire(chatLease));
    }),
  },
  {
    says: "a waiter for the names of a killed holder gets them all, with greater epochs",
    lapses: true,
    proof: withTwo(async (a, b, place) => {
      const names = upTo(10).map((n) => ({ collection: "chats", key: `chat:${n}` }));
      const held = await Promise.all(names.map((name) => a.leases.acquire(name)));
      const waiting = names.map((name) => b.leases.acquire(name));
      await b.log.tail(chat, 0);
      await place.kill(a.storage);
      for (const [index, next] of (await Promise.all(waiting)).entries()) {
        assert.ok(next.epoch > (held[index]?.epoch ?? 0));
      }
    }),
  },
  {
    says: "asking for a name after its holder was killed gets it, and finds what was stored",
    lapses: true,
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
];

/** Holding a name, waiting for one, and what ends both. */
export const leaseClauses: readonly SharedClause[] = [
  ...holding,
  ...epochs,
  ...turns,
  ...aborts,
  ...endings,
];
