import { describe, test } from "node:test";
import type pg from "pg";
import { fencingClauses } from "../../test/support/contracts/shared-fencing.ts";
import type { SharedClause, SharedPlace } from "../../test/support/contracts/shared-place.ts";
import { sharedStorageClauses } from "../../test/support/contracts/shared-storage.ts";
import { HeldBackTimers } from "../../test/support/held-back-timers.ts";
import { noPostgres, type TestPostgres, withPostgres } from "../../test/support/test-postgres.ts";
import { systemClock } from "../core/clock.ts";
import type { Storage } from "../core/storage/storage.ts";
import { systemTimers } from "../core/timers.ts";
import type { PostgresPool } from "./pool.ts";
import { openPostgresStorage } from "./postgres.ts";

/** Every clause at night; otherwise one of two, and all that a holder that slept is refused. */
const step = process.env["THROUGHLINE_FULL"] === "1" ? 1 : 2;

/** Long: what waits for a name is to be woken, not to ask again when a lease has lapsed. */
const longMs = 600_000;

/** Short, for the proofs that wait until the leases of a killed holder lapse by themselves. */
const shortMs = 500;

/** Connections of one process, used again for one of another place when it has closed. */
class Pools {
  readonly #server: TestPostgres;
  readonly #url: string;
  readonly #free: NamedPool[] = [];
  #count = 0;

  constructor(server: TestPostgres, url: string) {
    this.#server = server;
    this.#url = url;
  }

  take(): NamedPool {
    const free = this.#free.pop();
    if (free !== undefined) return free;
    const name = `process-${++this.#count}`;
    const pool = this.#server.pool(this.#url, { application_name: name, max: 4 });
    pool.on("error", () => undefined); // a connection that is cut while nobody uses it
    return { name, pool };
  }

  give(pool: NamedPool): void {
    this.#free.push(pool);
  }
}

interface NamedPool {
  readonly name: string;
  readonly pool: pg.Pool;
}

/** One process of a place, as far as it can be one within this process. */
interface Member {
  readonly connections: NamedPool;
  readonly timers: HeldBackTimers;
  /** Time that passed for this process alone, in milliseconds. */
  sleptMs: number;
  isDead: boolean;
}

/** A place in a database that others use: it has a companion of its own. */
class PostgresPlace implements SharedPlace {
  readonly #pools: Pools;
  readonly #admin: pg.Pool;
  readonly #companion: string;
  readonly #leaseMs: number;
  readonly #members = new Map<Storage, Member>();

  constructor(
    pools: Pools,
    admin: pg.Pool,
    { companion, leaseMs }: { readonly companion: string; readonly leaseMs: number },
  ) {
    this.#pools = pools;
    this.#admin = admin;
    this.#companion = companion;
    this.#leaseMs = leaseMs;
  }

  async join(): Promise<Storage> {
    const connections = this.#pools.take();
    const timers = new HeldBackTimers(systemTimers);
    const member: Member = { connections, timers, sleptMs: 0, isDead: false };
    const storage = await openPostgresStorage({
      pool: mortal(connections.pool, member),
      companion: this.#companion,
      durability: "process",
      leaseMs: this.#leaseMs,
      timers,
      clock: {
        now: () => systemClock.now(),
        monotonic: () => systemClock.monotonic() + member.sleptMs,
      },
    });
    this.#members.set(storage, member);
    return storage;
  }

  async kill(storage: Storage): Promise<void> {
    const member = this.#member(storage);
    member.isDead = true;
    member.timers.holdBack();
    await this.#cut(member, "");
  }

  /** The lapse is made to be now: another test waits for one. */
  async sleep(storage: Storage): Promise<void> {
    const member = this.#member(storage);
    member.timers.holdBack();
    member.sleptMs += this.#leaseMs;
    const text = `update throughline.processes set alive_until = clock_timestamp() - interval '1 ms'
      where companion = $1 and process = $2`;
    await this.#admin.query(text, [this.#companion, storage.cluster.processId]);
  }

  async wake(storage: Storage): Promise<void> {
    const { timers } = this.#member(storage);
    // Those that are not due by the real clock are due by that of this process.
    timers.hurry();
    timers.goOn();
  }

  async interrupt(storage: Storage): Promise<void> {
    const healed = new Promise<void>((resolve) => storage.cluster.onMissed(resolve));
    // What the connection that listens was asked last: to listen, or to note a heartbeat.
    await this.#cut(this.#member(storage), "and query ~ '^(listen|with before)'");
    await healed;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const alive = [...this.#members].filter(([, { isDead }]) => !isDead);
    const closings = alive.map(async ([storage, { connections }]) => {
      await storage.close();
      this.#pools.give(connections);
    });
    await Promise.all(closings);
  }

  #member(storage: Storage): Member {
    const member = this.#members.get(storage);
    if (member === undefined) throw new TypeError("this storage did not join here");
    return member;
  }

  async #cut({ connections }: Member, which: string): Promise<void> {
    const text = `select pg_terminate_backend(pid) from pg_stat_activity
      where application_name = $1 ${which}`;
    await this.#admin.query(text, [connections.name]);
  }
}

/** A pool that gives nothing any more to a process that was killed. */
function mortal(pool: pg.Pool, member: Member): PostgresPool {
  return {
    connect: () => (member.isDead ? new Promise(() => undefined) : pool.connect()),
    on: (event, listener) => pool.on(event, listener),
  };
}

const reason = noPostgres();

if (reason !== undefined) {
  test("the contract of shared storage holds on PostgreSQL", { skip: reason }, () => undefined);
} else {
  const server = await withPostgres();
  const url = await server.newDatabase();
  const admin = server.pool(url);
  const pools = new Pools(server, url);
  let count = 0;
  const clauses = sharedStorageClauses.filter(
    (clause, index) => index % step === 0 || fencingClauses.includes(clause),
  );
  const isKilling = ({ lapses }: SharedClause) => lapses === true;
  const parts = [
    { leaseMs: shortMs, clauses: clauses.filter(isKilling) },
    { leaseMs: longMs, clauses: clauses.filter((clause) => !isKilling(clause)) },
  ];
  for (const { leaseMs, clauses } of parts) {
    const openPlace = async () =>
      new PostgresPlace(pools, admin, { companion: `place-${++count}`, leaseMs });
    // Some at once: each has a place of its own, and most of its time is waiting.
    describe(`shared storage on PostgreSQL, leases of ${leaseMs} ms`, { concurrency: 4 }, () => {
      for (const { says, proof } of clauses) test(says, () => proof(openPlace));
    });
  }
}
