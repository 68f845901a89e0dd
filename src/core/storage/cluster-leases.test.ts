import assert from "node:assert/strict";
import { test } from "node:test";
import { HeldClock } from "../../../test/support/held-clock.ts";
import { HeldTimers } from "../../../test/support/held-timers.ts";
import { isThroughlineError } from "../errors.ts";
import { silentLogger } from "../logger.ts";
import { ClusterLeases, type HeldName, type LeasePlace, type Renewal } from "./cluster-leases.ts";
import { type Lease, nameText } from "./leases.ts";

const leaseMs = 9_000;

/** A place whose renewals are answered as the test says. */
class ScriptedPlace implements LeasePlace {
  readonly renewals: number[] = [];
  answer: (held: readonly HeldName[]) => Promise<Renewal> = async (held) => {
    return { renewed: held, gone: [] };
  };
  readonly freed: string[] = [];
  #epoch = 0;

  async take() {
    return { epoch: ++this.#epoch };
  }

  renew(held: readonly HeldName[]): Promise<Renewal> {
    this.renewals.push(held.length);
    return this.answer(held);
  }

  async free(held: readonly HeldName[]): Promise<void> {
    this.freed.push(...held.map(({ key }) => key));
  }
}

function renewing() {
  const clock = new HeldClock();
  const timers = new HeldTimers(clock);
  const place = new ScriptedPlace();
  const epochs = new Map<string, number>();
  const leases = new ClusterLeases(place, epochs, { clock, timers, leaseMs, logger: silentLogger });
  const add = (key: string): Promise<Lease> => leases.acquire({ collection: "chats", key });
  return { clock, timers, place, epochs, leases, add };
}

function isLost({ lost }: Lease): boolean {
  return lost.aborted && isThroughlineError(lost.reason, "THROUGHLINE_FENCED");
}

test("an epoch counts until its own lease is released, also after it was lost", async () => {
  const { clock, timers, place, epochs, leases, add } = renewing();
  const text = nameText({ collection: "chats", key: "a" });
  const first = await add("a");
  assert.equal(epochs.get(text), first.epoch);
  clock.pass(leaseMs);
  await timers.pass(leaseMs / 30);
  assert.equal(isLost(first), true);
  assert.equal(epochs.get(text), first.epoch);
  await first.release();
  assert.deepEqual([epochs.get(text), place.freed], [undefined, []]);
  const second = await add("a");
  await leases.close();
  assert.deepEqual([second.lost.aborted, place.freed], [true, ["a"]]);
});

test("three leases are renewed by one call, three times within the time of a lease", async () => {
  const { timers, place, add } = renewing();
  const leases = await Promise.all(["a", "b", "c"].map(add));
  await timers.pass(10 * leaseMs);
  assert.deepEqual(place.renewals, new Array(30).fill(3));
  assert.ok(leases.every(({ lost }) => !lost.aborted));
});

test("of 1,200 leases at most 500 are renewed by one call, and a call that fails costs no other", async () => {
  const { timers, place, add } = renewing();
  const leases = await Promise.all(Array.from({ length: 1_200 }, (_, i) => add(`${i}`)));
  const renewed = place.answer;
  place.answer = async (held) => {
    if (held.some(({ key }) => key === "700")) throw new Error("too slow");
    return renewed(held);
  };
  await timers.pass(leaseMs / 3);
  assert.deepEqual(place.renewals, [500, 500, 200]);
  await timers.pass(leaseMs);
  const lost = leases.flatMap((lease, index) => (isLost(lease) ? [index] : []));
  assert.deepEqual([lost.length, lost.at(0), lost.at(-1)], [500, 500, 999]);
});

test("a lease that was removed is renewed no more, and without any no timer waits", async () => {
  const { timers, place, add } = renewing();
  const [a, b] = [await add("a"), await add("b")];
  await a.release();
  await timers.pass(leaseMs / 3);
  assert.deepEqual(place.renewals, [1]);
  await b.release();
  assert.deepEqual(place.freed, ["a", "b"]);
  assert.equal(timers.count, 0);
});

test("a lease whose first renewal failed is kept by the second", async () => {
  const { timers, place, add } = renewing();
  const lease = await add("a");
  const renewed = place.answer;
  place.answer = () => Promise.reject(new Error("unreachable"));
  await timers.pass(leaseMs / 2);
  place.answer = renewed;
  await timers.pass(2 * leaseMs);
  assert.equal(lease.lost.aborted, false);
});

test("a lease that cannot be renewed is lost after nine tenths of its time, not before", async () => {
  const { timers, place, add } = renewing();
  const lease = await add("a");
  place.answer = () => Promise.reject(new Error("unreachable"));
  await timers.pass(leaseMs * 0.9 - 1);
  assert.equal(lease.lost.aborted, false);
  await timers.pass(1);
  assert.equal(isLost(lease), true);
  assert.equal(timers.count, 0);
});

test("a lease whose renewal is never answered is lost in the same time", async () => {
  const { timers, place, add } = renewing();
  const lease = await add("a");
  place.answer = () => new Promise(() => undefined);
  await timers.pass(leaseMs * 0.9);
  assert.equal(isLost(lease), true);
  assert.equal(place.renewals.length, 1);
});

test("the time of a renewed lease counts from before its renewal was asked for", async () => {
  const { timers, place, add } = renewing();
  const lease = await add("a");
  const late = Promise.withResolvers<void>();
  place.answer = async (held) => {
    await late.promise;
    return { renewed: held, gone: [] };
  };
  await timers.pass(leaseMs * 0.8); // asked after a third
  place.answer = () => Promise.reject(new Error("unreachable"));
  late.resolve();
  await timers.pass(leaseMs / 3 + leaseMs * 0.1 - 1);
  assert.equal(lease.lost.aborted, false);
  await timers.pass(1);
  assert.equal(isLost(lease), true);
});

test("a lease that the place says is gone is lost at once, the others are kept", async () => {
  const { timers, place, add } = renewing();
  const [a, b] = [await add("a"), await add("b")];
  place.answer = async (held) => {
    return {
      renewed: held.filter(({ key }) => key === "b"),
      gone: held.filter(({ key }) => key === "a"),
    };
  };
  await timers.pass(leaseMs / 3);
  assert.deepEqual([isLost(a), isLost(b)], [true, false]);
});

test("a lease that a renewal passed over is lost when its time is over, not at once", async () => {
  const { timers, place, add } = renewing();
  const lease = await add("a");
  place.answer = async () => ({ renewed: [], gone: [] });
  await timers.pass(leaseMs * 0.9 - 1);
  assert.equal(lease.lost.aborted, false);
  await timers.pass(1);
  assert.equal(isLost(lease), true);
});

test("a process that slept past the time of its lease loses it without asking for more", async () => {
  const { clock, timers, place, add } = renewing();
  const lease = await add("a");
  clock.pass(leaseMs);
  await timers.pass(leaseMs / 30);
  assert.equal(isLost(lease), true);
  assert.deepEqual(place.renewals, []);
});

test("a lease that is taken while another is renewed has a time of its own", async () => {
  const { timers, place, add } = renewing();
  const first = await add("a");
  await timers.pass(leaseMs / 2);
  place.answer = () => Promise.reject(new Error("unreachable"));
  const second = await add("b");
  await timers.pass(leaseMs * 0.9 - 1);
  assert.deepEqual([isLost(first), isLost(second)], [true, false]);
});

test("a collection that ends as a key begins makes another name", () => {
  const names = [
    { collection: "a", key: "b:c" },
    { collection: "a:b", key: "c" },
    { collection: "", key: "a:b:c" },
    { collection: 'a"', key: ',"b' },
  ];
  assert.equal(new Set(names.map(nameText)).size, names.length);
});
