import assert from "node:assert/strict";
import { test } from "node:test";
import type { Wound } from "../../api/openapi-types.ts";
import { courseOf, drawingInWords, floorsInWords, woundInWords } from "./wound-course.ts";

function wound(more: Partial<Wound>): Wound {
  const floors = { fear: 0.2, sadness: 0.1 };
  const fields = { id: "w1", event: "abuse", floors, duration: 60, age: 30, healing: false };
  return { ...fields, heals_in: 130, ...more };
}

for (const [heals, age, elapsed, says, holds] of [
  [130, 30, 0, "Begins to heal in 30 s, gone in 2 min 10 s", "fear 20\u00a0%, sadness 10\u00a0%"],
  [130, 30, 80, "Healing, gone in 50 s", "fear 10\u00a0%, sadness 0\u00a0%"],
  [null, 30, 0, "Does not heal by itself", "fear 20\u00a0%, sadness 10\u00a0%"],
  [null, 30, 1e6, "Does not heal by itself", "fear 20\u00a0%, sadness 10\u00a0%"],
  [null, 600, 0, "Does not heal by itself", "fear 20\u00a0%, sadness 10\u00a0%"],
] as const) {
  const ends = heals === null ? "does not heal by itself" : `heals in ${heals} s`;
  test(`${elapsed} s on, a wound ${age} s old that ${ends} is open: ${says}`, () => {
    const course = courseOf(wound({ heals_in: heals, age }), elapsed);
    assert.ok(course.age < course.endsAt);
    assert.equal(woundInWords(course), says);
    assert.equal(floorsInWords(course), `holds ${holds}`);
    assert.ok(drawingInWords(course).endsWith(`${says}.`));
  });
}

test("a wound is over when the time that it heals in has passed", () => {
  const course = courseOf(wound({}), 130);
  assert.ok(course.age >= course.endsAt);
});
