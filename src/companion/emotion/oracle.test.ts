// The engine against a simulation that was written apart from it.
//
// Method: the simulation knows no closed form, no breakpoints and no anchor. It walks from
// millisecond to millisecond like the frame loop of the original, with the rules as BEHAVIOUR.md
// words them, and reads the configuration as a file has it. Inside a millisecond in which a
// condition of boredom turns it halves the step until nothing is left of the error. Random
// configurations have numbers with all their digits, so that no comparison is decided by the last
// bit; their time runs fast, so that two seconds hold a life.
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { Place } from "../../core/shape.ts";
import {
  anchorHere,
  applyEvent,
  overrideMood,
  personActs,
  resetLevels,
  resume,
  setVoice,
  startState,
  suspend,
} from "./acts.ts";
import { builtInEmotionsFile } from "./built-in-emotions.ts";
import { type EmotionConfiguration, readEmotionConfiguration } from "./configuration.ts";
import type { EmotionState, VoiceState } from "./emotion.ts";
import { evolve } from "./emotion.ts";
import { feel } from "./feel.ts";
import { storedState } from "./stored-emotions.ts";

/** Reads a state as it comes back from the disk. */
function readStored(state: EmotionState): EmotionState {
  const place = new Place();
  const read = storedState.read(JSON.parse(JSON.stringify(state)), place);
  assert.deepEqual(place.problems, []);
  return read;
}

const isFull = process.env["THROUGHLINE_FULL"] === "1";
const histories = isFull ? 10_000 : 120;

const names = ["joy", "sadness", "anger", "fear", "disgust"];
type Numbers = Record<string, number>;

/** A file, as far as the simulation reads it. */
interface File {
  emotions: Record<string, { baseline: number; decay_rate: number }>;
  events: Record<
    string,
    {
      severity: string;
      deltas: Numbers;
      wound_reduction?: number;
      wound?: { floors: Numbers; duration: number; heal_rate: number };
    }
  >;
  derived_mood_rules: { mood: string; conditions: Record<string, unknown> }[];
  boredom: {
    accumulate_rate: number;
    decay_rate: number;
    joy_threshold: number;
    negative_threshold: number;
    neglect_after: number | null;
  };
  settings: { hysteresis: number; max_wounds: number };
}

interface SimulatedWound {
  floors: number[];
  fixedUntil: number;
  healRate: number;
}

/** What conditions ask about; they note in it when rounding might have decided. */
interface Seen {
  levels: readonly number[];
  boredom: number;
  isWounded: boolean;
  voice: string;
  isClose: boolean;
}

type Ask = (seen: Seen) => boolean;

const asksOf = new WeakMap<File, { mood: string; asks: Ask[] }[]>();

function rulesOf(file: File) {
  const rules =
    asksOf.get(file) ??
    file.derived_mood_rules.map(({ mood, conditions }) => ({
      mood,
      asks: Object.entries(conditions).map(([key, wanted]) => askFor(key, wanted)),
    }));
  asksOf.set(file, rules);
  return rules;
}

function askFor(key: string, wanted: unknown): Ask {
  if (key === "_voice_state") return ({ voice }) => voice === wanted;
  if (key === "_has_wounds") return ({ isWounded }) => isWounded === wanted;
  if (key === "_dominant") {
    return ({ levels }) => names[levels.indexOf(Math.max(...levels))] === wanted;
  }
  const [, sign, digits] = /^([<>=]*) ?(.*)$/.exec(String(wanted))!;
  const value = Number(digits);
  return (seen) => {
    const actual = key === "_boredom" ? seen.boredom : seen.levels[names.indexOf(key)]!;
    const away = Math.abs(actual - value);
    if (Math.abs(sign === "==" ? away - 0.001 : away) < 1e-9) seen.isClose = true;
    if (sign === "<=") return actual <= value;
    if (sign === ">") return actual > value;
    if (sign === "<") return actual < value;
    return sign === "==" ? away < 0.001 : actual >= value;
  };
}

/** The companion, frame by frame. Levels and floors are lists in the order of `names`. */
class Simulation {
  file: File;
  now = 0;
  levels: number[];
  wounds: SimulatedWound[] = [];
  boredom = 0;
  isUp = true;
  voice = "idle";
  stimulus = 0;
  person = 0;
  mood = "happy";
  moodSince = -Infinity;
  /** When what happened last may change the mood; from then on it is looked at once in each hysteresis. */
  turnAt = 0;
  override: { mood: string; until: number } | undefined;
  /** Since when the rules have said the same without a close call. */
  steadySince = 0;
  #steady = "";

  constructor(file: File) {
    this.file = file;
    // Nothing holds the first mood.
    this.levels = names.map((name) => file.emotions[name]!.baseline);
    this.#lookAtMood();
  }

  advance(ms: number, frame = 1): void {
    for (let passed = 0; passed < ms; passed += frame) {
      this.#frame(this.now, frame);
      this.now += frame;
      this.#letGo();
      this.#lookAtMood();
    }
  }

  get #hysteresis(): number {
    return Math.round(this.file.settings.hysteresis * 1000);
  }

  #frame(from: number, ms: number): void {
    const before = this.#signs(from, this.levels);
    const floors = this.wounds.map((wound) => {
      const healing = Math.max(0, Math.min(ms, from + ms - wound.fixedUntil)) / 1000;
      return wound.floors.map((floor) => Math.max(0, floor - wound.healRate * healing));
    });
    const levels = this.levels.map((level, index) => {
      const { baseline, decay_rate } = this.file.emotions[names[index]!]!;
      const step = (decay_rate * ms) / 1000;
      let moved =
        level > baseline ? Math.max(baseline, level - step) : Math.min(baseline, level + step);
      for (const list of floors) moved = Math.max(moved, list[index]!);
      return moved;
    });
    const after = this.#signs(from + ms, levels);
    if (this.isUp && before !== after && ms > 1e-9) {
      this.#frame(from, ms / 2);
      this.#frame(from + ms / 2, ms / 2);
      return;
    }
    this.levels = levels;
    floors.forEach((list, index) => {
      this.wounds[index]!.floors = list;
    });
    const { accumulate_rate, decay_rate } = this.file.boredom;
    const isOthersLow = (after & 0b11110) === 0b11110;
    const grows = this.isUp && isOthersLow && (after & 0b100001) !== 0;
    const change = ((grows ? accumulate_rate : -decay_rate) * ms) / 1000;
    this.boredom = Math.min(1, Math.max(0, this.boredom + change));
  }

  /** One bit each: joy is low, each of the others is low, it was neglected. */
  #signs(at: number, levels: readonly number[]): number {
    const { joy_threshold, negative_threshold, neglect_after } = this.file.boredom;
    let bits = neglect_after !== null && at >= this.stimulus + neglect_after * 1000 ? 32 : 0;
    for (let index = 0; index < 5; index++) {
      if (levels[index]! < (index === 0 ? joy_threshold : negative_threshold)) bits |= 1 << index;
    }
    return bits;
  }

  /** Something happened. @param breaks whatever the hysteresis. */
  #turn(breaks = false): void {
    if (breaks && this.#rules().mood !== this.mood) this.moodSince = -Infinity;
    this.turnAt = Math.max(this.now, this.moodSince + this.#hysteresis);
    this.#lookAtMood();
  }

  #lookAtMood(): void {
    const { mood, isClose } = this.#rules();
    const since = this.now - this.turnAt;
    const isAsked = since >= 0 && (this.#hysteresis === 0 || since % this.#hysteresis === 0);
    if (mood !== this.mood && isAsked) {
      this.mood = mood;
      this.moodSince = this.now;
    }
    if (mood !== this.#steady || isClose) this.steadySince = this.now;
    this.#steady = mood;
  }

  #rules(): { mood: string; isClose: boolean } {
    const seen: Seen = {
      levels: this.levels,
      boredom: this.boredom,
      isWounded: this.wounds.length > 0,
      voice: this.voice,
      isClose: false,
    };
    const rule = rulesOf(this.file).find(({ asks }) => asks.every((ask) => ask(seen)));
    return { mood: rule?.mood ?? "calm", isClose: seen.isClose };
  }

  event(name: string, intensity: number): void {
    const event = this.file.events[name]!;
    this.levels = this.levels.map((level, index) =>
      Math.min(1, Math.max(0, level + (event.deltas[names[index]!] ?? 0) * intensity)),
    );
    for (const wound of this.wounds) {
      const less = (event.wound_reduction ?? 0) * intensity;
      wound.floors = wound.floors.map((floor) => Math.max(0, floor - less));
    }
    this.#letGo();
    if (event.wound !== undefined && this.wounds.length < this.file.settings.max_wounds) {
      const { floors, duration, heal_rate } = event.wound;
      this.wounds.push({
        floors: names.map((emotion) => floors[emotion] ?? 0),
        fixedUntil: this.now + duration * 1000,
        healRate: heal_rate,
      });
    }
    this.#letGo();
    this.stimulus = this.now;
    this.#raise(event.severity === "severe");
  }

  /** A wound is gone when all its floors are 0. */
  #letGo(): void {
    this.wounds = this.wounds.filter(({ floors }) => floors.some((floor) => floor > 0));
  }

  reset(): void {
    this.levels = names.map((name) => this.file.emotions[name]!.baseline);
    this.#raise();
  }

  /** Levels up to the floors, and the mood that the new values make at this instant. */
  #raise(breaks = false): void {
    this.levels = this.levels.map((level, index) =>
      Math.max(level, ...this.wounds.map(({ floors }) => floors[index]!)),
    );
    this.#turn(breaks);
  }

  change(act: Partial<Pick<Simulation, "isUp" | "voice" | "stimulus" | "file">>): void {
    if (act.isUp !== undefined) this.isUp = act.isUp;
    if (act.voice !== undefined) this.voice = act.voice;
    if (act.stimulus !== undefined) this.stimulus = act.stimulus;
    if (act.file !== undefined) {
      // What has lasted long enough is held by no other configuration either.
      const lastedMs = this.now - this.moodSince;
      if (lastedMs > 0 && lastedMs >= this.#hysteresis) this.moodSince = -Infinity;
      this.file = act.file;
    }
    this.#turn();
  }

  personActs(): void {
    if (this.now - this.person > 60_000) this.boredom = 0;
    this.person = this.now;
    this.stimulus = this.now;
    this.#turn();
  }
}

// Random companions, the randomness from one seed a history.

type Random = () => number;

function randomFrom(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x9e3779b9) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 16), 0x21f0aaad);
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97);
    return ((mixed ^ (mixed >>> 15)) >>> 0) / 2 ** 32;
  };
}

const pick = <T>(random: Random, items: readonly T[]): T =>
  items[Math.floor(random() * items.length)]!;
const digits = (random: Random) => random() + random() * 2 ** -32;
const whole = (random: Random, from: number, to: number) =>
  from + Math.floor(random() * (to - from + 1));

const moodNames = ["happy", "excited", "sad", "disappointed", "surprised", "sleepy", "proud"];
const voiceNames: readonly VoiceState[] = ["idle", "listening", "thinking", "speaking"];

function randomFile(random: Random): File {
  const byEmotion = (chance: number, value: () => number): Numbers =>
    Object.fromEntries(names.filter(() => random() < chance).map((name) => [name, value()]));
  const events: File["events"] = {};
  for (let index = 0; index < 5; index++) {
    const isSevere = index < 2;
    events[`event${index}`] = {
      severity: isSevere ? "severe" : pick(random, ["healing", "mild", "moderate"]),
      deltas: byEmotion(0.6, () => digits(random) * 1.4 - 0.7),
      wound_reduction: isSevere ? 0 : digits(random) * 0.15,
      ...(isSevere && {
        wound: {
          floors: byEmotion(0.5, () => digits(random) * 0.6),
          duration: whole(random, 0, 400) / 1000,
          heal_rate: digits(random) * pick(random, [0.3, 3]),
        },
      }),
    };
  }
  const rules = Array.from({ length: whole(random, 2, 9) }, () => ({
    mood: pick(random, moodNames),
    conditions: randomConditions(random),
  }));
  return {
    emotions: Object.fromEntries(
      names.map((name) => [
        name,
        {
          baseline: random() < 0.5 ? 0 : digits(random) * 0.5,
          decay_rate: random() < 0.1 ? 0 : digits(random) * 2,
        },
      ]),
    ),
    events,
    derived_mood_rules: rules,
    boredom: {
      accumulate_rate: digits(random) * 3,
      decay_rate: digits(random) * 5,
      joy_threshold: digits(random) * 0.5,
      negative_threshold: digits(random) * 0.5,
      neglect_after: random() < 0.2 ? null : whole(random, 0, 300) / 1000,
    },
    settings: { hysteresis: whole(random, 0, 80) / 1000, max_wounds: whole(random, 0, 4) },
  };
}

function randomConditions(random: Random): Record<string, unknown> {
  const conditions: Record<string, unknown> = {};
  for (let count = whole(random, 1, 2); count > 0; count--) {
    const key = pick(random, [...names, ...names, "_boredom", "_boredom", "_other"]);
    const sign = pick(random, [">= ", "<= ", "> ", "< ", "== ", ""]);
    if (key !== "_other") conditions[key] = `${sign}${digits(random).toFixed(15)}`;
    else {
      const other = pick(random, ["_voice_state", "_has_wounds", "_dominant"]);
      conditions[other] = pick<unknown>(
        random,
        other === "_voice_state" ? voiceNames : other === "_dominant" ? names : [true, false],
      );
    }
  }
  return conditions;
}

function read(file: unknown): EmotionConfiguration {
  const found = readEmotionConfiguration(file);
  assert.ok("configuration" in found, JSON.stringify(found));
  return found.configuration;
}

/** One life in both: the same acts and gaps, compared after each. */
class Life {
  readonly random: Random;
  readonly simulation: Simulation;
  config: EmotionConfiguration;
  state: EmotionState;
  ids = 0;

  constructor(random: Random, file: File) {
    this.random = random;
    this.simulation = new Simulation(file);
    this.config = read(file);
    this.state = startState(this.config, 0);
  }

  act(kinds: readonly string[], otherFile: () => File): void {
    const { random, simulation, config, state } = this;
    const kind = pick(random, kinds);
    if (kind === "event") {
      const event = pick(random, Object.keys(simulation.file.events));
      const intensity = random() < 0.5 ? 1 : digits(random) * 2;
      simulation.event(event, intensity);
      this.state = applyEvent(config, state, { event, intensity, id: `w${this.ids++}` }).state;
    } else if (kind === "person") {
      simulation.personActs();
      this.state = personActs(config, state);
    } else if (kind === "voice") {
      const voice = pick(random, voiceNames);
      if (voice !== simulation.voice) simulation.change({ voice }); // else it is no act
      this.state = setVoice(config, state, voice);
    } else if (kind === "down") {
      simulation.change({ isUp: false, voice: "idle" });
      this.state = suspend(config, state);
    } else if (kind === "up") {
      simulation.change({ isUp: true, voice: "idle", stimulus: simulation.now });
      this.state = resume(config, state);
    } else if (kind === "reset") {
      simulation.reset();
      this.state = resetLevels(config, state);
    } else if (kind === "override") {
      const mood = pick(random, moodNames);
      const seconds = whole(random, 1, 300) / 1000;
      simulation.override = { mood, until: simulation.now + seconds * 1000 };
      simulation.change({}); // an act like any other: the rules are asked at once
      this.state = overrideMood(config, state, mood, seconds);
    } else {
      const file = otherFile();
      simulation.change({ file });
      this.config = read(file);
      this.state = anchorHere(config, state);
    }
  }

  /** Lets time pass, in the engine in up to three parts, saved and loaded in between. */
  pass(ms: number, frame: number): void {
    this.simulation.advance(ms, frame);
    let left = ms;
    while (left > 0) {
      const part = this.random() < 0.5 ? left : whole(this.random, 1, left);
      this.state = evolve(this.state, part);
      left -= part;
      if (this.random() < 0.3) this.saveAndLoad();
    }
  }

  saveAndLoad(): void {
    const state = readStored(this.state);
    assert.deepEqual(state, this.state);
    this.state = state;
  }

  compare(place: string): void {
    const { simulation, config, state } = this;
    const felt = feel(config, state);
    const near = (actual: number, expected: number, what: string) =>
      assert.ok(Math.abs(actual - expected) <= 1e-9, `${place}: ${what} ${actual} ~ ${expected}`);
    assert.equal(felt.at, simulation.now);
    names.forEach((name, index) => {
      near(felt.levels[name as "joy"], simulation.levels[index]!, name);
    });
    near(felt.boredom, simulation.boredom, "boredom");
    assert.equal(felt.wounds.length, simulation.wounds.length, `${place}: wounds`);
    felt.wounds.forEach(({ floors }, wound) => {
      names.forEach((name, index) => {
        near(floors[name as "joy"] ?? 0, simulation.wounds[wound]!.floors[index]!, `floor ${name}`);
      });
    });
  }

  compareMood(place: string): void {
    const { simulation, config, state } = this;
    const felt = feel(config, state);
    assert.equal(felt.derivedMood, simulation.mood, `${place}: mood`);
    const { override } = simulation;
    const shown = override && simulation.now <= override.until ? override.mood : simulation.mood;
    assert.equal(felt.mood, shown, `${place}: mood shown`);
  }
}

test(`${histories} random lives under random configurations are felt as a simulation feels them`, () => {
  const kinds = "event event event event event person voice down up reset override file".split(" ");
  for (let seed = 0; seed < histories; seed++) {
    const random = randomFrom(seed);
    const life = new Life(random, randomFile(random));
    life.compareMood(`life ${seed} at the start`);
    for (let step = 0; step < 6; step++) {
      life.act(kinds, () => ({ ...randomFile(random), events: life.simulation.file.events }));
      life.compare(`life ${seed}, after act ${step}`);
      life.compareMood(`life ${seed}, after act ${step}`);
      life.pass(whole(random, 0, pick(random, [5, 50, 250])), 1);
      life.compare(`life ${seed}, after gap ${step}`);
      life.compareMood(`life ${seed}, after gap ${step}`);
    }
  }
});

// Round numbers meet at round instants, where the simulation's sum of many steps may fall on the
// other side of a threshold. So here the mood is compared where the rules have said the same for
// longer than the hysteresis, with no close call: then it must be what they say.
const longLives = isFull ? 400 : 10;
test(`${longLives} random lives of hours under the built-in configuration are felt alike`, () => {
  const kinds = "event event event person voice down up reset".split(" ");
  const file = structuredClone(builtInEmotionsFile) as unknown as File;
  let compared = 0;
  for (let seed = 0; seed < longLives; seed++) {
    const random = randomFrom(1e6 + seed);
    const life = new Life(random, file);
    for (let step = 0; step < 8; step++) {
      life.act(kinds, () => file);
      life.pass(250 * whole(random, 0, pick(random, [8, 80, 2400])), 250);
      life.compare(`life ${seed}, after gap ${step}`);
      if (life.simulation.now - life.simulation.steadySince <= 2_500) continue;
      assert.equal(feel(life.config, life.state).derivedMood, life.simulation.mood);
      compared += 1;
    }
  }
  assert.ok(compared > longLives, "moods were compared");
});

test("an evolution in parts, saved and loaded on the way, is the same to the bit", () => {
  fc.assert(
    fc.property(
      fc.nat(),
      fc.array(fc.oneof(fc.nat(2_000), fc.nat(1_000_000), fc.nat(1e13)), { maxLength: 6 }),
      fc.boolean(),
      (seed, parts, isBuiltIn) => {
        const random = randomFrom(seed);
        const file = isBuiltIn
          ? (structuredClone(builtInEmotionsFile) as unknown as File)
          : randomFile(random);
        const config = read(file);
        let state = startState(config, whole(random, 0, 1e12));
        for (const event of [0, 1, 2].map(() => pick(random, Object.keys(file.events)))) {
          const before = evolve(state, whole(random, 0, 400));
          state = applyEvent(config, before, { event, id: "w" }).state;
        }
        if (random() < 0.5) state = suspend(config, state);
        const allMs = parts.reduce((sum, part) => sum + part, 0);
        const atOnce = evolve(state, allMs);
        let inParts = state;
        for (const part of parts) {
          inParts = evolve(inParts, part);
          feel(config, inParts);
          inParts = readStored(inParts);
        }
        // R15, U33, C13
        assert.deepEqual(inParts, atOnce);
        assert.deepEqual(feel(config, inParts), feel(config, atOnce));
        const next = { event: pick(random, Object.keys(file.events)), id: "next" };
        assert.deepEqual(applyEvent(config, inParts, next), applyEvent(config, atOnce, next));
      },
    ),
    { numRuns: isFull ? 5_000 : 50 },
  );
});
