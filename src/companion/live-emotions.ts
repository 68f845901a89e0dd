import type { Clock } from "../core/clock.ts";
import { aText, checkArgument } from "../core/options.ts";
import { setVoice } from "./emotion/acts.ts";
import { anEmotionConfiguration, type EmotionConfiguration } from "./emotion/configuration.ts";
import type { EmotionState, Mood, VoiceState } from "./emotion/emotion.ts";
import { evolve } from "./emotion/emotion.ts";
import { type Feeling, feel } from "./emotion/feel.ts";
import { causesOf } from "./emotion/triggers.ts";
import { type ClockReading, gapBetween, readClock } from "./gap.ts";
import type { Happening, Life } from "./life.ts";
import type { MoodEvent } from "./mood-history.ts";

/**
 * How the companion feels, while it lives: the pure state of `emotion/`, moved along by a monotonic
 * clock, and by the time that the machine slept. Reading it writes nothing. What is done to it is an act.
 */
export class LiveEmotions {
  readonly #clock: Clock;
  readonly #onSet: () => void;
  readonly #act: (happening: Happening) => readonly MoodEvent[];
  #config: EmotionConfiguration;
  #state: EmotionState;
  #monotonic: number;
  /** By how much the wall clock was ahead of the monotonic one at the last look. */
  #wallAhead: number;
  /** What the clocks said in the beginning, and what passed since that was not felt by the monotonic one. */
  readonly #begun: ClockReading;
  readonly #begunAt: number;
  #sleptMs = 0;
  #thoughts = 0;

  /**
   * @param act does it, and calls `become`; answers the events that were felt.
   * @param onSet is called at the first look after somebody set the wall clock.
   */
  constructor(
    clock: Clock,
    { config, emotions }: Pick<Life, "config" | "emotions">,
    act: (happening: Happening) => readonly MoodEvent[],
    onSet: () => void,
  ) {
    this.#clock = clock;
    this.#onSet = onSet;
    this.#act = act;
    this.#config = config;
    this.#state = emotions;
    this.#begun = readClock(clock);
    this.#begunAt = clock.monotonic();
    this.#monotonic = this.#begunAt;
    this.#wallAhead = clock.now() - this.#begunAt;
  }

  get configuration(): EmotionConfiguration {
    return this.#config;
  }

  get state(): EmotionState {
    return this.#now();
  }

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

  get tone(): Mood {
    return this.spoken.mood;
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
    return this.#act({ kind: "event", name, intensity }).at(0)?.wound;
  }

  /** The same for an event that the configuration may not have. */
  eventIfKnown(name: string): void {
    if (Object.hasOwn(this.#config.events, name)) this.event(name);
  }

  /** A person said this: what their words cause is felt. */
  personSaid(text: string): void {
    checkArgument(text, "text", aText);
    const events = [...causesOf(this.#config, this.#now(), text).keys()];
    this.#act({ kind: "heard", events });
  }

  /**
   * Which words of a text hurt, each at most 500 characters. Changes nothing. What was felt of them does not
   * count: of the same words in a row only the first are felt.
   */
  hurtful(text: string): readonly string[] {
    checkArgument(text, "text", aText);
    const state = this.#now();
    const fresh = { ...state, anchor: { ...state.anchor, heardAt: {} } };
    const causes = [...causesOf(this.#config, fresh, text).values()];
    return causes.map((words) => words.slice(0, 500)).filter((words) => words !== "");
  }

  /** A person was there without a word, as with a touch. */
  personActed(): void {
    this.#act({ kind: "person" });
  }

  /** What the voice does in this process. It changes the mood, and is no stimulus and no act. */
  voice(state: VoiceState): void {
    this.#state = setVoice(this.#config, this.#now(), state);
  }

  /** Shows that a model thinks, until the last of all that do has ended. @returns what ends it. */
  think(): () => void {
    this.#thoughts++;
    if (this.#thoughts === 1) this.voice("thinking");
    return () => {
      this.#thoughts--;
      if (this.#thoughts === 0 && this.#state.anchor.voiceState === "thinking") this.voice("idle");
    };
  }

  /** Shows a mood for some seconds, whatever is felt. @throws as `overrideMood` does. */
  override(mood: string, seconds = 10): void {
    this.#act({ kind: "mood", mood, seconds });
  }

  configure(configuration: EmotionConfiguration): void {
    checkArgument(configuration, "configuration", anEmotionConfiguration);
    this.#act({ kind: "configured", configuration });
  }

  /** Levels back to their baselines; wounds, boredom and an override stay. */
  reset(): void {
    this.#act({ kind: "reset" });
  }

  /**
   * Continues from a state that acts made. Time never goes back: where an act was felt later than it is
   * here, it is as late here from then on.
   */
  become(config: EmotionConfiguration, state: EmotionState): void {
    const { at, anchor } = this.#now();
    this.#config = config;
    const lived = evolve(state, at - state.at);
    this.#state = setVoice(config, lived, anchor.voiceState);
  }

  #now(): EmotionState {
    const monotonic = this.#clock.monotonic();
    const wallAhead = this.#clock.now() - monotonic;
    const partedByMs = wallAhead - this.#wallAhead;
    this.#wallAhead = wallAhead;
    const sleptMs = partedByMs > partedMs ? this.#slept(monotonic) : 0;
    const passed = Math.max(0, Math.floor(monotonic - this.#monotonic));
    this.#state = evolve(this.#state, passed + sleptMs);
    this.#monotonic += passed; // the rest of a millisecond counts next time
    // The history goes by the wall clock: if that was set, what is felt from here on is noted again.
    if (Math.abs(partedByMs - sleptMs) > partedMs) this.#onSet();
    return this.#state;
  }

  /**
   * How long the machine slept since this was asked last. A monotonic clock may stand still during sleep, as on Linux;
   * the wall clock and the uptime continue. The wall clock may be set to anything: it only says when to ask the uptime.
   */
  #slept(monotonic: number): number {
    const { gapMs = 0, certainty } = gapBetween(this.#begun, readClock(this.#clock));
    if (certainty !== "certain") return 0; // nothing but the wall clock tells it
    const sleptMs = Math.floor(gapMs - (monotonic - this.#begunAt) - this.#sleptMs);
    if (sleptMs <= partedMs) return 0; // somebody set the wall clock
    this.#sleptMs += sleptMs;
    return sleptMs;
  }
}

/** Clocks that are apart by more have parted. Uptimes in whole seconds seem to by less than one. */
const partedMs = 2_000;

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
