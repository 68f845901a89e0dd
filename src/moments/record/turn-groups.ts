import type { Json } from "../../core/json.ts";
import type { BufferedMessage } from "./message-buffer.ts";

/** The messages of one turn, in order. */
export interface TurnGroup {
  readonly turnId: string | null;
  readonly messages: readonly BufferedMessage[];
  /** Where its first and its last message are in the list, from 0. */
  readonly firstIndex: number;
  readonly lastIndex: number;
}

interface Growing extends TurnGroup {
  readonly messages: BufferedMessage[];
  lastIndex: number;
}

/**
 * The turns that a list of messages holds, in the order in which they ended. Messages without a turn
 * id are a turn from each user message to the next one.
 */
export function turnGroups(messages: readonly BufferedMessage[]): readonly TurnGroup[] {
  const groups: Growing[] = [];
  const byId = new Map<string, Growing>();
  let unnamed: Growing | undefined;
  for (const [index, message] of messages.entries()) {
    const { turnId } = message;
    let group = turnId === null ? unnamed : byId.get(turnId);
    if (group === undefined || (turnId === null && message.role === "USER")) {
      group = { turnId, messages: [], firstIndex: index, lastIndex: index };
      groups.push(group);
    }
    if (turnId === null) unnamed = group;
    else {
      byId.set(turnId, group);
      unnamed = undefined;
    }
    group.messages.push(message);
    group.lastIndex = index;
  }
  return groups.sort((a, b) => a.lastIndex - b.lastIndex);
}

/** What the model said in a turn, without what we put into its mouth. */
export function answersOf({ messages }: TurnGroup): readonly BufferedMessage[] {
  return messages.filter(({ role, synthetic }) => role === "ASSISTANT" && synthetic === null);
}

/** Whether any of it was spoken or shown. */
export function wasDelivered(group: TurnGroup): boolean {
  return answersOf(group).some(({ delivered, text }) => (delivered ?? text).trim() !== "");
}

/** Whether the model called one of our skills in the turn: then it is about a judgement itself. */
export function calledRemember({ messages }: TurnGroup): boolean {
  return messages.some(({ toolCalls }) => namesRemember(toolCalls));
}

/** Tool calls of any provider: the name of the tool is under one of these. */
function namesRemember(value: Json | undefined): boolean {
  if (typeof value !== "object" || value === null) return false;
  return Object.entries(value).some(([key, inner]: [string, Json | undefined]) => {
    const isName = key === "name" || key === "toolName" || key === "tool_name";
    if (isName && typeof inner === "string") return /^remember_(positive|negative)ly$/.test(inner);
    return namesRemember(inner);
  });
}
