// The log of runs: a record at every boot, and one at every exit in order. A run without the second one was
// killed. Anything may stand between them, and damage: it says nothing.

import { crc32 } from "node:zlib";
import type { Clock } from "../core/clock.ts";
import { invalid, isThroughlineError } from "../core/errors.ts";
import type { NewId } from "../core/ids.ts";
import {
  type LogStore,
  type LogTail,
  type StoredRecord,
  unlisted,
  update,
} from "../core/storage/log-store.ts";
import { type ClockReading, readClock, readReading, storedReading } from "./clock-reading.ts";

/** The log of runs is neither listed nor searched. */
export const runsProjection = unlisted;

/** A run that has begun. */
export interface RunStart {
  /** 8 lower-case hexadecimal digits. */
  readonly runId: string;
  readonly startedAt: ClockReading;
  /** Runs of this companion, this one included. */
  readonly totalRuns: number;
}

/** A run as its records tell of it. */
interface PreviousRun {
  /** Absent if unreadable. */
  readonly runId?: string;
  /** Whether it ended in order; `undefined` when no record of it can be read. */
  readonly clean: boolean | undefined;
  /** Its end if it ended in order, else its boot. */
  readonly lastSign: ClockReading | undefined;
}

/** The log of runs, in the collection of the companion itself. */
const runsKey = "runs";

/** Records that are looked at first, and then at most, for the end of the last run. */
const tailRecords = 32;
const mostRecords = 1_000;
const mostRuns = 1_000_000_000;
const attempts = 3;

/**
 * Stores that a run begins, before anything else happens in it.
 *
 * @param known.atLeast runs that another place knows of, such as an imported document.
 * @param known.pid for people who look into the log.
 * @returns also how the run before it ended; `undefined`: there was none.
 * @throws ThroughlineError the codes of `LogStore.append`: this run must not go on.
 */
export async function recordStart(
  logs: LogStore,
  { clock, newId }: { readonly clock: Clock; readonly newId: NewId },
  known: { readonly atLeast?: number | undefined; readonly pid?: number | undefined } = {},
): Promise<RunStart & { readonly previous: PreviousRun | undefined }> {
  const id = newId();
  const runId = runIdOf(id);
  const startedAt = readClock(clock);
  return update(async () => {
    const tail = await logs.tail(runsKey, tailRecords);
    const previous = await previousRun(logs, tail, id);
    // A try whose outcome was unknown may be there after all: the same record is not stored twice.
    const isStored = tail?.head["run_id"] === runId;
    const before = Math.max(await countRuns(logs, tail), countOr(known.atLeast, 0));
    const totalRuns = isStored ? Number(tail.head["total_sessions"]) : before + 1;
    const head = { run_id: runId, total_sessions: totalRuns };
    const when = storedReading(startedAt);
    const record = { id, kind: "run_start", ...head, ...when, pid: known.pid };
    await logs.append(runsKey, [record], { head, expectedSeq: tail?.seq ?? 0 });
    return { runId, startedAt, totalRuns, previous };
  }, isWorthAnother);
}

/**
 * Stores that a run ended in order: the last thing that it does. Ending twice is ending once.
 *
 * @param reason a word such as `closed` or `signal`: letters, digits and `_`, at most 64.
 * @throws ThroughlineError the codes of `LogStore.append`; then it may be called again.
 */
export async function recordEnd(
  logs: LogStore,
  clock: Clock,
  { runId }: Pick<RunStart, "runId">,
  reason: string,
): Promise<void> {
  if (!/^\w{1,64}$/.test(reason)) throw invalid("the reason of an end must be a word");
  const tail = await logs.tail(runsKey, tailRecords);
  const start = tail?.records.findLast((each) => {
    return each["kind"] === "run_start" && each["run_id"] === runId;
  });
  // The id follows from the run: an end whose outcome is unknown is not stored twice.
  const end = { id: `${start?.id ?? runId}.end`, kind: "run_end", run_id: runId, reason };
  if (tail?.records.some(({ id }) => id === end.id)) return;
  const record = { ...end, ...storedReading(readClock(clock)) };
  await update(() => logs.append(runsKey, [record]), isWorthAnother);
}

function isWorthAnother(error: unknown, tries: number): boolean {
  const isUnknown = isThroughlineError(error, "THROUGHLINE_OUTCOME_UNKNOWN");
  return isUnknown ? tries < attempts : isThroughlineError(error, "THROUGHLINE_CONFLICT");
}

async function previousRun(
  logs: LogStore,
  tail: LogTail | undefined,
  ownId: string,
): Promise<PreviousRun | undefined> {
  const others = (records: readonly StoredRecord[]) => records.filter(({ id }) => id !== ownId);
  if (tail === undefined || (tail.seq === 1 && others(tail.records).length === 0)) return undefined;
  const found = lastRunOf(others(tail.records));
  if (found !== undefined) return found;
  const more = tail.seq > tailRecords ? await logs.tail(runsKey, mostRecords) : tail;
  // There is a log, so there were runs, although none of them can be read.
  return lastRunOf(others(more?.records ?? [])) ?? { clean: undefined, lastSign: undefined };
}

/** How many runs there were, from the head of the log; without one, from its records. */
async function countRuns(logs: LogStore, tail: LogTail | undefined): Promise<number> {
  if (tail === undefined) return 0;
  const counted = countOr(tail.head["total_sessions"], -1);
  if (counted >= 0 && isRunId(tail.head["run_id"])) return counted;
  let total = 0;
  for await (const record of logs.read(runsKey)) {
    const [run] = runRecord(record);
    if (run?.kind !== "run_start") continue;
    total = Math.max(total + 1, countOr(record["total_sessions"], 0));
  }
  return total;
}

/** A whole number from 0 to 10^9; anything else is `otherwise`. */
function countOr<T>(value: unknown, otherwise: T): number | T {
  const isCount = Number.isInteger(value) && (value as number) >= 0;
  return isCount && (value as number) <= mostRuns ? (value as number) + 0 : otherwise;
}

/** Makes the id of the run that begins with this record, or with this step of a client. */
export function runIdOf(id: string): string {
  return crc32(id).toString(16).padStart(8, "0");
}

export function isRunId(value: unknown): value is string {
  return typeof value === "string" && /^[0-9a-f]{8}$/.test(value);
}

/** The newest run in the end of a log, given oldest first; `undefined`: no run is known. */
function lastRunOf(records: readonly StoredRecord[]): PreviousRun | undefined {
  const runs = records.flatMap(runRecord);
  const start = runs.findLast(({ kind }) => kind === "run_start");
  const started = new Set(runs.flatMap(({ kind, runId }) => (kind === "run_start" ? [runId] : [])));
  const after = start === undefined ? runs : runs.slice(runs.indexOf(start) + 1);
  // An end without a beginning is of a run whose boot record is lost, unless its boot was earlier:
  // then a process spoke that was thought dead.
  const end = after.findLast(({ runId }) => runId === start?.runId || !started.has(runId));
  const newest = end ?? start;
  if (newest === undefined) return undefined;
  return { runId: newest.runId, clean: end !== undefined, lastSign: readReading(newest.record) };
}

interface RunRecord {
  readonly kind: "run_start" | "run_end";
  readonly runId: string;
  readonly record: StoredRecord;
}

function runRecord(record: StoredRecord): readonly RunRecord[] {
  const { kind, run_id: runId } = record;
  if ((kind !== "run_start" && kind !== "run_end") || !isRunId(runId)) return [];
  return [{ kind, runId, record }];
}
