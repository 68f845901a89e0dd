// What a companion left: its document, and the acts that are in the log since.

import { hashOf } from "../core/chat/tombstones.ts";
import type { Storage } from "../core/storage/storage.ts";
import { ActLog } from "./act-log.ts";
import type { Act, SharedRun } from "./acts.ts";
import type { ClockReading } from "./boot-clock.ts";
import { type CompanionDocument, emptyDocument, findDocument } from "./companion-document.ts";
import { startState } from "./emotion/acts.ts";
import type { EmotionConfiguration } from "./emotion/configuration.ts";
import type { EmotionState } from "./emotion/emotion.ts";
import { fromSeed } from "./emotion/stored-emotions.ts";
import { foldRead, type Life, lifeOf } from "./fold.ts";
import type { InterruptedTurn } from "./restart.ts";
import { runsProjection } from "./runs.ts";

export interface Left {
  /** Of the document as it is stored; 0: there is none. */
  readonly revision: number;
  /** What was wrong with documents that were set aside now. */
  readonly damage: readonly string[];
  /** When the stored document was saved. */
  readonly savedAt: ClockReading | undefined;
  /** How many runs the stored document knows of. */
  readonly totalRuns: number | undefined;
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
    const found = await findDocument(storage.documents("session"));
    const covered = found.document?.own.acts;
    const log = await ActLog.open(logs, covered);
    const acts = await log?.readOn();
    if (log !== undefined && acts === undefined) continue; // removed: there is a newer document
    const state =
      storedEmotions(found.document, config, now) ?? startState(config, Math.max(0, now));
    let life = lifeOf(config, found.document, asFelt(state, covered?.felt));
    let lastAct: ClockReading | undefined;
    const told = new Map<string, number>();
    const run = new RunOfActs();
    for (const { act, ...position } of acts ?? []) {
      if (act === undefined) continue;
      run.add(act);
      const isCovered = position.log === covered?.log && position.seq <= covered.seq;
      if (!isCovered) {
        life = foldRead(life, act).life;
        lastAct = act.reading;
        if (act.kind === "acknowledged" && act.session !== undefined)
          told.set(act.chat, act.session);
      } else if ("configuration" in act) {
        life = { ...life, config: act.configuration ?? life.config };
      }
    }
    const { damage, revision } = found;
    const known = { damage, revision, savedAt: savedAt(found.document), life, lastAct, log };
    const left = { ...known, totalRuns: found.document?.totalRuns, shared: run.shared };
    if (lastAct === undefined) {
      const saved = { state, reading: left.savedAt };
      return { ...left, document: found.document, saved };
    }
    const document = folded(found.document, life, lastAct, told);
    return { ...left, document, saved: { state: life.emotions, reading: lastAct } };
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

/** The emotions as they were saved. `undefined`: no document has any. */
export function storedEmotions(
  document: CompanionDocument | undefined,
  config: EmotionConfiguration,
  now: number,
): EmotionState | undefined {
  const { own, emotions } = document ?? {};
  if (own?.emotions !== undefined || emotions === undefined) return own?.emotions;
  return fromSeed(config, emotions, savedAt(document)?.at ?? now);
}

/** What the clocks said when a document was written. */
function savedAt(document: CompanionDocument | undefined): ClockReading | undefined {
  return document?.own.saved ?? document?.heartbeat;
}

/** The same right after the last act that the document has: from there every process folds on. */
function asFelt(state: EmotionState, felt: number | undefined): EmotionState {
  if (felt === undefined || felt < state.anchor.at || felt > state.at) return state;
  return Object.freeze({ ...state, at: felt });
}

/** The document as it would have been written right after an act. */
function folded(
  document: CompanionDocument = emptyDocument,
  { emotions, person, sleep, conversation, clients }: Life,
  reading: ClockReading,
  told: ReadonlyMap<string, number>,
): CompanionDocument {
  const { deliveries = { restarts: [], told: {} } } = document.own;
  const conversationChats = conversation.map(({ chatId }) => chatId);
  const isLater = (reading.at ?? 0) >= (document.heartbeat?.at ?? 0);
  return {
    ...document,
    heartbeat: isLater ? reading : document.heartbeat,
    conversation,
    sleepState: sleep,
    person,
    own: {
      ...document.own,
      deliveries: { ...deliveries, told: { ...deliveries.told, ...Object.fromEntries(told) } },
      clients: [...clients.values()],
      conversationChats,
      emotions,
      saved: reading,
    },
  };
}
