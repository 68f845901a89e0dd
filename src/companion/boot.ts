// How a run of the companion begins: what was left is read, the boot is on record, then the rest.

import { readHead } from "../core/chat/chat-head.ts";
import type { Chats } from "../core/chat/chats.ts";
import type { Logger } from "../core/logger.ts";
import { type LogHead, rows } from "../core/storage/log-store.ts";
import { type CompanionDocument, emptyDocument, type FoundDocument } from "./companion-document.ts";
import { resume, startState, suspend } from "./emotion/acts.ts";
import type { EmotionConfiguration } from "./emotion/configuration.ts";
import { type EmotionState, evolve } from "./emotion/emotion.ts";
import { fromSeed } from "./emotion/stored-emotions.ts";
import { type ClockReading, gapBetween, judgeGap } from "./gap.ts";
import { type Life, lifeElsewhere } from "./life.ts";
import { lastFeltAt } from "./mood-history.ts";
import type { CompanionPorts, CompanionSettings } from "./options.ts";
import { type InterruptedTurn, type RestartReport, restartReport } from "./restart.ts";
import { type PreviousRun, recordStart, runsProjection } from "./runs.ts";

/**
 * Begins a run: stores the boot, judges the restart by what was left.
 *
 * @throws ThroughlineError the codes of the storage: no run has begun.
 */
export async function beginRun(
  ports: CompanionPorts,
  { pid, emotions: config }: CompanionSettings,
  { damage, document }: FoundDocument,
): Promise<Life> {
  const { storage, chats, clock, logger } = ports;
  const inChats = await leftInChats(chats);
  const logs = storage.logs("", runsProjection);
  const known = { atLeast: document?.totalRuns, pid };
  const feltAt = document === undefined ? await lastFeltAt(logs) : undefined;
  const run = await recordStart(logs, ports, known, ({ startedAt, totalRuns }, previous) => {
    // The log of runs may have been repaired as it was read.
    const found = storage.repairs().flatMap(({ quarantined }) => quarantined ?? []);
    const setAside = new Set([...found, ...(storage.ownHome?.unconfirmed?.() ?? [])]);
    return restartReport({
      previous,
      document: document ?? (damage.length > 0 ? "unreadable" : undefined),
      hasChats: inChats.hasChats,
      gap: judgeGap(signsOfLife(document, previous, feltAt), startedAt),
      totalRuns,
      interrupted: inChats.interrupted,
      quarantined: Math.max(setAside.size, damage.length),
    });
  });
  for (const problem of damage) {
    logger.warn({ problem }, "the companion's document is damaged and was set aside");
  }
  tellOriginal(document, logger);
  const { runId, totalRuns, restart: report } = run;
  const now = Math.round(clock.now());
  const emotions = emotionsAtBoot(config, document, report, now);
  const { person, shared } = document ?? {};
  const announced = person?.seenAt === undefined ? {} : { [person.name]: person.seenAt };
  return {
    ...(document ?? emptyDocument),
    runId,
    totalRuns,
    startedAt: now,
    emotions,
    config,
    shared: {
      writers: {},
      announced,
      forgot: {},
      ...shared,
      alive: {}, // no other server lives
      report,
      wokenAt: emotions.at,
    },
  };
}

/** Without a document the run before lived at least until it felt something last, which the wall clock tells. */
function signsOfLife(
  document: CompanionDocument | undefined,
  previous: PreviousRun | undefined,
  feltAt: number | undefined,
): readonly (ClockReading | undefined)[] {
  const { clean, lastSign } = previous ?? {};
  const isLater = feltAt !== undefined && feltAt > (lastSign?.at ?? 0);
  return isLater && clean !== true ? [{ at: feltAt }] : [document?.heartbeat, lastSign];
}

/**
 * The run that is up in another process: nothing is written, and it is no restart. Its life went on since the
 * document was written.
 *
 * @returns `undefined`: the document tells of no run that is up.
 */
export function joinRun(
  { clock }: CompanionPorts,
  { emotions: config }: CompanionSettings,
  document: CompanionDocument | undefined,
): Life | undefined {
  const now = Math.round(clock.now());
  const life =
    document && lifeElsewhere(document, { config, emotions: startState(config, Math.max(0, now)) });
  if (life === undefined) return undefined;
  const { gapMs = 0 } = gapBetween({ at: life.saved?.at }, { at: now });
  return { ...life, emotions: evolve(life.emotions, gapMs) };
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

const maxInterrupted = 1_000;

async function leftInChats(chats: Chats): Promise<{
  readonly hasChats: boolean;
  readonly interrupted: readonly InterruptedTurn[];
}> {
  const { logs } = chats;
  const any = await logs.list({ limit: 1 });
  const interrupted: InterruptedTurn[] = [];
  for await (const { key, head } of rows(logs, { label: "unanswered" })) {
    interrupted.push(...interruptedIn(key, head));
    if (interrupted.length >= maxInterrupted) break;
  }
  return {
    hasChats: any.rows.length > 0,
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
  document: CompanionDocument | undefined,
  report: RestartReport,
  now: number,
): EmotionState {
  const { heartbeat, saved = heartbeat, seed } = document ?? {};
  const stored = document?.emotions ?? (seed && fromSeed(config, seed, saved?.at ?? now));
  if (stored === undefined) return startState(config, Math.max(0, now));
  // Runs that were killed before they saved lived for no time worth feeling.
  const last = heartbeat ?? report.before;
  const livedMs = (last && gapBetween(saved, last).gapMs) ?? 0;
  const lived = evolve(stored, livedMs);
  const down = evolve(suspend(config, lived), gapBetween(last, report.judgedAt).gapMs ?? 0);
  return resume(config, down);
}
