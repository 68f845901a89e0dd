import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import { parseInput } from "./input.ts";

/** Schemas without words of their own, and what a client is told. */
const rows: readonly (readonly [schema: z.ZodType, given: unknown, told: string])[] = [
  [z.string().regex(/^\d$/), "a secret", "the body: has another form than is wanted"],
  [z.string().startsWith("a"), "b secret", "the body: has another form than is wanted"],
  [z.int(), 1.5, "the body: must be a whole number"],
  [z.number(), "1", "the body: must be a number"],
  [z.strictObject({ a: z.int() }), { a: 0.5 }, "a: must be a whole number"],
];
for (const [schema, given, told] of rows) {
  test(`${JSON.stringify(given)} is refused in our words: ${told}`, () => {
    assert.throws(() => parseInput(schema, given, "the body"), {
      code: "THROUGHLINE_INVALID",
      message: told,
    });
  });
}
