import { startState } from "./acts.ts";
import { anchored } from "./anchor.ts";
import type { EmotionConfiguration, MoodRule } from "./configuration.ts";
import { type EmotionState, evolve, voiceStates } from "./emotion.ts";
import { effectOf } from "./event-effect.ts";
import { boredomAt } from "./feel.ts";
import { levelsAt, woundAt } from "./levels.ts";
import { matchingRule } from "./mood-rules.ts";

const waitsMs = [0, 1_000, 10_000, 60_000, 600_000, 3_600_000];

/** How many feelings are tried before a rule counts as not reached. The built-in needs far fewer. */
const mostTried = 30_000;

/**
 * Warns of mood rules that seem never to speak: from rest, with at most two events, waits of 0, 1,
 * 10, 60, 600 and 3600 s before, between and after them, and each voice state, none of the feelings
 * that were tried made the rule the first that matches. A warning, not a proof: it looks at 30,000
 * feelings at most, so a rule that needs more patience, or one of hundreds of events, may be named
 * too.
 */
export function unreachableRules(config: EmotionConfiguration): readonly string[] {
  const missing = new Set<MoodRule>(config.moodRules);
  for (const state of feelings(config)) {
    lookAt(config, state, missing);
    if (missing.size === 0) break;
  }
  return config.moodRules.flatMap((rule, index) =>
    missing.has(rule)
      ? [`rule ${index + 1} (${rule.mood}) is never the first to match: nothing tried leads to it`]
      : [],
  );
}

/** Feelings to look at, the simplest first. */
function* feelings(config: EmotionConfiguration): Generator<EmotionState> {
  const rest = startState(config, 0);
  let states = different(waitsMs.map((wait) => settle(config, evolve(rest, wait))));
  yield* states;
  let tried = 0;
  for (let events = 0; events < 2; events++) {
    const reached: EmotionState[] = [];
    for (const { anchor } of states) {
      for (const [name, event] of Object.entries(config.events)) {
        const effect = effectOf(config, anchor, { event, name, intensity: 1, id: "tried" });
        const hurt = anchored({ ...anchor, ...effect });
        for (const wait of waitsMs) {
          if (++tried > mostTried) return;
          const later = evolve(hurt, wait);
          yield later;
          if (events === 0) reached.push(settle(config, later));
        }
      }
    }
    states = different(reached);
  }
}

function lookAt(config: EmotionConfiguration, state: EmotionState, missing: Set<MoodRule>): void {
  const { at, anchor } = state;
  const senses = {
    levels: levelsAt(config, anchor, at),
    boredom: boredomAt(config, anchor, at),
    hasWounds: anchor.wounds.some((wound) => woundAt(wound, anchor.at, at) !== undefined),
  };
  for (const voiceState of voiceStates) {
    const rule = matchingRule(config.moodRules, { ...senses, voiceState });
    if (rule !== undefined) missing.delete(rule);
  }
}

/** The state anchored where it is, as if it had come to be there at once. */
function settle(config: EmotionConfiguration, { at, anchor }: EmotionState): EmotionState {
  return anchored({
    ...anchor,
    at,
    levels: levelsAt(config, anchor, at),
    boredom: boredomAt(config, anchor, at),
    wounds: anchor.wounds.flatMap((wound) => woundAt(wound, anchor.at, at) ?? []),
  });
}

/** One of each kind: an event makes it forget how long the neglect before it was. */
function different(states: readonly EmotionState[]): readonly EmotionState[] {
  const kinds = new Map<string, EmotionState>();
  for (const state of states) {
    const { at, levels, boredom, wounds } = state.anchor;
    const ages = wounds.map(({ createdAt, ...wound }) => ({ ...wound, age: at - createdAt }));
    const kind = JSON.stringify([levels, boredom, ages]);
    if (!kinds.has(kind)) kinds.set(kind, state);
  }
  return [...kinds.values()];
}
