import assert from "node:assert/strict";
import { test } from "node:test";
import {
  aFunction,
  amount,
  aName,
  type Check,
  type Checks,
  type Defaults,
  oneOf,
  resolveOptions,
  whole,
} from "./options.ts";

interface Lamp {
  readonly name: string;
  readonly size?: number | null | undefined;
  readonly color?: string | undefined;
  readonly isOn?: boolean | undefined;
  readonly note?: string | undefined;
  readonly ports?: object | undefined;
  readonly rooms?: readonly string[] | undefined;
  readonly tell?: (() => void) | undefined;
}
const tell = () => undefined;
const ports = {};
const defaults = {
  size: null,
  color: "red",
  isOn: false,
  note: undefined,
  ports,
  rooms: [],
  tell,
} as const satisfies Defaults<Lamp>;
const size: Check = ["null or a number", (value) => value === null || Number.isFinite(value)];
const checks: Checks<Lamp> = { name: aName, size };
const resolve = (given: unknown) => resolveOptions("the lamp", given as Lamp, defaults, checks);

for (const [given, filled] of [
  [{ name: "a" }, { name: "a" }],
  [{ name: "a", size: undefined, color: undefined, shade: undefined }, { name: "a" }],
  [
    { name: "a", size: 0, color: "" },
    { name: "a", size: 0, color: "" },
  ],
  [
    { name: "a", isOn: true, note: "by the door" },
    { name: "a", isOn: true, note: "by the door" },
  ],
  [Object.assign(Object.create({ color: "blue" }), { name: "a" }), { name: "a" }],
] as const) {
  test(`${JSON.stringify(given)} with ${Object.keys(given)} named takes the other defaults`, () => {
    assert.deepEqual(resolve(given), { ...defaults, ...filled });
  });
}

const names = "size, color, isOn, note, ports, rooms, tell, name";
for (const [given, message] of [
  [undefined, "the lamp must be an object"],
  [null, "the lamp must be an object"],
  ["red", "the lamp must be an object"],
  [[], "the lamp must be an object"],
  [{ name: "a", colour: "red" }, `there is no colour in the lamp: there are ${names}`],
  [
    { name: "a", colour: "red", shade: 1, size: "3" },
    `there is no colour, shade in the lamp: there are ${names}; size must be null or a number`,
  ],
  [{ name: "a", toString: 1 }, `there is no toString in the lamp: there are ${names}`],
  [{ note: "x" }, "name must be a name"],
  [{ name: "" }, "name must be a name"],
  [{ name: "a", size: "3" }, "size must be null or a number"],
  [{ name: "a", color: null }, "color must be text"],
  [{ name: "a", isOn: "yes" }, "isOn must be true or false"],
  [{ name: "a", ports: [] }, "ports must be an object"],
  [{ name: "a", rooms: {} }, "rooms must be a list"],
  [{ name: "a", ports: null }, "ports must be an object"],
  [{ name: "a", tell: {} }, "tell must be a function"],
] as const) {
  test(`options that are ${JSON.stringify(given)} are a configuration error`, () => {
    assert.throws(() => resolve(given), { code: "THROUGHLINE_CONFIGURATION", message });
  });
}

const odd = [Number.NaN, Number.POSITIVE_INFINITY, "3", null, true, 10n, [5], undefined];
for (const [check, wanted, fitting, others] of [
  [amount("from 0"), "a number from 0", [0, 0.5, 30], [-1, ...odd]],
  [amount("above 0"), "a number above 0", [0.5, 30], [0, -1, ...odd]],
  [whole(1), "a whole number from 1", [1, 30], [0, 1.5, 2 ** 53, ...odd]],
  [whole(0, 4), "a whole number from 0 to 4", [0, 4], [-1, 5, 0.5, ...odd]],
  [oneOf("a", "b"), '"a" or "b"', ["a", "b"], ["c", "", ...odd]],
  [oneOf(true, false), "true or false", [true, false], ["true", 0]],
  [aFunction, "a function", [tell], [{}, ...odd]],
] as const) {
  test(`${wanted} is what it says`, () => {
    const [says, fits] = check;
    assert.equal(says, wanted);
    for (const value of fitting) assert.ok(fits(value), String(value));
    for (const value of others) assert.ok(!fits(value), String(value));
  });
}
