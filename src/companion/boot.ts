// How a run of the companion begins: what was left is read, the boot is on record, then the rest.

import { readHead } from "../core/chat/chat-head.ts";
import type { Chats } from "../core/chat/chats.ts";
import { isThroughlineError } from "../core/errors.ts";
import { isJsonObject, type JsonObject } from "../core/json.ts";
import type { Logger } from "../core/logger.ts";
import type { DocumentStore } from "../core/storage/document-store.ts";
import type { LogHead } from "../core/storage/log-store.ts";
import { type ClockReading, readReading } from "./boot-clock.ts";
import type { CompanionDocument } from "./companion-document.ts";
import { resume, startState, suspend } from "./emotion/acts.ts";
import { builtInEmotions } from "./emotion/built-in-emotions.ts";
import type { EmotionConfiguration } from "./emotion/configuration.ts";
import { type EmotionState, evolve } from "./emotion/emotion.ts";
import { restoreEmotions, withRoomForWounds } from "./emotion/restore-emotions.ts";
import { commitsOfRun, gapBetween, judgeGap } from "./gap.ts";
import type { Left } from "./left.ts";
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

/** With the id of a run the key of the copy of a document that had to be repaired at its boot. */
export const repairedPrefix = "repaired-";

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
 * Begins a run: reads what was left, stores the boot, judges the restart. What had to be repaired is
 * kept as it was, in a document of its own, before anything takes its place.
 *
 * @throws ThroughlineError `THROUGHLINE_NEWER_FORMAT`: nothing was written.
 */
export async function boot(
  ports: CompanionPorts,
  { pid, heartbeatEveryMs }: Pick<CompanionSettings, "pid" | "heartbeatEveryMs">,
  { stored, read, document, lastAct }: Left,
): Promise<Boot> {
  const { storage, chats, clock, logger } = ports;
  const documents = storage.documents("session");
  const repaired = stored !== undefined && (read === undefined || read.repaired.length > 0);
  const found = await leftInChats(chats);
  const runs = new RunsLog(storage.logs("", runsProjection), ports);
  const atLeast = read?.document.totalRuns;
  const run = await runs.begin({
    atLeast,
    pid,
  });
  if (repaired) {
    await keepRepaired(documents, `${repairedPrefix}${run.runId}`, stored.value);
    const fields = { fields: read?.repaired ?? ["the whole document"] };
    logger.warn(fields, "the companion document was repaired; a copy of it was kept");
  }
  tellOriginal(document, logger);
  const revision = stored?.revision ?? 0;
  const heartbeat = document?.heartbeat;
  const { lastSign: record, clean: isEnded = false } = run.previous ?? {};
  const left = { heartbeat, record, isEnded };
  const commits = commitsOfRun(found.commits, left, heartbeatEveryMs);
  const report = restartReport({
    previous: run.previous,
    document: documentFacts(document, stored !== undefined),
    hasChats: found.hasChats,
    gap: judgeGap([heartbeat, lastAct, record, ...commits], run.startedAt),
    totalRuns: run.totalRuns,
    interrupted: found.interrupted,
    quarantined: storage.repairs().filter(({ quarantined }) => quarantined !== undefined).length,
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

function documentFacts(document: CompanionDocument | undefined, isThere: boolean) {
  if (document === undefined) return isThere ? ("unreadable" as const) : undefined;
  const { shutdownClean, runId } = document;
  return { shutdownClean, runId };
}

/** Of so many chats, those in which a person acted last, the newest commits are looked at. */
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
): { readonly state: EmotionState; readonly repaired: readonly string[] } {
  const stored = document?.throughline["emotions"];
  const own = isJsonObject(stored) ? stored : undefined;
  // Either part alone will do.
  const isStored = own !== undefined || Object.keys(document?.emotions ?? {}).length > 0;
  if (document === undefined || !isStored) {
    return { state: startState(config, Math.max(0, now)), repaired: [] };
  }
  const saved = readReading(document.throughline["saved"]) ?? document.heartbeat;
  // The built-in one may stand for somebody's that is refused for now: what that allows is not known.
  const toBegin = config === builtInEmotions ? withRoomForWounds(config) : config;
  const restored = restoreEmotions(toBegin, document.emotions, own, saved?.at ?? now);
  // Runs that were killed before they saved lived for no time worth feeling.
  const last = document.heartbeat ?? report.before;
  const lived = evolve(restored.state, (last && gapBetween(saved, last).gapMs) ?? 0);
  const down = evolve(suspend(config, lived), gapBetween(last, run.startedAt).gapMs ?? 0);
  return { state: resume(config, down), repaired: restored.repaired };
}

/** UTF-16 units, of which each takes at most 6 bytes in JSON text: within what a document may hold. */
const longestText = 1024 * 1024;
/** Deeper than anything of ours; `JSON.stringify` itself gives up at some thousands. */
const deepest = 100;

/**
 * Keeps a document as it was found, before another takes its place. What JSON text cannot keep, such
 * as the number 1e999, or what is larger than a document may be, is kept as `{ "text": … }`: its
 * JSON text up to 1 Mi characters, with such numbers as words.
 *
 * @throws ThroughlineError the codes of `DocumentStore.write`, but for `THROUGHLINE_INVALID` and
 *   `THROUGHLINE_TOO_LARGE`: what somebody wrote into a file is not to keep a companion from waking.
 */
async function keepRepaired(
  documents: DocumentStore,
  key: string,
  value: JsonObject,
): Promise<void> {
  try {
    await documents.write(key, value);
  } catch (error) {
    const isRefused =
      isThroughlineError(error, "THROUGHLINE_INVALID") ||
      isThroughlineError(error, "THROUGHLINE_TOO_LARGE");
    if (!isRefused) throw error;
    const text = JSON.stringify(writable(value, 0)).slice(0, longestText).toWellFormed();
    await documents.write(key, { text });
  }
}

function writable(value: unknown, depth: number): unknown {
  if (typeof value === "number" && !Number.isFinite(value)) return String(value);
  if (typeof value !== "object" || value === null) return value;
  if (depth >= deepest) return "…";
  if (Array.isArray(value)) return value.map((item) => writable(item, depth + 1));
  const entries = isJsonObject(value) ? Object.entries(value) : [];
  return Object.fromEntries(entries.map(([name, item]) => [name, writable(item, depth + 1)]));
}
