import assert from "node:assert/strict";
import type { Lease, LeaseName } from "../core/storage/leases.ts";
import { keyCorpus } from "./corpus.ts";
import { chat, isAbsent, messages, refuses } from "./log-store-contract-fixtures.ts";
import {
  chatLease,
  upTo,
  withFour,
  withThree,
  withTwo,
} from "./shared-storage-contract-fixtures.ts";
import type { SharedClause } from "./shared-storage-contract-place.ts";

const holding: readonly SharedClause[] = [
  {
    id: "shared.lease.exclusive",
    says: "a name that one process holds is held by no other until it is released",
    proof: withThree(async (a, b, c) => {
      const lease = await a.leases.acquire(chatLease);
      assert.equal(await b.leases.tryAcquire(chatLease), undefined);
      assert.equal(await c.leases.tryAcquire(chatLease), undefined);
      await lease.release();
      const next = await b.leases.tryAcquire(chatLease);
      assert.ok(next);
      assert.equal(await a.leases.tryAcquire(chatLease), undefined);
      await next.release();
    }),
  },
  {
    id: "shared.lease.race",
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
    id: "shared.lease.sections",
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
    id: "shared.lease.names",
    says: "the name of every key is a lease of its own, and so is the same key in another collection",
    proof: withTwo(async (a, b) => {
      const names = keyCorpus.flatMap(({ text }): LeaseName[] => [
        { collection: "chats", key: text },
        { collection: "runs", key: text },
      ]);
      const leases = await Promise.all(names.map((name) => a.leases.tryAcquire(name)));
      assert.ok(leases.every((lease) => lease !== undefined));
      const others = await Promise.all(names.map((name) => b.leases.tryAcquire(name)));
      assert.ok(others.every((lease) => lease === undefined));
    }),
  },
  {
    id: "shared.lease.no-log",
    says: "a name that is no log, in the collection without a name, is leased like any other",
    proof: withTwo(async (a, b) => {
      const companion = { collection: "", key: "companion" };
      const lease = await a.leases.acquire(companion);
      assert.equal(await b.leases.tryAcquire(companion), undefined);
      await lease.release();
      const next = await b.leases.acquire(companion);
      assert.ok(next.epoch > lease.epoch);
      await next.release();
    }),
  },
  {
    id: "shared.lease.makes-no-log",
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
    id: "shared.lease.writes",
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
    id: "shared.lease.kept",
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
  {
    id: "shared.lease.release-twice",
    says: "releasing twice is releasing once: the next holder keeps the name",
    proof: withThree(async (a, b, c) => {
      const lease = await a.leases.acquire(chatLease);
      await Promise.all([lease.release(), lease.release()]);
      const next = await b.leases.acquire(chatLease);
      await lease.release();
      assert.equal(await c.leases.tryAcquire(chatLease), undefined);
      assert.equal(next.lost.aborted, false);
    }),
  },
];

const epochs: readonly SharedClause[] = [
  {
    id: "shared.epoch.grows",
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
    id: "shared.epoch.log",
    says: "the epoch grows over a log that exists too, and after another process deleted it",
    proof: withTwo(async (a, b) => {
      await a.log.append(chat, messages(1, 1));
      const first = await a.leases.acquire(chatLease);
      await first.release();
      await b.log.delete(chat);
      const second = await b.leases.acquire(chatLease);
      assert.ok(second.epoch > first.epoch);
    }),
  },
  {
    id: "shared.epoch.deleted-by-holder",
    says: "a holder that deletes its log holds the name on, and the next one has a greater epoch",
    proof: withTwo(async (a, b) => {
      const lease = await a.leases.acquire(chatLease);
      await a.log.append(chat, messages(1, 2));
      await a.log.delete(chat);
      assert.equal(await b.leases.tryAcquire(chatLease), undefined);
      await lease.release();
      const next = await b.leases.acquire(chatLease);
      assert.ok(next.epoch > lease.epoch);
    }),
  },
];

/** Holding a name. */
export const leaseClauses: readonly SharedClause[] = [...holding, ...epochs];

function released(lease: Lease): AsyncDisposable {
  return { [Symbol.asyncDispose]: () => lease.release() };
}
