import type { Wound } from "../../api/openapi-types.ts";
import { percent, spanInWords } from "../../ui/in-words.ts";
import { inWords } from "./words.ts";

interface WoundCourse {
  /** The level at which it holds each emotion now. */
  readonly floors: readonly (readonly [emotion: string, level: number])[];
  /**
   * Ages in seconds: until when it does not heal, how old it is, and when it will be gone
   * (`Infinity`: never by itself).
   */
  readonly healsFrom: number;
  readonly age: number;
  readonly endsAt: number;
}

/**
 * What becomes of a wound, from what is known of it at one moment: every floor falls at the same
 * rate once healing has begun, and the highest is the last to go.
 *
 * @param elapsed seconds since `wound` was loaded.
 */
export function courseOf(wound: Wound, elapsed: number): WoundCourse {
  const floors = Object.entries(wound.floors).filter(([, floor]) => floor > 0);
  const highestNow = Math.max(0, ...floors.map(([, floor]) => floor));
  const left = wound.heals_in === null ? Number.POSITIVE_INFINITY : Math.max(0, wound.heals_in);
  const untilHealing = Math.max(0, wound.duration - wound.age);
  const rate = left - untilHealing > 0 ? highestNow / (left - untilHealing) : 0;
  const age = wound.age + Math.max(0, elapsed);
  const fallen = Math.max(0, age - Math.max(wound.age, wound.duration)) * rate;
  return {
    floors: floors.map(([emotion, floor]) => [emotion, Math.max(0, floor - fallen)]),
    healsFrom: wound.duration,
    age,
    endsAt: wound.age + left,
  };
}

/** How a wound heals. */
export function woundInWords(course: WoundCourse): string {
  if (course.endsAt === Number.POSITIVE_INFINITY) return "Does not heal by itself";
  const left = Math.max(0, course.endsAt - course.age);
  const end = `gone in ${spanInWords(left)}`;
  if (course.age >= course.healsFrom) return `Healing, ${end}`;
  return `Begins to heal in ${spanInWords(course.healsFrom - course.age)}, ${end}`;
}

/** "fear 25 %, sadness 20 %": what it holds the emotions at now. */
export function floorsInWords(course: WoundCourse): string {
  const held = course.floors.map(([emotion, level]) => `${inWords(emotion)} ${percent(level)}`);
  return held.length === 0 ? "no longer holds anything" : `holds ${held.join(", ")}`;
}
