// What a companion is, as a pure function of what happened to it: what one server did can be done once more
// on top of what another one stored.

import { hashOf } from "../core/chat/tombstones.ts";
import type { JsonObject } from "../core/json.ts";
import {
  byName,
  type ClientRuns,
  type ClientStep,
  stepped,
  withChat,
  withoutForgotten,
} from "./client-runs.ts";
import type { ClockReading } from "./clock-reading.ts";
import {
  type CompanionDocument,
  type ConversationMessage,
  companionLimits,
  type PersonSeen,
} from "./companion-document.ts";
import { applyEvent, overrideMood, personActs, reconfigure, resetLevels } from "./emotion/acts.ts";
import type { EmotionConfiguration } from "./emotion/configuration.ts";
import { type EmotionState, evolve, moods } from "./emotion/emotion.ts";
import { readWrittenConfiguration, writtenConfiguration } from "./emotion/emotions-schema.ts";
import { feelHeard } from "./emotion/triggers.ts";

export type SleepState = "awake" | "asleep";

/** Something that can happen to a companion. */
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
  /** Such a program appended to a chat. */
  | { readonly kind: "appended"; readonly client: string; readonly chat: string }
  /** A chat was forgotten: the hash of its id. */
  | { readonly kind: "forgot"; readonly hash: string };

export type Act = Happening & {
  readonly id: string;
  /** When, on the clock of the emotional state: whole milliseconds. */
  readonly felt: number;
  /** When, on the wall clock: milliseconds since 1970. */
  readonly at: number;
  readonly reading: ClockReading;
};

/** A face that was announced is not announced again before this. Source: the seed. */
export const announceEveryMs = 30_000;
/** Faces that are remembered as announced; above that the oldest is forgotten. */
const maxAnnounced = 100;
/** Forgotten chats whose words are refused when another server has them still. */
const maxForgot = 100;

/** A message of the copy in the document, which readers of the original's schema look at. */
export interface Copied extends ConversationMessage {
  /** `undefined`: a file of the original, which knows one conversation. */
  readonly chatId: string | undefined;
}

export interface Life {
  readonly config: EmotionConfiguration;
  /** The configuration as other servers read it, if it was put in force while the run was up. */
  readonly written: JsonObject | undefined;
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
  /** The newest run of which a model of somebody's own was told, for all chats. */
  readonly told: number | undefined;
  /** When each chat was forgotten, by the hash of its id, the oldest first. */
  readonly forgot: ReadonlyMap<string, number>;
}

/** An event that was felt. */
export interface FeltEvent {
  readonly name: string;
  readonly intensity: number;
  readonly wound?: "added" | "limit" | undefined;
}

/** What an act makes of a life. */
export interface Folded {
  readonly life: Life;
  readonly felt: readonly FeltEvent[];
}

/** The life that a document tells of. @param before what it was here: a configuration is read once. */
export function lifeOf(
  document: CompanionDocument | undefined,
  emotions: EmotionState,
  before: Pick<Life, "config"> & Partial<Pick<Life, "written">>,
): Life {
  const { person, sleepState, own } = document ?? {};
  const { announced = {}, forgot = {}, wokenAt = emotions.at, configuration } = own?.shared ?? {};
  const faces = new Map(Object.entries(announced).sort(([, a], [, b]) => a - b));
  const seenAt = own?.shared === undefined ? person?.seenAt : undefined;
  if (person !== undefined && seenAt !== undefined) faces.set(person.name, seenAt);
  return {
    ...inForce(configuration, before),
    emotions,
    person,
    announced: faces,
    sleep: sleepState === "asleep" ? "asleep" : "awake",
    wokenAt,
    conversation: copiedIn(document),
    clients: byName(own?.clients ?? []),
    told: own?.deliveries?.told[""],
    forgot: new Map(Object.entries(forgot)),
  };
}

function inForce(
  written: JsonObject | undefined,
  before: Pick<Life, "config"> & Partial<Pick<Life, "written">>,
): Pick<Life, "config" | "written"> {
  const isKnown = JSON.stringify(written) === JSON.stringify(before.written);
  const read = isKnown || written === undefined ? undefined : readWrittenConfiguration(written);
  return read === undefined
    ? { config: before.config, written: before.written }
    : { config: read, written };
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
 * @throws ThroughlineError `THROUGHLINE_INVALID`: for an act that asks for what there is not.
 */
export function fold(before: Life, act: Act): Folded {
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
      const { configuration } = act;
      const written = writtenConfiguration(configuration);
      const next = feels(reconfigure(config, emotions)).life;
      return { life: { ...next, config: configuration, written }, felt: [] };
    }
    case "seen":
      return seen(life, act.name, act);
    default:
      return { life: foldUnfelt(life, act), felt: [] };
  }
}

/** The same on top of what another server stored: what that configuration does not know does nothing. */
export function foldAgain(before: Life, act: Act): Folded {
  const isUnknown =
    (act.kind === "event" && !Object.hasOwn(before.config.events, act.name)) ||
    (act.kind === "mood" && !moods.some((mood) => mood === act.mood));
  return isUnknown ? { life: before, felt: [] } : fold(before, act);
}

/** What moves no feeling. */
function foldUnfelt(life: Life, act: Act): Life {
  switch (act.kind) {
    case "said":
    case "replied": {
      if (isForgotten(life, act.chat, act)) return life;
      const role = act.kind === "said" ? "USER" : "ASSISTANT";
      const said: Copied = { role, text: act.text, at: act.at, chatId: act.chat };
      const conversation = [...life.conversation, said].slice(-companionLimits.conversation);
      return { ...life, conversation };
    }
    case "sleep":
      return act.state === "awake" ? woken(life) : { ...life, sleep: act.state };
    case "told":
      return { ...life, told: Math.max(act.run, life.told ?? 0) };
    case "client":
      return { ...life, clients: stepped(life.clients, act.does, act) };
    case "appended":
      if (isForgotten(life, act.chat, act)) return life;
      return { ...life, clients: withChat(life.clients, act.client, act.chat) };
    case "forgot": {
      const others = [...life.forgot].filter(([hash]) => hash !== act.hash);
      return {
        ...life,
        forgot: new Map([...others, [act.hash, act.at] as const].slice(-maxForgot)),
        conversation: withoutChat(life.conversation, act.hash),
        clients: byName(withoutForgotten(life.clients.values(), act.hash)),
      };
    }
    default:
      return life;
  }
}

function isForgotten({ forgot }: Life, chatId: string, { at }: Act): boolean {
  return forgot.size > 0 && at <= (forgot.get(hashOf(chatId)) ?? Number.NEGATIVE_INFINITY);
}

function seen(life: Life, name: string, act: Act): Folded {
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
