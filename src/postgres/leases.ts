import type { HeldName, LeasePlace, Renewal } from "../core/storage/lease-keeper.ts";
import type { LeaseName } from "../core/storage/leases.ts";
import { leaseStatements as statements } from "./lease-statements.ts";
import { freedPayload } from "./notification.ts";
import type { ClusterProcess } from "./postgres-cluster.ts";

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
