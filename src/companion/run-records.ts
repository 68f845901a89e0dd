// What the records of the log of runs say. Anything may stand between them: it says nothing.

import { crc32 } from "node:zlib";
import type { StoredRecord } from "../core/storage/log-store.ts";
import { type ClockReading, readReading } from "./clock-reading.ts";

/** A run as its records tell of it. */
export interface PreviousRun {
  /** Absent if unreadable. */
  readonly runId?: string;
  /** Whether it ended in order; `undefined` when no record of it can be read. */
  readonly clean: boolean | undefined;
  /** Its end if it ended in order, else its boot. */
  readonly lastSign: ClockReading | undefined;
  /** Why it ended, if it ended in order. */
  readonly reason?: string | undefined;
}

interface RunRecord {
  readonly kind: "run_start" | "run_end";
  readonly runId: string;
  readonly record: StoredRecord;
}

const mostRuns = 1_000_000_000;

/** A whole number from 0 to 10^9; anything else is `otherwise`. */
export function countOr<T>(value: unknown, otherwise: T): number | T {
  const isCount = Number.isInteger(value) && (value as number) >= 0;
  return isCount && (value as number) <= mostRuns ? (value as number) + 0 : otherwise;
}

/** The id of the run that begins with a record or act of this id. */
export function runIdOf(id: string): string {
  return crc32(id).toString(16).padStart(8, "0");
}

export function isRunId(value: unknown): value is string {
  return typeof value === "string" && /^[0-9a-f]{8}$/.test(value);
}

/** The newest run in the end of a log, given oldest first; `undefined`: no run is known. */
export function lastRunOf(records: readonly StoredRecord[]): PreviousRun | undefined {
  const runs = records.flatMap(runRecord);
  const start = runs.findLast(({ kind }) => kind === "run_start");
  const started = new Set(runs.flatMap(({ kind, runId }) => (kind === "run_start" ? [runId] : [])));
  const after = start === undefined ? runs : runs.slice(runs.indexOf(start) + 1);
  // An end without a beginning is of a run whose boot record is lost, unless its boot was earlier:
  // then a process spoke that was thought dead.
  const end = after.findLast(({ runId }) => runId === start?.runId || !started.has(runId));
  const newest = end ?? start;
  if (newest === undefined) return undefined;
  const { record } = newest;
  const reason = end?.record["reason"];
  return {
    runId: newest.runId,
    clean: end !== undefined,
    lastSign: readReading(record),
    reason: typeof reason === "string" ? reason : undefined,
  };
}

/** The number of runs after one more record, for a log whose head does not tell. */
export function totalOf(total: number, record: StoredRecord): number {
  const [run] = runRecord(record);
  if (run?.kind !== "run_start") return total;
  return Math.max(total + 1, countOr(record["total_sessions"], 0));
}

function runRecord(record: StoredRecord): readonly RunRecord[] {
  const { kind, run_id: runId } = record;
  if ((kind !== "run_start" && kind !== "run_end") || !isRunId(runId)) return [];
  return [{ kind, runId, record }];
}
