import { invalid, ThroughlineError } from "./errors.ts";

/** What a value must be, as the end of "it must be ...", and whether a value is that. */
export type Check = readonly [wanted: string, fits: (value: unknown) => boolean];

type RequiredNames<O> = { [K in keyof O]-?: undefined extends O[K] ? never : K }[keyof O];

/** Every option that may be absent, with its default; `undefined`: it has none. */
export type Defaults<O> = {
  readonly [K in Exclude<keyof O, RequiredNames<O>>]-?: O[K] | undefined;
};

/** One for each option that is required, and for those whose default does not say what they must be. */
export type Checks<O> = { readonly [K in keyof O]?: Check } & {
  readonly [K in RequiredNames<O>]: Check;
};

/** Every option; one that has a default is never `undefined`. */
export type Resolved<O, D> = {
  readonly [K in keyof O]-?: K extends keyof D
    ? D[K] extends undefined
      ? O[K] | undefined
      : Exclude<O[K], undefined>
    : O[K];
};

/**
 * Checks options and fills in the defaults. An option that is `undefined` is absent; one without a check
 * must be of its default's type.
 *
 * @param what they are, in messages.
 * @throws ThroughlineError `THROUGHLINE_CONFIGURATION`: they are no object, hold a name that there is
 *   not, or a value that cannot be used.
 */
export function resolveOptions<O extends object, D extends Defaults<O>>(
  what: string,
  given: O,
  defaults: D,
  checks: Checks<O>,
): Resolved<O, D> {
  if (typeof given !== "object" || given === null || Array.isArray(given)) {
    throw misconfigured(`${what} must be an object`);
  }
  const names = Object.keys({ ...defaults, ...checks });
  const said = Object.entries(given).filter(([, value]) => value !== undefined);
  const problems: string[] = [];
  const unknown = said.map(([name]) => name).filter((name) => !names.includes(name));
  if (unknown.length > 0) {
    const some = unknown.slice(0, 5).map((name) => name.slice(0, 40));
    problems.push(`there is no ${some.join(", ")} in ${what}: there are ${names.join(", ")}`);
  }
  const resolved: Record<string, unknown> = { ...defaults, ...Object.fromEntries(said) };
  for (const name of names) {
    const value = resolved[name];
    if (value === undefined && Object.hasOwn(defaults, name)) continue;
    const [wanted, fits] = checks[name as keyof O] ?? like(defaults[name as keyof D]);
    if (!fits(value)) problems.push(`${name} must be ${wanted}`);
  }
  if (problems.length > 0) throw misconfigured(problems.join("; "));
  return resolved as Resolved<O, D>;
}

/** The check of an option that has none of its own. */
function like(standard: unknown): Check {
  if (standard === undefined) return ["there", () => true];
  if (typeof standard === "number") return ["a number", Number.isFinite];
  if (typeof standard === "boolean") return oneOf(true, false);
  if (typeof standard === "string") return aText;
  if (Array.isArray(standard)) return ["a list", Array.isArray];
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

export const aFunction: Check = ["a function", (value) => typeof value === "function"];

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

/** Short for the error that an option gets which cannot be used: `THROUGHLINE_CONFIGURATION`. */
export function misconfigured(message: string, cause?: unknown): ThroughlineError {
  return new ThroughlineError(message, { code: "THROUGHLINE_CONFIGURATION", cause });
}
