// What makes two items the same one.
import { sha256 } from "../../core/sha256.ts";
import { exactText } from "../../core/storage/exact-json.ts";
import type { Item } from "./items.ts";

/** The types of items from which the SDK takes the id before it stores them. */
const withoutId = [
  "function_call",
  "function_call_result",
  "tool_search_call",
  "tool_search_output",
];

/** An item of a model call as the SDK stores it at the end of the run. */
export function asStored(item: Item): Item {
  const { id, ...rest } = item;
  const isCall = withoutId.includes(String(item.type));
  return stored(isCall || id === undefined ? rest : item) as Item;
}

/** Bytes are stored as a data URL. */
function stored(value: unknown, mediaType = "text/plain"): unknown {
  if (value instanceof Uint8Array) {
    return `data:${mediaType};base64,${Buffer.from(value).toString("base64")}`;
  }
  if (Array.isArray(value)) return value.map((each) => stored(each, mediaType));
  if (typeof value !== "object" || value === null) return value;
  const fields = value as Readonly<Record<string, unknown>>;
  const own = fields["mediaType"];
  const type = typeof own === "string" && own !== "" ? own : mediaType;
  return Object.fromEntries(
    Object.entries(fields).map(([name, each]) => {
      return [name, stored(each, name === "data" || name === "fileData" ? type : mediaType)];
    }),
  );
}

/** Equal for the same item in a model call, in what is stored, and in what the SDK stores at the end. */
export function keyOf(item: Item): string {
  const { id: _, ...rest } = asStored(item);
  return digestOf(rest);
}

/** Equal for equal values, whatever the order of their fields. */
export const digestOf = (value: unknown): string =>
  sha256(exactText(sorted(value), "an item")).toString("hex");

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null || value instanceof Uint8Array) return value;
  const entries = Object.entries(value).map(([name, each]) => [name, sorted(each)] as const);
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** What of a model's input is not stored yet: the input begins with what is, as far as that was left in. */
export function newItems(stored: readonly Item[], input: readonly Item[]): readonly Item[] {
  const keys = stored.map(keyOf);
  let at = 0;
  const fresh = input.filter((item) => {
    const found = keys.indexOf(keyOf(item), at);
    if (found >= 0) at = found + 1;
    return found < 0;
  });
  // History was left out, and what is said now was said before.
  const last = input.at(-1);
  const isLeft = stored.slice(at).some(({ type = "message" }) => !/_call$|^reasoning$/.test(type));
  return fresh.length === 0 && isLeft && last?.["role"] === "user" ? [last] : fresh;
}
