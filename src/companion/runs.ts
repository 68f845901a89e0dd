// The log of runs: a record at every boot, and one at every exit in order. A run without the second one was
// killed. Anything may stand between them, and damage: it says nothing.

import { crc32 } from "node:zlib";
import type { Clock } from "../core/clock.ts";
import { invalid, isThroughlineError } from "../core/errors.ts";
import type { NewId } from "../core/ids.ts";
import type { JsonObject } from "../core/json.ts";
import { Place } from "../core/shape.ts";
import { type LogStore, type StoredRecord, unlisted, update } from "../core/storage/log-store.ts";
import { type ClockReading, clockReading, readClock } from "./gap.ts";
import { type JudgedRestart, judgedRestart } from "./restart.ts";

/** The log of runs is neither listed nor searched. */
export const runsProjection = unlisted;

interface RunStart {
  /** 8 lower-case hexadecimal digits. */
  readonly runId: string;
  readonly startedAt: ClockReading;
  readonly totalRuns: number;
}

export interface PreviousRun {
  /** Absent if unreadable. */
  readonly runId?: string;
  /** Whether it ended in order; `undefined` when no record of it can be read. */
  readonly clean: boolean | undefined;
  /** Its end if it ended in order, else its boot. */
  readonly lastSign: ClockReading | undefined;
}

/** The log of runs, in the collection of the companion itself. */
const runsKey = "runs";

/** Records that are looked at for the last run and how it ended. */
const tailRecords = 100;
const mostRuns = 1_000_000_000;
const attempts = 3;

/**
 * Stores that a run begins and how, before anything else happens in it.
 *
 * @param known.atLeast runs that another place knows of, such as an imported document.
 * @param known.pid for people who look into the log.
 * @param judge by how the run before it ended; `undefined`: there was none.
 * @throws ThroughlineError the codes of `LogStore.append`: this run must not go on.
 */
export async function recordStart<Restart extends JudgedRestart>(
  logs: LogStore,
  { clock, newId }: { readonly clock: Clock; readonly newId: NewId },
  known: { readonly atLeast?: number | undefined; readonly pid?: number | undefined },
  judge: (run: RunStart, previous: PreviousRun | undefined) => Restart,
): Promise<RunStart & { readonly restart: Restart }> {
  const id = newId();
  const runId = runIdOf(id);
  const startedAt = readClock(clock);
  return update(async () => {
    const {
      seq = 0,
      head: newest = {},
      records = [],
    } = (await logs.tail(runsKey, tailRecords)) ?? {};
    const others = records.filter((each) => each.id !== id);
    // A try whose outcome was unknown may be there after all: the same record is not stored twice.
    const isStored = newest["run_id"] === runId;
    // A log whose head was lost is counted by its records.
    const counts = [isRunId(newest["run_id"]) ? newest : {}, ...others];
    const before = Math.max(...counts.map(countOf), countOf({ total_sessions: known.atLeast }));
    const totalRuns = isStored ? countOf(newest) : before + 1;
    const head = { run_id: runId, total_sessions: totalRuns };
    const when = clockReading.write(startedAt) as JsonObject;
    const isFirst = seq === 0 || (seq === 1 && isStored);
    const run = { runId, startedAt, totalRuns };
    const restart = judge(run, isFirst ? undefined : lastRunOf(others));
    const how = { restart: judgedRestart.write(restart) as JsonObject, pid: known.pid };
    const record = { id, kind: "run_start", ...head, ...when, ...how };
    await logs.append(runsKey, [record], { head, expectedSeq: seq });
    return { ...run, restart };
  }, isWorthAnother);
}

/** Lists the newest restarts, the oldest first: how each run of the last 100 records began, where that can be read. */
export async function restartsIn(logs: LogStore): Promise<readonly JudgedRestart[]> {
  const { records = [] } = (await logs.tail(runsKey, tailRecords)) ?? {};
  return records.filter(isStart).flatMap(({ restart }) => {
    const place = new Place();
    const read = judgedRestart.read(restart, place);
    return place.problems.length === 0 ? [read] : [];
  });
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
  const { records = [] } = (await logs.tail(runsKey, tailRecords)) ?? {};
  const start = records.findLast((each) => isStart(each) && each["run_id"] === runId);
  // The id follows from the run: an end whose outcome is unknown is not stored twice.
  const end = { id: `${start?.id ?? runId}.end`, kind: "run_end", run_id: runId, reason };
  if (records.some(({ id }) => id === end.id)) return;
  const record = { ...end, ...(clockReading.write(readClock(clock)) as JsonObject) };
  await update(() => logs.append(runsKey, [record]), isWorthAnother);
}

function isWorthAnother(error: unknown, tries: number): boolean {
  const isUnknown = isThroughlineError(error, "THROUGHLINE_OUTCOME_UNKNOWN");
  return isUnknown ? tries < attempts : isThroughlineError(error, "THROUGHLINE_CONFLICT");
}

/** How many runs a record or a head tells of, at most 10^9; 0: it tells of none. */
function countOf({ total_sessions: count }: { readonly [name: string]: unknown }): number {
  return Number.isInteger(count) ? Math.max(0, Number(count) > mostRuns ? 0 : Number(count)) : 0;
}

/** Makes the id of the run that begins with this record, or with this step of a client. */
export function runIdOf(id: string): string {
  return crc32(id).toString(16).padStart(8, "0");
}

export function isRunId(value: unknown): value is string {
  return typeof value === "string" && /^[0-9a-f]{8}$/.test(value);
}

function isStart({ kind }: StoredRecord): boolean {
  return kind === "run_start";
}

/** The newest run in the end of a log, given oldest first. There is a log, so there was one, readable or not. */
function lastRunOf(records: readonly StoredRecord[]): PreviousRun {
  const runs = records.filter((each) => {
    return (isStart(each) || each["kind"] === "run_end") && isRunId(each["run_id"]);
  });
  const started = new Set(runs.filter(isStart).map((each) => each["run_id"]));
  const last = runs.findLastIndex(isStart);
  const start = runs[last];
  // An end without a beginning is of a run whose boot record is lost, unless its boot was earlier:
  // then a process spoke that was thought dead.
  const end = runs.slice(last + 1).findLast(({ run_id: id }) => {
    return id === start?.["run_id"] || !started.has(id);
  });
  const newest = end ?? start;
  if (newest === undefined) return { clean: undefined, lastSign: undefined };
  const lastSign = clockReading.read(newest, new Place());
  return { runId: String(newest["run_id"]), clean: end !== undefined, lastSign };
}
