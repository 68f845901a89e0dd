import type { Clock } from "../core/clock.ts";
import { isoTime } from "../core/clock.ts";
import type { NewId } from "../core/ids.ts";
import type { JsonObject } from "../core/json.ts";
import {
  applyEvent,
  overrideMood,
  personActs,
  reconfigure,
  resetLevels,
  resume,
  setVoice,
  suspend,
} from "./emotion/acts.ts";
import type { EmotionConfiguration } from "./emotion/configuration.ts";
import type { EmotionState, Mood, VoiceState } from "./emotion/emotion.ts";
import { evolve } from "./emotion/evolve.ts";
import { type Feeling, feel } from "./emotion/feel.ts";
import { storeEmotions } from "./emotion/stored-emotions.ts";
import { type Heard, hear } from "./emotion/triggers.ts";
import { SleepWatch } from "./sleep-watch.ts";

/** Something that moved the emotions, as the history of moods keeps it. */
export interface Felt {
  /** ISO 8601. */
  readonly at: string;
  /** Right after it. */
  readonly state: EmotionState;
  /** In force from then on. */
  readonly config: EmotionConfiguration;
  readonly event?: { readonly name: string; readonly intensity: number; readonly wound?: string };
}

/** Something that was done to make it feel. */
export type EmotionAct =
  | { readonly act: "event"; readonly name: string; readonly intensity: number }
  | { readonly act: "words"; readonly text: string }
  | { readonly act: "person" }
  | { readonly act: "mood"; readonly mood: string; readonly seconds: number }
  | { readonly act: "reset" };

/**
 * How the companion feels, while it lives: the pure state of `emotion/`, moved along by a monotonic
 * clock, and by the time that the machine slept. Reading it writes nothing; every act calls back, and
 * the first look after somebody set the wall clock.
 */
export class LiveEmotions {
  readonly #clock: Clock;
  readonly #newId: NewId;
  readonly #onFelt: (felt: Felt) => void;
  readonly #onAct: (act: EmotionAct) => void;
  #config: EmotionConfiguration;
  #state: EmotionState;
  #monotonic: number;
  readonly #sleep: SleepWatch;

  constructor(
    ports: {
      readonly clock: Clock;
      readonly newId: NewId;
      readonly onFelt: (felt: Felt) => void;
      /** What was done to make it felt, for others who have the same companion. */
      readonly onAct?: (act: EmotionAct) => void;
    },
    config: EmotionConfiguration,
    state: EmotionState,
  ) {
    this.#clock = ports.clock;
    this.#newId = ports.newId;
    this.#onFelt = ports.onFelt;
    this.#onAct = ports.onAct ?? (() => undefined);
    this.#config = config;
    this.#state = state;
    this.#monotonic = ports.clock.monotonic();
    this.#sleep = new SleepWatch(ports.clock);
  }

  get configuration(): EmotionConfiguration {
    return this.#config;
  }

  /** The state now, for whoever keeps it. */
  get state(): EmotionState {
    return this.#now();
  }

  /** The same for the history of moods. */
  get felt(): Felt {
    const state = this.#now();
    return { at: isoTime(this.#clock.now()), state, config: this.#config };
  }

  /** How it feels now. */
  feeling(): Feeling {
    return feel(this.#config, this.#now());
  }

  /**
   * The feeling to speak in: the one that shows, but for what the voice does, and without waiting until
   * the mood before has lasted long enough.
   */
  get spoken(): Feeling {
    const { settings, ...rest } = this.#config;
    const state = this.#now();
    const atOnce = { ...rest, settings: { ...settings, hysteresisMs: 0 } };
    return feel(atOnce, setVoice(this.#config, state, "idle"));
  }

  /** The mood to speak in. */
  get tone(): Mood {
    return this.spoken.mood;
  }

  /** For the document: see `storeEmotions`. */
  stored(): { readonly emotions: JsonObject; readonly own: JsonObject } {
    const { emotions, own } = storeEmotions(this.#config, this.#now());
    return {
      emotions: emotions as unknown as JsonObject,
      own: own as unknown as JsonObject,
    };
  }

  /** The instant on the wall clock of one on the state's own. */
  wallTime(at: number): number {
    return this.#clock.now() + (at - this.#now().at);
  }

  /**
   * Something happened.
   *
   * @param intensity 0 to 10. @default 1
   * @returns `"added"`: it left a wound; `"limit"`: it would have, and there are enough.
   * @throws ThroughlineError `THROUGHLINE_INVALID`: no such event; the message lists those there are.
   */
  event(name: string, intensity = 1): "added" | "limit" | undefined {
    const { state, wound } = applyEvent(this.#config, this.#now(), {
      ...{ event: name, intensity },
      id: this.#newId(),
    });
    this.#felt(state, { name, intensity, ...(wound === undefined ? {} : { wound }) });
    this.#onAct({ act: "event", name, intensity });
    return wound;
  }

  /** The same for an event that the configuration may not have. */
  eventIfKnown(name: string, intensity = 1): void {
    if (Object.hasOwn(this.#config.events, name)) this.event(name, intensity);
  }

  /** A person said this. @returns what their words caused. */
  personSaid(text: string): readonly Heard[] {
    const before = personActs(this.#config, this.#now());
    const { state, heard } = hear(this.#config, before, text, this.#newId);
    if (heard.length === 0) this.#felt(state);
    for (const { event, wound } of heard) {
      this.#felt(state, { name: event, intensity: 1, ...(wound === undefined ? {} : { wound }) });
    }
    this.#onAct({ act: "words", text });
    return heard;
  }

  /** A person was there without a word: seen, or a touch. */
  personActed(): void {
    this.#felt(personActs(this.#config, this.#now()));
    this.#onAct({ act: "person" });
  }

  /** What the voice does. It changes the mood, and is no stimulus. */
  voice(state: VoiceState): void {
    this.#state = setVoice(this.#config, this.#now(), state);
  }

  /** Shows a mood for some seconds, whatever is felt. @throws as `overrideMood` does. */
  override(mood: string, seconds = 10): void {
    this.#felt(overrideMood(this.#config, this.#now(), mood, seconds));
    this.#onAct({ act: "mood", mood, seconds });
  }

  /** Goes on under another configuration. What is felt stays. */
  configure(config: EmotionConfiguration): void {
    const state = reconfigure(this.#config, this.#now());
    this.#config = config;
    this.#felt(state);
  }

  /** Levels back to their baselines; wounds, boredom and an override stay. */
  reset(): void {
    this.#felt(resetLevels(this.#config, this.#now()));
    this.#onAct({ act: "reset" });
  }

  /** Goes on from what another process keeps, as it is now; what the voice does here stays. */
  adopt(state: EmotionState): void {
    const { voiceState } = this.#now().anchor;
    this.#state = setVoice(this.#config, state, voiceState);
  }

  /** The run goes down: nothing more is felt but that boredom falls. */
  suspend(): void {
    this.#felt(suspend(this.#config, this.#now()));
  }

  resume(): void {
    this.#felt(resume(this.#config, this.#now()));
  }

  #now(): EmotionState {
    const monotonic = this.#clock.monotonic();
    const passed = Math.floor(monotonic - this.#monotonic);
    const { sleptMs, isSet } = this.#sleep.look(monotonic);
    if (passed > 0 || sleptMs > 0) {
      this.#state = evolve(this.#state, Math.max(0, passed) + sleptMs);
      this.#monotonic += Math.max(0, passed); // the rest of a millisecond counts next time
    }
    // The history goes by the wall clock: from here on it is what is felt again.
    if (isSet) this.#onFelt(this.felt);
    return this.#state;
  }

  #felt(state: EmotionState, event?: Felt["event"]): void {
    this.#state = state;
    this.#onFelt({ ...this.felt, ...(event === undefined ? {} : { event }) });
  }
}

/** Whether watchers are to hear of it. */
export function hasMoved(before: Feeling, now: Feeling, threshold: number): boolean {
  const names = Object.keys(now.levels) as (keyof Feeling["levels"])[];
  return (
    before.mood !== now.mood ||
    before.voiceState !== now.voiceState ||
    before.override?.until !== now.override?.until ||
    before.wounds.length !== now.wounds.length ||
    Math.abs(before.boredom - now.boredom) >= threshold ||
    names.some((name) => Math.abs(before.levels[name] - now.levels[name]) >= threshold)
  );
}
