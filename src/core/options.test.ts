import assert from "node:assert/strict";
import { test } from "node:test";
import { checkAmount, checkNames, withDefaults } from "./options.ts";

interface Options {
  readonly name: string;
  readonly size?: number | null;
  readonly color?: string;
}
const defaults = { size: 3, color: "red" } as const;

for (const [given, filled] of [
  [{ name: "a" }, { size: 3, color: "red", name: "a" }],
  [
    { name: "a", size: undefined, color: undefined },
    { size: 3, color: "red", name: "a" },
  ],
  [
    { name: "a", size: null, color: "" },
    { size: null, color: "", name: "a" },
  ],
  [
    { name: "a", size: 0 },
    { size: 0, color: "red", name: "a" },
  ],
] as unknown as readonly (readonly [Options, Required<Options>])[]) {
  test(`${JSON.stringify(given)} with ${Object.keys(given)} named takes the other defaults`, () => {
    assert.deepEqual(withDefaults(given, defaults), filled);
  });
}

for (const [options, message] of [
  [undefined, "the lamp must be an object"],
  [null, "the lamp must be an object"],
  ["red", "the lamp must be an object"],
  [[], "the lamp must be an object"],
  [{ colour: "red" }, "there is no colour in the lamp: there are size, color"],
  [{ toString: 1 }, "there is no toString in the lamp: there are size, color"],
] as const) {
  test(`options that are ${JSON.stringify(options)} are a configuration error`, () => {
    assert.throws(() => checkNames(options, "the lamp", defaults), {
      code: "THROUGHLINE_CONFIGURATION",
      message,
    });
  });
}

test("a name that is known, and one whose value is undefined, are accepted", () => {
  assert.doesNotThrow(() => checkNames({ size: null, other: undefined }, "the lamp", defaults));
});

for (const [value, bound, isRefused] of [
  [0, "from 0", false],
  [0, "above 0", true],
  [0.5, "above 0", false],
  [-1, "from 0", true],
  ["30000", "from 0", true],
  [Number.NaN, "from 0", true],
  [Number.POSITIVE_INFINITY, "from 0", true],
  [null, "from 0", true],
  [true, "above 0", true],
  [10n, "above 0", true],
  [[5], "from 0", true],
] as const) {
  test(`${typeof value} ${value} as a number ${bound} is ${isRefused ? "refused" : "taken"}`, () => {
    const check = () => checkAmount(value, "size", bound);
    const error = { code: "THROUGHLINE_CONFIGURATION", message: `size must be a number ${bound}` };
    if (isRefused) assert.throws(check, error);
    else assert.doesNotThrow(check);
  });
}
