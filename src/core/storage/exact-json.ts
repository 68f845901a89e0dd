// JSON text for values that plain JSON alters or our own JSON refuses, which come back equal.
import { invalid } from "../errors.ts";
import { tooLarge } from "../json.ts";

/**
 * The only key of an object that stands for what JSON has no words for: `{"~":"NaN"}`, or
 * `{"~":"bytes","base64":"…"}`. An object that has this key itself is `{"~":"object","value":{…}}`.
 */
const mark = "~";

/** More would overflow the stack of readers. */
const maxDepth = 2_000;

const words: readonly (readonly [word: string, value: unknown])[] = [
  ["-0", -0],
  ["NaN", Number.NaN],
  ["Infinity", Number.POSITIVE_INFINITY],
  ["-Infinity", Number.NEGATIVE_INFINITY],
  ["undefined", undefined],
];

/**
 * The text of plain objects, arrays, strings, booleans, null, numbers of all kinds, `Uint8Array` and, in
 * arrays, `undefined`. A property that is `undefined` is left out, as JSON has it.
 *
 * @throws ThroughlineError `THROUGHLINE_INVALID`: it holds something else, such as a Date or a function.
 * @throws ThroughlineError `THROUGHLINE_TOO_LARGE`: nested deeper than 2,000 levels, as every cycle is.
 */
export function exactText(value: unknown, name: string): string {
  return JSON.stringify(marked(value, name, 0));
}

/** The value of which `exactText` made this text. */
export function fromExactText(text: string): unknown {
  const value: unknown = JSON.parse(text);
  return text.includes(`"${mark}"`) ? unmarked(value) : value;
}

function marked(value: unknown, name: string, depth: number): unknown {
  if (depth > maxDepth) throw tooLarge(`${name} is nested deeper than ${maxDepth} levels`);
  if (value === null || typeof value === "string" || typeof value === "boolean") return value;
  if (typeof value === "number" || value === undefined) {
    const word = words.find(([, each]) => Object.is(each, value));
    return word === undefined ? value : { [mark]: word[0] };
  }
  if (value instanceof Uint8Array) {
    return { [mark]: "bytes", base64: Buffer.from(value).toString("base64") };
  }
  // By index: a hole is `undefined`.
  if (Array.isArray(value)) return Array.from(value, (item) => marked(item, name, depth + 1));
  if (typeof value !== "object" || !isPlain(value)) {
    throw invalid(`${name} holds a ${kindOf(value)}, which JSON does not keep`);
  }
  const entries = Object.entries(value).filter(([, item]) => item !== undefined);
  const object = Object.fromEntries(
    entries.map(([key, item]) => [key, marked(item, name, depth + 1)]),
  );
  return Object.hasOwn(object, mark) ? { [mark]: "object", value: object } : object;
}

function unmarked(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(unmarked);
  if (typeof value !== "object" || value === null) return value;
  const object = value as Readonly<Record<string, unknown>>;
  if (!Object.hasOwn(object, mark)) return plain(object);
  if (object[mark] === "bytes")
    return new Uint8Array(Buffer.from(String(object["base64"]), "base64"));
  if (object[mark] === "object") return plain(object["value"] as object);
  return words.find(([word]) => word === object[mark])?.[1];
}

/** An own `__proto__` stays a property like any other. */
function plain(object: object): object {
  return Object.fromEntries(Object.entries(object).map(([key, item]) => [key, unmarked(item)]));
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

function kindOf(value: unknown): string {
  return typeof value === "object" ? (value?.constructor?.name ?? "object") : typeof value;
}
