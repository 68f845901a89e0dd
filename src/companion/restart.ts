import {
  flag,
  list,
  number,
  object,
  optional,
  type Read,
  text,
  whole,
  word,
} from "../core/shape.ts";
import {
  type ClockReading,
  certainties,
  clockReading,
  type Gap,
  gapAtDelivery,
  type JudgedGap,
  longestGapMs,
} from "./gap.ts";

export const restartKinds = [
  "fresh_start",
  "crash_recovery",
  "short_break",
  "long_absence",
] as const;
/** How a run found things: the words and the limits are those of the original. */
export type RestartKind = (typeof restartKinds)[number];

export const restartLimits = { crashWindowMs: 30_000, longAbsenceMs: 3_600_000 } as const;

/**
 * The kind of restart, from durable facts only. `undefined`: no earlier run, document or chat.
 *
 * A gap that is uncertain is no crash recovery, whatever its length: a crash days ago on a machine
 * whose clock was set back looks like one of just now. An unknown gap is a short break.
 */
export function restartKind(last: (Gap & { readonly clean: boolean }) | undefined): RestartKind {
  if (last === undefined) return "fresh_start";
  const { clean, gapMs, certainty } = last;
  if (gapMs === undefined || !(gapMs >= 0)) return "short_break";
  const isCrash = !clean && certainty !== "uncertain";
  if (isCrash && gapMs < restartLimits.crashWindowMs) return "crash_recovery";
  return gapMs < restartLimits.longAbsenceMs ? "short_break" : "long_absence";
}

const count = whole(0, Number.MAX_SAFE_INTEGER);
const judged = {
  kind: word(restartKinds),
  /** Whether the last run ended in order; true at a fresh start. */
  clean: flag(),
  /** Runs of this companion, the one that began with this restart included. */
  totalRuns: ["total_sessions", count],
  certainty: word(certainties),
  gapMs: ["gap_ms", optional(number(0, longestGapMs))],
  before: optional(clockReading),
  judgedAt: ["judged", clockReading],
} as const;

export const judgedRestart = object(judged, "left out");

/** A restart as it was judged at the boot, with what it takes to judge it again. */
export type JudgedRestart = Read<typeof judgedRestart>;

/**
 * What a chat was not told of, as one restart.
 *
 * @param told the newest run of which it was told; a chat that was never told hears of the newest alone.
 */
export function untold(
  restarts: readonly JudgedRestart[],
  told: number | undefined,
): JudgedRestart | undefined {
  const [first, ...others] =
    told === undefined ? restarts.slice(-1) : restarts.filter(({ totalRuns }) => totalRuns > told);
  return first && others.reduce(joined, first);
}

/** Joins two restarts. The gap is that of the first: the chat does not know that it ended. */
export function joined(first: JudgedRestart, second: JudgedRestart): JudgedRestart {
  const { kind, totalRuns } = second;
  return { ...first, kind, totalRuns, clean: first.clean && second.clean };
}

const interruptedTurn = object({ chatId: ["chat", text()], messageId: ["message", text()] });

/** A person's message whose turn was cut off. */
export type InterruptedTurn = Read<typeof interruptedTurn>;

export const storedReport = object(
  {
    ...judged,
    previousRunId: ["previous_run_id", optional(text(64))],
    interrupted: list(interruptedTurn),
    /** Things that were set aside because they could not be read, now or before, until somebody confirms it. */
    quarantined: count,
  },
  "left out",
);

/** What a start knows about the run before. Servers that share the companion store it for each other. */
export type RestartReport = Read<typeof storedReport>;

/** Judges a restart. @param clean whether the run before ended in order; `undefined`: there was none. */
export function judgeRestart(
  clean: boolean | undefined,
  gap: JudgedGap,
  totalRuns: number,
): JudgedRestart {
  if (clean === undefined) {
    return { ...gap, ...noGap, kind: restartKind(undefined), clean: true, totalRuns };
  }
  return { ...gap, kind: restartKind({ ...gap, clean }), clean, totalRuns };
}

/**
 * The kind and the gap as they are now: a companion that is woken hours after its boot was away for
 * hours, whatever it was at the boot.
 *
 * @param upMs how long this run has been up, by a clock that cannot be set. @default 0
 */
export function judgedAgain(
  restart: JudgedRestart,
  now: ClockReading,
  upMs = 0,
): { readonly kind: RestartKind; readonly gap: Gap } {
  if (restart.kind === "fresh_start") return { kind: restart.kind, gap: noGap };
  const gap = gapAtDelivery(restart, now, upMs);
  return { kind: restartKind({ ...gap, clean: restart.clean }), gap };
}

const noGap: Gap = { gapMs: 0, certainty: "certain" };

export interface RestartFacts
  extends Pick<RestartReport, "totalRuns" | "interrupted" | "quarantined"> {
  /** What the log of runs tells of the last one; `undefined` when it holds none. */
  readonly previous: { readonly runId?: string; readonly clean: boolean | undefined } | undefined;
  /** The companion document as it was found; `undefined` when there was none. */
  readonly document:
    | { readonly shutdownClean: boolean; readonly runId: string | undefined }
    | "unreadable"
    | undefined;
  readonly hasChats: boolean;
  readonly gap: JudgedGap;
}

/** The report of a boot. What the log of runs cannot tell is asked of the document. */
export function restartReport(facts: RestartFacts): RestartReport {
  const { previous, document, gap, totalRuns, interrupted, quarantined } = facts;
  const read = document === "unreadable" ? undefined : document;
  const previousRunId = previous === undefined ? read?.runId : previous.runId;
  const judged = judgeRestart(wasClean(facts), gap, totalRuns);
  return { ...judged, previousRunId, interrupted, quarantined };
}

function wasClean({ previous, document, hasChats, interrupted }: RestartFacts) {
  if (previous?.clean !== undefined) return previous.clean;
  if (document === "unreadable") return false;
  if (document !== undefined) return document.shutdownClean;
  return previous !== undefined || hasChats ? interrupted.length === 0 : undefined;
}
