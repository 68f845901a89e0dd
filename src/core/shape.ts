// What a value from outside must be, declared once: the same declaration reads it and writes it again.
import { invalid, isThroughlineError } from "./errors.ts";
import { checkJson, isJsonObject, type Json, type JsonObject } from "./json.ts";

/** What is wrong with a value, and where: keys and positions from the top. */
export interface Problem {
  readonly path: readonly (string | number)[];
  /** One sentence that quotes no value. */
  readonly says: string;
}

/** Enough for a person to read; a file of a million faults has no more to say. */
const mostProblems = 50;

/** A place in what is read, where problems are noted. */
export class Place {
  readonly problems: Problem[];
  readonly #key: string | number | undefined;
  readonly #above: Place | undefined;

  constructor(key?: string | number, above?: Place) {
    this.#key = key;
    this.#above = above;
    this.problems = above?.problems ?? [];
  }

  get path(): readonly (string | number)[] {
    return this.#key === undefined ? [] : [...(this.#above?.path ?? []), this.#key];
  }

  in(key: string | number): Place {
    return new Place(key, this);
  }

  says(says: string): void {
    if (this.problems.length < mostProblems) this.problems.push({ path: this.path, says });
  }
}

/** A declared format: what a value must be, and how it is written. */
export interface Shape<T> {
  /** Answers something of the type, whatever comes; notes at the place what is wrong. */
  read(value: unknown, at: Place): T;
  write(value: T): Json | undefined;
}

/** What a shape reads: the type of a format that is declared once. */
export type Read<S> = S extends Shape<infer T> ? Readonly<T> : never;

type Section = Readonly<Record<string, unknown>>;

/**
 * A number within bounds, both included. In memory it is `unit` times what is written, and then whole.
 *
 * @param otherwise stands for a number that is absent. @default it must be there
 */
export function number(from: number, to: number, otherwise?: number, unit?: number): Shape<number> {
  const scaled = (value: number) => (unit === undefined ? value : Math.round(value * unit)) + 0; // -0 is not JSON
  return {
    read(value = otherwise, at) {
      if (typeof value === "number" && value >= from && value <= to) return scaled(value);
      at.says(`must be a number from ${from} to ${to}`);
      return scaled(otherwise ?? from);
    },
    write: (value) => value / (unit ?? 1),
  };
}

export function whole(from: number, to: number, otherwise?: number): Shape<number> {
  return checked(number(from, to, otherwise), (count, at) => {
    if (!Number.isInteger(count)) at.says("must be whole");
  });
}

/** One of a closed set of words. */
export function word<T extends string>(words: readonly T[], otherwise?: T): Shape<T> {
  const read = (value: unknown = otherwise, at: Place) => {
    const found = words.find((each) => each === value);
    if (found === undefined) at.says(`must be one of ${words.join(", ")}`);
    return found ?? otherwise ?? (words[0] as T);
  };
  return { read, write: (value) => value };
}

/** Any text of at most `most` UTF-16 units, without lone surrogates. */
export function text(most = Number.POSITIVE_INFINITY, otherwise?: string): Shape<string> {
  const read = (value: unknown = otherwise, at: Place) => {
    if (typeof value === "string" && value.length <= most) return value.toWellFormed();
    at.says(
      most < Number.POSITIVE_INFINITY ? `must be text, at most ${most} long` : "must be text",
    );
    return otherwise ?? "";
  };
  return { read, write: (value) => value };
}

export function flag(otherwise?: boolean): Shape<boolean> {
  const read = (value: unknown = otherwise, at: Place) => {
    if (typeof value !== "boolean") at.says("must be true or false");
    return value === true;
  };
  return { read, write: (value) => value };
}

/**
 * A value that passes a test, as it is.
 *
 * @param otherwise is read instead of one that does not pass.
 */
export function fitting<T>(
  fits: (value: unknown) => boolean,
  says: string,
  otherwise: T,
): Shape<T> {
  const read = (value: unknown, at: Place) => {
    if (fits(value)) return value as T;
    at.says(says);
    return otherwise;
  };
  return { read, write: (value) => value as Json | undefined };
}

/** A list; absent: an empty one. */
export function list<T>(item: Shape<T>, most = Number.POSITIVE_INFINITY): Shape<readonly T[]> {
  return {
    read(value = [], at) {
      if (!Array.isArray(value)) at.says("must be a list");
      else if (value.length > most) at.says(`has ${value.length} items; ${most} are the most`);
      else return value.map((each, index) => item.read(each, at.in(index)));
      return [];
    },
    write: (values) => values.map((each) => item.write(each) ?? null),
  };
}

/** A mapping of names that somebody chose. */
export function record<T>(
  item: Shape<T>,
  most = Number.POSITIVE_INFINITY,
): Shape<Readonly<Record<string, T>>> {
  return {
    read(value, at) {
      const entries = Object.entries(section(value, at));
      if (entries.length > most) at.says(`has ${entries.length} entries; ${most} are the most`);
      const few = entries.length > most ? [] : entries;
      return Object.fromEntries(few.map(([name, each]) => [name, item.read(each, at.in(name))]));
    },
    write: (values) =>
      Object.fromEntries(Object.entries(values).map(([k, v]) => [k, item.write(v)])),
  };
}

/** Each with the name under which it is written, where that is another. */
export type Fields<T> = {
  readonly [K in keyof T]-?: Shape<T[K]> | readonly [written: string, Shape<T[K]>];
};

/**
 * An object of these fields.
 *
 * @param others what becomes of other fields: one is a problem, or they are left out.
 */
export function object<T extends object>(
  fields: Fields<T>,
  others: "refused" | "left out" = "refused",
): Shape<T> {
  const all = declared(fields);
  const names = all.map(({ written }) => written);
  return {
    read(value, at) {
      const given = section(value, at);
      const unknown = others === "refused" ? Object.keys(given) : [];
      for (const key of unknown.filter((each) => !names.includes(each))) {
        at.in(key).says(`is no key of this place; those are ${names.join(", ")}`);
      }
      const read: Record<string, unknown> = {};
      for (const { name, written, shape } of all) {
        const value = shape.read(own(given, written), at.in(written));
        if (value !== undefined) read[name] = value;
      }
      return read as T;
    },
    write(value) {
      const out: Record<string, Json> = {};
      for (const { name, written, shape } of all) {
        const each = shape.write((value as Section)[name]);
        if (each !== undefined) out[written] = each;
      }
      return out;
    },
  };
}

function declared<T extends object>(fields: Fields<T>) {
  return Object.entries(fields).map(([name, field]) => {
    const [written, shape] = Array.isArray(field) ? field : [name, field];
    return { name, written: written as string, shape: shape as Shape<unknown> };
  });
}

/** Fields that the declaration does not have. */
export interface Others {
  readonly others: JsonObject;
}

/** How much other fields may take up, so that what has them can always be written. */
const othersLimits = { fields: 100, keys: 5_000, chars: 256 * 1024 } as const;

/**
 * An object whose other fields are kept in `others` and written behind its own. Those that cannot be written
 * again, or are too many, are left out.
 *
 * @param reserved names of fields that are never kept.
 * @param keys most keys and items in them. @default 5,000
 */
export function openObject<T extends object>(
  fields: Fields<T>,
  { reserved = [], keys = othersLimits.keys }: { reserved?: readonly string[]; keys?: number } = {},
): Shape<T & Others> {
  const shape = object<T>(fields, "left out");
  const names = [...declared(fields).map(({ written }) => written), ...reserved];
  const kept = (given: Section): JsonObject => {
    const left = { ...othersLimits, keys } as Record<keyof typeof othersLimits, number>;
    const entries = Object.entries(given).filter(([name, value]) => {
      if (names.includes(name) || !isStorable(value)) return false;
      const size = { fields: 1, keys: keysIn(value), chars: JSON.stringify([name, value]).length };
      const fits = size.fields <= left.fields && size.keys <= left.keys && size.chars <= left.chars;
      if (!fits) return false;
      left.fields -= size.fields;
      left.keys -= size.keys;
      left.chars -= size.chars;
      return true;
    });
    return Object.fromEntries(entries) as JsonObject;
  };
  return {
    read(value, at) {
      const others = kept(isJsonObject(value) ? value : {});
      return { ...shape.read(value, at), others };
    },
    write: (value) => ({ ...(shape.write(value) as JsonObject), ...kept(value.others) }),
  };
}

/** Counts keys and items, as `jsonLimits` does. */
function keysIn(value: Json | undefined): number {
  if (typeof value !== "object" || value === null) return 0;
  const items: readonly (Json | undefined)[] = Object.values(value);
  return items.reduce((sum: number, item) => sum + keysIn(item), items.length);
}

/** Whether a value can be written again, three levels deep in another. */
export function isStorable(value: unknown): value is Json {
  try {
    checkJson([[[value]]], "the value");
    return true;
  } catch (error) {
    if (!isThroughlineError(error)) throw error;
    return false;
  }
}

/** An object whose other fields stay beside its own. Those that cannot be stored are left out. */
export function extensible<T extends object>(fields: Fields<T>): Shape<T> {
  const shape = object<T>(fields, "left out");
  const names = declared(fields).map(({ written }) => written);
  return {
    read(value, at) {
      const given = Object.entries(section(value, at)).filter(([name]) => !names.includes(name));
      return { ...storable(given, at), ...shape.read(value, at) };
    },
    write: (value) => ({ ...value, ...(shape.write(value) as JsonObject) }),
  };
}

/** Keeps the fields that can be stored; a number past the range of a double cannot, for one. */
function storable(fields: readonly (readonly [string, unknown])[], at: Place): JsonObject {
  const kept = fields.filter(([, value]) => isStorable(value));
  const left = fields.length - kept.length;
  if (left > 0) at.says(`has ${left} keys that cannot be stored: left out`);
  return Object.fromEntries(kept) as JsonObject;
}

/** Reads a value in which nothing may be wrong. @throws ThroughlineError `THROUGHLINE_INVALID`. */
export function required<T>(shape: Shape<T>, value: unknown, what: string): T {
  const at = new Place();
  const found = shape.read(value, at);
  const [problem] = at.problems;
  if (problem === undefined) return found;
  throw invalid(`${[what, ...problem.path].join(".")} ${problem.says}`);
}

/** Whether a value is of a shape, as it is. */
export function is<T>(shape: Shape<T>, value: unknown): value is T {
  const at = new Place();
  shape.read(value, at);
  return at.problems.length === 0;
}

/** The same shape under each of these keys. */
export function each<K extends string, T>(
  keys: readonly K[],
  shape: Shape<T>,
  others?: "left out",
): Shape<Readonly<Record<K, T>>> {
  const fields = Object.fromEntries(keys.map((key) => [key, shape]));
  return object(fields as unknown as Fields<Record<K, T>>, others);
}

/** Absent stays absent. */
export function optional<T>(shape: Shape<T>): Shape<T | undefined> {
  return {
    read: (value, at) => (value === undefined ? undefined : shape.read(value, at)),
    write: (value) => (value === undefined ? undefined : shape.write(value)),
  };
}

/** `null` stays `null`. */
export function nullable<T>(shape: Shape<T>): Shape<T | null> {
  return {
    read: (value, at) => (value === null ? null : shape.read(value, at)),
    write: (value) => (value === null ? null : shape.write(value)),
  };
}

/** `null` says that there is none, as absence does. */
export function orNone<T>(shape: Shape<T>): Shape<T | undefined> {
  return {
    read: (value, at) => ((value ?? undefined) === undefined ? undefined : shape.read(value, at)),
    write: (value) => (value === undefined ? null : shape.write(value)),
  };
}

/** `null` is read as absence: so other programs write a number that is none. */
export function nullAsAbsent<T>(shape: Shape<T>): Shape<T> {
  return { read: (value, at) => shape.read(value ?? undefined, at), write: shape.write };
}

/** One more rule, about what was read. */
export function checked<T>(shape: Shape<T>, check: (value: T, at: Place) => void): Shape<T> {
  const read = (value: unknown, at: Place) => {
    const found = shape.read(value, at);
    check(found, at);
    return found;
  };
  return { read, write: shape.write };
}

/** An object, or what is absent as an empty one. */
export function section(value: unknown = {}, at: Place): Section {
  if (isJsonObject(value)) return value;
  at.says("must be a mapping");
  return {};
}

export function own<T>(source: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(source, name) ? source[name] : undefined;
}
