import { failing, invalid } from "./errors.ts";

/** What a value must be, as the end of "it must be ...", and whether a value is that. */
export type Check = readonly [wanted: string, fits: (value: unknown) => boolean];

/** Makes the error that an option gets which cannot be used. */
export const misconfigured = failing("THROUGHLINE_CONFIGURATION");

/** Declares an option that has a default. @param check without one it must be of the default's type. */
export function byDefault<const D>(standard: D, check = like(standard)): readonly [Check, D] {
  return [check, standard];
}

/** Declares an option that may be absent. */
export function maybe([wanted, fits]: Check = ["there", () => true]): readonly [Check, undefined] {
  return [[wanted, (value) => value === undefined || fits(value)], undefined];
}

/** Declares an option that must be there. */
export function must(check: Check): readonly [Check] {
  return [check];
}

/** Every option, once, in the order in which messages name them. */
export type Options<O> = {
  readonly [K in keyof O]-?: undefined extends O[K]
    ? readonly [Check, O[K] | undefined]
    : readonly [Check];
};

/** What they are; one that has a default is never `undefined`. */
export type Resolved<O, S> = {
  readonly [K in keyof O]-?: S extends { readonly [N in K]: readonly [Check, undefined] }
    ? O[K] | undefined
    : Exclude<O[K], undefined>;
};

/**
 * Checks options and fills in the defaults. An option that is `undefined` is absent.
 *
 * @param what they are, in messages.
 * @throws ThroughlineError `THROUGHLINE_CONFIGURATION`: they are no object, hold a name that there is
 *   not, or a value that cannot be used.
 */
export function resolveOptions<O extends object, S extends Options<O>>(
  what: string,
  given: O,
  options: S,
): Resolved<O, S> {
  if (typeof given !== "object" || given === null || Array.isArray(given)) {
    throw misconfigured(`${what} must be an object`);
  }
  const names = Object.keys(options);
  const isSaid = ([, value]: readonly [string, unknown]) => value !== undefined;
  const said = new Map<string, unknown>(Object.entries(given).filter(isSaid));
  const problems: string[] = [];
  const unknown = [...said.keys()].filter((name) => !names.includes(name));
  if (unknown.length > 0) {
    const some = unknown.slice(0, 5).map((name) => name.slice(0, 40));
    problems.push(`there is no ${some.join(", ")} in ${what}: there are ${names.join(", ")}`);
  }
  const resolved: Record<string, unknown> = {};
  const declared = Object.entries<readonly [Check, unknown?]>(options);
  for (const [name, [[wanted, fits], standard]] of declared) {
    const value = said.has(name) ? said.get(name) : standard;
    resolved[name] = value;
    if (!fits(value)) problems.push(`${name} must be ${wanted}`);
  }
  if (problems.length > 0) throw misconfigured(problems.join("; "));
  return resolved as Resolved<O, S>;
}

/** The check of an option that has only a default. */
function like(standard: unknown): Check {
  if (typeof standard === "number") return ["a number", Number.isFinite];
  if (typeof standard === "boolean") return oneOf(true, false);
  if (typeof standard === "string") return aText;
  if (Array.isArray(standard)) return aList;
  return typeof standard === "function" ? aFunction : anObject;
}

/** Checks what a public function was called with. @throws ThroughlineError `THROUGHLINE_INVALID`. */
export function checkArgument<T>(
  value: T,
  name: string,
  [wanted, fits]: Check,
): asserts value is NonNullable<T> {
  if (!fits(value)) throw invalid(`${name} must be ${wanted}`);
}

/** Fits what has one of these parts. */
export function having(wanted: string, ...parts: readonly string[]): Check {
  return [wanted, (value) => parts.some((part) => Object(value)[part] !== undefined)];
}

export const aThroughline = having("what openThroughline resolves to", "chats", "storage");

export const aText: Check = ["text", (value) => typeof value === "string"];

export const anObject: Check = [
  "an object",
  (value) => typeof value === "object" && value !== null && !Array.isArray(value),
];

export const aList: Check = ["a list", Array.isArray];

export const aFunction: Check = ["a function", (value) => typeof value === "function"];

export const aTextOrFunction: Check = [
  "text or a function",
  (value) => aText[1](value) || aFunction[1](value),
];

export const aName: Check = ["a name", (value) => typeof value === "string" && value !== ""];

/** For an amount that a timer or a rule counts with: a finite number, not a text that looks like one. */
export function amount(bound: "from 0" | "above 0"): Check {
  const fits = (value: number) => (bound === "from 0" ? value >= 0 : value > 0);
  return [`a number ${bound}`, (value) => Number.isFinite(value) && fits(value as number)];
}

export function whole(min: number, max?: number): Check {
  const wanted = `a whole number from ${min}${max === undefined ? "" : ` to ${max}`}`;
  const most = max ?? Number.MAX_SAFE_INTEGER;
  return [
    wanted,
    (value) => Number.isInteger(value) && (value as number) >= min && (value as number) <= most,
  ];
}

export function oneOf(...values: readonly (string | boolean)[]): Check {
  const wanted = values.map((value) => (typeof value === "string" ? `"${value}"` : `${value}`));
  return [wanted.join(" or "), (value) => values.includes(value as string | boolean)];
}
