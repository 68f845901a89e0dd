// What of an answer can be stored: a model's words must not be lost to what it sends beside them.

import type { ToolCall } from "../chat/message.ts";
import { usageLimits } from "../chat/usage.ts";
import { checkJson } from "../json.ts";
import type { Usage } from "../models/responder.ts";
import { checkKey } from "../storage/key.ts";

/**
 * Bytes of JSON, in which a control character takes six. A text, the reasoning before it, a call or a
 * provider's data, and the ids beside them fit into one record of 1 MiB; an answer, with what it
 * replaces, into one batch of 8 MiB and 1,000 records.
 */
export const answerLimits = {
  textBytes: 512 * 1024,
  reasoningBytes: 240 * 1024,
  /** At most; and no more than the text and the reasoning leave of `recordBytes`. */
  dataBytes: 384 * 1024,
  recordBytes: 1_000 * 1024,
  toolBytes: 4 * 1024 * 1024,
  toolCalls: 200,
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

/** The bytes that are left in a record for a call or a provider's data. */
export function dataRoom(text: string, reasoning: string): number {
  const { recordBytes, dataBytes } = answerLimits;
  return Math.min(dataBytes, recordBytes - jsonBytes(text) - jsonBytes(reasoning));
}

/** Whether it is JSON within so many bytes: a model of somebody's own may not keep to its types. */
export function isStorable(value: unknown, maxBytes: number): boolean {
  try {
    checkJson({ value }, "value");
    return value === undefined || Buffer.byteLength(JSON.stringify(value)) <= maxBytes;
  } catch {
    return false; // not JSON, or too deep: the caller does without
  }
}

export function isStorableCall(call: ToolCall, maxBytes: number): boolean {
  const { name, arguments: args } = call.function;
  return isText(call.id) && isText(name) && typeof args === "string" && isStorable(call, maxBytes);
}

const isText = (value: unknown) => typeof value === "string" && value !== "";

/** Past it the counts of two runs could not be added. */
const maxTokens = 2 ** 50;

/** A count or a cost that is none is unknown; a cost counts up to the limit. */
export function storableUsage(usage: Usage): Usage {
  const { costUsd = -1 } = usage;
  const isCost = Number.isFinite(costUsd) && costUsd >= 0;
  return {
    inputTokens: countOf(usage.inputTokens),
    outputTokens: countOf(usage.outputTokens),
    cachedInputTokens: countOf(usage.cachedInputTokens),
    costUsd: isCost ? Math.min(costUsd, usageLimits.costUsd) : undefined,
  };
}

function countOf(tokens: number | undefined): number | undefined {
  const isCount = Number.isInteger(tokens) && tokens !== undefined && tokens >= 0;
  return isCount && tokens <= maxTokens ? tokens : undefined;
}

/** A name or id that a provider sent, if it can be stored. */
export function storableName(value: unknown, maxBytes: number): string | undefined {
  try {
    checkKey(value, "value", maxBytes);
    return value as string;
  } catch {
    return undefined; // the caller does without
  }
}
