import assert from "node:assert/strict";
import { test } from "node:test";
import { HeldClock } from "../../../test/support/held-clock.ts";
import { HeldTimers } from "../../../test/support/held-timers.ts";
import { isThroughlineError } from "../errors.ts";
import { silentLogger } from "../logger.ts";
import { ClusterLeases, type HeldName, type LeasePlace } from "./cluster-leases.ts";
import { type Lease, type LeaseName, nameText } from "./leases.ts";

const leaseMs = 9_000;

/** A place that answers as the test says. */
class ScriptedPlace implements LeasePlace {
  beats = 0;
  beat: (life: number) => Promise<boolean> = async () => true;
  free: (held: readonly HeldName[]) => Promise<void> = async (held) => {
    this.freed.push(...held.map(({ key }) => key));
  };
  take = async (_: LeaseName, life: number) => {
    this.lives.push(life);
    return { epoch: ++this.#epoch };
  };
  /** What the place takes this process for the holder of. */
  held: () => Promise<readonly HeldName[]> = async () => [];
  readonly lives: number[] = [];
  readonly freed: string[] = [];
  readonly left: number[] = [];
  #epoch = 0;

  async leave(life: number): Promise<void> {
    this.left.push(life);
  }
}

function beating() {
  const clock = new HeldClock();
  const timers = new HeldTimers(clock);
  const place = new ScriptedPlace();
  const epochs = new Map<string, number>();
  const counted: LeasePlace = {
    take: (name, life) => place.take(name, life),
    free: (held) => place.free(held),
    held: () => place.held(),
    leave: (life) => place.leave(life),
    beat: (life) => {
      place.beats++;
      return place.beat(life);
    },
  };
  const leases = new ClusterLeases(counted, epochs, {
    ...{ clock, timers, leaseMs },
    logger: silentLogger,
  });
  const add = (key: string): Promise<Lease> => leases.acquire({ collection: "chats", key });
  return { clock, timers, place, epochs, leases, add };
}

function isLost({ lost }: Lease): boolean {
  return lost.aborted && isThroughlineError(lost.reason, "THROUGHLINE_FENCED");
}

const unreachable = () => Promise.reject(new Error("unreachable"));

test("an epoch counts until its own lease is released, also after it was lost", async () => {
  const { clock, timers, place, epochs, leases, add } = beating();
  const text = nameText({ collection: "chats", key: "a" });
  const first = await add("a");
  assert.equal(epochs.get(text), first.epoch);
  clock.pass(leaseMs);
  await timers.pass(leaseMs / 30);
  assert.equal(isLost(first), true);
  assert.equal(epochs.get(text), first.epoch);
  await first.release();
  assert.deepEqual([epochs.get(text), place.freed], [undefined, ["a"]]);
  const second = await add("a");
  await leases.close();
  assert.deepEqual([second.lost.aborted, place.freed], [true, ["a", "a"]]);
});

test("one heartbeat keeps a thousand leases, three times within the time of a lease", async () => {
  const { timers, place, add } = beating();
  const leases = await Promise.all(Array.from({ length: 1_000 }, (_, i) => add(`${i}`)));
  assert.equal(place.beats, 1);
  await timers.pass(10 * leaseMs);
  assert.equal(place.beats, 31);
  assert.ok(leases.every(({ lost }) => !lost.aborted));
});

test("a process beats from its first lease on until it is closed, when it signs off", async () => {
  const { timers, place, leases, add } = beating();
  await timers.pass(leaseMs);
  assert.equal(place.beats, 0);
  await (await add("a")).release();
  await timers.pass(leaseMs);
  assert.equal(place.beats, 4);
  await leases.close();
  assert.deepEqual([place.left, timers.count], [[1], 0]);
});

const failures: readonly {
  readonly says: string;
  readonly beat: () => Promise<boolean>;
  /** Since the last heartbeat that was answered. */
  readonly lostAfter: number;
}[] = [
  { says: "fail", beat: unreachable, lostAfter: leaseMs * 0.9 },
  {
    says: "are never answered",
    beat: () => new Promise(() => undefined),
    lostAfter: leaseMs * 0.9,
  },
  { says: "say that it was taken for dead", beat: async () => false, lostAfter: leaseMs / 3 },
];

for (const { says, beat, lostAfter } of failures) {
  test(`all leases are lost when heartbeats ${says}, not before, and the process goes on as another`, async () => {
    const { timers, place, add } = beating();
    const leases = [await add("a"), await add("b")];
    place.beat = beat;
    await timers.pass(lostAfter - 1);
    assert.deepEqual(leases.map(isLost), [false, false]);
    await timers.pass(1);
    assert.deepEqual(leases.map(isLost), [true, true]);
    place.beat = async () => true;
    if (says !== "are never answered") await add("c");
    assert.equal(place.lives.at(-1), says === "are never answered" ? 1 : 2);
  });
}

test("leases whose first heartbeat failed are kept by the second", async () => {
  const { timers, place, add } = beating();
  const lease = await add("a");
  place.beat = unreachable;
  await timers.pass(leaseMs / 2);
  place.beat = async () => true;
  await timers.pass(2 * leaseMs);
  assert.equal(lease.lost.aborted, false);
});

test("the time of the leases counts from before the heartbeat was sent", async () => {
  const { timers, place, add } = beating();
  const lease = await add("a");
  const late = Promise.withResolvers<boolean>();
  place.beat = () => {
    place.beat = unreachable;
    return late.promise;
  };
  await timers.pass(leaseMs * 0.8); // sent after a third
  late.resolve(true);
  await timers.pass(leaseMs / 3 + leaseMs * 0.1 - 1);
  assert.equal(lease.lost.aborted, false);
  await timers.pass(1);
  assert.equal(isLost(lease), true);
});

test("a process that slept past the time of its leases loses them before it asks for more", async () => {
  const { clock, timers, place, add } = beating();
  const lease = await add("a");
  clock.pass(leaseMs);
  await timers.pass(1);
  assert.equal(isLost(lease), true);
  await add("b");
  assert.deepEqual(place.lives, [1, 2]);
});

test("a name that a life took which was over by then is freed, and asked for again", async () => {
  const { clock, timers, place, add } = beating();
  await add("a");
  const { take } = place;
  const asked = Promise.withResolvers<void>();
  const answered = Promise.withResolvers<void>();
  place.take = async (name, life) => {
    const answer = await take(name, life);
    asked.resolve();
    await answered.promise;
    return answer;
  };
  const adding = add("b");
  await asked.promise;
  clock.pass(leaseMs);
  await timers.pass(1);
  place.take = take;
  answered.resolve();
  for (let i = 0; i < 5; i++) await timers.pass(1);
  assert.equal(isLost(await adding), false);
  assert.deepEqual([place.lives, place.freed], [[1, 1, 2], ["b"]]);
});

/** What leaves the place with a name that this process does not hold. */
const leftovers: Readonly<Record<string, (world: ReturnType<typeof beating>) => Promise<number>>> =
  {
    "a release that failed": async ({ place, add }) => {
      const { free } = place;
      const lease = await add("left");
      place.free = unreachable;
      await lease.release();
      place.free = free;
      return lease.epoch;
    },
    "a release that a crash of the place undid": async ({ timers, place, leases, add }) => {
      const lease = await add("left");
      await lease.release();
      await timers.pass(leaseMs); // heartbeats say nothing of it
      place.freed.length = 0;
      setImmediate(() => leases.missed());
      return lease.epoch;
    },
    "a name that was taken without an answer": async ({ place, add }) => {
      const { take } = place;
      place.take = async (name, life) => {
        await take(name, life);
        return unreachable();
      };
      await assert.rejects(add("left"));
      place.take = take;
      return 3;
    },
  };

for (const [what, leave] of Object.entries(leftovers)) {
  test(`${what} is made good with the next heartbeat, and costs no other lease`, async () => {
    const world = beating();
    const { timers, place, add } = world;
    const [a, b] = [await add("a"), await add("b")];
    let left: number | undefined;
    place.held = async () => {
      const own = [
        { key: "a", epoch: a.epoch },
        { key: "b", epoch: b.epoch },
      ];
      const all = left === undefined ? own : [...own, { key: "left", epoch: left }];
      return all.map((each) => ({ ...each, collection: "chats" }));
    };
    const adding = leave(world);
    left = await adding;
    await new Promise((resolve) => setImmediate(resolve));
    await timers.pass(leaseMs / 3);
    assert.deepEqual(place.freed, ["left"]);
    assert.deepEqual([a.lost.aborted, b.lost.aborted], [false, false]);
  });
}

test("a heartbeat that is not answered keeps none of the next ones", async () => {
  const { timers, place, add } = beating();
  const lease = await add("a");
  const hung = Promise.withResolvers<boolean>();
  place.beat = () => {
    place.beat = async () => true;
    return hung.promise;
  };
  await timers.pass(3 * leaseMs);
  assert.equal(lease.lost.aborted, false);
  hung.reject(new Error("given up"));
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
