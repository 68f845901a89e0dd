// When the companion document is to be written. A value and functions of it: the loop that uses it
// asks `dueWrite` as often as it likes, and reports the result of each write.

/** `save`: the state as it is now. `heartbeat`: what was written last, with a new sign of life. */
export type DocumentWrite = "save" | "heartbeat";

/** All instants are milliseconds of a monotonic clock. */
export interface SaveSchedule {
  /** Before this nothing is due: infinite while a write is under way, and for good after the end. */
  readonly nextAt: number;
  readonly saveAt: number;
  readonly heartbeatAt: number;
  /** Writes that failed in a row. */
  readonly failures: number;
  readonly saveEveryMs: number;
  readonly heartbeatEveryMs: number;
  readonly isWriting: boolean;
  readonly isClosed: boolean;
}

const never = Number.POSITIVE_INFINITY;
const firstRetryMs = 1_000;
const lastRetryMs = 30_000;

type Periods = Pick<SaveSchedule, "saveEveryMs" | "heartbeatEveryMs">;

/** A schedule whose first save is due at once. */
export function newSaveSchedule(
  now: number,
  { saveEveryMs, heartbeatEveryMs }: Periods,
): SaveSchedule {
  const heartbeatAt = now + heartbeatEveryMs;
  return {
    nextAt: now,
    saveAt: now,
    heartbeatAt,
    saveEveryMs,
    heartbeatEveryMs,
    failures: 0,
    isWriting: false,
    isClosed: false,
  };
}

/** What is to be written now; one comparison when nothing is. */
export function dueWrite(schedule: SaveSchedule, now: number): DocumentWrite | undefined {
  if (!(now >= schedule.nextAt)) return undefined;
  return now >= schedule.saveAt ? "save" : "heartbeat";
}

/** Something that a save would store is another. Matters only when every change is written. */
export function stateChanged(schedule: SaveSchedule, now: number): SaveSchedule {
  if (schedule.saveEveryMs > 0 || schedule.saveAt <= now) return schedule;
  const isWaiting = schedule.isWriting || schedule.isClosed || schedule.failures > 0;
  return { ...schedule, saveAt: now, nextAt: isWaiting ? schedule.nextAt : now };
}

/** Something was felt or seen that must not wait for the next save. */
export function saveSoon(schedule: SaveSchedule, now: number): SaveSchedule {
  const isWaiting = schedule.isWriting || schedule.isClosed || schedule.failures > 0;
  const saveAt = Math.min(schedule.saveAt, now);
  return { ...schedule, saveAt, nextAt: isWaiting ? schedule.nextAt : saveAt };
}

/** A write begins: nothing is due until its outcome is reported. */
export function writeStarted(
  schedule: SaveSchedule,
  write: DocumentWrite,
  now: number,
): SaveSchedule {
  if (schedule.isClosed) return schedule;
  const writing = { ...schedule, nextAt: never, isWriting: true };
  if (write === "heartbeat") return writing;
  // Set at the start, so that a change during the write is not taken for one that it stored.
  const saveAt = schedule.saveEveryMs === 0 ? never : now + schedule.saveEveryMs;
  return { ...writing, saveAt };
}

/** The write is stored. It was a sign of life too. */
export function writeSucceeded(schedule: SaveSchedule, now: number): SaveSchedule {
  if (schedule.isClosed) return schedule;
  const heartbeatAt = now + schedule.heartbeatEveryMs;
  const nextAt = Math.min(schedule.saveAt, heartbeatAt);
  return { ...schedule, failures: 0, heartbeatAt, nextAt, isWriting: false };
}

/** The write is not stored: tried again after 1, 2, 4, 8, 16, then every 30 seconds. */
export function writeFailed(
  schedule: SaveSchedule,
  write: DocumentWrite,
  now: number,
): SaveSchedule {
  if (schedule.isClosed) return schedule;
  const failures = schedule.failures + 1;
  const nextAt = now + Math.min(firstRetryMs * 2 ** schedule.failures, lastRetryMs);
  const saveAt = write === "save" ? Math.min(schedule.saveAt, now) : schedule.saveAt;
  return { ...schedule, failures, nextAt, saveAt, isWriting: false };
}

/** Nothing is due any more, whatever is reported afterwards: the last write is the caller's. */
export function closeSchedule(schedule: SaveSchedule): SaveSchedule {
  return { ...schedule, nextAt: never, isClosed: true };
}
