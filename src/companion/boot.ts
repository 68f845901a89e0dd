// How a run of the companion begins: what was left is read, the boot is on record, then the rest.

import { readHead } from "../core/chat/chat-head.ts";
import type { Chats } from "../core/chat/chats.ts";
import { hashOf } from "../core/chat/tombstones.ts";
import type { Clock } from "../core/clock.ts";
import type { Logger } from "../core/logger.ts";
import { type LogHead, rows } from "../core/storage/log-store.ts";
import type { ClockReading } from "./clock-reading.ts";
import type { CompanionDocument, FoundDocument } from "./companion-document.ts";
import { resume, startState, suspend } from "./emotion/acts.ts";
import { builtInEmotions } from "./emotion/built-in-emotions.ts";
import { type EmotionConfiguration, emotionLimits } from "./emotion/configuration.ts";
import { type EmotionState, evolve } from "./emotion/emotion.ts";
import { fromSeed, withWounds } from "./emotion/stored-emotions.ts";
import { commitsOfRun, gapBetween, judgeGap } from "./gap.ts";
import { type Life, lifeOf } from "./life.ts";
import type { CompanionPorts, CompanionSettings } from "./options.ts";
import {
  type InterruptedTurn,
  type JudgedRestart,
  type RestartReport,
  restartKind,
  restartReport,
  withRestart,
} from "./restart.ts";
import { type RunStart, recordStart, runsProjection } from "./runs.ts";

/** How long a run has been up, by a clock that cannot be set, since this process began to count. */
class Uptime {
  readonly #clock: Clock;
  readonly #startedMonotonic: number;
  /** When the run began: milliseconds since 1970. */
  readonly startedAt: number;

  /** @param upMs for how long it was up already. */
  constructor(clock: Clock, startedAt = clock.now(), upMs = 0) {
    this.#clock = clock;
    this.startedAt = startedAt;
    this.#startedMonotonic = clock.monotonic() - upMs;
  }

  /** Of a run that began in another process: for how long it was up, the wall clock says. */
  static sinceThen(clock: Clock, startedAt = clock.now()): Uptime {
    return new Uptime(clock, startedAt, Math.max(0, clock.now() - startedAt));
  }

  get ms(): number {
    return this.#clock.monotonic() - this.#startedMonotonic;
  }
}

/** The run that this process has, whether it began it or joined it. */
export interface Boot {
  readonly run: RunStart;
  /** Since it began. */
  readonly uptime: Uptime;
  readonly report: RestartReport;
  /** The newest restarts, the oldest first; the last led to this run. */
  readonly restarts: readonly JudgedRestart[];
  /** What the run before left, or what the run has stored; `undefined`: nothing that can be read. */
  readonly document: CompanionDocument | undefined;
  /** Of that document as it was read; 0: there was none. */
  readonly revision: number;
}

/**
 * Begins a run: stores the boot, judges the restart by what was left.
 *
 * @throws ThroughlineError the codes of the storage: no run has begun.
 */
export async function beginRun(
  ports: CompanionPorts,
  { pid, heartbeatEveryMs }: Pick<CompanionSettings, "pid" | "heartbeatEveryMs">,
  { revision, damage, document }: FoundDocument,
): Promise<Boot> {
  const { storage, chats, clock, logger } = ports;
  const inChats = await leftInChats(chats);
  const logs = storage.logs("", runsProjection);
  const known = { atLeast: document?.totalRuns, pid };
  const { previous, ...run } = await recordStart(logs, ports, known);
  for (const problem of damage) {
    logger.warn({ problem }, "the companion's document is damaged and was set aside");
  }
  tellOriginal(document, logger);
  const heartbeat = document?.heartbeat;
  const { lastSign: record, clean: isEnded = false } = previous ?? {};
  const left = { heartbeat, record, isEnded };
  const commits = commitsOfRun(inChats.commits, left, heartbeatEveryMs);
  const found = storage.repairs().flatMap(({ quarantined }) => quarantined ?? []);
  const setAside = new Set([...found, ...(storage.ownHome?.unconfirmed?.() ?? [])]);
  const report = restartReport({
    previous,
    document: document ?? (damage.length > 0 ? "unreadable" : undefined),
    hasChats: inChats.hasChats,
    gap: judgeGap([heartbeat, record, ...commits], run.startedAt),
    totalRuns: run.totalRuns,
    interrupted: inChats.interrupted,
    quarantined: Math.max(setAside.size, damage.length),
  });
  const uptime = new Uptime(clock, run.startedAt.at);
  const before = document?.own.deliveries?.restarts ?? [];
  const missed = missedRestart(document, report);
  const restarts = withRestart(missed ? withRestart(before, missed) : before, report);
  return { run, uptime, report, restarts, document, revision };
}

/**
 * The run that is up in another process: nothing is written, and it is no restart.
 *
 * @param known the run as this process knew it before; another one may have begun since.
 * @returns `undefined`: the document tells of no run that is up.
 */
export function joinRun(
  ports: CompanionPorts,
  { document, revision }: Pick<FoundDocument, "document" | "revision">,
  known?: Boot,
): Boot | undefined {
  const { runId, startedAt, totalRuns, own } = document ?? {};
  const { restarts = [] } = own?.deliveries ?? {};
  const judged = restarts.at(-1);
  const isRun = runId !== undefined && totalRuns !== undefined && judged !== undefined;
  if (!isRun || own?.shared === undefined) return undefined;
  const report = { ...judged, ...own.shared.report };
  const isKnown = known?.run.runId === runId;
  if (isKnown) return { ...known, report, restarts, document };
  const run = { runId, totalRuns, startedAt: { at: startedAt } };
  const uptime = Uptime.sinceThen(ports.clock, startedAt);
  return { run, uptime, report, restarts, document, revision };
}

/** Without the interrupted turns of a chat that was forgotten. */
export function withoutInterrupted(boot: Boot, hash: string): Boot {
  const interrupted = boot.report.interrupted.filter(({ chatId }) => hashOf(chatId) !== hash);
  return { ...boot, report: { ...boot.report, interrupted } };
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
function missedRestart(
  document: CompanionDocument | undefined,
  report: RestartReport,
): JudgedRestart | undefined {
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
  for await (const { key, head } of rows(logs, { label: "unanswered" })) {
    interrupted.push(...interruptedIn(key, head));
    if (interrupted.length >= maxInterrupted) break;
  }
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
function emotionsAtBoot(
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

/** The emotions as they were saved. `undefined`: no document has any. */
function storedEmotions(
  document: CompanionDocument | undefined,
  config: EmotionConfiguration,
  now: number,
): EmotionState | undefined {
  const { own, emotions, heartbeat } = document ?? {};
  if (own?.emotions !== undefined || emotions === undefined) return own?.emotions;
  return fromSeed(config, emotions, (own?.saved ?? heartbeat)?.at ?? now);
}

/** The life of a run that begins. */
export function lifeAtBoot(
  boot: Boot,
  { emotions: config }: CompanionSettings,
  clock: Clock,
): Life {
  const state = emotionsAtBoot(config, boot, clock.now());
  const life = lifeOf(boot.document, state, { config });
  return { ...life, config, written: undefined, wokenAt: state.at };
}

/** The life of a run that is up: it went on since the document was written. */
export function joinedLife(boot: Boot, { emotions: own }: CompanionSettings, clock: Clock): Life {
  const { document } = boot;
  const now = clock.now();
  const stored = storedEmotions(document, own, now) ?? startState(own, Math.max(0, now));
  const { at } = document?.own.saved ?? {};
  const life = lifeOf(document, stored, { config: own });
  return { ...life, emotions: evolve(stored, gapBetween({ at }, { at: now }).gapMs ?? 0) };
}
