import type { HeldName, LeasePlace } from "../core/storage/cluster-leases.ts";
import type { LeaseName } from "../core/storage/leases.ts";
import type { LogHead } from "../core/storage/log-store.ts";
import type { ClusterProcess } from "./database.ts";
import type { Listening } from "./listening.ts";
import { freedPayload } from "./notification.ts";

/** The leases of this process in the rows of the logs; the database's clock decides which processes live. */
export class PostgresLeases implements LeasePlace {
  readonly #process: ClusterProcess;
  readonly #leaseMs: number;
  readonly #beats: Pick<Listening, "query">;

  /** @param beats heartbeats go over it: they must not wait for the calls of this process. */
  constructor(process: ClusterProcess, leaseMs: number, beats: Pick<Listening, "query">) {
    this.#process = process;
    this.#leaseMs = leaseMs;
    this.#beats = beats;
  }

  async take({ collection, key }: LeaseName, life: number, waits: boolean) {
    const { database, companion } = this.#process;
    const values = [companion, collection, key, this.#owner(life), waits];
    const [row] = await database.query({ ...statements.take, values });
    if (row?.["mine"] === true) {
      const head = JSON.parse(String(row["head"])) as LogHead;
      return {
        epoch: Number(row["epoch"]),
        log: { seq: Number(row["seq"]), head, damaged: false },
      };
    }
    return { lapsesInMs: Number(row?.["lapses_in_ms"] ?? 0) };
  }

  async beat(life: number): Promise<boolean> {
    const values = [this.#process.companion, this.#owner(life), this.#leaseMs];
    const [row] = await this.#beats.query({ ...statements.beat, values });
    return row?.["was_alive"] === true;
  }

  async held(life: number): Promise<readonly HeldName[]> {
    const { database, companion } = this.#process;
    const rows = await database.query({
      ...statements.held,
      values: [companion, this.#owner(life)],
    });
    return rows.map(({ collection, key, epoch }) => {
      return { collection: String(collection), key: String(key), epoch: Number(epoch) };
    });
  }

  async leave(life: number): Promise<void> {
    const { database, companion } = this.#process;
    await database.query({ ...statements.leave, values: [companion, this.#owner(life)] });
  }

  #owner(life: number): string {
    const { processId } = this.#process;
    return life === 1 ? processId : `${processId}.${life}`;
  }

  async free(held: readonly HeldName[]): Promise<void> {
    const { database, companion, channel } = this.#process;
    const payloads = held.map(freedPayload);
    const values = [companion, ...columns(held), channel, payloads];
    const freed = await database.query({ ...statements.free, values });
    for (const row of freed) {
      const name = held[Number(row["n"]) - 1];
      if (name === undefined || row["is_empty"] !== true) continue;
      const place = [companion, name.collection, name.key];
      await database.query({ ...statements.forget, values: place });
    }
  }

  /** Removes the names that dead holders left. */
  async sweep(): Promise<void> {
    const { database, companion } = this.#process;
    await database.query({ ...statements.sweep, values: [companion] });
  }
}

function columns(held: readonly HeldName[]): unknown[] {
  return [
    held.map(({ collection }) => collection),
    held.map(({ key }) => key),
    held.map(({ epoch }) => epoch),
  ];
}

// The statements of leases. What they and those of the log store agree on, all in the row of `logs` with
// that name:
//
// - `epoch` is that of the newest holder, 0 if there never was one. `owner` is null while there is
//   no holder. The lease of a process that is taken for dead (`alive_until` in its row of `processes` is
//   past, or there is none) keeps its owner and its epoch until another process acquires it: that alone
//   refuses nothing.
// - A write under an epoch is refused with `THROUGHLINE_FENCED` unless the row is there and its `epoch`
//   is that one, also if it repeats what is stored. It never creates the row.
// - A write without an epoch ignores the lease.
// - Deleting a log whose row has an `owner` leaves the row, with `seq` 0 and without head, labels and
//   instant; deleting one without an owner removes the row. A row with `seq` 0 is no log for readers.
//
// Each statement uses one instant throughout, that of its start: waiting for another writer of the
// row makes no lease lapse sooner. It does not see processes that joined since, so a name that was taken
// since is held, whatever is known of its owner.

/** Longer than a statement waits for a row, in microseconds. */
const longestWait = 60_000_000;

const isFree = `(old.owner is null or old.owner = excluded.owner or (
    old.epoch not between excluded.epoch and excluded.epoch + ${longestWait} and not exists (
    select from throughline.processes as holder where holder.companion = old.companion
      and holder.process = old.owner and holder.alive_until >= statement_timestamp())))`;

const statements = {
  /**
   * 1 to 3: companion, collection, key; 4: process; 5: whether to note that it waits. Synced, as a write
   * is: an epoch that was given is not given again after a crash of the database. An epoch is at least the
   * time of its beginning in microseconds, so that none comes again when the row with the last one was
   * deleted: two leases can follow each other within a millisecond.
   */
  take: {
    name: "throughline_lease_take",
    text: `insert into throughline.logs as old
  (companion, collection, key, seq, head, sorted_at, labels, epoch, owner)
values ($1, $2, $3, 0, '{}', '', '{}',
  (extract(epoch from statement_timestamp()) * 1000000)::bigint, $4)
on conflict (companion, collection, key) do update set
  epoch = case when ${isFree} then greatest(old.epoch + 1, excluded.epoch) else old.epoch end,
  owner = case when ${isFree} then excluded.owner else old.owner end,
  wanted = not ${isFree}
where ${isFree} or $5
returning owner = $4 as mine, epoch, seq, head, (
  select extract(epoch from alive_until - statement_timestamp())::float8 * 1000
  from throughline.processes as holder where holder.companion = $1 and holder.process = owner
) as lapses_in_ms`,
  },
  /**
   * 1: companion; 2: process; 3: milliseconds. Synced: after a failover the other server knows who lives.
   * Answers whether it was known to live until now.
   */
  beat: {
    name: "throughline_lease_beat",
    text: `with before as (
  select alive_until from throughline.processes where companion = $1 and process = $2
)
insert into throughline.processes as own (companion, process, alive_until)
values ($1, $2, statement_timestamp() + $3::float8 * interval '1 millisecond')
on conflict (companion, process) do update set alive_until = excluded.alive_until
returning coalesce((select alive_until >= statement_timestamp() from before), false) as was_alive`,
  },
  /** 1: companion; 2: process. */
  held: {
    text: "select collection, key, epoch from throughline.logs where companion = $1 and owner = $2",
  },
  /** 1: companion; 2: process. */
  leave: {
    text: "delete from throughline.processes where companion = $1 and process = $2",
  },
  /**
   * 1: companion; 2 to 4: collections, keys, epochs; 5: channel; 6: the notification of each. Answers which
   * are free now, and whether they have a log. Rows are found by their keys: the place of one is another where a process
   * that waits wrote to it since the statement began. Who takes the name next writes `wanted`. Not synced, which takes
   * most of the time: see `missed` of `ClusterLeases`.
   */
  free: {
    name: "throughline_lease_free",
    text: `with freed as (
  update throughline.logs as log set owner = null
  from unnest($2::text[], $3::text[], $4::bigint[], $6::text[])
    with ordinality as held (collection, key, epoch, payload, n)
  where companion = $1 and log.collection = held.collection and log.key = held.key
    and log.epoch = held.epoch and owner is not null
  returning held.n, held.payload, log.wanted, log.seq = 0 as is_empty
)
select n::int, is_empty, case when wanted then pg_notify($5, payload) end
from freed, (select set_config('synchronous_commit', 'off', true) as level) as commit
where commit.level = 'off'`,
  },
  /** 1 to 3: companion, collection, key. */
  forget: {
    text: `delete from throughline.logs
where companion = $1 and collection = $2 and key = $3 and seq = 0 and owner is null`,
  },
  /** Processes that died a day ago, and the names without a log of those that are no more. 1: companion. */
  sweep: {
    text: `with dead as (
  delete from throughline.processes where companion = $1
    and alive_until < statement_timestamp() - interval '1 day' returning process
)
delete from throughline.logs where companion = $1 and seq = 0 and owner is not null and not exists (
  select from throughline.processes where companion = $1 and process = owner
    and process not in (select process from dead))`,
  },
} as const;
