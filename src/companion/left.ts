// What a companion left: its document, and the acts that are in the log since.

import { hashOf } from "../core/chat/tombstones.ts";
import { isJsonObject, type JsonObject } from "../core/json.ts";
import type { StoredDocument } from "../core/storage/document-store.ts";
import type { Storage } from "../core/storage/storage.ts";
import { ActLog, type Position, readPosition } from "./act-log.ts";
import type { Act, SharedRun } from "./acts.ts";
import { type ClockReading, readReading } from "./boot-clock.ts";
import {
  type CompanionDocument,
  documentKey,
  type ReadDocument,
  readCompanionDocument,
} from "./companion-document.ts";
import { startState } from "./emotion/acts.ts";
import type { EmotionConfiguration } from "./emotion/configuration.ts";
import type { EmotionState } from "./emotion/emotion.ts";
import { restoreEmotions, withRoomForWounds } from "./emotion/restore-emotions.ts";
import { foldRead, type Life, lifeOf } from "./fold.ts";
import { ownField } from "./own-fields.ts";
import type { InterruptedTurn } from "./restart.ts";
import { runsProjection } from "./runs.ts";

export interface Left {
  /** The document as it is stored, and what was read of it. */
  readonly stored: StoredDocument | undefined;
  readonly read: ReadDocument | undefined;
  /** The document as it would be, had it been written after the last act. */
  readonly document: CompanionDocument | undefined;
  /** The same with its emotions right after the last act. */
  readonly life: Life;
  /** What the clocks said then; `undefined`: the document is newer than every act. */
  readonly lastAct: ClockReading | undefined;
  /** Its emotions, and what the clocks said at that instant. */
  readonly saved: { readonly state: EmotionState; readonly reading: ClockReading | undefined };
  /** Read to its end; `undefined`: there is none. */
  readonly log: ActLog | undefined;
  /** The run that the log tells of. */
  readonly shared: SharedRun | undefined;
}

/** Where a document stands in the log of acts. */
export function positionIn(document: CompanionDocument | undefined): Position | undefined {
  const stored = ownField(document, "acts");
  return isJsonObject(stored) ? readPosition(stored) : undefined;
}

/**
 * Reads what was left, to its end.
 *
 * @param config until an act tells which one is in force.
 * @throws ThroughlineError `THROUGHLINE_NEWER_FORMAT`; the codes of the storage.
 */
export async function readLeft(
  storage: Storage,
  config: EmotionConfiguration,
  now: number,
): Promise<Left> {
  const logs = storage.logs("", runsProjection);
  for (;;) {
    const stored = await storage.documents("session").read(documentKey);
    const read = stored && readCompanionDocument(stored.value);
    const covered = positionIn(read?.document);
    const log = await ActLog.open(logs, covered);
    const acts = await log?.readOn();
    if (log !== undefined && acts === undefined) continue; // removed: there is a newer document
    const state = emotionsIn(read?.document, config, now);
    let life = lifeOf(config, read?.document, asFelt(state, read?.document));
    let lastAct: ClockReading | undefined;
    const run = new RunOfActs();
    for (const { act, ...position } of acts ?? []) {
      if (act === undefined) continue;
      run.add(act);
      const isCovered = position.log === covered?.log && position.seq <= covered.seq;
      if (!isCovered) {
        life = foldRead(life, act).life;
        lastAct = act.reading;
      } else if ("configuration" in act) {
        life = { ...life, config: act.configuration ?? life.config };
      }
    }
    const { shared } = run;
    if (lastAct === undefined) {
      const saved = { state, reading: savedAt(read?.document) };
      return { stored, read, document: read?.document, life, lastAct, saved, log, shared };
    }
    const document = folded(read?.document, life, lastAct);
    const saved = { state: life.emotions, reading: lastAct };
    return { stored, read, document, life, lastAct, saved, log, shared };
  }
}

/** What acts tell of the run that is up. */
class RunOfActs {
  #shared: SharedRun | undefined;
  #interrupted: readonly InterruptedTurn[] = [];

  add(act: Act): void {
    if (act.kind === "up") {
      const isAnother = act.shared.began.runId !== this.#shared?.began.runId;
      if (isAnother || act.state !== undefined) this.#interrupted = [];
      this.#shared = act.shared;
    } else if (act.kind === "interrupted") {
      this.#interrupted = [...this.#interrupted, { chatId: act.chat, messageId: act.message }];
    } else if (act.kind === "forgot") {
      this.#interrupted = this.#interrupted.filter(({ chatId }) => hashOf(chatId) !== act.hash);
    }
  }

  get shared(): SharedRun | undefined {
    const shared = this.#shared;
    return shared && { ...shared, report: { ...shared.report, interrupted: this.#interrupted } };
  }
}

/** The emotions as they were saved. */
function emotionsIn(
  document: CompanionDocument | undefined,
  config: EmotionConfiguration,
  now: number,
): EmotionState {
  if (document === undefined) return startState(config, Math.max(0, now));
  const stored = document.throughline["emotions"];
  const own = isJsonObject(stored) ? stored : undefined;
  const at = savedAt(document)?.at ?? now;
  return restoreEmotions(withRoomForWounds(config), document.emotions, own, at).state;
}

/** What the clocks said when a document was written. */
export function savedAt(document: CompanionDocument | undefined): ClockReading | undefined {
  return readReading(document?.throughline["saved"]) ?? document?.heartbeat;
}

/** The same right after the last act that the document has: from there every process folds on. */
function asFelt(state: EmotionState, document: CompanionDocument | undefined): EmotionState {
  const acts = ownField(document, "acts");
  const felt = isJsonObject(acts) ? acts["felt"] : undefined;
  if (typeof felt !== "number" || !Number.isSafeInteger(felt)) return state;
  return felt >= state.anchor.at && felt <= state.at
    ? Object.freeze({ ...state, at: felt })
    : state;
}

/** The document as it would have been written right after an act. */
function folded(
  document: CompanionDocument | undefined,
  { emotions, person, sleep, conversation, injections }: Life,
  reading: ClockReading,
): CompanionDocument {
  const own = {
    ...document?.throughline,
    injections,
    conversation_chats: conversation.map(({ chatId }) => chatId ?? null),
    emotions: JSON.parse(JSON.stringify(emotions)) as JsonObject,
    saved: { at: reading.at, boot_id: reading.bootId, uptime_ms: reading.uptimeMs },
  };
  const isLater = (reading.at ?? 0) >= (document?.heartbeat?.at ?? 0);
  return {
    shutdownClean: false,
    runStartedAt: undefined,
    runId: undefined,
    uptimeMs: 0,
    totalRuns: undefined,
    isOriginal: false,
    unknown: {},
    ...document,
    emotions: {},
    heartbeat: isLater ? reading : document?.heartbeat,
    conversation,
    sleepState: sleep,
    person,
    throughline: own,
  };
}
