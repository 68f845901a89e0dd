import { isJsonObject } from "../../core/json.ts";
import { emotionLimits } from "./configuration.ts";

/** What is wrong with a file, and where: keys and positions from the top. */
export interface Problem {
  readonly path: Path;
  /** One sentence that quotes no value. */
  readonly says: string;
}

export type Path = readonly (string | number)[];

type Section = Readonly<Record<string, unknown>>;

/** Enough for a person to read; a file of a million faults has no more to say. */
const mostProblems = 50;

/** Reads values out of plain data, and writes down each that cannot be used. */
export class Reading {
  readonly #problems: Problem[] = [];

  get problems(): readonly Problem[] {
    return this.#problems;
  }

  says(path: Path, says: string): void {
    if (this.#problems.length < mostProblems) this.#problems.push({ path, says });
  }

  /** An object with no other keys than these; absent and otherwise wrong: an empty one. */
  section(value: unknown, path: Path, keys?: readonly string[]): Section {
    if (value === undefined) return {};
    if (!isJsonObject(value)) {
      this.says(path, "must be a mapping");
      return {};
    }
    if (keys !== undefined) {
      for (const key of Object.keys(value)) {
        if (!keys.includes(key)) {
          this.says([...path, key], `is no key of this place; those are ${keys.join(", ")}`);
        }
      }
    }
    return value;
  }

  /** The entries of a mapping, at most so many. */
  entries(value: unknown, path: Path, most: number): readonly (readonly [string, unknown])[] {
    const entries = Object.entries(this.section(value, path));
    if (entries.length <= most) return entries;
    this.says(path, `has ${entries.length} entries; ${most} are the most`);
    return [];
  }

  list(value: unknown, path: Path, most: number): readonly unknown[] {
    if (value === undefined) return [];
    if (!Array.isArray(value)) this.says(path, "must be a list");
    else if (value.length <= most) return value;
    else this.says(path, `has ${value.length} items; ${most} are the most`);
    return [];
  }

  /** A number within bounds, both included; absent: the default. */
  number(section: Section, key: string, path: Path, bounds: Bounds): number {
    const value = own(section, key);
    if (value === undefined) return bounds.otherwise;
    const { from, to } = bounds;
    if (typeof value === "number" && value >= from && value <= to) {
      return value + 0; // -0 is not JSON
    }
    this.says([...path, key], `must be a number from ${from} to ${to}`);
    return bounds.otherwise;
  }

  flag(section: Section, key: string, path: Path): boolean {
    const value = own(section, key);
    if (value === undefined || typeof value === "boolean") return value ?? false;
    this.says([...path, key], "must be true or false");
    return false;
  }

  /** One of a closed set of words. */
  word<T extends string>(value: unknown, path: Path, words: readonly T[]): T | undefined {
    const found = words.find((word) => word === value);
    if (found === undefined) this.says(path, `must be one of ${words.join(", ")}`);
    return found;
  }
}

interface Bounds {
  readonly from: number;
  readonly to: number;
  readonly otherwise: number;
}

/** A time in seconds, kept in whole milliseconds. */
export function readSeconds(
  reading: Reading,
  section: Section,
  key: string,
  path: Path,
  otherwise: number,
): number {
  const bounds = { from: 0, to: emotionLimits.seconds, otherwise };
  return Math.round(reading.number(section, key, path, bounds) * 1000);
}

/** A rate a second. */
export function readRate(
  reading: Reading,
  section: Section,
  key: string,
  path: Path,
  otherwise: number,
): number {
  return reading.number(section, key, path, { from: 0, to: emotionLimits.perSecond, otherwise });
}

export function own<T>(source: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(source, name) ? source[name] : undefined;
}
