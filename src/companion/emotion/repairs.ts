import { isJsonObject } from "../../core/json.ts";
import { lastInstant } from "./emotion.ts";

/** Enough for a person to read; a file of a thousand faults has no more to say. */
const mostSaid = 50;

/** Reads stored values; what cannot be used is replaced, and said in words that quote no value. */
export class Repairs {
  readonly #said: string[] = [];

  get said(): readonly string[] {
    return this.#said;
  }

  says(what: string): void {
    if (this.#said.length < mostSaid) this.#said.push(what);
  }

  /** An object; anything else: an empty one. */
  object(value: unknown, name: string): Readonly<Record<string, unknown>> {
    if (isJsonObject(value)) return value;
    this.says(`${name} ${value === undefined ? "is missing" : "is not an object"}`);
    return {};
  }

  /** A finite number, cut to 0 and 1. */
  share(value: unknown, name: string, otherwise: number): number {
    if (typeof value !== "number" || !Number.isFinite(value)) {
      this.says(`${name} is not a number: set to ${otherwise}`);
      return otherwise;
    }
    const cut = Math.max(0, Math.min(1, value));
    if (cut !== value) this.says(`${name} is not within 0 and 1: set to ${cut}`);
    return cut + 0; // -0 is not JSON
  }

  /** A number within bounds; anything else: the default. */
  amount(value: unknown, name: string, to: number, otherwise: number): number {
    if (typeof value === "number" && value >= 0 && value <= to) return value + 0;
    this.says(`${name} is not a number from 0 to ${to}: set to ${otherwise}`);
    return otherwise;
  }

  /** An instant, not after another; anything else: the default. */
  instant(value: unknown, name: string, notAfter: number, otherwise: number): number {
    if (isInstant(value) && value <= notAfter) return value + 0;
    this.says(`${name} is no instant of the past`);
    return otherwise;
  }

  /** Text of 1 to 64 characters. */
  name(value: unknown, name: string, otherwise: string): string {
    if (typeof value === "string" && value !== "" && value.length <= 64) return value;
    this.says(`${name} is not text of 1 to 64 characters`);
    return otherwise;
  }

  word<T extends string>(value: unknown, name: string, words: readonly T[]): T | undefined {
    const found = words.find((word) => word === value);
    if (found === undefined) this.says(`${name} is none of ${words.join(", ")}`);
    return found;
  }
}

/** A whole millisecond that an instant of a state may be; some lie before its clock began. */
export function isInstant(value: unknown): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && Math.abs(value) <= lastInstant;
}
