// A call whose connection fails at one message of the protocol: what it answered, and what is there then.
import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import pg from "pg";
import { isThroughlineError } from "../../src/core/errors.ts";
import { openPostgresStorage, type PostgresStorage } from "../../src/postgres/postgres.ts";
import {
  everything,
  listed,
  logsOf,
  message,
  removal,
} from "../../src/testing/log-store-contract-fixtures.ts";
import { type Direction, type FaultPlan, PostgresProxy } from "./postgres-proxy.ts";

const head = { updated_at: "2026-11-22T05:00:00.000Z", labels: ["unanswered"] };
const nameOf = (key: string) => ({ collection: "chats", key });

/** The storage of the call, whose connections fail, and another process's, whose do not. */
interface Both {
  readonly mine: PostgresStorage;
  readonly other: PostgresStorage;
  /** What the other process was told. */
  readonly told: readonly string[];
}

interface CutCall {
  /** What is there before, beside a log and a document of this key; it is handed to the call. */
  readonly before?: (both: Both, key: string) => Promise<() => Promise<unknown>>;
  readonly call: (both: Both, key: string, before?: () => Promise<unknown>) => Promise<unknown>;
  /** What is there afterwards, beside the log and the document. */
  readonly after?: (both: Both, key: string) => Promise<unknown>;
  /** The ids of its records tell whether it was stored. */
  readonly isSettledByRepeating?: true;
  /** It goes the way of another call: its connection is cut, and does nothing else. */
  readonly isOnlyCut?: true;
}

const onlyCut = (call: CutCall["call"], after?: CutCall["after"]): CutCall => ({
  ...{ call, isOnlyCut: true },
  ...(after === undefined ? {} : { after }),
});

/** Whether another process gets the lease: it does not while somebody holds it. */
async function isFree({ other }: Both, key: string): Promise<boolean> {
  const lease = await other.leases.tryAcquire(nameOf(key));
  await lease?.release();
  return lease !== undefined;
}

/** Every kind of call, by a phrase for it. Repeated, each means the same as once. */
export const cutCalls: Readonly<Record<string, CutCall>> = {
  "an append": {
    call: ({ mine }, key) => logsOf(mine).append(key, [message("m3"), message("m4")], { head }),
    isSettledByRepeating: true,
  },
  "an append at the expected seq": {
    call: ({ mine }, key) => logsOf(mine).append(key, [message("m3")], { expectedSeq: 2 }),
    isSettledByRepeating: true,
  },
  "an append of what is stored in part": {
    call: ({ mine }, key) => logsOf(mine).append(key, [message("m2"), message("m3")]),
    isSettledByRepeating: true,
  },
  "an append under a lease": {
    before: async ({ mine }, key) => {
      const lease = await mine.leases.acquire(nameOf(key));
      return () => lease.release();
    },
    call: ({ mine }, key) => logsOf(mine).append(key, [message("m3")]),
    after: async (both, key) => assert.equal(await isFree(both, key), false),
  },
  "an append that begins a log": onlyCut(
    ({ mine }, key) => logsOf(mine).append(`${key} new`, [message("m1")], { expectedSeq: 0 }),
    ({ other }, key) => everything(logsOf(other), `${key} new`),
  ),
  "an append that hides a message": onlyCut(({ mine }, key) =>
    logsOf(mine).append(key, [removal("r1", "m1")]),
  ),
  "an append at a wrong seq": onlyCut(({ mine }, key) =>
    logsOf(mine).append(key, [message("m3")], { expectedSeq: 1 }),
  ),
  "an append under a used id": onlyCut(({ mine }, key) =>
    logsOf(mine).append(key, [message("m2", "other words")]),
  ),
  "an erasure at a wrong seq": onlyCut(({ mine }, key) =>
    logsOf(mine).erase(key, ["m1"], { expectedSeq: 1, head }),
  ),
  "the reading of a log": onlyCut(async ({ mine }, key) => [
    await logsOf(mine).tail(key, 10),
    await logsOf(mine).page(key, { after: 1, limit: 10 }),
    (await logsOf(mine).search("says", { limit: 10, key })).map(({ record }) => record.id),
    (await logsOf(mine).list({ limit: 1 })).rows.length,
  ]),
  "an erasure": { call: ({ mine }, key) => logsOf(mine).erase(key, ["m1"], { head }) },
  "a deletion": { call: ({ mine }, key) => logsOf(mine).delete(key) },
  "a write of a document": {
    call: ({ mine }, key) => mine.documents("session").write(key, { mood: 2 }),
  },
  "a write at the expected revision": {
    call: ({ mine }, key) =>
      mine.documents("session").write(key, { mood: 2 }, { expectedRevision: 1 }),
  },
  "a write of a new document": onlyCut(
    ({ mine }, key) =>
      mine.documents("session").write(`${key} new`, { mood: 2 }, { expectedRevision: 0 }),
    ({ other }, key) => other.documents("session").read(`${key} new`),
  ),
  "a write at another revision": onlyCut(({ mine }, key) =>
    mine.documents("session").write(key, { mood: 2 }, { expectedRevision: 4 }),
  ),
  "a deletion of a document": onlyCut(({ mine }, key) => mine.documents("session").delete(key)),
  "the keys of the documents": onlyCut(async ({ mine }, key) =>
    (await mine.documents("session").keys()).includes(key),
  ),
  "the taking of a lease": {
    call: async ({ mine }, key) => (await mine.leases.tryAcquire(nameOf(key)))?.lost.aborted,
    after: async (both, key) => assert.equal(await isFree(both, key), false),
  },
  "the release of a lease": {
    before: async ({ mine }, key) => {
      const lease = await mine.leases.acquire(nameOf(key));
      return () => lease.release();
    },
    call: async (_, __, release) => release?.(),
    after: async (both, key) => assert.equal(await isFree(both, key), true),
  },
  "the telling of the others": {
    call: async ({ mine, told }, key) => {
      mine.cluster.publish({ key });
      while (!told.includes(key)) await pause(2);
      await pause(10); // the answer to who told it comes after the message
    },
    after: async ({ told }, key) => told.filter((each) => each === key).length,
  },
};

interface CutWorld {
  /**
   * Runs a call on a key of its own, with this fault.
   *
   * @returns what it answered and left, whether the fault happened, and how long the call took.
   */
  run(call: CutCall, plan: FaultPlan): Promise<Ending>;
  readonly timeoutMs: number;
  close(): Promise<void>;
}

interface Ending {
  readonly outcome: unknown;
  readonly left: unknown;
  /** The type of the message at which the fault happened; `undefined` when it never came to it. */
  readonly hit: string | undefined;
  readonly tookMs: number;
  /** The call again, after the fault is over. */
  readonly again: () => Promise<{ readonly outcome: unknown; readonly left: unknown }>;
}

let keys = 0;

/** Two storages of one companion: one behind a proxy, one beside it. */
async function cutWorld(url: string, timeoutMs: number): Promise<CutWorld> {
  // Longer than a statement is waited for.
  const proxy = new PostgresProxy(Number(new URL(url).port), timeoutMs * 0.7);
  const cutUrl = new URL(url);
  cutUrl.port = String(await proxy.listen());
  const options = { max: 4, connectionTimeoutMillis: timeoutMs / 4, allowExitOnIdle: true };
  const pools = [cutUrl.href, url].map((connectionString) => {
    const pool = new pg.Pool({ connectionString, ...options });
    pool.on("connect", (client) => client.on("error", () => undefined));
    return pool;
  });
  const companion = `companion-${++keys}`;
  const shared = { companion, durability: "process", leaseMs: 60_000 } as const;
  const both = {
    // First: it may have to wait for its turn to create the schema, and has the time for that.
    other: await openPostgresStorage({ ...shared, pool: pools[1] as pg.Pool }),
    mine: await openPostgresStorage({ ...shared, pool: pools[0] as pg.Pool, timeoutMs }),
    told: [] as string[],
  };
  both.other.cluster.subscribe(({ key }) => both.told.push(String(key)));
  const left = async (key: string) => ({
    log: [await logsOf(both.other).tail(key, 0), await everything(logsOf(both.other), key)],
    listed: (await listed(logsOf(both.other))).includes(key),
    found: (await logsOf(both.other).search("says", { limit: 10, key })).length,
    document: await both.other.documents("session").read(key),
  });
  return {
    timeoutMs,
    async run({ before, call, after }, plan) {
      const key = `k${++keys}`;
      await logsOf(both.other).append(key, [message("m1"), message("m2")]);
      await both.other.documents("session").write(key, { mood: 1 });
      await logsOf(both.mine).find(key, "m1"); // over a connection that the call then finds
      const prepared = await before?.(both, key);
      const once = async () => {
        const started = performance.now();
        const outcome = await call(both, key, prepared).catch(codeOf);
        return { outcome, tookMs: performance.now() - started };
      };
      const found = async () => [await left(key), await after?.(both, key)];
      proxy.arm(plan);
      const ending = await once();
      await proxy.heal();
      const again = async () => ({ outcome: (await once()).outcome, left: await found() });
      return { ...ending, hit: proxy.hit, left: await found(), again };
    },
    async close() {
      await Promise.all([both.mine.close(), both.other.close()]);
      proxy.close();
      await Promise.all(pools.map((pool) => pool.end()));
    },
  };
}

function codeOf(error: unknown): string {
  if (!isThroughlineError(error)) throw error;
  return error.code;
}

/** Never hit. */
const noFault: FaultPlan = { direction: "request", at: Number.MAX_SAFE_INTEGER, fault: "freeze" };

/**
 * Asserts that a call ends as it does without a fault, at whichever message the fault happens, within
 * its deadline. After half of it was waited for an answer, a busy machine may be too slow to try again:
 * then the call is refused, nothing is stored, and the call again ends as it does without a fault.
 *
 * @param step which messages: every one, or every second, and so on.
 * @returns the messages at which the connection failed, as `direction type`.
 */
export async function endsAsWithoutFault(
  world: CutWorld,
  call: CutCall,
  { direction, fault }: Omit<FaultPlan, "at">,
  step: number,
): Promise<string[]> {
  const { left: before } = await world.run({ call: async () => undefined }, noFault);
  const { outcome, left } = await world.run(call, noFault);
  const points: string[] = [];
  for (let at = 1; ; at += step) {
    const ending = await world.run(call, { direction, at, fault });
    const point = `${fault} at ${direction} ${at} (${ending.hit})`;
    assertInTime(world, ending, point);
    let { outcome: found, left: there } = ending;
    if (found === "THROUGHLINE_UNAVAILABLE" && !fault.startsWith("cut")) {
      assert.deepEqual({ point, left: there }, { point, left: before });
      ({ outcome: found, left: there } = await ending.again());
    }
    assert.deepEqual({ point, outcome: found, left: there }, { point, outcome, left });
    if (ending.hit === undefined) return points;
    points.push(`${direction} ${ending.hit}`);
  }
}

/** As long again for what is in doubt, and a little for a busy machine. */
function assertInTime({ timeoutMs }: CutWorld, { tookMs }: Ending, point: string): void {
  assert.ok(tookMs < 2 * timeoutMs + 1_500, `${point} took ${Math.round(tookMs)} ms`);
}

/**
 * Asserts what a call says whose database is gone for longer than its deadline, from one message on:
 * refused, and nothing is stored; or unknown, and it is stored or not. Later an append again answers as
 * it does without a fault, and is there once.
 *
 * @param step which messages: every one, or every second, and so on.
 * @returns how many outcomes were unknown.
 */
export async function saysWhetherStored(
  world: CutWorld,
  call: CutCall,
  direction: Direction,
  step: number,
): Promise<number> {
  const { left: before } = await world.run({ call: async () => undefined }, noFault);
  const { outcome, left } = await world.run(call, noFault);
  let unknown = 0;
  for (let at = 1; ; at += step) {
    const ending = await world.run(call, { direction, at, fault: "blackout" });
    const point = `blackout at ${direction} ${at} (${ending.hit})`;
    assertInTime(world, ending, point);
    if (ending.hit === undefined) return unknown;
    if (ending.outcome === "THROUGHLINE_UNAVAILABLE") {
      assert.deepEqual({ point, left: ending.left }, { point, left: before });
    } else if (ending.outcome === "THROUGHLINE_OUTCOME_UNKNOWN") {
      unknown++;
      assert.ok(
        [before, left].some((state) => isDeepStrictEqual(state, ending.left)),
        point,
      );
    } else assert.deepEqual({ point, outcome: ending.outcome }, { point, outcome });
    const again = await ending.again();
    if (call.isSettledByRepeating) assert.deepEqual({ point, ...again }, { point, outcome, left });
  }
}

/** A world for one proof, gone after it. */
export async function inCutWorld(
  url: string,
  timeoutMs: number,
  proof: (world: CutWorld) => Promise<void>,
): Promise<void> {
  const world = await cutWorld(url, timeoutMs);
  try {
    await proof(world);
  } finally {
    await world.close();
  }
}

export const directions: readonly Direction[] = ["request", "reply"];
