// What a companion is, as a pure function of its acts: the same acts make the same life, in whichever
// process they are folded.

import { hashOf } from "../core/chat/tombstones.ts";
import type { Act, SleepState } from "./acts.ts";
import { byName, type ClientRuns, stepped, withChat, withoutForgotten } from "./client-runs.ts";
import {
  type CompanionDocument,
  type ConversationMessage,
  companionLimits,
  type PersonSeen,
} from "./companion-document.ts";
import { applyEvent, overrideMood, personActs, reconfigure, resetLevels } from "./emotion/acts.ts";
import type { EmotionConfiguration } from "./emotion/configuration.ts";
import { type EmotionState, evolve, moods } from "./emotion/emotion.ts";
import { readState } from "./emotion/stored-emotions.ts";
import { feelHeard } from "./emotion/triggers.ts";

/** A face that was announced is not announced again before this. Source: the seed. */
const announceEveryMs = 30_000;
/** Faces that are remembered as announced; above that the oldest is forgotten. */
const maxAnnounced = 100;

/** A message of the copy in the document, which readers of the original's schema look at. */
export interface Copied extends ConversationMessage {
  /** `undefined`: a file of the original, which knows one conversation. */
  readonly chatId: string | undefined;
}

export interface Life {
  readonly config: EmotionConfiguration;
  /** Right after the last act. */
  readonly emotions: EmotionState;
  readonly person: PersonSeen | undefined;
  /** When each face was announced last, by name, the oldest first. */
  readonly announced: ReadonlyMap<string, number>;
  readonly sleep: SleepState;
  /** When a person woke it last, or kept it awake, on the clock of its emotions. */
  readonly wokenAt: number;
  /** The last 50 things that were said, over all chats. The chats' logs have all of it. */
  readonly conversation: readonly Copied[];
  /** The programs with runs of their own. */
  readonly clients: ClientRuns;
}

/** An event that was felt. */
export interface FeltEvent {
  readonly name: string;
  readonly intensity: number;
  readonly wound?: "added" | "limit" | undefined;
}

/** The life that a document tells of. */
export function lifeOf(
  config: EmotionConfiguration,
  document: CompanionDocument | undefined,
  emotions: EmotionState,
): Life {
  const { person, sleepState } = document ?? {};
  const announced = new Map<string, number>();
  if (person?.seenAt !== undefined) announced.set(person.name, person.seenAt);
  return {
    config,
    emotions,
    person,
    announced,
    sleep: sleepState === "asleep" ? "asleep" : "awake",
    wokenAt: emotions.at,
    conversation: copiedIn(document),
    clients: byName(document?.own.clients ?? []),
  };
}

/** The copy of the conversation in a document. */
export function copiedIn(document: CompanionDocument | undefined): readonly Copied[] {
  const { conversation = [], own } = document ?? {};
  const chats = own?.conversationChats ?? [];
  // Where an item was taken out by hand, chats can no longer be matched to messages.
  const isWhole = chats.length === conversation.length;
  return conversation
    .map((message, i) => ({ ...message, chatId: isWhole ? chats[i] : undefined }))
    .slice(-companionLimits.conversation);
}

/** Without what was said in a chat. A message whose chat is not known goes too: it may be of this one. */
export function withoutChat(copied: readonly Copied[], hash: string): readonly Copied[] {
  return copied.filter(({ chatId }) => chatId !== undefined && hashOf(chatId) !== hash);
}

/**
 * One act more.
 *
 * @returns also the events that were felt.
 * @throws ThroughlineError `THROUGHLINE_INVALID`: for an act of this process that asks for what there is
 *   not. An act that was read does nothing then: see `foldRead`.
 */
export function fold(
  before: Life,
  act: Act,
): { readonly life: Life; readonly felt: readonly FeltEvent[] } {
  const life = { ...before, emotions: evolve(before.emotions, act.felt - before.emotions.at) };
  const { config, emotions } = life;
  const feels = (state: EmotionState, felt: readonly FeltEvent[] = []) => {
    return { life: { ...life, emotions: state }, felt };
  };
  switch (act.kind) {
    case "event": {
      const { name, intensity } = act;
      const outcome = applyEvent(config, emotions, { event: name, intensity, id: act.id });
      return feels(outcome.state, [{ name, intensity, wound: outcome.wound }]);
    }
    case "heard": {
      let wounds = 0;
      const newId = () => (wounds++ === 0 ? act.id : `${act.id}.${wounds}`);
      const { state, felt } = feelHeard(config, personActs(config, emotions), act.events, newId);
      const events = felt.map(({ event, wound }) => ({ name: event, intensity: 1, wound }));
      return { life: woken({ ...life, emotions: state }), felt: events };
    }
    case "person":
      return feels(personActs(config, emotions));
    case "mood":
      return feels(overrideMood(config, emotions, act.mood, act.seconds));
    case "reset":
      return feels(resetLevels(config, emotions));
    case "configured": {
      const next = feels(reconfigure(config, emotions)).life;
      return { life: { ...next, config: act.configuration ?? config }, felt: [] };
    }
    case "seen":
      return seen(life, act.name, act);
    case "up": {
      const configured = { ...life, config: act.configuration ?? config };
      if (act.state === undefined) return { life: configured, felt: [] };
      const emotions = readState(act.state) ?? life.emotions;
      return { life: { ...configured, emotions }, felt: [] };
    }
    default:
      return { life: foldUnfelt(life, act), felt: [] };
  }
}

/** The same for an act that was read: what this configuration does not know does nothing. */
export function foldRead(before: Life, act: Act): ReturnType<typeof fold> {
  const isUnknown =
    (act.kind === "event" && !Object.hasOwn(before.config.events, act.name)) ||
    (act.kind === "event" && !(act.intensity >= 0 && act.intensity <= 10)) ||
    (act.kind === "mood" && (!isMood(act.mood) || !(act.seconds > 0 && act.seconds <= 3_600)));
  return isUnknown ? { life: before, felt: [] } : fold(before, act);
}

/** What moves no feeling. */
function foldUnfelt(life: Life, act: Act): Life {
  switch (act.kind) {
    case "said":
    case "replied": {
      const role = act.kind === "said" ? "USER" : "ASSISTANT";
      const said: Copied = { role, text: act.text, at: act.at, chatId: act.chat };
      const conversation = [...life.conversation, said].slice(-companionLimits.conversation);
      return { ...life, conversation };
    }
    case "sleep":
      return act.state === "awake" ? woken(life) : { ...life, sleep: act.state };
    case "client":
      return { ...life, clients: stepped(life.clients, act.does, act) };
    case "appended":
      return { ...life, clients: withChat(life.clients, act.client, act.chat) };
    case "forgot":
      return {
        ...life,
        conversation: withoutChat(life.conversation, act.hash),
        clients: byName(withoutForgotten(life.clients.values(), act.hash)),
      };
    default:
      return life;
  }
}

function seen(life: Life, name: string, act: Act): ReturnType<typeof fold> {
  const emotions = personActs(life.config, life.emotions);
  const noted = woken({ ...life, emotions, person: { name, seenAt: act.at } });
  const announcedAt = life.announced.get(name);
  // The clocks of two processes may differ a little; one that was set must not silence a face.
  const isKnown = announcedAt !== undefined && Math.abs(act.at - announcedAt) < announceEveryMs;
  if (isKnown) return { life: noted, felt: [] };
  const others = [...life.announced].filter(([known]) => known !== name);
  const announced = new Map([...others, [name, act.at] as const].slice(-maxAnnounced));
  const event = "face_recognized";
  if (!Object.hasOwn(life.config.events, event)) return { life: { ...noted, announced }, felt: [] };
  const { state, wound } = applyEvent(life.config, emotions, { event, id: act.id });
  return {
    life: { ...noted, announced, emotions: state },
    felt: [{ name: event, intensity: 1, wound }],
  };
}

/** It stays awake for as long as it takes to fall asleep. */
function woken(life: Life): Life {
  return { ...life, sleep: "awake", wokenAt: life.emotions.at };
}

function isMood(name: string): boolean {
  return moods.some((mood) => mood === name);
}
