// Writers that go on while primaries are killed: what they were told is held against what is there.
import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import pg from "pg";
import { isThroughlineError } from "../../src/core/errors.ts";
import { openPostgresStorage, type PostgresStorage } from "../../src/postgres/postgres.ts";
import { everything, logsOf, message } from "../../src/testing/log-store-contract-fixtures.ts";
import { PostgresPair } from "./postgres-pair.ts";

/**
 * A pool that looks for the primary: each new connection tries the next server. A server that takes no
 * writes is refused by the storage, which then asks for another connection.
 */
function poolOf(urls: () => readonly string[]): pg.Pool {
  let next = 0;
  class AnyServer extends pg.Client {
    constructor(config?: pg.ClientConfig) {
      const all = urls();
      super({ ...config, connectionString: all[next++ % all.length] });
    }
  }
  const pool = new pg.Pool({ Client: AnyServer, max: 8, connectionTimeoutMillis: 500 });
  pool.on("error", () => undefined);
  pool.on("connect", (client) => client.on("error", () => undefined));
  return pool;
}

/** One chat, appended to without an end: each batch until it is acknowledged. */
class Writer {
  readonly key: string;
  readonly acknowledged: string[] = [];
  /** Outcomes that were unknown or refused at first. */
  unknown = 0;
  refused = 0;
  #stopped = false;
  readonly #storage: PostgresStorage;
  readonly #running: Promise<void>;

  constructor(storage: PostgresStorage, key: string) {
    this.key = key;
    this.#storage = storage;
    this.#running = this.#run();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#running;
  }

  /** Every record that was acknowledged is there once, and the log holds nothing else. */
  async check(storage: PostgresStorage): Promise<void> {
    const records = await everything(logsOf(storage), this.key);
    assert.deepEqual(
      records.map(({ id }) => id),
      this.acknowledged,
    );
    assert.deepEqual(
      records.map(({ seq }) => seq),
      records.map((_, index) => index + 1),
    );
    const document = await storage.documents("session").read(this.key);
    assert.equal(document?.value["count"], this.acknowledged.length);
  }

  async #run(): Promise<void> {
    const log = logsOf(this.#storage);
    const documents = this.#storage.documents("session");
    for (let n = 1; !this.#stopped; n++) {
      const ids = [`${n}a`, `${n}b`];
      const batch = ids.map((id) => message(id));
      await this.#untilStored(() => log.append(this.key, batch));
      this.acknowledged.push(...ids);
      const count = this.acknowledged.length;
      await this.#untilStored(() => documents.write(this.key, { count }));
    }
  }

  async #untilStored(write: () => Promise<unknown>): Promise<void> {
    for (;;) {
      try {
        await write();
        return;
      } catch (error) {
        if (isThroughlineError(error, "THROUGHLINE_OUTCOME_UNKNOWN")) this.unknown++;
        else if (isThroughlineError(error, "THROUGHLINE_UNAVAILABLE")) this.refused++;
        else throw error;
      }
    }
  }
}

export interface Failovers {
  readonly acknowledged: number;
  readonly unknown: number;
  readonly refused: number;
  /** From each kill until every writer was acknowledged again; a new standby is made meanwhile. */
  readonly resumedMs: readonly number[];
  /** What of it was spent until there was a standby, without which nothing is acknowledged. */
  readonly standbyMs: readonly number[];
  /** Whether the lease of a chat, held all the time, was still held at the end. */
  readonly keptLease: boolean;
}

/** Kills so many primaries under writers of two processes' storages: a patient and an impatient one. */
export async function failOver(times: number): Promise<Failovers> {
  const pair = await PostgresPair.start();
  const pools = [poolOf(() => pair.urls), poolOf(() => pair.urls)] as const;
  const patient = await openPostgresStorage({
    pool: pools[0],
    leaseMs: 30_000,
    durability: "process",
  });
  const impatient = await openPostgresStorage({
    pool: pools[1],
    timeoutMs: 600,
    durability: "process",
  });
  const lease = await patient.leases.acquire({ collection: "chats", key: "chat:1" });
  const writers = [1, 2, 3, 4].map((n) => {
    return new Writer(n > 2 ? impatient : patient, `chat:${n}`);
  });
  const resumedMs: number[] = [];
  const standbyMs: number[] = [];
  let keptLease = false;
  try {
    await haveWritten(writers, 10);
    for (let i = 0; i < times; i++) {
      const killedAt = performance.now();
      await pair.failOver();
      const resumed = haveWritten(writers, 2);
      await pair.addStandby();
      standbyMs.push(performance.now() - killedAt);
      await resumed;
      resumedMs.push(performance.now() - killedAt);
      await haveWritten(writers, 10);
    }
    await Promise.all(writers.map((writer) => writer.stop()));
    for (const writer of writers) await writer.check(patient);
    keptLease = !lease.lost.aborted;
  } finally {
    await Promise.all(writers.map((writer) => writer.stop()));
    await Promise.all([patient.close(), impatient.close()]);
    await Promise.all(pools.map((pool) => pool.end()));
    await pair.stop();
  }
  const sum = (count: (writer: Writer) => number) => writers.reduce((n, w) => n + count(w), 0);
  return {
    acknowledged: sum((writer) => writer.acknowledged.length),
    unknown: sum((writer) => writer.unknown),
    refused: sum((writer) => writer.refused),
    resumedMs,
    standbyMs,
    keptLease,
  };
}

/** Waits until each of them was acknowledged so many records more. */
async function haveWritten(writers: readonly Writer[], more: number): Promise<void> {
  const goals = writers.map(({ acknowledged }) => acknowledged.length + more);
  while (writers.some(({ acknowledged }, i) => acknowledged.length < (goals[i] ?? 0))) {
    await pause(5);
  }
}
