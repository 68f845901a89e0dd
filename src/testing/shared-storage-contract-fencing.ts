import assert from "node:assert/strict";
import { holds, state } from "./document-store-contract-fixtures.ts";
import {
  chat,
  everything,
  isAbsent,
  logsOf,
  messages,
  numbered,
  refuses,
} from "./log-store-contract-fixtures.ts";
import {
  chatLease,
  takeOver,
  type Writer,
  withThree,
  withTwo,
} from "./shared-storage-contract-fixtures.ts";
import type { SharedClause } from "./shared-storage-contract-place.ts";

/** What a holder that lost its lease may no longer do to its log of three messages. */
const writes: readonly (readonly [
  name: string,
  phrase: string,
  write: (holder: Writer) => Promise<unknown>,
])[] = [
  ["append", "append", ({ log }) => log.append(chat, messages(4, 4))],
  [
    "append-head",
    "append with a head and the right expected seq",
    ({ log }) =>
      log.append(chat, messages(4, 5), { expectedSeq: 3, head: { title: "overwritten" } }),
  ],
  ["append-repeat", "repeated append", ({ log }) => log.append(chat, messages(3, 3))],
  ["erase", "erasure", ({ log }) => log.erase(chat, ["m1"], { head: { title: "overwritten" } })],
  ["delete", "deletion", ({ log }) => log.delete(chat)],
];

const refusals: readonly SharedClause[] = [
  ...writes.map(
    ([name, phrase, write]): SharedClause => ({
      id: `shared.fence.${name}`,
      says: `the ${phrase} of a holder that slept while another took over is refused and changes nothing`,
      proof: withTwo(async (a, b, place) => {
        await a.log.append(chat, messages(1, 3), { head: { title: "kept" } });
        await takeOver(a, b, place);
        await refuses("THROUGHLINE_FENCED", write(a));
        assert.deepEqual(await b.log.tail(chat, 9), {
          seq: 3,
          head: { title: "kept" },
          records: numbered(messages(1, 3)),
          damaged: false,
        });
      }),
    }),
  ),
  {
    id: "shared.fence.begins-no-log",
    says: "a holder that slept while another took over begins no log",
    proof: withTwo(async (a, b, place) => {
      await takeOver(a, b, place);
      await refuses("THROUGHLINE_FENCED", a.log.append(chat, messages(1, 1)));
      const first = a.log.append(chat, messages(1, 1), { expectedSeq: 0 });
      await refuses("THROUGHLINE_FENCED", first);
      await isAbsent(b.log);
    }),
  },
  {
    id: "shared.fence.after-release",
    says: "a holder that slept is refused also when the one that took over has released",
    proof: withTwo(async (a, b, place) => {
      await b.log.append(chat, messages(1, 1));
      const { taken } = await takeOver(a, b, place);
      await b.log.append(chat, messages(2, 2));
      await taken.release();
      await refuses("THROUGHLINE_FENCED", a.log.append(chat, messages(3, 3)));
      assert.deepEqual(await everything(a.log), numbered(messages(1, 2)));
    }),
  },
  {
    id: "shared.fence.after-delete",
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
  {
    id: "shared.fence.third",
    says: "a holder that slept through two others is refused, the newest of them is not",
    proof: withThree(async (a, b, c, place) => {
      const { taken } = await takeOver(a, b, place);
      await taken.release();
      const third = await c.leases.acquire(chatLease);
      await refuses("THROUGHLINE_FENCED", a.log.append(chat, messages(1, 1)));
      assert.equal(await c.log.append(chat, messages(1, 1), { expectedSeq: 0 }), 1);
      await third.release();
    }),
  },
];

const losses: readonly SharedClause[] = [
  {
    id: "shared.lost.notified",
    says: "a holder that slept too long is notified that its lease is lost, the one that took over is not",
    proof: withTwo(async (a, b, place) => {
      const { lost, taken } = await takeOver(a, b, place);
      assert.equal(lost.lost.aborted, true);
      assert.equal(taken.lost.aborted, false);
      assert.ok(taken.epoch > lost.epoch);
    }),
  },
  {
    id: "shared.lost.release",
    says: "releasing a lost lease frees nothing: the new holder still holds it and still writes",
    proof: withThree(async (a, b, c, place) => {
      const { lost, taken } = await takeOver(a, b, place);
      await lost.release();
      assert.equal(await c.leases.tryAcquire(chatLease), undefined);
      assert.equal(await a.leases.tryAcquire(chatLease), undefined);
      assert.equal(await b.log.append(chat, messages(1, 1), { expectedSeq: 0 }), 1);
      assert.equal(taken.lost.aborted, false);
    }),
  },
  {
    id: "shared.lost.within",
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
    id: "shared.lost.again",
    says: "a process that lost a lease acquires the name again, after the other, and writes again",
    proof: withTwo(async (a, b, place) => {
      const { lost, taken } = await takeOver(a, b, place);
      await b.log.append(chat, messages(1, 2));
      await lost.release();
      await taken.release();
      const again = await a.leases.acquire(chatLease);
      assert.ok(again.epoch > taken.epoch);
      assert.equal(await a.log.append(chat, messages(3, 3), { expectedSeq: 2 }), 3);
      assert.equal(again.lost.aborted, false);
    }),
  },
  {
    id: "shared.lost.not-taken-over",
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
    id: "shared.lost.other-logs",
    says: "a holder that lost one log writes its others, leased or not, and the same key elsewhere",
    proof: withTwo(async (a, b, place) => {
      await takeOver(a, b, place);
      const other = { ...chatLease, key: "telegram:4" };
      const lease = await a.leases.acquire(other);
      assert.equal(await a.log.append(other.key, messages(1, 1)), 1);
      assert.equal(await a.log.append("telegram:421", messages(1, 1)), 1);
      assert.equal(await logsOf(a.storage, "runs").append(chat, messages(1, 1)), 1);
      await lease.release();
    }),
  },
  {
    id: "shared.lost.documents",
    says: "a holder that lost a log still writes documents, also one of the same name",
    proof: withTwo(async (a, b, place) => {
      await takeOver(a, b, place);
      await a.documents.write(state, { n: 1 });
      await a.storage.documents("chats").write(chat, { n: 2 });
      await holds(b.documents, { n: 1 }, 1);
      await holds(b.storage.documents("chats"), { n: 2 }, 1, chat);
    }),
  },
  {
    id: "shared.lost.reads",
    says: "a holder that lost a log still reads it, with what the one that took over appended",
    proof: withTwo(async (a, b, place) => {
      await a.log.append(chat, messages(1, 1));
      await takeOver(a, b, place);
      await b.log.append(chat, messages(2, 2));
      assert.deepEqual(await everything(a.log), numbered(messages(1, 2)));
    }),
  },
  {
    id: "shared.lost.released-before",
    says: "a process that released its lease in time appends without one while another holds the log",
    proof: withTwo(async (a, b) => {
      await (await a.leases.acquire(chatLease)).release();
      await b.leases.acquire(chatLease);
      assert.equal(await a.log.append(chat, messages(1, 1)), 1);
      assert.deepEqual(await everything(b.log), numbered(messages(1, 1)));
    }),
  },
];

const bystanders: readonly SharedClause[] = [
  {
    id: "shared.bystander.append",
    says: "a process without the lease may append to a leased log: the holder's next append conflicts",
    proof: withTwo(async (a, b) => {
      await a.leases.acquire(chatLease);
      const seq = await a.log.append(chat, messages(1, 1));
      assert.equal(await b.log.append(chat, messages(2, 2)), 2);
      const late = a.log.append(chat, messages(3, 3), { expectedSeq: seq });
      await refuses("THROUGHLINE_CONFLICT", late);
      assert.equal(await a.log.append(chat, messages(3, 3), { expectedSeq: 2 }), 3);
      assert.deepEqual(await everything(b.log), numbered(messages(1, 3)));
    }),
  },
  {
    id: "shared.bystander.begins",
    says: "a process without the lease may begin a leased log, and the holder goes on in it",
    proof: withTwo(async (a, b) => {
      await a.leases.acquire(chatLease);
      assert.equal(await b.log.append(chat, messages(1, 1), { expectedSeq: 0 }), 1);
      assert.equal(await a.log.append(chat, messages(2, 2), { expectedSeq: 1 }), 2);
    }),
  },
  {
    id: "shared.bystander.erase",
    says: "a process without the lease may erase records of a leased log",
    proof: withTwo(async (a, b) => {
      const lease = await a.leases.acquire(chatLease);
      await a.log.append(chat, messages(1, 2));
      assert.equal(await b.log.erase(chat, ["m1"]), 1);
      assert.equal(await a.log.append(chat, messages(3, 3), { expectedSeq: 2 }), 3);
      await lease.release();
    }),
  },
  {
    id: "shared.bystander.delete",
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
