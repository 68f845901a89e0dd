import type { ProviderMetadata } from "ai";
import { checkJson, isJsonObject, type JsonObject } from "../json.ts";

/** One piece of thinking, with the signature that its provider wants to see again. */
interface ReplayableReasoning {
  readonly text: string;
  /** By provider, as the AI SDK names them: `{ anthropic: { signature } }`. */
  readonly metadata: ProviderMetadata;
}

/**
 * What is stored beside an answer for the model that made it, and for no other:
 * `{ response_id?, reasoning?: [{ text, metadata }] }`.
 */
interface ProviderData {
  /** The provider's id of this answer: where a session can be resumed. */
  readonly responseId?: string | undefined;
  readonly reasoning?: readonly ReplayableReasoning[] | undefined;
}

/** The stored form, or `undefined` when there is nothing to store. */
export function writeProviderData(data: ProviderData): JsonObject | undefined {
  const reasoning = (data.reasoning ?? []).flatMap((part) => {
    const metadata = replayable(part.metadata);
    return metadata === undefined ? [] : [{ text: part.text, metadata }];
  });
  const { responseId } = data;
  if (responseId === undefined && reasoning.length === 0) return undefined;
  return { response_id: responseId, reasoning: reasoning.length === 0 ? undefined : reasoning };
}

/** Reads the stored form; what it does not know or cannot use, it passes over. */
export function readProviderData(stored: JsonObject | undefined): ProviderData {
  if (stored === undefined) return {};
  const id = stored["response_id"];
  const parts = Array.isArray(stored["reasoning"]) ? stored["reasoning"] : [];
  const reasoning = parts.flatMap((part: unknown) => {
    if (!isJsonObject(part) || typeof part["text"] !== "string") return [];
    const metadata = isJsonObject(part["metadata"]) ? replayable(part["metadata"]) : undefined;
    return metadata === undefined ? [] : [{ text: part["text"], metadata }];
  });
  return {
    responseId: typeof id === "string" && id !== "" ? id : undefined,
    reasoning: reasoning.length === 0 ? undefined : reasoning,
  };
}

/**
 * What can be sent back: signatures and encrypted thinking. An item's id alone is left out, because
 * OpenAI refuses a reference to a thought without the item that followed it; there the session's id
 * carries the thoughts. Thinking without metadata is not asked for again by any provider.
 */
function replayable(metadata: unknown): ProviderMetadata | undefined {
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
function asJson(value: unknown): ProviderMetadata | undefined {
  try {
    const copy = JSON.parse(JSON.stringify(value));
    checkJson(copy, "provider metadata");
    return copy as ProviderMetadata;
  } catch {
    // Cyclic, too deep, or a BigInt: the provider will do without.
    return undefined;
  }
}
