// What of an answer can be stored: a model's words must not be lost to what it sends beside them.
import { checkJson } from "../json.ts";
import type { ToolCall } from "../memories/chat/message.ts";
import { sessionLimits } from "../memories/provider-session/session-state.ts";
import { usageLimits } from "../memories/provider-session/usage.ts";
import { checkKey } from "../storage/key.ts";
import type { ResponderEvent, Usage } from "./responder.ts";
import type { Ended } from "./turn-records.ts";

type ToolResult = Extract<ResponderEvent, { readonly type: "tool-result" }>;

/**
 * Bytes of JSON, in which a control character takes six. A text, a call or a provider's data, and the
 * ids beside them fit into one record of 1 MiB; all of it, with what it replaces, into one batch of
 * 8 MiB and 1,000 records.
 */
export const answerLimits = {
  textBytes: 512 * 1024,
  dataBytes: 384 * 1024,
  toolBytes: 4 * 1024 * 1024,
  toolMessages: 400,
} as const;

/** The bytes that a text takes within a JSON string. */
export function jsonBytes(text: string): number {
  return Buffer.byteLength(JSON.stringify(text)) - 2;
}

/** As much of a text as takes at most so many bytes of JSON: whole code points from its start. */
export function fitText(text: string, maxBytes: number): string {
  if (text.length <= maxBytes && jsonBytes(text) <= maxBytes) return text;
  let end = 0;
  let bytes = 0;
  for (const point of text) {
    bytes += jsonBytes(point);
    if (bytes > maxBytes) break;
    end += point.length;
  }
  return text.slice(0, end);
}

/** Whether it is JSON within `dataBytes`: a model of somebody's own may not keep to its types. */
export function isStorable(value: unknown): boolean {
  try {
    checkJson({ value }, "value");
    return Buffer.byteLength(JSON.stringify(value)) <= answerLimits.dataBytes;
  } catch {
    return false; // not JSON, or too deep: the caller does without
  }
}

export function isStorableCall(call: ToolCall): boolean {
  const { name, arguments: args } = call.function;
  return isText(call.id) && isText(name) && typeof args === "string" && isStorable(call);
}

export function isStorableResult({ toolCallId, toolName }: ToolResult): boolean {
  return isText(toolCallId) && isText(toolName) && isStorable([toolCallId, toolName]);
}

const isText = (value: unknown) => typeof value === "string" && value !== "";

type Extras = Pick<Ended, "usage" | "providerSessionId" | "providerData"> & {
  readonly model: string | undefined;
};

/** What came beside the text as far as it can be stored, and the names of what cannot. */
export function storableExtras(given: Extras): { kept: Extras; lost: readonly string[] } {
  const { providerSessionId: id, providerData: data, model } = given;
  const kept: Extras = {
    usage: storableUsage(given.usage),
    providerSessionId: isKey(id, sessionLimits.sessionIdBytes) ? id : undefined,
    providerData: isStorable(data) ? data : undefined,
    model: isKey(model, sessionLimits.nameBytes) ? model : undefined,
  };
  const names = Object.keys(kept) as (keyof Extras)[];
  return { kept, lost: names.filter((name) => kept[name] !== given[name]) };
}

/** Past it the counts of two runs could not be added. */
const maxTokens = 2 ** 50;

/** A count or a cost that is none is unknown; a cost counts up to the limit. */
function storableUsage(usage: Usage): Usage {
  const { inputTokens, outputTokens, cachedInputTokens, costUsd } = usage;
  const isCost = costUsd !== undefined && Number.isFinite(costUsd) && costUsd >= 0;
  const cost = isCost ? Math.min(costUsd, usageLimits.costUsd) : undefined;
  const counts = [inputTokens, outputTokens, cachedInputTokens];
  if (cost === costUsd && counts.every((count) => count === countOf(count))) return usage;
  const cached = countOf(cachedInputTokens);
  return {
    inputTokens: countOf(inputTokens),
    outputTokens: countOf(outputTokens),
    ...(cached === undefined ? {} : { cachedInputTokens: cached }),
    costUsd: cost,
  };
}

function countOf(tokens: number | undefined): number | undefined {
  const isCount = Number.isInteger(tokens) && tokens !== undefined && tokens >= 0;
  return isCount && tokens <= maxTokens ? tokens : undefined;
}

function isKey(value: unknown, maxBytes: number): boolean {
  try {
    checkKey(value, "value", maxBytes);
    return true;
  } catch {
    return false; // the caller does without
  }
}
