import { percent, spanInWords } from "../../ui/durations.ts";
import { asTitle, inWords } from "./words.ts";
import type { WoundCourse } from "./wound-course.ts";

/** What a wound does now, and what will become of it. */
export function woundInWords(course: WoundCourse): string {
  if (course.endsAt === Number.POSITIVE_INFINITY) return "Does not heal by itself";
  const left = Math.max(0, course.endsAt - course.age);
  const end = `gone in ${spanInWords(left)}`;
  if (course.age >= course.healsFrom) return `Healing, ${end}`;
  return `Begins to heal in ${spanInWords(course.healsFrom - course.age)}, ${end}`;
}

/** What the drawing shows to those who do not see it. */
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
  return held.length === 0 ? "holds nothing any more" : `holds ${held.join(", ")}`;
}
