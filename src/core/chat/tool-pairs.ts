import { isJsonObject } from "../json.ts";
import type { StoredMessage } from "./message.ts";
import { callOfResult } from "./turn-ids.ts";

/** A call as it was read: whatever a log holds under `tool_calls` becomes this or is left out. */
export interface PairedCall {
  readonly id: string | undefined;
  readonly name: string;
  /** JSON text of an object, always. */
  readonly arguments: string;
  /** `undefined`: the call was never answered. */
  result: StoredMessage | undefined;
}

/**
 * The calls of each assistant message with their results. A result belongs to the call that its own
 * record names; where it names none, as in an import, to the nearest earlier call of its id that has
 * none yet, however many messages lie between. Results that belong to no
 * call, and second results, are in no pair.
 *
 * @param messages oldest first.
 */
export function pairToolCalls(
  messages: Iterable<StoredMessage>,
): ReadonlyMap<StoredMessage, readonly PairedCall[]> {
  const pairs = new Map<StoredMessage, readonly PairedCall[]>();
  // By call id, last one first: the newest message that used the id, for some providers count from
  // 0 in each turn.
  const open = new Map<string, PairedCall[]>();
  const ofTurns = new Map<string, PairedCall>();
  for (const message of messages) {
    if (message.role === "assistant") {
      if (message.tool_calls === undefined) continue;
      const own = readCalls(message);
      if (own.length > 0) pairs.set(message, own);
      if (own[0] !== undefined) ofTurns.set(message.id, own[0]);
      for (const { id } of own) if (id !== undefined) open.set(id, []);
      for (const call of own.toReversed()) {
        if (call.id !== undefined) open.get(call.id)?.push(call);
      }
    } else if (message.role === "tool" && typeof message.tool_call_id === "string") {
      const named = ofTurns.get(callOfResult(message) ?? "");
      const call = named ?? open.get(message.tool_call_id)?.pop();
      if (call !== undefined) call.result ??= message;
    }
  }
  return pairs;
}

/** Imported logs and other hands may have written anything there: nothing in it may throw. */
function readCalls(message: StoredMessage): readonly PairedCall[] {
  const stored: unknown = message.tool_calls;
  if (!Array.isArray(stored)) return [];
  return stored.map(readCall).filter((call) => call !== undefined);
}

function readCall(item: unknown): PairedCall | undefined {
  if (!isJsonObject(item)) return undefined;
  const fn = item["function"];
  if (!isJsonObject(fn)) return undefined;
  const name = fn["name"];
  if (typeof name !== "string" || name === "") return undefined;
  const id = typeof item["id"] === "string" ? item["id"] : undefined;
  return { id, name, arguments: objectText(fn["arguments"]), result: undefined };
}

/**
 * Arguments that every provider takes: the text of a JSON object. What is no such text (it was cut
 * short, or the model wrote something else) is kept inside one.
 */
function objectText(value: unknown): string {
  if (value === undefined || value === null || value === "") return "{}";
  if (isJsonObject(value)) return JSON.stringify(value);
  if (typeof value !== "string") return JSON.stringify({ value });
  try {
    if (isJsonObject(JSON.parse(value))) return value;
  } catch {
    // Not JSON: it is kept as text below.
  }
  return JSON.stringify({ not_json: value });
}
