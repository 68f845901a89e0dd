import assert from "node:assert/strict";
import { test } from "node:test";
import { resolveLimits } from "./limits.ts";
import { type MomentRecorderOptions, recorderSettings } from "./options.ts";

const given = {
  sink: {},
  sessionId: "0a63cda9",
  software: { name: "test", version: "1" },
} as MomentRecorderOptions;

test("an option of moments, or a limit, that is undefined is as if absent", () => {
  const names = ["maxMediaPerHour", "maxWaiting", "maxPinnedBytes", "limits"];
  const absent = Object.fromEntries(names.map((name) => [name, undefined]));
  const { maxMediaPerHour, maxWaiting, maxPinnedBytes } = recorderSettings({ ...given, ...absent });
  assert.deepEqual([maxMediaPerHour, maxWaiting, maxPinnedBytes], [60, 4, 80_000_000]);
  const none: object = { frames: undefined };
  assert.deepEqual(resolveLimits(none), resolveLimits());
});

for (const name of ["maxMediaPerHour", "maxWaiting", "maxPinnedBytes"]) {
  for (const value of ["3", null, Number.NaN, Number.POSITIVE_INFINITY]) {
    test(`${name} ${typeof value} ${value} is refused with its name`, () => {
      assert.throws(() => recorderSettings({ ...given, [name]: value }), {
        code: "THROUGHLINE_CONFIGURATION",
        message: new RegExp(`^${name} must be `),
      });
    });
  }
}
