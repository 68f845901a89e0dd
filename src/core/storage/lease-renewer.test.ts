import assert from "node:assert/strict";
import { test } from "node:test";
import { HeldClock } from "../../../test/support/held-clock.ts";
import { HeldTimers } from "../../../test/support/held-timers.ts";
import { isThroughlineError } from "../errors.ts";
import { silentLogger } from "../logger.ts";
import {
  type HeldName,
  type KeptLease,
  type LeasePlace,
  LeaseRenewer,
  type Renewal,
} from "./lease-renewer.ts";

const leaseMs = 9_000;

/** A place whose renewals are answered as the test says. */
class ScriptedPlace implements LeasePlace {
  readonly renewals: number[] = [];
  answer: (held: readonly HeldName[]) => Promise<Renewal> = async (held) => {
    return { renewed: held, gone: [] };
  };

  async take() {
    return { lapsesInMs: 0 };
  }

  renew(held: readonly HeldName[]): Promise<Renewal> {
    this.renewals.push(held.length);
    return this.answer(held);
  }

  async free(): Promise<void> {}
}

function renewing() {
  const clock = new HeldClock();
  const timers = new HeldTimers(clock);
  const place = new ScriptedPlace();
  const renewer = new LeaseRenewer(place, { clock, timers, leaseMs, logger: silentLogger });
  const add = (key: string): KeptLease => {
    const lease = { collection: "chats", key, epoch: 1, lost: new AbortController() };
    renewer.add(lease, clock.monotonic());
    return lease;
  };
  return { clock, timers, place, renewer, add };
}

function isLost({ lost }: KeptLease): boolean {
  const { aborted, reason } = lost.signal;
  return aborted && isThroughlineError(reason, "THROUGHLINE_FENCED");
}

test("three leases are renewed by one call, three times within the time of a lease", async () => {
  const { timers, place, add } = renewing();
  const leases = ["a", "b", "c"].map(add);
  await timers.pass(10 * leaseMs);
  assert.deepEqual(place.renewals, new Array(30).fill(3));
  assert.ok(leases.every(({ lost }) => !lost.signal.aborted));
});

test("of 1,200 leases at most 500 are renewed by one call, and a call that fails costs no other", async () => {
  const { timers, place, add } = renewing();
  const leases = Array.from({ length: 1_200 }, (_, i) => add(`${i}`));
  const renewed = place.answer;
  place.answer = async (held) => {
    if (held.some(({ key }) => key === "700")) throw new Error("too slow");
    return renewed(held);
  };
  await timers.pass(leaseMs / 3);
  assert.deepEqual(place.renewals, [500, 500, 200]);
  await timers.pass(leaseMs);
  const lost = leases.filter(isLost).map(({ key }) => Number(key));
  assert.deepEqual([lost.length, lost.at(0), lost.at(-1)], [500, 500, 999]);
});

test("a lease that was removed is renewed no more, and without any no timer waits", async () => {
  const { timers, place, renewer, add } = renewing();
  const [a, b] = [add("a"), add("b")];
  assert.equal(renewer.remove(a), true);
  assert.equal(renewer.remove(a), false);
  await timers.pass(leaseMs / 3);
  assert.deepEqual(place.renewals, [1]);
  renewer.remove(b);
  assert.equal(timers.count, 0);
});

test("a lease whose first renewal failed is kept by the second", async () => {
  const { timers, place, add } = renewing();
  const lease = add("a");
  const renewed = place.answer;
  place.answer = () => Promise.reject(new Error("unreachable"));
  await timers.pass(leaseMs / 2);
  place.answer = renewed;
  await timers.pass(2 * leaseMs);
  assert.equal(lease.lost.signal.aborted, false);
});

test("a lease that cannot be renewed is lost after nine tenths of its time, not before", async () => {
  const { timers, place, renewer, add } = renewing();
  const lease = add("a");
  place.answer = () => Promise.reject(new Error("unreachable"));
  await timers.pass(leaseMs * 0.9 - 1);
  assert.equal(lease.lost.signal.aborted, false);
  await timers.pass(1);
  assert.equal(isLost(lease), true);
  assert.equal(renewer.remove(lease), false);
  assert.equal(timers.count, 0);
});

test("a lease whose renewal is never answered is lost in the same time", async () => {
  const { timers, place, add } = renewing();
  const lease = add("a");
  place.answer = () => new Promise(() => undefined);
  await timers.pass(leaseMs * 0.9);
  assert.equal(isLost(lease), true);
  assert.equal(place.renewals.length, 1);
});

test("the time of a renewed lease counts from before its renewal was asked for", async () => {
  const { timers, place, add } = renewing();
  const lease = add("a");
  const late = Promise.withResolvers<void>();
  place.answer = async (held) => {
    await late.promise;
    return { renewed: held, gone: [] };
  };
  await timers.pass(leaseMs * 0.8); // asked after a third
  place.answer = () => Promise.reject(new Error("unreachable"));
  late.resolve();
  await timers.pass(leaseMs / 3 + leaseMs * 0.1 - 1);
  assert.equal(lease.lost.signal.aborted, false);
  await timers.pass(1);
  assert.equal(isLost(lease), true);
});

test("a lease that the place says is gone is lost at once, the others are kept", async () => {
  const { timers, place, add } = renewing();
  const [a, b] = [add("a"), add("b")];
  place.answer = async (held) => {
    return { renewed: held.filter(({ key }) => key === "b"), gone: [a] };
  };
  await timers.pass(leaseMs / 3);
  assert.deepEqual([isLost(a), isLost(b)], [true, false]);
});

test("a lease that a renewal passed over is lost when its time is over, not at once", async () => {
  const { timers, place, add } = renewing();
  const lease = add("a");
  place.answer = async () => ({ renewed: [], gone: [] });
  await timers.pass(leaseMs * 0.9 - 1);
  assert.equal(lease.lost.signal.aborted, false);
  await timers.pass(1);
  assert.equal(isLost(lease), true);
});

test("a process that slept past the time of its lease loses it without asking for more", async () => {
  const { clock, timers, place, add } = renewing();
  const lease = add("a");
  clock.pass(leaseMs);
  await timers.pass(0);
  assert.equal(isLost(lease), true);
  assert.deepEqual(place.renewals, []);
});

test("a lease that is taken while another is renewed has a time of its own", async () => {
  const { timers, place, renewer, add } = renewing();
  const first = add("a");
  await timers.pass(leaseMs / 2);
  place.answer = () => Promise.reject(new Error("unreachable"));
  const second = add("b");
  await timers.pass(leaseMs * 0.9 - 1);
  assert.deepEqual([isLost(first), isLost(second)], [true, false]);
  assert.equal(renewer.remove(second), true);
});
