import type { Json } from "../../core/json.ts";
import type { Channel, Source, Target, TargetReason } from "../package/record.ts";
import type { MomentInput } from "./label.ts";
import type { BufferedMessage } from "./message-buffer.ts";

/** What is known of a reaction when it is judged whose turn it is about. */
export interface Reaction extends Pick<MomentInput, "turnId" | "messageId" | "targetMessageId"> {
  readonly channel: Channel;
  readonly source: Source;
  /** Now, on the clock of ages. */
  readonly ageMs: number;
  /** Null: not known, and every message counts. */
  readonly chatId: string | null;
}

/** A target before it is placed in messages.json. */
export type Judged = Omit<Target, "index" | "count">;

export interface TargetTurn {
  readonly judged: Judged | null;
  readonly reason: TargetReason | null;
  readonly triggerTurn: {
    readonly turn_id: string | null;
    readonly message_id: string | null;
  } | null;
}

/** An answer that has been coming out for less cannot have been what they reacted to. */
const answeringMs = 1_000;
export const recentMs = 120_000;

/**
 * Whose turn is judged. In this order: the one that was named; the one that is coming out, for a
 * touch or a button; else the last one before the reaction of which something was delivered, that is
 * not about a judgement itself and ended at most 120 s ago. Without this the praise would land in the
 * prompt, and the thank-you would be the answer that is trained.
 *
 * @returns `undefined` when the named message is not there, or nothing that could be judged.
 */
export function targetTurn(
  messages: readonly BufferedMessage[],
  reaction: Reaction,
): TargetTurn | undefined {
  const { chatId, targetMessageId } = reaction;
  const groups = turnGroups(messages.filter((message) => isOfChat(message, chatId)));
  const trigger = triggerGroup(groups, reaction);
  const triggerTurn = trigger === undefined ? null : told(trigger);
  if (targetMessageId !== undefined) {
    const named = groups.find((group) => isTargetIn(group, targetMessageId));
    if (named === undefined || answersOf(named).length === 0) return undefined;
    return { judged: judged(named, "explicit"), reason: null, triggerTurn };
  }
  const others = groups.filter((group) => group !== trigger && isJudgeable(group)).reverse();
  const answering = others.find((group) => isAnswering(group, reaction));
  if (answering !== undefined) {
    return { judged: judged(answering, "answering"), reason: null, triggerTurn };
  }
  const before = trigger?.firstIndex ?? Number.POSITIVE_INFINITY;
  const last = others.find((group) => group.firstIndex < before && !isLive(group));
  if (last === undefined) return { judged: null, reason: "no_assistant_turn", triggerTurn };
  const endedAgeMs = Math.max(...answersOf(last).map((answer) => answer.endedAgeMs));
  if (reaction.ageMs - endedAgeMs > recentMs)
    return { judged: null, reason: "too_old", triggerTurn };
  return { judged: judged(last, "last-assistant"), reason: null, triggerTurn };
}

/** Messages without a chat belong to all of them. */
export function isOfChat(message: BufferedMessage, chatId: string | null): boolean {
  return chatId === null || message.chatId === null || message.chatId === chatId;
}

/** A skill is called in the turn that is going on, so without a name it is the newest. */
function triggerGroup(
  groups: readonly TurnGroup[],
  { source, turnId, messageId }: Reaction,
): TurnGroup | undefined {
  if (turnId !== undefined) return groups.find((group) => group.turnId === turnId);
  if (messageId !== undefined) {
    return groups.find(({ messages }) => messages.some(({ id }) => id === messageId));
  }
  return source === "skill" ? groups.at(-1) : undefined;
}

function told({ turnId, messages }: TurnGroup) {
  const user = messages.findLast(({ role }) => role === "USER");
  return { turn_id: turnId, message_id: user?.id ?? null };
}

/** An injected message is not an answer, so a reaction cannot name it as its target. */
function isTargetIn({ messages }: TurnGroup, id: string): boolean {
  return messages.some((message) => message.id === id && message.synthetic === null);
}

function isJudgeable(group: TurnGroup): boolean {
  return wasDelivered(group) && !calledRemember(group);
}

function isLive(group: TurnGroup): boolean {
  return answersOf(group).some(({ live }) => live);
}

function isAnswering(group: TurnGroup, { channel, ageMs }: Reaction): boolean {
  if (channel !== "touch" && channel !== "button") return false;
  const answers = answersOf(group);
  const beganAgeMs = Math.min(...answers.map((answer) => answer.ageMs));
  return isLive(group) && ageMs - beganAgeMs >= answeringMs;
}

function judged(group: TurnGroup, how: Target["how"]): Judged {
  const answers = answersOf(group);
  const isAnswer = ({ role, synthetic }: BufferedMessage) => {
    return (role === "ASSISTANT" || role === "TOOL") && synthetic === null;
  };
  return {
    turn_id: group.turnId,
    message_ids: group.messages.filter(isAnswer).map(({ id }) => id),
    how,
    partial: isLive(group),
    interrupted: answers.some(({ interrupted }) => interrupted),
  };
}

/** The messages of one turn, in order. */
interface TurnGroup {
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
function turnGroups(messages: readonly BufferedMessage[]): readonly TurnGroup[] {
  const groups: Growing[] = [];
  const byId = new Map<string, Growing>();
  let unnamed: Growing | undefined;
  for (const [index, message] of messages.entries()) {
    const { turn_id: turnId } = message;
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
function answersOf({ messages }: TurnGroup): readonly BufferedMessage[] {
  return messages.filter(({ role, synthetic }) => role === "ASSISTANT" && synthetic === null);
}

/** Whether any of it was spoken or shown. */
function wasDelivered(group: TurnGroup): boolean {
  return answersOf(group).some(({ delivered, text }) => (delivered ?? text).trim() !== "");
}

/** Whether the model called one of our skills in the turn: then it is about a judgement itself. */
function calledRemember({ messages }: TurnGroup): boolean {
  return messages.some(({ tool_calls: calls }) => namesRemember(calls));
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
