import type { Wound } from "../../api/openapi-types.ts";
import { percent, spanInWords } from "../../ui/in-words.ts";
import { asTitle, inWords } from "./words.ts";

/** One floor over a wound's life: level until healing begins, then falling to nothing. */
interface FloorCourse {
  readonly emotion: string;
  /** The level at which it holds the emotion now. */
  readonly now: number;
  /** The level at first. */
  readonly start: number;
  /** Seconds of age at which nothing of it is left. `Infinity`: it does not heal by itself. */
  readonly endsAt: number;
}

export interface WoundCourse {
  readonly floors: readonly FloorCourse[];
  /**
   * Ages in seconds: until when it does not heal, how old it is, and when it will be gone
   * (`Infinity`: never by itself).
   */
  readonly healsFrom: number;
  readonly age: number;
  readonly endsAt: number;
  /** The highest level that the drawing shows. */
  readonly highest: number;
}

/**
 * The whole life of a wound, from what is known of it at one moment: every floor falls at the same
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
  const healed = Math.max(0, wound.age - wound.duration) * rate;
  const age = wound.age + Math.max(0, elapsed);
  const fallen = Math.max(0, age - Math.max(wound.age, wound.duration)) * rate;
  const courses = floors.map(([emotion, floor]) => ({
    emotion,
    now: Math.max(0, floor - fallen),
    start: floor + healed,
    endsAt: rate === 0 ? wound.age + left : wound.duration + (floor + healed) / rate,
  }));
  return {
    floors: courses,
    healsFrom: wound.duration,
    age,
    endsAt: wound.age + left,
    highest: Math.max(0.01, ...courses.map((course) => course.start)),
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

/** Describes the drawing for screen readers. */
export function drawingInWords(course: WoundCourse): string {
  const floors = course.floors.map(
    ({ emotion, now, start }) =>
      `${asTitle(emotion)} is held at ${percent(now)} or more, ${percent(start)} at first.`,
  );
  return `${floors.join(" ")} ${woundInWords(course)}.`;
}

/** "fear 25 %, sadness 20 %": what it holds the emotions at now. */
export function floorsInWords(course: WoundCourse): string {
  const held = course.floors.map(({ emotion, now }) => `${inWords(emotion)} ${percent(now)}`);
  return held.length === 0 ? "no longer holds anything" : `holds ${held.join(", ")}`;
}
