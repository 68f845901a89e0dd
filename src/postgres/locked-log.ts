import { ThroughlineError } from "../core/errors.ts";
import type { Connection } from "./connection.ts";
import { logStatements as statements } from "./log-statements.ts";

/** Where a log is: its companion, its collection and its key. */
type LogPlace = readonly [companion: string, collection: string, key: string];

/** What a call writes: which log, and the lease that it is written under, if there is one. */
export interface LogTarget {
  readonly place: LogPlace;
  readonly epoch: number | undefined;
}

/** The row of a log while a transaction holds it. */
export interface LockedLog {
  /** 0: only a lease is here. */
  readonly seq: number;
  readonly epoch: number;
  /** Whether somebody has the lease, lapsed or not. */
  readonly isHeld: boolean;
}

/** Waits for the writer of this log, and keeps others from it until the transaction ends. */
export async function lockLog(
  connection: Connection,
  place: LogPlace,
): Promise<LockedLog | undefined> {
  const [row] = await connection.run({ ...statements.lock, values: [...place] });
  if (row === undefined) return undefined;
  const { seq, epoch, held } = row;
  return { seq: Number(seq), epoch: Number(epoch), isHeld: held === true };
}

/** Whether somebody else took the log over since this process did. */
export function isFenced({ epoch }: LogTarget, log: LockedLog | undefined): boolean {
  return epoch !== undefined && log?.epoch !== epoch;
}

export function fenced(): ThroughlineError {
  return new ThroughlineError("another process holds this log now", { code: "THROUGHLINE_FENCED" });
}
