import type { EmotionConfiguration } from "./configuration.ts";
import type { Emotion, EmotionState, Levels, Mood } from "./emotion.ts";
import { feel } from "./feel.ts";

/** What `session/session.json` holds under `emotions`, in the seed's names; nothing is rounded. */
interface SeedEmotions {
  readonly levels: Levels;
  readonly boredom: number;
  /** The mood without an override, as the seed has it. */
  readonly current_mood: Mood;
  readonly wounds: readonly SeedWound[];
}

interface SeedWound {
  readonly id: string;
  readonly event: string;
  /** As they are at the save. */
  readonly floors: Readonly<Partial<Record<Emotion, number>>>;
  /** Seconds. */
  readonly duration: number;
  /** Per second. */
  readonly heal_rate: number;
  /** Seconds on the state's clock. */
  readonly created_at: number;
  readonly remaining_fixed_seconds: number;
}

interface StoredEmotions {
  /** For readers of the seed's format, and to rebuild from should `own` be damaged. */
  readonly emotions: SeedEmotions;
  /** The state itself: what comes back is the same to the bit. */
  readonly own: EmotionState;
}

/** The two parts of a stored feeling, both plain JSON; see `restoreEmotions`. */
export function storeEmotions(config: EmotionConfiguration, state: EmotionState): StoredEmotions {
  const { at, levels, boredom, derivedMood, wounds } = feel(config, state);
  return {
    emotions: {
      levels,
      boredom,
      current_mood: derivedMood,
      wounds: wounds.map(({ id, event, floors, durationMs, healPerSecond, createdAt }) => ({
        id,
        event,
        floors,
        duration: durationMs / 1000,
        heal_rate: healPerSecond,
        created_at: createdAt / 1000,
        remaining_fixed_seconds: Math.max(0, createdAt + durationMs - at) / 1000,
      })),
    },
    own: state,
  };
}
