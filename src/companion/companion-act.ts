import { isJsonObject, type JsonObject } from "../core/json.ts";
import { companionLimits } from "./companion-document.ts";
import type { EmotionAct, LiveEmotions } from "./live-emotions.ts";
import type { Reception } from "./receptions.ts";

export type SleepState = "awake" | "asleep";

/**
 * What happens to a companion, as data: where several processes have one companion, each of them does
 * what happened in one. Instants are milliseconds since 1970.
 */
export type CompanionAct =
  | EmotionAct
  | SpokenAct<"said">
  | SpokenAct<"replied">
  | { readonly act: "seen"; readonly name: string; readonly at: number }
  | { readonly act: "sleep"; readonly state: SleepState }
  | { readonly act: "welcomed"; readonly chat: string; readonly reception?: Reception };

interface SpokenAct<Name extends string> {
  readonly act: Name;
  readonly chat: string;
  readonly text: string;
  readonly at: number;
}

/** Of each act, what it must have to be done. */
const shapes: Readonly<Record<string, Readonly<Record<string, (value: unknown) => boolean>>>> = {
  event: { name: isText, intensity: isNumber },
  words: { text: isText },
  person: {},
  mood: { mood: isText, seconds: isNumber },
  reset: {},
  said: { chat: isText, text: isText, at: isNumber },
  replied: { chat: isText, text: isText, at: isNumber },
  seen: { name: isText, at: isNumber },
  sleep: { state: (value) => value === "awake" || value === "asleep" },
  welcomed: { chat: isText, reception: (value) => value === undefined || isReception(value) },
};

/** An act that another process told of; `undefined` for what is none that this version knows. */
export function readAct(told: unknown): CompanionAct | undefined {
  if (!isJsonObject(told)) return undefined;
  const { act } = told;
  const shape = isText(act) && Object.hasOwn(shapes, act) ? shapes[act] : undefined;
  if (shape === undefined) return undefined;
  const isWhole = Object.entries(shape).every(([name, isRight]) => isRight(told[name]));
  return isWhole ? (told as unknown as CompanionAct) : undefined;
}

/** As it is told: long texts are cut to what is kept of them. */
export function toldAct(act: CompanionAct): JsonObject {
  const cut = "text" in act ? { text: act.text.slice(0, companionLimits.text).toWellFormed() } : {};
  return JSON.parse(JSON.stringify({ ...act, ...cut })) as JsonObject;
}

/** Does what another process did; what this one's configuration has no event for does nothing. */
export function feelAct(emotions: LiveEmotions, act: EmotionAct): void {
  if (act.act === "event") emotions.eventIfKnown(act.name, act.intensity);
  else if (act.act === "words") emotions.personSaid(act.text);
  else if (act.act === "person") emotions.personActed();
  else if (act.act === "mood") emotions.override(act.mood, act.seconds);
  else emotions.reset();
}

function isReception(value: unknown): value is JsonObject {
  if (!isJsonObject(value)) return false;
  return ["chatId", "kind", "status", "text"].every((name) => isText(value[name]));
}

function isText(value: unknown): value is string {
  return typeof value === "string";
}

function isNumber(value: unknown): value is number {
  return typeof value === "number" && Number.isFinite(value);
}
