import { ThroughlineError } from "./errors.ts";

/** The options of which each that has a default is there. */
type Filled<O, D> = O & { readonly [K in keyof D & keyof O]-?: Exclude<O[K], undefined> };

/** The options, with the default for each that is absent. One that is `undefined` is absent. */
export function withDefaults<O extends object, D extends Partial<O>>(
  options: O,
  defaults: D,
): Filled<O, D> {
  const given = Object.entries(options).filter(([, value]) => value !== undefined);
  const filled: object = { ...defaults, ...Object.fromEntries(given) };
  return filled as Filled<O, D>;
}

/** Short for the error that an option gets which cannot be used: `THROUGHLINE_CONFIGURATION`. */
export function misconfigured(message: string, cause?: unknown): ThroughlineError {
  return new ThroughlineError(message, { code: "THROUGHLINE_CONFIGURATION", cause });
}

/** @throws ThroughlineError `THROUGHLINE_CONFIGURATION` */
export function checkIsObject(options: unknown, what: string): asserts options is object {
  if (typeof options !== "object" || options === null || Array.isArray(options)) {
    throw misconfigured(`${what} must be an object`);
  }
}

/**
 * Refuses a misspelt option, which would be passed over.
 *
 * @throws ThroughlineError `THROUGHLINE_CONFIGURATION`: no object, or a name that is none of these.
 */
export function checkNames(
  options: unknown,
  what: string,
  known: Readonly<Record<string, unknown>>,
): void {
  checkIsObject(options, what);
  for (const [name, value] of Object.entries(options)) {
    if (value === undefined || Object.hasOwn(known, name)) continue;
    const names = Object.keys(known).join(", ");
    throw misconfigured(`there is no ${name} in ${what}: there are ${names}`);
  }
}

/**
 * For an amount that a timer or a rule counts with: a finite number, not a text that looks like one.
 *
 * @throws ThroughlineError `THROUGHLINE_CONFIGURATION`
 */
export function checkAmount(value: unknown, name: string, bound: "from 0" | "above 0"): void {
  const fits = typeof value === "number" && Number.isFinite(value) && value >= 0;
  if (!fits || (value === 0 && bound === "above 0")) {
    throw misconfigured(`${name} must be a number ${bound}`);
  }
}
