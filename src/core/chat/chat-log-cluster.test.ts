import assert from "node:assert/strict";
import { test } from "node:test";
import { changed } from "../../../test/support/changed.ts";
import { heldPlace } from "../../../test/support/cluster-world.ts";
import { HeldClock } from "../../../test/support/held-clock.ts";
import { HeldTimers } from "../../../test/support/held-timers.ts";
import { MemoryPlace, openMemoryProcess } from "../../../test/support/memory-place.ts";
import { ThroughlineError } from "../errors.ts";
import { silentLogger } from "../logger.ts";
import type { Lease } from "../storage/leases.ts";
import { silentTelemetry } from "../telemetry.ts";
import { openThroughline } from "../throughline.ts";
import { chatProjection } from "./chat-head.ts";
import { ChatLog, chatsCollection } from "./chat-log.ts";
import type { Transaction } from "./transaction.ts";

const chat = "telegram:42";
const title = (text: string) => (transaction: Transaction) => {
  transaction.control("metadata", { title: text });
  transaction.set({ title: text });
};

/** Two processes that write one place; the reads of the first are counted. */
function two() {
  const clock = new HeldClock();
  const place = new MemoryPlace(clock);
  let ids = 0;
  let reads = 0;
  const process = () => {
    const timers = new HeldTimers(clock);
    const storage = openMemoryProcess({ place, timers });
    const store = storage.logs(chatsCollection, chatProjection);
    const logs = changed(store, (name) => {
      if (name === "tail") reads++;
      return undefined;
    });
    const newId = () => `id-${++ids}`;
    const { leases, cluster } = storage;
    const silent = { logger: silentLogger, telemetry: silentTelemetry };
    const files = storage.files.bind(storage);
    const own = { logs: () => logs, files, leases, cluster };
    return { log: new ChatLog(own, { ...silent, clock, timers, newId }), timers };
  };
  const [a, b] = [process(), process()];
  return { a, b, clock, reads: () => reads };
}

test("without a lease a chat is read again for each answer and each change", async () => {
  const { a, b } = two();
  await a.log.change(chat, title("first"));
  assert.equal((await a.log.existing(chat)).head.title, "first");
  await b.log.change(chat, title("second"));
  assert.equal((await a.log.existing(chat)).head.title, "second");
  const seen = await a.log.change(chat, (transaction) => transaction.head.title);
  assert.equal(seen, "second");
});

test("within a lease a change that follows another needs no read", async () => {
  const { a, reads } = two();
  const lease = await a.log.lease(chat);
  await a.log.change(chat, title("first"));
  const before = reads();
  await a.log.change(chat, title("second"));
  assert.equal(reads(), before);
  await lease.release();
  await a.log.change(chat, title("third"));
  assert.equal(reads(), before + 1);
});

test("within a lease a change that another process came before is decided again, and nothing is answered or refused by what is only remembered", async () => {
  const { a, b } = two();
  const lease = await a.log.lease(chat);
  await a.log.change(chat, title("first"));
  await b.log.change(chat, (transaction) => {
    transaction.control("metadata", { metadata: { from: "b" } });
    transaction.set({ metadata: { from: "b" } });
  });
  await a.log.change(chat, title("second"));
  const { head, seq } = await b.log.existing(chat);
  assert.deepEqual([head.title, head.metadata, seq], ["second", { from: "b" }, 3]);
  await b.log.change(chat, title("third"));
  assert.equal((await a.log.existing(chat)).head.title, "third");
  await b.log.change(chat, title("fourth"));
  assert.equal(await a.log.change(chat, (transaction) => transaction.head.title), "fourth");
  await a.log.change(chat, title("fifth"));
  await b.log.change(chat, title("sixth"));
  const refuse = (transaction: Transaction) => {
    throw new Error(`the title is ${transaction.head.title}`);
  };
  await assert.rejects(a.log.change(chat, refuse), /the title is sixth/);
  await lease.release();
});

test("what is to be done alone waits for another process, joins this one's lease, and lets go last", async () => {
  const { a, b } = two();
  const lease = await a.log.lease(chat);
  const order: string[] = [];
  const gate = Promise.withResolvers<void>();
  const elsewhere = b.log.alone(chat, async () => order.push("b"));
  const here = a.log.alone(chat, async () => {
    order.push("a begins");
    await gate.promise;
    order.push("a ends");
  });
  await lease.release();
  assert.equal(await b.log.aloneNow(chat, async () => order.push("b now")), undefined);
  assert.deepEqual(order, ["a begins"]);
  gate.resolve();
  await here;
  await elsewhere;
  assert.deepEqual(order, ["a begins", "a ends", "b"]);
});

test("a lease that is lost is not joined, and what was remembered under it counts no more", async () => {
  const { a, b, clock, reads } = two();
  const lease = await a.log.lease(chat);
  await a.log.change(chat, title("first"));
  clock.pass(10_500);
  const other = await b.log.lease(chat);
  await a.timers.pass(0);
  assert.equal(lease.lost.aborted, true);
  const before = reads();
  await assert.rejects(a.log.change(chat, title("late")), { code: "THROUGHLINE_FENCED" });
  assert.equal(reads(), before + 1);
  assert.equal((await b.log.existing(chat)).head.title, "first");
  await lease.release();
  await other.release();
});

/** A process of which the next append is refused as if its lease were another's, once `before` is done. */
async function fencedOnce() {
  const { storage } = heldPlace().open();
  let next: (() => Promise<void>) | undefined;
  const refuseNext = async () => {
    const before = next;
    next = undefined;
    await before?.();
    throw new ThroughlineError("held", { code: "THROUGHLINE_FENCED" });
  };
  const isRefused = (name: unknown) => next !== undefined && name === "append";
  let held: PromiseWithResolvers<void> | undefined;
  const hindered = changed(storage, {
    leases: changed(storage.leases, {
      async acquire(...args) {
        const { epoch, lost, release } = await storage.leases.acquire(...args);
        return { epoch, lost, release: () => release().then(() => held?.promise) };
      },
    }),
    logs: (...args) =>
      changed(storage.logs(...args), (name) => (isRefused(name) ? refuseNext : undefined)),
  });
  const throughline = await openThroughline({ storage: hindered });
  await throughline.chats.append(chat, [{ role: "user", content: "Hello" }]);
  const refuse = (before = () => Promise.resolve()) => {
    next = before;
  };
  const holdReleases = () => {
    held = Promise.withResolvers();
  };
  return { ...throughline, refuse, holdReleases, endReleases: () => held?.resolve() };
}

/** What happens between a change under a lease, unless there is none, and its refusal. */
type Fenced = Awaited<ReturnType<typeof fencedOnce>>;
const since: Record<string, undefined | ((lease: Lease, c: Fenced) => unknown)> = {
  "that needs no lease is made again": undefined,
  "that was on its way when the lease was released is made without it": (lease) => lease.release(),
  "that was on its way while the lease was being released is made without it": (lease, c) => {
    c.holdReleases();
    void lease.release();
  },
  "that was on its way is made under the lease that was acquired since": async (lease, c) => {
    await lease.release();
    await c.chats.lease(chat);
  },
};
for (const [says, happens] of Object.entries(since)) {
  test(`a change ${says}`, async () => {
    const c = await fencedOnce();
    const lease = happens && (await c.chats.lease(chat));
    c.refuse(async () => void (lease && (await happens?.(lease, c))));
    await c.chats.rename(chat, "Whales");
    c.endReleases();
    assert.equal((await c.chats.row(chat)).title, "Whales");
  });
}

test("a change under a lease that another process has now is refused", async () => {
  const { chats, refuse } = await fencedOnce();
  const lease = await chats.lease(chat);
  refuse();
  await assert.rejects(chats.rename(chat, "Whales"), { code: "THROUGHLINE_FENCED" });
  await lease.release();
  assert.equal((await chats.row(chat)).title, "Hello");
});
