import assert from "node:assert/strict";
import { clauseWithTable } from "../../../src/testing/contract.ts";
import { holds } from "../../../src/testing/document-store-contract-fixtures.ts";
import {
  chat,
  erased,
  everything,
  isAbsent,
  logsOf,
  messages,
  numbered,
  refuses,
} from "../../../src/testing/log-store-contract-fixtures.ts";
import { chatLease, takeOver, type Writer, withThree, withTwo } from "./shared-fixtures.ts";
import type { SharedClause } from "./shared-place.ts";

/** What a holder that lost its lease may no longer do to its log of so many messages. */
const writes: readonly (readonly [
  name: string,
  stored: number,
  write: (holder: Writer) => Promise<unknown>,
])[] = [
  ["append", 3, ({ log }) => log.append(chat, messages(4, 4))],
  [
    "append with a head and the right expected seq",
    3,
    ({ log }) =>
      log.append(chat, messages(4, 5), { expectedSeq: 3, head: { title: "overwritten" } }),
  ],
  ["repeated append", 3, ({ log }) => log.append(chat, messages(3, 3))],
  ["erasure", 3, ({ log }) => log.erase(chat, ["m1"], { head: { title: "overwritten" } })],
  ["deletion", 3, ({ log }) => log.delete(chat)],
  ["first append", 0, ({ log }) => log.append(chat, messages(1, 1))],
  [
    "first append that expects no log",
    0,
    ({ log }) => log.append(chat, messages(1, 1), { expectedSeq: 0 }),
  ],
];

const refusals: readonly SharedClause[] = [
  clauseWithTable(
    "every write of a holder that slept while another took over is refused, changes nothing and begins no log",
    writes,
    ([, stored, write]) =>
      withTwo(async (a, b, place) => {
        if (stored > 0) await a.log.append(chat, messages(1, stored), { head: { title: "kept" } });
        const was = await b.log.tail(chat, 9);
        await takeOver(a, b, place);
        await refuses("THROUGHLINE_FENCED", write(a));
        assert.deepEqual(await b.log.tail(chat, 9), was);
      }),
  ),
  {
    says: "a holder that slept while another took over stores no file of its log, and removes none",
    proof: withTwo(async (a, b, place) => {
      const early = a.storage.files(chatLease.collection);
      const late = b.storage.files(chatLease.collection);
      await takeOver(a, b, place);
      const bytes = new Uint8Array([1]);
      const hash = await late.put(chat, bytes);
      await refuses("THROUGHLINE_FENCED", early.put(chat, new Uint8Array([2])));
      await refuses("THROUGHLINE_FENCED", early.delete(chat));
      await refuses("THROUGHLINE_FENCED", early.delete(chat, [hash]));
      assert.deepEqual(await late.list(chat), [{ sha256: hash, bytes: 1 }]);
    }),
  },
  {
    says: "a holder that slept is refused also when the one that took over has released, and when a third holds the name",
    proof: withThree(async (a, b, c, place) => {
      await b.log.append(chat, messages(1, 1));
      const { taken } = await takeOver(a, b, place);
      await b.log.append(chat, messages(2, 2));
      await taken.release();
      await refuses("THROUGHLINE_FENCED", a.log.append(chat, messages(3, 3)));
      await c.leases.acquire(chatLease);
      await refuses("THROUGHLINE_FENCED", a.log.append(chat, messages(3, 3)));
      assert.deepEqual(await everything(a.log), numbered(messages(1, 2)));
      assert.equal(await c.log.append(chat, messages(3, 3), { expectedSeq: 2 }), 3);
    }),
  },
  {
    says: "a holder that slept brings back no log that the one that took over deleted",
    proof: withTwo(async (a, b, place) => {
      await a.log.append(chat, messages(1, 3));
      const { taken } = await takeOver(a, b, place);
      assert.equal(await b.log.delete(chat), true);
      await refuses("THROUGHLINE_FENCED", a.log.append(chat, messages(4, 4)));
      await isAbsent(b.log);
      await taken.release();
      await refuses("THROUGHLINE_FENCED", a.log.append(chat, messages(4, 4)));
      await isAbsent(b.log);
    }),
  },
];

const losses: readonly SharedClause[] = [
  {
    says: "a holder that slept too long is notified that its lease is lost, and releasing it frees nothing: the one that took over holds it and writes",
    proof: withThree(async (a, b, c, place) => {
      const { lost, taken } = await takeOver(a, b, place);
      assert.equal(lost.lost.aborted, true);
      assert.ok(taken.epoch > lost.epoch);
      await lost.release();
      assert.equal(await c.leases.tryAcquire(chatLease), undefined);
      assert.equal(await a.leases.tryAcquire(chatLease), undefined);
      assert.equal(await b.log.append(chat, messages(1, 1), { expectedSeq: 0 }), 1);
      assert.equal(taken.lost.aborted, false);
    }),
  },
  {
    says: "a call that waits for a lost lease of its own process waits for its release too",
    proof: withTwo(async (a, b, place) => {
      const { lost, taken } = await takeOver(a, b, place);
      const waiting = a.leases.acquire(chatLease);
      await taken.release();
      await refuses("THROUGHLINE_FENCED", a.log.append(chat, messages(1, 1)));
      await lost.release();
      assert.ok((await waiting).epoch > taken.epoch);
      assert.equal(await a.log.append(chat, messages(1, 1)), 1);
    }),
  },
  {
    says: "a holder that slept is notified that its lease is lost, and may write until it is taken",
    proof: withTwo(async (a, b, place) => {
      const lease = await a.leases.acquire(chatLease);
      await a.log.append(chat, messages(1, 1));
      await place.sleep(a.storage);
      await place.wake(a.storage);
      assert.equal(lease.lost.aborted, true);
      assert.equal(await a.log.append(chat, messages(2, 2)), 2);
      const taken = await b.leases.acquire(chatLease);
      await refuses("THROUGHLINE_FENCED", a.log.append(chat, messages(3, 3)));
      assert.equal(await b.log.append(chat, messages(3, 3), { expectedSeq: 2 }), 3);
      await taken.release();
    }),
  },
  {
    says: "a holder that lost a log still reads it, and writes its other logs, leased or not, and its documents",
    proof: withTwo(async (a, b, place) => {
      await takeOver(a, b, place);
      await b.log.append(chat, messages(1, 2));
      assert.deepEqual(await everything(a.log), numbered(messages(1, 2)));
      const other = { ...chatLease, key: "telegram:4" };
      const lease = await a.leases.acquire(other);
      assert.equal(await a.log.append(other.key, messages(1, 1)), 1);
      assert.equal(await a.log.append("telegram:421", messages(1, 1)), 1);
      assert.equal(await logsOf(a.storage, "runs").append(chat, messages(1, 1)), 1);
      await a.storage.documents("chats").write(chat, { n: 2 });
      await holds(b.storage.documents("chats"), { n: 2 }, 1, chat);
      await lease.release();
    }),
  },
];

const bystanders: readonly SharedClause[] = [
  {
    says: "a process that has no lease, or has released it, may begin a leased log, append to it and erase in it; the holder's next append that does not expect it conflicts",
    proof: withTwo(async (a, b) => {
      await (await b.leases.acquire(chatLease)).release();
      await a.leases.acquire(chatLease);
      assert.equal(await b.log.append(chat, messages(1, 1), { expectedSeq: 0 }), 1);
      const seq = await a.log.append(chat, messages(2, 2), { expectedSeq: 1 });
      assert.equal(await b.log.append(chat, messages(3, 3)), 3);
      const late = a.log.append(chat, messages(4, 4), { expectedSeq: seq });
      await refuses("THROUGHLINE_CONFLICT", late);
      assert.equal(await b.log.erase(chat, ["m1"]), 1);
      assert.equal(await a.log.append(chat, messages(4, 4), { expectedSeq: 3 }), 4);
      assert.deepEqual(await everything(b.log), [erased("m1", 1), ...numbered(messages(2, 4), 2)]);
    }),
  },
  {
    says: "a process without the lease may delete a leased log: its holder begins it again, and holds on",
    proof: withThree(async (a, b, c) => {
      const lease = await a.leases.acquire(chatLease);
      await a.log.append(chat, messages(1, 3));
      assert.equal(await b.log.delete(chat), true);
      await isAbsent(a.log);
      assert.equal(await c.leases.tryAcquire(chatLease), undefined);
      const late = a.log.append(chat, messages(4, 4), { expectedSeq: 3 });
      await refuses("THROUGHLINE_CONFLICT", late);
      assert.equal(await a.log.append(chat, messages(4, 4), { expectedSeq: 0 }), 1);
      assert.equal(lease.lost.aborted, false);
    }),
  },
];

/** What is refused to a holder that was replaced, and what is not. */
export const fencingClauses: readonly SharedClause[] = [...refusals, ...losses, ...bystanders];
