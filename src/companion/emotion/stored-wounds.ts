import { own } from "../../core/shape.ts";
import { emotionLimits } from "./configuration.ts";
import { type Emotion, emotions, type Wound } from "./emotion.ts";
import type { Repairs } from "./repairs.ts";

/** As many are looked at; a file that holds more was not written by any of us. */
const mostRead = 1_000;

type Stored = Readonly<Record<string, unknown>>;
type ReadOne = (stored: Stored, fallbackId: string) => Wound;

/** The defaults of the configuration's schema. */
const otherwise = { durationMs: 300_000, healPerSecond: 0.001 } as const;

/** Wounds as a state holds them; `undefined`: no list. */
export function readOwnWounds(value: unknown, anchorAt: number, repairs: Repairs) {
  return readWounds(value, repairs, (stored, fallbackId): Wound => {
    const longest = emotionLimits.seconds * 1000;
    const duration = own(stored, "durationMs");
    const durationMs = repairs.amount(
      Number.isInteger(duration) ? duration : undefined,
      "the durationMs of a wound",
      longest,
      otherwise.durationMs,
    );
    const name = "the createdAt of a wound";
    return {
      ...readName(stored, fallbackId, repairs),
      floors: readFloors(own(stored, "floors"), repairs),
      durationMs,
      healPerSecond: repairs.amount(
        own(stored, "healPerSecond"),
        "the healPerSecond of a wound",
        emotionLimits.perSecond,
        otherwise.healPerSecond,
      ),
      createdAt: repairs.instant(own(stored, "createdAt"), name, anchorAt, anchorAt - durationMs),
    };
  });
}

/** Wounds as the seed writes them, at the instant of the save; `undefined`: no list. */
export function readSeedWounds(value: unknown, savedAt: number, repairs: Repairs) {
  return readWounds(value, repairs, (stored, fallbackId): Wound => {
    const seconds = (name: string, most: number, instead: number) =>
      repairs.amount(own(stored, name), `the ${name} of a wound`, most, instead);
    const duration = seconds("duration", emotionLimits.seconds, otherwise.durationMs / 1000);
    const durationMs = Math.round(duration * 1000);
    // Rounding to 0.1 s, as the original did, may leave a little more than the whole.
    const left = Math.round(seconds("remaining_fixed_seconds", duration + 0.1, 0) * 1000);
    const leftMs = Math.min(durationMs, left);
    const created = Math.round(seconds("created_at", Number.MAX_SAFE_INTEGER, 0) * 1000);
    const fixedUntil = savedAt + leftMs;
    // The time that is left decides. Past it, the age is the stored one if it can be.
    const isPast = leftMs === 0 && created > 0 && created + durationMs <= savedAt;
    return {
      ...readName(stored, fallbackId, repairs),
      floors: readFloors(own(stored, "floors"), repairs),
      durationMs,
      healPerSecond: seconds("heal_rate", emotionLimits.perSecond, otherwise.healPerSecond),
      createdAt: isPast ? created : fixedUntil - durationMs,
    };
  });
}

/** Each wound that can be made out and still hurts. */
function readWounds(
  value: unknown,
  repairs: Repairs,
  readOne: ReadOne,
): readonly Wound[] | undefined {
  if (!Array.isArray(value)) {
    repairs.says("wounds is not a list");
    return undefined;
  }
  const items: readonly unknown[] = value.slice(0, mostRead);
  if (items.length < value.length) {
    repairs.says(`${value.length - items.length} wounds past the first ${mostRead} left out`);
  }
  const wounds = items.map((item, index) =>
    readOne(repairs.object(item, "a wound"), `wound-${index + 1}`),
  );
  const hurting = wounds.filter(({ floors }) => Object.values(floors).some((floor) => floor > 0));
  if (hurting.length < wounds.length) {
    repairs.says(`${wounds.length - hurting.length} wounds without a floor left out`);
  }
  return hurting;
}

function readName(stored: Stored, fallbackId: string, repairs: Repairs) {
  return {
    id: repairs.name(own(stored, "id"), "the id of a wound", fallbackId),
    event: repairs.name(own(stored, "event"), "the event of a wound", "unknown"),
  };
}

function readFloors(value: unknown, repairs: Repairs): Wound["floors"] {
  const stored = repairs.object(value, "the floors of a wound");
  const floors: Partial<Record<Emotion, number>> = {};
  for (const emotion of emotions) {
    const floor = own(stored, emotion);
    if (floor !== undefined) floors[emotion] = repairs.share(floor, `the floor of ${emotion}`, 0);
  }
  if (Object.keys(stored).length > Object.keys(floors).length) {
    repairs.says("a floor of no known emotion left out");
  }
  return floors;
}
