import type { Chats } from "../core/chat/chats.ts";
import { isKnownZone } from "../core/chat/reset-day.ts";
import type { NewId } from "../core/ids.ts";
import type { Logger } from "../core/logger.ts";
import { checkAmount, checkIsObject, misconfigured, withDefaults } from "../core/options.ts";
import type { Storage } from "../core/storage/storage.ts";
import type { Timers } from "../core/timers.ts";
import type { BootClock } from "./boot-clock.ts";
import type { EmotionConfiguration } from "./emotion/configuration.ts";
import { newSaveSchedule, type SaveOptions, saveDefaults } from "./save-schedule.ts";

export interface CompanionOptions extends SaveOptions {
  /**
   * What moves the emotions, and how.
   * @default builtInEmotions
   */
  readonly emotions?: EmotionConfiguration | undefined;
  /**
   * What the companion is to remember: facts, one a line, or "". Asked before every request to a
   * model, so it should answer at once; when it fails, the model is asked without facts.
   * @default nothing
   */
  readonly memory?: () => Promise<string>;
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
  readonly sleepAfterBoredMs?: number;
  /** For people who look into the log of runs. */
  readonly pid?: number;
}

export interface CompanionPorts {
  readonly storage: Storage;
  readonly chats: Chats;
  readonly clock: BootClock;
  readonly newId: NewId;
  readonly logger: Logger;
  /** Asked only where several processes have the companion. @default systemTimers */
  readonly timers?: Timers;
}

const companionDefaults = {
  ...saveDefaults,
  sleepAfterBoredMs: 60_000,
} satisfies Partial<CompanionOptions>;

export type ResolvedOptions = CompanionOptions & {
  readonly [Name in keyof typeof companionDefaults]: number;
};

/**
 * @throws ThroughlineError `THROUGHLINE_CONFIGURATION`: an option is not a number in its bounds, or no
 *   such time zone.
 */
export function resolveOptions(given: CompanionOptions): ResolvedOptions {
  checkIsObject(given, "the options of a companion");
  const options = withDefaults(given, companionDefaults);
  newSaveSchedule(0, options); // checks what it takes
  checkAmount(options.sleepAfterBoredMs, "sleepAfterBoredMs", "from 0");
  if (options.pid !== undefined) checkAmount(options.pid, "pid", "from 0");
  if (options.timeZone && !isKnownZone(options.timeZone)) {
    throw misconfigured("timeZone must be a known IANA time zone");
  }
  return options;
}
