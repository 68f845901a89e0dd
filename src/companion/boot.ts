// How a run of the companion begins: what was left is read, the boot is on record, then the rest.

import { readHead } from "../core/chat/chat-head.ts";
import type { Chats } from "../core/chat/chats.ts";
import type { Logger } from "../core/logger.ts";
import type { LogHead } from "../core/storage/log-store.ts";
import type { ClockReading } from "./boot-clock.ts";
import type { CompanionDocument } from "./companion-document.ts";
import { resume, startState, suspend } from "./emotion/acts.ts";
import { builtInEmotions } from "./emotion/built-in-emotions.ts";
import { type EmotionConfiguration, emotionLimits } from "./emotion/configuration.ts";
import { type EmotionState, evolve } from "./emotion/emotion.ts";
import { withWounds } from "./emotion/stored-emotions.ts";
import { commitsOfRun, gapBetween, judgeGap } from "./gap.ts";
import { type Left, storedEmotions } from "./left.ts";
import type { CompanionPorts, CompanionSettings } from "./options.ts";
import {
  type InterruptedTurn,
  type JudgedRestart,
  type RestartReport,
  restartKind,
  restartReport,
} from "./restart.ts";
import { type BegunRun, type RunStart, RunsLog, runsProjection } from "./runs.ts";
import { Uptime } from "./uptime.ts";

export interface Boot {
  readonly runs: RunsLog;
  /** Of the leader: a failover begins another one. */
  readonly run: BegunRun;
  /** Where the companion came up, whichever process leads since: a failover is no restart. */
  readonly began: RunStart;
  /** Since then. */
  readonly uptime: Uptime;
  readonly report: RestartReport;
  /** What the run before left; `undefined`: nothing that can be read. */
  readonly document: CompanionDocument | undefined;
  /** Of that document as it was read; 0: there was none. */
  readonly revision: number;
}

/**
 * Begins a run: stores the boot, judges the restart by what was left.
 *
 * @throws ThroughlineError the codes of the storage: no run has begun.
 */
export async function boot(
  ports: CompanionPorts,
  { pid, heartbeatEveryMs }: Pick<CompanionSettings, "pid" | "heartbeatEveryMs">,
  { totalRuns: atLeast, revision, damage, document, lastAct }: Left,
): Promise<Boot> {
  const { storage, chats, clock, logger } = ports;
  const inChats = await leftInChats(chats);
  const runs = new RunsLog(storage.logs("", runsProjection), ports);
  const run = await runs.begin({ atLeast, pid });
  for (const problem of damage) {
    logger.warn({ problem }, "the companion's document is damaged and was set aside");
  }
  tellOriginal(document, logger);
  const heartbeat = document?.heartbeat;
  const { lastSign: record, clean: isEnded = false } = run.previous ?? {};
  const left = { heartbeat, record, isEnded };
  const commits = commitsOfRun(inChats.commits, left, heartbeatEveryMs);
  const found = storage.repairs().flatMap(({ quarantined }) => quarantined ?? []);
  const setAside = new Set([...found, ...(storage.ownHome?.unconfirmed?.() ?? [])]);
  const report = restartReport({
    previous: run.previous,
    document: document ?? (damage.length > 0 ? "unreadable" : undefined),
    hasChats: inChats.hasChats,
    gap: judgeGap([heartbeat, lastAct, record, ...commits], run.startedAt),
    totalRuns: run.totalRuns,
    interrupted: inChats.interrupted,
    quarantined: Math.max(setAside.size, damage.length),
  });
  const uptime = new Uptime(clock, run.startedAt.at);
  return { runs, run, began: run, uptime, report, document, revision };
}

/** What a run reads as the original's it saves as its own: this is reported once. */
function tellOriginal(document: CompanionDocument | undefined, logger: Logger): void {
  const messages = document?.isOriginal ? document.conversation.length : 0;
  if (messages === 0) return;
  const command = "throughline import <session.json> --from reachy";
  logger.info(
    { messages },
    `an original's session.json was taken over; what was said is in no chat without: ${command}`,
  );
}

/**
 * The restart before this one, if runs were killed before they stored anything. A chat that did not
 * get its notice must read of the whole time away, not only of the time since the last kill.
 */
export function missedRestart({ document, report }: Boot): JudgedRestart | undefined {
  if (document?.totalRuns === undefined || document.heartbeat === undefined) return undefined;
  const totalRuns = report.totalRuns - 1;
  if (document.totalRuns >= totalRuns) return undefined;
  const { shutdownClean: clean } = document;
  const gap = judgeGap([document.heartbeat], report.judgedAt);
  return { ...gap, clean, totalRuns, kind: restartKind({ ...gap, clean }) };
}

/** How many chats, those in which a person acted last, have their newest commits looked at. */
const recentChats = 50;
const maxInterrupted = 1_000;

async function leftInChats(chats: Chats): Promise<{
  readonly hasChats: boolean;
  readonly commits: readonly ClockReading[];
  readonly interrupted: readonly InterruptedTurn[];
}> {
  const { logs } = chats;
  const recent = await logs.list({ limit: recentChats });
  const commits = recent.rows.map(({ head }) => ({ at: Date.parse(readHead(head).updated_at) }));
  const interrupted: InterruptedTurn[] = [];
  let cursor: string | undefined;
  do {
    const page = await logs.list({
      limit: 200,
      label: "unanswered",
      cursor,
    });
    for (const { key, head } of page.rows) interrupted.push(...interruptedIn(key, head));
    cursor = page.cursor;
  } while (cursor !== undefined && interrupted.length < maxInterrupted);
  return {
    hasChats: recent.rows.length > 0,
    commits: commits.filter(({ at }) => Number.isFinite(at)),
    interrupted: interrupted.slice(0, maxInterrupted),
  };
}

function interruptedIn(chatId: string, stored: LogHead): readonly InterruptedTurn[] {
  const { open_turn: open, pending = [] } = readHead(stored);
  const ids = [...(open === undefined ? [] : [open.id]), ...pending];
  return ids.map((messageId) => ({ chatId, messageId }));
}

/**
 * The emotions as they are now: what was saved, lived on to the last sign of life of the run that
 * saved it, and then through the time in which no run was up.
 */
export function emotionsAtBoot(
  config: EmotionConfiguration,
  { document, report, run }: Pick<Boot, "document" | "report" | "run">,
  now: number,
): EmotionState {
  const stored = storedEmotions(document, config, now);
  if (document === undefined || stored === undefined) return startState(config, Math.max(0, now));
  // The built-in one may stand for somebody's that is refused for now: what that allows is not known.
  const most = config === builtInEmotions ? emotionLimits.wounds : config.settings.maxWounds;
  const saved = document.own.saved ?? document.heartbeat;
  // Runs that were killed before they saved lived for no time worth feeling.
  const last = document.heartbeat ?? report.before;
  const lived = evolve(
    withWounds(config, stored, most),
    (last && gapBetween(saved, last).gapMs) ?? 0,
  );
  const down = evolve(suspend(config, lived), gapBetween(last, run.startedAt).gapMs ?? 0);
  return resume(config, down);
}
