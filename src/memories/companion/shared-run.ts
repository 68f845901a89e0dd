// A run that several processes have: one began it, one keeps it, the others have joined.
import type { Storage } from "../../storage/storage.ts";
import { type Boot, documentKey } from "./boot.ts";
import { readCompanionDocument } from "./companion-document.ts";
import type { CompanionPorts } from "./options.ts";
import type { RestartReport } from "./restart.ts";
import { type BegunRun, RunsLog, runsProjection } from "./runs.ts";

/** What the processes that have one companion tell each other of its run. */
export interface SharedRun {
  readonly run: Omit<BegunRun, "previous">;
  /** Of the restart: that of the first process, whoever keeps the companion since. */
  readonly report: RestartReport;
}

/** Of those turns that a restart cut off, so many are told to other processes. */
const maxToldInterrupted = 100;

/** The run as other processes are told of it. */
export function sharedRun({ run, report }: Boot): SharedRun {
  const { runId, startedAt, totalSessions } = run;
  const interrupted = report.interrupted.slice(0, maxToldInterrupted);
  return { run: { runId, startedAt, totalSessions }, report: { ...report, interrupted } };
}

/** The document as another process wrote it. */
export async function readLeft(storage: Storage): Promise<Pick<Boot, "document" | "revision">> {
  const stored = await storage.documents("session").read(documentKey);
  const document = stored && readCompanionDocument(stored.value)?.document;
  return { document, revision: stored?.revision ?? 0 };
}

/** Joins a run that goes on in another process: nothing is written, and nothing happened to anybody. */
export async function joinRun(ports: CompanionPorts, { run, report }: SharedRun): Promise<Boot> {
  const left = await readLeft(ports.storage);
  const runs = newRuns(ports);
  return { ...left, runs, report, run: { ...run, previous: undefined }, isJoined: true };
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
    isHandover: true,
    atLeast: Math.max(joined.run.totalSessions, document?.totalSessions ?? 0),
    ...(pid === undefined ? {} : { pid }),
  });
  return { report: joined.report, runs, run, document, revision };
}
