// A run that several processes have: one began it, one keeps it, the others have joined.
import type { Storage } from "../core/storage/storage.ts";
import { type Boot, documentKey } from "./boot.ts";
import { readCompanionDocument } from "./companion-document.ts";
import type { CompanionPorts } from "./options.ts";
import type { RestartReport } from "./restart.ts";
import { type BegunRun, type RunStart, RunsLog, runsProjection } from "./runs.ts";
import { Uptime } from "./uptime.ts";

/** What the processes that have one companion tell each other of its run. */
export interface SharedRun {
  /** Of whoever keeps the companion. */
  readonly run: Omit<BegunRun, "previous">;
  /** Of the first process, whoever keeps the companion since: where it came up, and how. */
  readonly began: RunStart;
  readonly report: RestartReport;
}

/** Of those turns that a restart cut off, so many are told to other processes. */
const maxToldInterrupted = 100;

/** The run as other processes are told of it. */
export function sharedRun({ run, began, report }: Boot): SharedRun {
  const { runId, startedAt, totalSessions } = run;
  const interrupted = report.interrupted.slice(0, maxToldInterrupted);
  return {
    run: { runId, startedAt, totalSessions },
    began: { runId: began.runId, startedAt: began.startedAt },
    report: { ...report, interrupted },
  };
}

/** The document as another process wrote it. */
export async function readLeft(storage: Storage): Promise<Pick<Boot, "document" | "revision">> {
  const stored = await storage.documents("session").read(documentKey);
  const document = stored && readCompanionDocument(stored.value)?.document;
  return { document, revision: stored?.revision ?? 0 };
}

/** Joins a run that goes on in another process: nothing is written, and nothing happened to anybody. */
export async function joinRun(ports: CompanionPorts, shared: SharedRun): Promise<Boot> {
  const left = await readLeft(ports.storage);
  const runs = newRuns(ports);
  const run = { ...shared.run, previous: undefined };
  const uptime = Uptime.sinceThen(ports.clock, shared.began.startedAt.at);
  return { ...shared, ...left, run, runs, uptime, isJoined: true };
}

/** The same run under who keeps it now; or the one that came up while this process was away. */
export function followedRun(boot: Boot, shared: SharedRun): Boot {
  const run = { ...shared.run, previous: undefined };
  const { began, report } = shared;
  if (began.runId === boot.began.runId) return { ...boot, run };
  return { ...boot, run, began, report, uptime: boot.uptime.of(began.startedAt.at) };
}

function newRuns({ storage, clock, newId }: CompanionPorts): RunsLog {
  return new RunsLog({ logs: storage.logs("", runsProjection), clock, newId });
}

/**
 * The run that a takeover begins: that of an attempt that failed after its boot was on record, unless
 * somebody else began one since, so that it is counted once.
 */
export async function runsToTakeOver(
  ports: CompanionPorts,
  tried: RunsLog | undefined,
): Promise<RunsLog> {
  return tried !== undefined && (await tried.isNewest()) ? tried : newRuns(ports);
}

/**
 * Takes over a run that was joined: the document as its keeper left it, and a boot on record that says
 * that the companion was up all the time.
 *
 * @throws ThroughlineError the codes of the storage: nothing was taken over.
 */
export async function takeOverRun(
  ports: CompanionPorts,
  joined: Boot,
  { runs, pid }: { readonly runs: RunsLog; readonly pid: number | undefined },
): Promise<Boot> {
  const { document, revision } = await readLeft(ports.storage);
  const run = await runs.begin({
    began: joined.began.runId,
    atLeast: Math.max(joined.run.totalSessions, document?.totalSessions ?? 0),
    ...(pid === undefined ? {} : { pid }),
  });
  const { began, uptime, report } = joined;
  return { report, runs, run, began, uptime, document, revision };
}
