import type { EmotionConfiguration, EmotionEvent } from "./configuration.ts";
import { type Anchor, eachLevel, type Wound } from "./emotion.ts";

/** What an event makes of what is felt at an anchor. */
type Effect = Pick<Anchor, "levels" | "wounds" | "stimulusAt"> & {
  readonly wound?: "added" | "limit";
};

interface Happening {
  readonly event: EmotionEvent;
  /** Its name. */
  readonly name: string;
  readonly intensity: number;
  /** Of the wound that it may leave. */
  readonly id: string;
}

/** Levels first, then what heals of the wounds there are, then the new wound if there is room. */
export function effectOf(
  config: EmotionConfiguration,
  anchor: Anchor,
  { event, name, intensity, id }: Happening,
): Effect {
  const levels = eachLevel((emotion) => {
    const delta = event.deltas[emotion] ?? 0;
    return Math.max(0, Math.min(1, anchor.levels[emotion] + delta * intensity));
  });
  const old = anchor.wounds.flatMap((wound) => reduced(wound, event.woundReduction * intensity));
  const { at: stimulusAt } = anchor;
  const added = woundOf(event, name, id, stimulusAt);
  if (added === undefined) return { levels, wounds: old, stimulusAt };
  if (old.length >= config.settings.maxWounds) {
    return { levels, wounds: old, stimulusAt, wound: "limit" };
  }
  return { levels, wounds: [...old, added], stimulusAt, wound: "added" };
}

/** The wound with less under every level; none when nothing is left. */
function reduced(wound: Wound, by: number): readonly Wound[] {
  if (by === 0) return [wound];
  const floors = Object.entries(wound.floors).map(([emotion, floor]) => [
    emotion,
    Math.max(0, floor - by),
  ]);
  const left: Wound = { ...wound, floors: Object.fromEntries(floors) };
  return hurts(left) ? [left] : [];
}

function woundOf(event: EmotionEvent, name: string, id: string, at: number): Wound | undefined {
  if (event.wound === undefined) return undefined;
  const wound: Wound = { id, event: name, ...event.wound, createdAt: at };
  return hurts(wound) ? wound : undefined;
}

function hurts(wound: Wound): boolean {
  return Object.values(wound.floors).some((floor) => floor > 0);
}
