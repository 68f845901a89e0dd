// Reads fields of a document that anybody may have written. What cannot be used is reported by the
// name of its field, never by its value.

import { isInstant } from "../core/chat/stamp.ts";
import { isThroughlineError } from "../core/errors.ts";
import { checkJson, isJsonObject, type Json, type JsonObject } from "../core/json.ts";
import { countOr, isRunId } from "./run-records.ts";

type Unread = Readonly<Record<string, unknown>>;

/** How much unknown fields may take up, so that the document can always be written. */
const unknownLimits = { fields: 100, keys: 5_000, chars: 256 * 1024 } as const;

export class DocumentReader {
  readonly repaired: string[] = [];
  readonly #value: Unread;

  constructor(value: JsonObject) {
    this.#value = value;
  }

  flag(name: string, otherwise: boolean): boolean {
    const value = this.#own(name);
    return typeof value === "boolean" ? value : this.#defaulted(name, "true or false", otherwise);
  }

  /** Seconds since 1970, as milliseconds; 0 is how the original says that there are none. */
  seconds(name: string): number | undefined {
    const value = this.#own(name);
    if (value === 0) return undefined;
    return instantOfSeconds(value) ?? this.#defaulted(name, "a time in seconds", undefined);
  }

  secondsOrNull(name: string): number | undefined {
    return this.#own(name) === null ? undefined : this.seconds(name);
  }

  /** A finite number from 0. */
  amount(name: string): number | undefined {
    const value = this.#own(name);
    const isAmount = typeof value === "number" && value >= 0 && value <= 1e12;
    return isAmount ? value + 0 : this.#defaulted(name, "a number from 0", undefined);
  }

  count(name: string): number | undefined {
    const count = countOr(this.#own(name), undefined);
    return count ?? this.#defaulted(name, "a whole number from 0", undefined);
  }

  runId(name: string): string | undefined {
    const value = this.#own(name);
    return isRunId(value) ? value : this.#defaulted(name, "8 hexadecimal digits", undefined);
  }

  text(name: string, maxLength: number): string | undefined {
    const value = this.#own(name);
    if (typeof value === "string" && value.length <= maxLength) return value.toWellFormed();
    return this.#defaulted(name, `a text of at most ${maxLength} characters`, undefined);
  }

  textOrNull(name: string, maxLength: number): string | undefined {
    return this.#own(name) === null ? undefined : this.text(name, maxLength);
  }

  object(name: string): Unread {
    const value = this.#own(name);
    return isJsonObject(value) ? value : this.#defaulted(name, "an object", {});
  }

  /** The items that `read` can use; how many it cannot is reported. */
  list<T>(name: string, read: (item: unknown) => T | undefined): readonly T[] {
    const value = this.#own(name);
    if (!Array.isArray(value)) return this.#defaulted(name, "a list", []);
    const items = value.map(read).filter((item) => item !== undefined);
    const lost = value.length - items.length;
    if (lost > 0) this.repaired.push(`items of ${name} that cannot be used, left out: ${lost}`);
    return items;
  }

  /** The fields with other names, as far as they can be written again. */
  unknown(names: readonly string[]): JsonObject {
    const kept: [string, Json][] = [];
    const others = Object.entries(this.#value).filter(([name]) => !names.includes(name));
    const left: Record<keyof typeof unknownLimits, number> = { ...unknownLimits };
    for (const [name, value] of others) {
      if (!isStorable(value)) continue;
      const size = { fields: 1, keys: keysIn(value), chars: JSON.stringify([name, value]).length };
      if (size.fields > left.fields || size.keys > left.keys || size.chars > left.chars) continue;
      left.fields -= size.fields;
      left.keys -= size.keys;
      left.chars -= size.chars;
      kept.push([name, value]);
    }
    const lost = others.length - kept.length;
    if (lost > 0) this.repaired.push(`unknown fields that cannot be kept, left out: ${lost}`);
    return Object.fromEntries(kept);
  }

  #own(name: string): unknown {
    return Object.hasOwn(this.#value, name) ? this.#value[name] : undefined;
  }

  #defaulted<T>(name: string, wanted: string, otherwise: T): T {
    const problem = Object.hasOwn(this.#value, name) ? `is not ${wanted}` : "is missing";
    this.repaired.push(`${name} ${problem}: set to its default`);
    return otherwise;
  }
}

/** Milliseconds since 1970; `undefined` for anything but seconds of a year that a stamp can hold. */
export function instantOfSeconds(seconds: unknown): number | undefined {
  if (typeof seconds !== "number" || !(seconds > 0)) return undefined;
  const at = Math.round(seconds * 1_000);
  return isInstant(at) ? at : undefined;
}

/** Whether a value can be written again. */
export function isStorable(value: unknown): value is Json {
  try {
    checkJson(value, "the value");
    return true;
  } catch (error) {
    if (!isThroughlineError(error)) throw error;
    return false;
  }
}

/** Keys and items, as `jsonLimits` counts them. */
function keysIn(value: Json | undefined): number {
  if (typeof value !== "object" || value === null) return 0;
  const items: readonly (Json | undefined)[] = Object.values(value);
  return items.reduce((sum: number, item) => sum + keysIn(item), items.length);
}
