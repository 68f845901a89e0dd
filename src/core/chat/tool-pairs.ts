import { isJsonObject } from "../json.ts";
import type { StoredMessage } from "./message.ts";
import { callOfResult } from "./turn-ids.ts";

/** A call as it was read: whatever a log holds under `tool_calls` becomes this or is left out. */
interface ReadCall {
  readonly id?: string;
  readonly name: string;
  /** JSON text of an object, always. */
  readonly arguments: string;
}

export interface PairedCall extends ReadCall {
  /** `undefined`: the call was never answered. */
  readonly result: StoredMessage | undefined;
}

export interface PairedCalls {
  readonly calls: readonly PairedCall[];
  /** Every call is as the model wrote it. */
  readonly intact: boolean;
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
): ReadonlyMap<StoredMessage, PairedCalls> {
  const slots = new Map<StoredMessage, { readonly calls: Slot[]; readonly intact: boolean }>();
  // By call id, last one first: the newest message that used the id, for some providers count from
  // 0 in each turn.
  const open = new Map<string, Slot[]>();
  const ofTurns = new Map<string, Slot>();
  for (const message of messages) {
    if (message.role === "assistant") {
      const { calls, intact } = readCalls(message);
      if (calls.length === 0 && intact) continue;
      const own = calls.map((call): Slot => ({ call, result: undefined }));
      slots.set(message, { calls: own, intact });
      if (own[0] !== undefined) ofTurns.set(message.id, own[0]);
      for (const { call } of own) if (call.id !== undefined) open.set(call.id, []);
      for (const slot of own.toReversed()) {
        if (slot.call.id !== undefined) open.get(slot.call.id)?.push(slot);
      }
    } else if (message.role === "tool" && typeof message.tool_call_id === "string") {
      const named = ofTurns.get(callOfResult(message) ?? "");
      const slot = named ?? open.get(message.tool_call_id)?.pop();
      if (slot !== undefined) slot.result ??= message;
    }
  }
  const pairs = new Map<StoredMessage, PairedCalls>();
  for (const [message, { calls, intact }] of slots) {
    pairs.set(message, { calls: calls.map(({ call, result }) => ({ ...call, result })), intact });
  }
  return pairs;
}

interface Slot {
  readonly call: ReadCall;
  result: StoredMessage | undefined;
}

/** Imported logs and other hands may have written anything there: nothing in it may throw. */
function readCalls(message: StoredMessage): {
  readonly calls: readonly ReadCall[];
  readonly intact: boolean;
} {
  const stored: unknown = message.tool_calls;
  if (stored === undefined) return { calls: [], intact: true };
  if (!Array.isArray(stored)) return { calls: [], intact: false };
  const calls: ReadCall[] = [];
  let intact = true;
  for (const item of stored as readonly unknown[]) {
    const call = readCall(item);
    if (call !== undefined) calls.push(call);
    intact &&= call !== undefined && sameArguments(item, call);
  }
  return { calls, intact };
}

function readCall(item: unknown): ReadCall | undefined {
  if (!isJsonObject(item)) return undefined;
  const fn = item["function"];
  if (!isJsonObject(fn)) return undefined;
  const name = fn["name"];
  if (typeof name !== "string" || name === "") return undefined;
  const id = item["id"];
  const read = { name, arguments: objectText(fn["arguments"]) };
  return typeof id === "string" ? { id, ...read } : read;
}

function sameArguments(item: unknown, call: ReadCall): boolean {
  const fn = isJsonObject(item) ? item["function"] : undefined;
  return isJsonObject(fn) && fn["arguments"] === call.arguments;
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
