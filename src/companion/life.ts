// What a companion is, as a pure function of what happened to it: what one server did can be done once more
// on top of what another one stored.

import { hashOf } from "../core/chat/tombstones.ts";
import { own } from "../core/shape.ts";
import { type ClientStep, stepped } from "./client-runs.ts";
import {
  type CompanionDocument,
  companionLimits,
  newest,
  type PersonSeen,
  type SharedFields,
  type SleepState,
  withoutChat,
} from "./companion-document.ts";
import { anchorHere, applyEvent, overrideMood, personActs, resetLevels } from "./emotion/acts.ts";
import type { EmotionConfiguration } from "./emotion/configuration.ts";
import { type EmotionState, evolve, moods } from "./emotion/emotion.ts";
import type { Feeling } from "./emotion/feel.ts";
import { feelHeard } from "./emotion/triggers.ts";
import type { ClockReading } from "./gap.ts";
import type { MoodEvent } from "./mood-history.ts";

export type Happening =
  | { readonly kind: "event"; readonly name: string; readonly intensity: number }
  /** A person spoke: the events that their words caused. The words are in `said`. */
  | { readonly kind: "heard"; readonly events: readonly string[] }
  /** A person was there without a word, as with a touch. */
  | { readonly kind: "person" }
  | { readonly kind: "mood"; readonly mood: string; readonly seconds: number }
  | { readonly kind: "reset" }
  | { readonly kind: "configured"; readonly configuration: EmotionConfiguration }
  | { readonly kind: "said" | "replied"; readonly chat: string; readonly text: string }
  | { readonly kind: "seen"; readonly name: string }
  | { readonly kind: "sleep"; readonly state: SleepState }
  /** A model of somebody's own was told of the runs up to this one. */
  | { readonly kind: "told"; readonly run: number }
  /** A step of the run of a program that is not the server, with the text or the id that it is about. */
  | {
      readonly kind: "client";
      readonly client: string;
      readonly does: ClientStep;
      readonly text?: string | undefined;
    }
  /** A chat was forgotten: the hash of its id. */
  | { readonly kind: "forgot"; readonly hash: string };

export type Act = Happening & {
  readonly id: string;
  /** When, on the clock of the emotional state: whole milliseconds. */
  readonly felt: number;
  readonly at: number;
  readonly reading: ClockReading;
};

export type CompanionChange =
  | { readonly type: "emotions"; readonly feeling: Feeling }
  | { readonly type: "person"; readonly person: PersonSeen }
  | { readonly type: "sleep"; readonly state: SleepState }
  /** A client has another text to hear, or fewer. */
  | { readonly type: "injects" }
  | { readonly type: "acknowledged"; readonly chatId: string };

/** A face that was announced is not announced again before this. Source: the seed. */
const announceEveryMs = 30_000;
/** Faces that are remembered as announced; above that the oldest is forgotten. */
const maxAnnounced = 100;

/** The companion while a run is up: what its document tells, and what is in force. */
export interface Life extends CompanionDocument {
  readonly runId: string;
  readonly startedAt: number;
  readonly totalRuns: number;
  /** Right after the last act. */
  readonly emotions: EmotionState;
  readonly config: EmotionConfiguration;
  /** Written only where servers share it. */
  readonly shared: SharedFields;
}

/**
 * The life of a run that is up, as another server wrote it, felt by the configuration of this one.
 *
 * @returns `undefined`: the document tells of no run that several servers have.
 */
export function lifeElsewhere(
  document: CompanionDocument,
  { config, emotions: otherwise }: Pick<Life, "config" | "emotions">,
): Life | undefined {
  const { runId, startedAt = 0, totalRuns, shared, emotions = otherwise } = document;
  if (runId === undefined || totalRuns === undefined || shared === undefined) return undefined;
  return { ...document, runId, startedAt, totalRuns, emotions, config, shared };
}

export interface Folded {
  readonly life: Life;
  /** The events that were felt; `undefined`: it moved no feeling at all. */
  readonly felt: readonly MoodEvent[] | undefined;
}

/**
 * One act more.
 *
 * @throws ThroughlineError `THROUGHLINE_INVALID`: for an act that asks for what there is not.
 */
export function fold(before: Life, act: Act): Folded {
  const life = { ...before, emotions: evolve(before.emotions, act.felt - before.emotions.at) };
  const { config, emotions } = life;
  const { at } = act;
  const feels = (state: EmotionState, felt: readonly MoodEvent[] = []) => {
    return { life: { ...life, emotions: state }, felt };
  };
  switch (act.kind) {
    case "event": {
      const { name, intensity } = act;
      const { state, ...rest } = applyEvent(config, emotions, {
        event: name,
        intensity,
        id: act.id,
      });
      return feels(state, [{ at, event: name, intensity, ...rest }]);
    }
    case "heard": {
      let wounds = 0;
      const newId = () => (wounds++ === 0 ? act.id : `${act.id}.${wounds}`);
      const { state, felt } = feelHeard(config, personActs(config, emotions), act.events, newId);
      const events = felt.map((each) => ({ at, intensity: 1, ...each }));
      return { ...feels(state, events), life: woken({ ...life, emotions: state }) };
    }
    case "person":
      return feels(personActs(config, emotions));
    case "mood":
      return feels(overrideMood(config, emotions, act.mood, act.seconds));
    case "reset":
      return feels(resetLevels(config, emotions));
    case "configured": {
      // All that is felt now stays, also wounds that are more than the other one allows.
      const felt = { ...life, emotions: anchorHere(config, emotions), config: act.configuration };
      return { life: felt, felt: [] };
    }
    case "seen":
      return seen(life, act.name, act);
    default:
      return { life: foldUnfelt(life, act), felt: undefined };
  }
}

/**
 * The same on top of what another server stored: what that configuration does not know does nothing, nor do words of
 * a chat that is forgotten.
 */
export function foldAgain(before: Life, act: Act): Folded {
  const isUnknown =
    (act.kind === "event" && !Object.hasOwn(before.config.events, act.name)) ||
    (act.kind === "mood" && !moods.some((mood) => mood === act.mood));
  return isUnknown || isForgotten(before, act)
    ? { life: before, felt: undefined }
    : fold(before, act);
}

/** Whether the chat that it is of was forgotten elsewhere since: its words are not to come back. */
function isForgotten({ shared: { forgot } }: Life, act: Act): boolean {
  const isSaid = act.kind === "said" || act.kind === "replied";
  const chatId = isSaid ? act.chat : act.kind === "client" && act.does === "appended" && act.text;
  return chatId ? act.at <= (own(forgot, hashOf(chatId)) ?? Number.NEGATIVE_INFINITY) : false;
}

/** What moves no feeling. */
function foldUnfelt(life: Life, act: Act): Life {
  switch (act.kind) {
    case "said":
    case "replied": {
      const role = act.kind === "said" ? ("USER" as const) : ("ASSISTANT" as const);
      const said = { role, text: act.text, at: act.at, chatId: act.chat };
      const conversation = [...life.conversation, said].slice(-companionLimits.conversation);
      return { ...life, conversation };
    }
    case "sleep":
      return act.state === "awake" ? woken(life) : { ...life, sleep: act.state };
    case "told":
      return { ...life, told: Math.max(act.run, life.told ?? 0) };
    case "client":
      return { ...life, clients: stepped(life.clients, act.does, act) };
    case "forgot":
      return withoutChat(life, act.hash, act.at);
    default:
      return life;
  }
}

function seen(life: Life, name: string, act: Act): Folded {
  const emotions = personActs(life.config, life.emotions);
  const { announced } = life.shared;
  const noted = woken({ ...life, emotions, person: { name, seenAt: act.at } });
  const announcedAt = own(announced, name);
  // The clocks of two processes may differ a little; one that was set must not silence a face.
  const isKnown = announcedAt !== undefined && Math.abs(act.at - announcedAt) < announceEveryMs;
  if (isKnown) return { life: noted, felt: [] };
  // Longer than it counts: another server may have a sighting still to store.
  const isRecent = ([, at]: readonly [string, number]) => act.at - at < 2 * announceEveryMs;
  const recent = Object.fromEntries(Object.entries(announced).filter(isRecent));
  const shared = { ...noted.shared, announced: newest(recent, name, act.at, maxAnnounced) };
  const event = "face_recognized";
  if (!Object.hasOwn(life.config.events, event)) return { life: { ...noted, shared }, felt: [] };
  const { state, ...rest } = applyEvent(life.config, emotions, { event, id: act.id });
  const felt = { at: act.at, event, intensity: 1, ...rest };
  return { life: { ...noted, shared, emotions: state }, felt: [felt] };
}

/** It stays awake for as long as it takes to fall asleep. */
function woken(life: Life): Life {
  const shared = { ...life.shared, wokenAt: life.emotions.at };
  return { ...life, sleep: "awake", shared };
}
