import type { Clock } from "../core/clock.ts";
import { invalid, isThroughlineError } from "../core/errors.ts";
import type {
  AppendOptions,
  LogRecord,
  LogStore,
  LogTail,
  StoredRecord,
} from "../core/storage/log-store.ts";
import { unlisted } from "../core/storage/log-store.ts";
import { type ClockReading, readClock, storedReading } from "./clock-reading.ts";
import type { CompanionPorts } from "./options.ts";
import { countOr, isRunId, lastRunOf, type PreviousRun, runIdOf, totalOf } from "./run-records.ts";

/** The log of runs is neither listed nor searched. */
export const runsProjection = unlisted;

interface BeginOptions {
  readonly atLeast?: number | undefined;
  readonly pid?: number | undefined;
}

export interface RunStart {
  /** 8 lower-case hexadecimal digits. */
  readonly runId: string;
  readonly startedAt: ClockReading;
}

/** A run that has begun: its record is stored. */
export interface BegunRun extends RunStart {
  /** Runs of this companion, this one included. */
  readonly totalRuns: number;
  /** How the run before it ended; `undefined`: there was none. */
  readonly previous: PreviousRun | undefined;
}

/** The log of runs, in the collection of the companion itself. */
const runsKey = "runs";

/** Records that are looked at first, and then at most, for the end of the last run. */
const tailRecords = 32;
const mostRecords = 1_000;
const attempts = 3;

/**
 * The log of runs: a record at every boot, and one at every exit in order. A run without the second
 * one was killed. Lines that are no such records, and damage, are passed over.
 */
export class RunsLog {
  readonly #logs: LogStore;
  readonly #clock: Clock;
  /** Of the record of the boot. A boot that is tried again is stored once. */
  readonly #id: string;
  /** What the last attempt to begin wanted to store. */
  #tried: BegunRun | undefined;
  #begun: Promise<BegunRun> | undefined;
  #ended: Promise<void> | undefined;

  /** @param joined a run that another process began. */
  constructor(
    logs: LogStore,
    { clock, newId }: Pick<CompanionPorts, "clock" | "newId">,
    joined?: Omit<BegunRun, "previous">,
  ) {
    this.#logs = logs;
    this.#clock = clock;
    this.#id = newId();
    this.#begun = joined && Promise.resolve({ ...joined, previous: undefined });
  }

  /** How the newest run ended, from the end of the log; `undefined`: there was never one. */
  async last(): Promise<PreviousRun | undefined> {
    return this.#lastIn(await this.#tail());
  }

  /** How many runs there were, from the head of the log; without one, from its records. */
  async count(): Promise<number> {
    return this.#countIn(await this.#tail());
  }

  /**
   * Stores the boot of this run, before anything else happens in it. Beginning twice is beginning
   * once; after a failure it may be called again.
   *
   * @param options.atLeast runs that another place knows of, such as an imported document.
   * @param options.pid for people who look into the log.
   * @throws ThroughlineError the codes of `LogStore.append`: this run must not go on.
   */
  begin(options: BeginOptions = {}): Promise<BegunRun> {
    this.#begun ??= this.#begin(options).catch((error) => {
      this.#begun = undefined;
      throw error;
    });
    return this.#begun;
  }

  /**
   * Stores that the run ended in order: the last thing that it does. Ending twice is ending once.
   *
   * @param reason a word such as `closed` or `signal`: letters, digits and `_`, at most 64.
   * @throws ThroughlineError the codes of `LogStore.append`; then it may be called again.
   */
  async end(reason = "closed"): Promise<void> {
    if (!/^\w{1,64}$/.test(reason)) throw invalid("the reason of an end must be a word");
    if (this.#begun === undefined) throw invalid("this run has not begun");
    const { runId } = await this.#begun;
    this.#ended ??= this.#end(runId, reason).catch((error) => {
      this.#ended = undefined;
      throw error;
    });
    return this.#ended;
  }

  async #begin(options: BeginOptions): Promise<BegunRun> {
    const startedAt = readClock(this.#clock);
    const runId = runIdOf(this.#id);
    for (let attempt = 1; ; attempt++) {
      const tail = await this.#tail();
      // An attempt whose outcome was unknown is there after all.
      if (this.#tried && tail?.records.some(({ id }) => id === this.#id)) return this.#tried;
      const previous = await this.#lastIn(tail);
      const totalRuns = Math.max(await this.#countIn(tail), countOr(options.atLeast, 0)) + 1;
      const count = { run_id: runId, total_sessions: totalRuns };
      const record: LogRecord = {
        id: this.#id,
        kind: "run_start",
        ...count,
        ...storedReading(startedAt),
        pid: options.pid,
      };
      this.#tried = { runId, startedAt, totalRuns, previous };
      try {
        await this.#append(record, { head: count, expectedSeq: tail?.seq ?? 0 });
        return this.#tried;
      } catch (error) {
        // Another process began a run first: its run is the one before ours.
        const isBehind = isThroughlineError(error, "THROUGHLINE_CONFLICT");
        if (attempt >= attempts || !isBehind) throw error;
      }
    }
  }

  async #end(runId: string, reason: string): Promise<void> {
    const tail = await this.#tail();
    const start = tail?.records.findLast(
      (each) => each["kind"] === "run_start" && each["run_id"] === runId,
    );
    // The id follows from the run: an end whose outcome is unknown is not stored twice.
    const end = { id: `${start?.id ?? this.#id}.end`, kind: "run_end", run_id: runId, reason };
    return this.#append({ ...end, ...storedReading(readClock(this.#clock)) });
  }

  /** Appends. If it is unknown whether the record was stored, appends the same record again. */
  async #append(record: LogRecord, options?: AppendOptions): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      try {
        await this.#logs.append(runsKey, [record], options);
        return;
      } catch (error) {
        const isUnknown = isThroughlineError(error, "THROUGHLINE_OUTCOME_UNKNOWN");
        if (attempt >= attempts || !isUnknown) throw error;
      }
    }
  }

  #tail(): Promise<LogTail | undefined> {
    return this.#logs.tail(runsKey, tailRecords);
  }

  async #lastIn(tail: LogTail | undefined): Promise<PreviousRun | undefined> {
    if (tail === undefined) return undefined;
    const found = lastRunOf(tail.records);
    if (found !== undefined) return found;
    const more = tail.seq > tailRecords ? await this.#logs.tail(runsKey, mostRecords) : tail;
    // There is a log, so there were runs, although none of them can be read.
    return lastRunOf(more?.records ?? []) ?? { clean: undefined, lastSign: undefined };
  }

  async #countIn(tail: LogTail | undefined): Promise<number> {
    if (tail === undefined) return 0;
    const { total_sessions: stored, run_id: runId } = tail.head;
    const counted = countOr(stored, -1);
    if (counted >= 0 && isRunId(runId)) return counted;
    let total = 0;
    const records: AsyncIterable<StoredRecord> = this.#logs.read(runsKey);
    for await (const record of records) total = totalOf(total, record);
    return total;
  }
}
