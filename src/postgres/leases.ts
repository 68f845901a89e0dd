import type { HeldName, LeasePlace, Renewal } from "../core/storage/cluster-leases.ts";
import type { LeaseName } from "../core/storage/leases.ts";
import type { ClusterProcess } from "./database.ts";
import { freedPayload } from "./notification.ts";

/** The leases of this process in the rows of the logs; the database's clock decides what lapsed. */
export class PostgresLeases implements LeasePlace {
  readonly #process: ClusterProcess;
  readonly #leaseMs: number;

  constructor(process: ClusterProcess, leaseMs: number) {
    this.#process = process;
    this.#leaseMs = leaseMs;
  }

  async take({ collection, key }: LeaseName, waits: boolean) {
    const { database, companion, processId } = this.#process;
    const values = [companion, collection, key, processId, this.#leaseMs, waits];
    const [row] = await database.query({ ...statements.take, values });
    if (row?.["mine"] === true) return { epoch: Number(row["epoch"]) };
    return { lapsesInMs: Number(row?.["lapses_in_ms"] ?? 0) };
  }

  async renew(held: readonly HeldName[]): Promise<Renewal> {
    const { database, companion, processId } = this.#process;
    const values = [companion, ...columns(held), this.#leaseMs, processId];
    const rows = await database.query({ ...statements.renew, values });
    const pick = (column: string, wanted: boolean) =>
      rows.flatMap((row) => (row[column] === wanted ? (held[Number(row["n"]) - 1] ?? []) : []));
    return { renewed: pick("renewed", true), gone: pick("ours", false) };
  }

  async free(held: readonly HeldName[]): Promise<void> {
    const { database, companion, channel, processId } = this.#process;
    const payloads = held.map((name) => freedPayload(processId, name));
    const values = [companion, ...columns(held), processId, channel, payloads];
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
//   no holder. A lease that lapsed (`lease_until` is past) keeps its owner and its epoch until
//   somebody else acquires it: the lapse itself refuses nothing.
// - A write under an epoch is refused with `THROUGHLINE_FENCED` unless the row is there and its `epoch`
//   is that one, also if it repeats what is stored. It never creates the row.
// - A write without an epoch ignores the lease.
// - Deleting a log whose row has an `owner` leaves the row, with `seq` 0 and without head, labels and
//   instant; deleting one without an owner removes the row. A row with `seq` 0 is no log for readers.
//
// Each statement uses one instant throughout, that of its start: waiting for another writer of the
// row makes no lease lapse sooner.

const isFree = `(old.owner is null or old.owner = excluded.owner
    or old.lease_until < statement_timestamp())`;

const lasts = "statement_timestamp() + $5::float8 * interval '1 millisecond'";

const statements = {
  /**
   * 1 to 3: companion, collection, key; 4: process; 5: milliseconds; 6: whether to note that somebody
   * waits. Synced, as a write is: an epoch that was given is not given again after a crash of the
   * database. An epoch is at least the time of its beginning in microseconds, so that none comes again
   * when the row with the last one was deleted: two leases can follow each other within a millisecond.
   */
  take: {
    name: "throughline_lease_take",
    text: `insert into throughline.logs as old
  (companion, collection, key, seq, head, sorted_at, labels, epoch, owner, lease_until)
values ($1, $2, $3, 0, '{}', '', '{}',
  (extract(epoch from statement_timestamp()) * 1000000)::bigint, $4, ${lasts})
on conflict (companion, collection, key) do update set
  epoch = case when ${isFree} then greatest(old.epoch + 1, excluded.epoch) else old.epoch end,
  owner = case when ${isFree} then excluded.owner else old.owner end,
  lease_until = case when ${isFree} then excluded.lease_until else old.lease_until end,
  wanted = not ${isFree}
where ${isFree} or $6
returning owner = $4 as mine, epoch,
  extract(epoch from lease_until - statement_timestamp())::float8 * 1000 as lapses_in_ms`,
  },
  /**
   * 1: companion; 2 to 4: collections, keys, epochs; 5: milliseconds; 6: process. A row that somebody
   * is writing is passed over: one slow log must not cost the process its other leases. Rows are looked
   * up in the order of their key: by their owner each name would be compared with all that it holds.
   */
  renew: {
    name: "throughline_lease_renew",
    text: `with held as (
  select * from unnest($2::text[], $3::text[], $4::bigint[])
    with ordinality as each (collection, key, epoch, n)
), ours as (
  select n, log.place from held cross join lateral (
    select key, owner, epoch, ctid as place from throughline.logs
    where companion = $1 and collection = held.collection and logs.key >= held.key
    order by logs.key limit 1
  ) as log where log.key = held.key and log.owner = $6 and log.epoch = held.epoch
), free as (
  select ours.* from ours join throughline.logs on ctid = place for update of logs skip locked
), renewed as (
  update throughline.logs set lease_until = ${lasts} from free where ctid = place returning n
)
select n::int, n in (select n from renewed) as renewed, n in (select n from ours) as ours from held`,
  },
  /**
   * 1: companion; 2 to 4: collections, keys, epochs; 5: process; 6: channel; 7: the notification of
   * each. Answers which are free now, and whether they have a log. `coalesce`: see `renew`. Not synced, which takes most of the
   * time: a release that a crash of the database undoes is a lease that lapses.
   */
  free: {
    name: "throughline_lease_free",
    text: `with held as (
  select * from unnest($2::text[], $3::text[], $4::bigint[], $7::text[])
    with ordinality as each (collection, key, epoch, payload, n)
), old as (
  select held.n, held.payload, log.* from held cross join lateral (
    select ctid as place, wanted from throughline.logs
    where companion = $1 and collection = held.collection and logs.key = held.key
      and coalesce(owner, '') = $5 and logs.epoch = held.epoch for update
  ) as log
), freed as (
  update throughline.logs set owner = null, lease_until = null, wanted = false from old
  where ctid = place
  returning old.n, old.wanted, old.payload, logs.seq = 0 as is_empty
)
select n::int, is_empty, case when wanted then pg_notify($6, payload) end
from freed, (select set_config('synchronous_commit', 'off', true) as level) as commit
where commit.level = 'off'`,
  },
  /** 1 to 3: companion, collection, key. */
  forget: {
    text: `delete from throughline.logs
where companion = $1 and collection = $2 and key = $3 and seq = 0 and owner is null`,
  },
  /** What holders left that died a day ago, on names without a log. 1: companion. */
  sweep: {
    text: `delete from throughline.logs where companion = $1 and seq = 0 and owner is not null
  and lease_until < statement_timestamp() - interval '1 day'`,
  },
} as const;
