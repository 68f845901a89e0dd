import type { ProviderMetadata } from "ai";
import { checkJson, isJsonObject, type JsonObject } from "../json.ts";

/** One piece of thinking that its provider wants to see again. */
export interface Thought {
  readonly text: string;
  /** By provider, as the AI SDK names them: `{ anthropic: { signature } }`. Absent: plain text. */
  readonly metadata?: ProviderMetadata | undefined;
}

/**
 * What is stored beside an answer or a tool call for the model that made it, and for no other:
 * `{ response_id?, reasoning?: [{ text, metadata? }], continues? }`.
 */
interface ProviderData {
  /** The provider's id of this answer: where a session can be resumed. */
  readonly responseId?: string | undefined;
  readonly reasoning?: readonly Thought[] | undefined;
  /** The model made this in one message with the call before it. */
  readonly continues?: boolean | undefined;
}

/** The longest plain thought that is kept, in UTF-16 units: its provider wants one, not all of it. */
const mostPlainChars = 100_000;

/** The stored form, or `undefined` when there is nothing to store. */
export function writeProviderData(data: ProviderData): JsonObject | undefined {
  const reasoning = (data.reasoning ?? []).flatMap(storedThought);
  const { responseId: response_id, continues } = data;
  if (response_id === undefined && reasoning.length === 0 && !continues) return undefined;
  const stored = { response_id, reasoning: reasoning.length > 0 ? reasoning : undefined };
  return continues ? { ...stored, continues } : stored;
}

function storedThought({
  text,
  metadata: given,
}: Thought): { text: string; metadata?: ProviderMetadata & JsonObject }[] {
  if (given === undefined) {
    return text.trim() === "" ? [] : [{ text: text.slice(0, mostPlainChars).toWellFormed() }];
  }
  const metadata = replayable(given);
  return metadata === undefined ? [] : [{ text, metadata }];
}

/** Reads the stored form; what it does not know or cannot use, it passes over. */
export function readProviderData(stored: JsonObject | undefined): ProviderData {
  if (stored === undefined) return {};
  const id = stored["response_id"];
  const parts = Array.isArray(stored["reasoning"]) ? stored["reasoning"] : [];
  const reasoning = parts.flatMap((part: unknown) => {
    if (!isJsonObject(part) || typeof part["text"] !== "string") return [];
    return storedThought({ text: part["text"], metadata: part["metadata"] as ProviderMetadata });
  });
  return {
    responseId: typeof id === "string" && id !== "" ? id : undefined,
    reasoning,
    continues: stored["continues"] === true,
  };
}

/**
 * What can be sent back: signatures and encrypted thinking. An item's id alone is left out, because
 * OpenAI refuses a reference to a thought without the item that followed it; there the session's id
 * carries the thoughts.
 */
function replayable(metadata: unknown): (ProviderMetadata & JsonObject) | undefined {
  if (!isJsonObject(metadata)) return undefined;
  const kept = Object.entries(metadata).flatMap(([provider, values]) => {
    if (!isJsonObject(values)) return [];
    const useful = Object.entries(values).filter(
      ([key, value]) => key !== "itemId" && value !== null && value !== undefined,
    );
    return useful.length === 0 ? [] : [[provider, Object.fromEntries(useful)] as const];
  });
  return kept.length === 0 ? undefined : asJson(Object.fromEntries(kept));
}

/** A copy that is surely JSON, or nothing: metadata that cannot be stored must not fail a turn. */
function asJson(value: unknown): (ProviderMetadata & JsonObject) | undefined {
  try {
    const copy = JSON.parse(JSON.stringify(value));
    checkJson(copy, "provider metadata");
    return copy as ProviderMetadata & JsonObject;
  } catch {
    // Cyclic, too deep, or a BigInt: the provider will do without.
    return undefined;
  }
}
