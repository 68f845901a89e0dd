// A run that several processes have: one began it, one leads it, the others follow.

import { hashOf } from "../core/chat/tombstones.ts";
import type { SharedRun } from "./acts.ts";
import type { Boot } from "./boot.ts";
import type { Left } from "./left.ts";
import type { CompanionPorts } from "./options.ts";
import { RunsLog, runsProjection } from "./runs.ts";

/** The same run under another leader; or the one that came up while this process was away. */
export function followedRun(boot: Boot, shared: SharedRun): Boot {
  const run = { ...shared.run, previous: undefined };
  const { began, report } = shared;
  if (began.runId === boot.began.runId) return { ...boot, run };
  return { ...boot, run, began, report, uptime: boot.uptime.of(began.startedAt.at) };
}

/** Without the interrupted turns of a chat that was forgotten. */
export function withoutInterrupted(boot: Boot, hash: string): Boot {
  const interrupted = boot.report.interrupted.filter(({ chatId }) => hashOf(chatId) !== hash);
  return { ...boot, report: { ...boot.report, interrupted } };
}

/**
 * The run that a failover begins: that of an attempt that failed after its boot was on record, unless
 * another process began one since, so that it is counted once.
 */
export async function runsToTakeOver(
  ports: CompanionPorts,
  tried: RunsLog | undefined,
): Promise<RunsLog> {
  return tried !== undefined && (await tried.isNewest()) ? tried : newRuns(ports);
}

/**
 * Takes the lead of a run: a boot on record that says that the companion was up all the time.
 *
 * @throws ThroughlineError the codes of the storage: nothing was taken over.
 */
export async function takeOverRun(
  joined: Boot,
  { document, revision }: Pick<Left, "document" | "revision">,
  { runs, pid }: { readonly runs: RunsLog; readonly pid: number | undefined },
): Promise<Boot> {
  const run = await runs.begin({
    began: joined.began.runId,
    atLeast: Math.max(joined.run.totalRuns, document?.totalRuns ?? 0),
    pid,
  });
  return { ...joined, runs, run, document, revision };
}

export function newRuns(ports: CompanionPorts): RunsLog {
  return new RunsLog(ports.storage.logs("", runsProjection), ports);
}
