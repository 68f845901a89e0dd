import { isKnownZone } from "../core/chat/reset-day.ts";
import {
  aFunction,
  amount,
  byDefault,
  maybe,
  type Options,
  type Resolved,
  resolveOptions,
} from "../core/options.ts";
import type { Throughline } from "../core/throughline.ts";
import { builtInEmotions } from "./emotion/built-in-emotions.ts";
import { anEmotionConfiguration, type EmotionConfiguration } from "./emotion/configuration.ts";

export interface CompanionOptions {
  /**
   * How often the state is written, in milliseconds: a crash loses at most this much. It is written also when
   * nothing changed, as a sign of life, from which the time away counts after a kill: with 30 s or more a quick restart
   * may be taken for a break, and not for a crash. 0 writes every change at once, and a sign of life every 10 s. Servers
   * that share a companion ignore it: they write within 100 ms of a change, and every 5 s.
   *
   * Source: the original saved every 30 s, and wrote a sign of life every 10 s.
   * @default 10_000
   */
  readonly saveEveryMs?: number | undefined;
  /**
   * What moves the emotions, and how.
   * @default builtInEmotions
   */
  readonly emotions?: EmotionConfiguration | undefined;
  /**
   * What the companion is to remember: facts, one a line, the most important first, or "". Asked before every
   * request to a model, so it should answer at once; when it fails, the model is asked without facts. 4,000
   * characters are used at most. They are data, and are quoted line by line behind the persona.
   * @default nothing
   */
  readonly memory?: (() => Promise<string>) | undefined;
  /**
   * The person's IANA zone. With it the restart notice may name the day and its part. Empty: as if absent.
   * @default neither is named
   */
  readonly timeZone?: string | undefined;
  /**
   * Falls asleep after boredom of 0.8 or more for this long, in milliseconds; a person's act wakes it.
   * 0: never by itself.
   *
   * Source: the original slept after 60 s.
   * @default 60_000
   */
  readonly sleepAfterBoredMs?: number | undefined;
  /** For people who look into the log of runs. */
  readonly pid?: number | undefined;
}

export type CompanionPorts = Throughline["ports"] & Pick<Throughline, "storage" | "chats">;

const options = {
  saveEveryMs: byDefault(10_000, amount("from 0")),
  emotions: byDefault(builtInEmotions, anEmotionConfiguration),
  memory: maybe(aFunction),
  timeZone: maybe(["a known IANA time zone", (value) => value === "" || isKnownZone(value)]),
  sleepAfterBoredMs: byDefault(60_000, amount("from 0")),
  pid: maybe(amount("from 0")),
} satisfies Options<CompanionOptions>;

export type CompanionSettings = Resolved<CompanionOptions, typeof options>;

/** @throws ThroughlineError `THROUGHLINE_CONFIGURATION`: an option cannot be used. */
export function companionSettings(given: CompanionOptions): CompanionSettings {
  return resolveOptions("the options of a companion", given, options);
}
