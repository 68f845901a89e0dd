import { invalid } from "../../core/errors.ts";
import { checkJson, type Json } from "../../core/json.ts";
import { sha256 } from "../../core/sha256.ts";

const maxNames = 64;

/**
 * What holds until it changes: system prompt, tools, provider, model, persona, mood, camera. Outside
 * the rings, the last value wins, and every package gets it: after 50 messages the prompt would long
 * have left a ring. A value that does not fit in what all may take together is kept as its hash.
 */
export class CapturedValues {
  readonly #maxBytes: number;
  readonly #values = new Map<string, { readonly value: Json; readonly bytes: number }>();

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /**
   * Sets a value; `undefined` removes it.
   *
   * @throws ThroughlineError `THROUGHLINE_INVALID`, `THROUGHLINE_TOO_LARGE`: not JSON, or a new name
   * where there are 64. The value of before stays.
   */
  set(name: string, value: unknown): void {
    if (value === undefined) {
      this.#values.delete(name);
      return;
    }
    checkJson(value, "the captured value");
    if (!/^[a-z][a-z0-9_]{0,39}$/.test(name))
      throw invalid("the name of a captured value is wrong");
    if (!this.#values.has(name) && this.#values.size >= maxNames) {
      throw invalid(`there are ${maxNames} captured values already`);
    }
    this.#values.set(name, this.#fitting(name, value));
  }

  get(name: string): Json | undefined {
    return this.#values.get(name)?.value;
  }

  get bytes(): number {
    let sum = 0;
    for (const { bytes } of this.#values.values()) sum += bytes;
    return sum;
  }

  /** In the order of their names. The values are shared: never changed, only replaced. */
  snapshot(): Readonly<Record<string, Json>> {
    const entries = [...this.#values].map(([name, { value }]) => [name, value] as const);
    return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  #fitting(name: string, value: Json): { readonly value: Json; readonly bytes: number } {
    const text = JSON.stringify(value);
    const bytes = Buffer.byteLength(text);
    const others = this.bytes - (this.#values.get(name)?.bytes ?? 0);
    if (others + bytes <= this.#maxBytes) return { value: JSON.parse(text) as Json, bytes };
    const digest = sha256(text).toString("hex");
    return { value: { sha256: digest, omitted: "too_large" }, bytes: 100 };
  }
}
