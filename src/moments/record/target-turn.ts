import { invalid } from "../../core/errors.ts";
import type { Json } from "../../core/json.ts";
import type { Channel, PackageMessage, Source, Target, TargetReason } from "../package/record.ts";
import type { Label, MomentInput, TranscriptMessage } from "./label.ts";
import { type BufferedMessage, bufferedMessage, draftMessage } from "./messages.ts";
import { limits, seconds, type Zero } from "./ring.ts";

/** The words of a moment, and which of them it is about. */
export interface JudgedMessages {
  readonly chatId: string | null;
  readonly messages: readonly PackageMessage[];
  readonly target: TargetTurn;
  readonly from: "ring" | "transcript";
}

/**
 * The messages of the reaction's chat and the turn that it is about: of the buffer, or of the
 * transcript that came with it when the buffer no longer has the named message.
 *
 * @throws ThroughlineError `THROUGHLINE_INVALID`: neither has it.
 */
export function judgedMessages(
  seen: readonly BufferedMessage[],
  input: Named & Pick<MomentInput, "chatId" | "transcript">,
  { channel, source }: Label,
  zero: Zero,
): JudgedMessages {
  const { turnId, messageId, targetMessageId, transcript = [] } = input;
  const chatId = input.chatId ?? chatOf(seen, input);
  const reaction = { turnId, messageId, targetMessageId, channel, source, atMs: zero.atMs };
  const ours = seen.filter((message) => isOfChat(message, chatId));
  const target = targetTurn(ours, reaction);
  // A named answer whose question has left the buffer is of no use for training.
  const isWhole = target && (targetMessageId === undefined || hasQuestion(ours, target));
  const old = isWhole ? [] : transcript.slice(-limits.messages);
  const said = old.map((message, index) => oldMessage(message, index + 1, zero.atMs));
  const oldTarget = said.length === 0 ? undefined : targetTurn(said, reaction);
  if (oldTarget !== undefined) {
    const messages = said.map((message, index) => {
      const { atMs } = old[index] ?? {};
      const timestamp = atMs === undefined ? null : seconds(atMs);
      return { ...draftMessage(message, zero), timestamp, t_ms: null };
    });
    return { chatId, messages, target: oldTarget, from: "transcript" };
  }
  if (target === undefined) throw invalid("targetMessageId names no answer that is known");
  const messages = ours.map((message) => draftMessage(message, zero));
  return { chatId, messages, target, from: "ring" };
}

/** Whether a person's words stand before what was judged. */
function hasQuestion(messages: readonly BufferedMessage[], { judged }: TargetTurn): boolean {
  const first = messages.findIndex(({ id }) => judged?.message_ids.includes(id));
  const isSaid = ({ role, synthetic }: BufferedMessage) => role === "USER" && synthetic === null;
  return messages.slice(0, Math.max(0, first)).some(isSaid);
}

/** Of the message or turn in which it was expressed or that it is about; else of the newest one. */
function chatOf(
  seen: readonly BufferedMessage[],
  { turnId, messageId, targetMessageId }: Named,
): string | null {
  const named = seen.findLast((message) => {
    const isNamed = message.id === messageId || message.id === targetMessageId;
    return isNamed || (turnId !== undefined && message.turn_id === turnId);
  });
  return (named ?? seen.findLast((message) => message.chatId !== null))?.chatId ?? null;
}

function oldMessage(message: TranscriptMessage, seq: number, atMs: number): BufferedMessage {
  const place = { id: message.id, seq, atMs, endedMs: atMs };
  return bufferedMessage({ ...message, live: false }, place);
}

/** What a reaction names: where it was expressed, and what it is about. */
type Named = Pick<MomentInput, "turnId" | "messageId" | "targetMessageId">;

/** What is known of a reaction when it is judged whose turn it is about. */
export interface Reaction extends Named {
  readonly channel: Channel;
  readonly source: Source;
  readonly atMs: number;
}

export interface TargetTurn {
  /** A target before it is placed in messages.json. */
  readonly judged: Omit<Target, "index" | "count"> | null;
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
 * @param messages of the chat of the reaction.
 * @returns `undefined` when the named message is not there, or nothing that could be judged.
 */
export function targetTurn(
  messages: readonly BufferedMessage[],
  reaction: Reaction,
): TargetTurn | undefined {
  const { targetMessageId, channel, atMs } = reaction;
  const turns = turnsIn(messages);
  const trigger = triggerOf(turns, reaction);
  const asked = trigger?.messages.findLast(({ role }) => role === "USER");
  const triggerTurn = trigger ? { turn_id: trigger.turnId, message_id: asked?.id ?? null } : null;
  const found = (turn: SaidTurn, how: Target["how"]) => {
    return { judged: judged(turn, how), reason: null, triggerTurn };
  };
  const none = (reason: TargetReason) => ({ judged: null, reason, triggerTurn });
  if (targetMessageId !== undefined) {
    // An injected message is not an answer, so a reaction cannot name it as its target.
    const isNamed = ({ id, synthetic }: BufferedMessage) => {
      return id === targetMessageId && synthetic === null;
    };
    const named = turns.find((turn) => turn.messages.some(isNamed));
    return named && named.answers.length > 0 ? found(named, "explicit") : undefined;
  }
  const others = turns.filter((turn) => turn !== trigger && isJudgeable(turn)).reverse();
  const answering = others.find(({ isLive, answers }) => {
    return isLive && atMs - Math.min(...answers.map((answer) => answer.atMs)) >= answeringMs;
  });
  const isByHand = channel === "touch" || channel === "button";
  if (isByHand && answering !== undefined) return found(answering, "answering");
  const before = trigger?.first ?? Number.POSITIVE_INFINITY;
  const last = others.find(({ first, isLive }) => first < before && !isLive);
  if (last === undefined) return none("no_assistant_turn");
  const endedMs = Math.max(...last.answers.map((answer) => answer.endedMs));
  return atMs - endedMs > recentMs ? none("too_old") : found(last, "last-assistant");
}

/** Messages without a chat belong to all of them. */
export function isOfChat(message: BufferedMessage, chatId: string | null): boolean {
  return chatId === null || message.chatId === null || message.chatId === chatId;
}

/** A skill is called in the turn that is going on, so without a name it is the newest. */
function triggerOf(turns: readonly SaidTurn[], { source, turnId, messageId }: Reaction) {
  if (turnId !== undefined) return turns.find((turn) => turn.turnId === turnId);
  if (messageId !== undefined) {
    return turns.find(({ messages }) => messages.some(({ id }) => id === messageId));
  }
  return source === "skill" ? turns.at(-1) : undefined;
}

function judged({ turnId, messages, answers, isLive }: SaidTurn, how: Target["how"]) {
  const said = messages.filter(({ role, synthetic }) => {
    return (role === "ASSISTANT" || role === "TOOL") && synthetic === null;
  });
  return {
    turn_id: turnId,
    message_ids: said.map(({ id }) => id),
    how,
    partial: isLive,
    interrupted: answers.some(({ interrupted }) => interrupted),
  };
}

/** Something of it was spoken or shown, and no skill of ours was called: then it is about a judgement itself. */
function isJudgeable({ messages, answers }: SaidTurn): boolean {
  const wasDelivered = answers.some(({ delivered, text }) => (delivered ?? text).trim() !== "");
  return wasDelivered && !messages.some(({ tool_calls: calls }) => namesRemember(calls));
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

/** The messages of one turn, in order. */
interface SaidTurn {
  readonly turnId: string | null;
  readonly messages: readonly BufferedMessage[];
  /** What the model said, without what we put into its mouth. */
  readonly answers: readonly BufferedMessage[];
  readonly isLive: boolean;
  /** Where its first message is in the list. */
  readonly first: number;
}

/**
 * The turns that a list of messages holds, in the order in which they ended. Messages without a turn
 * id are a turn from each user message to the next one.
 */
function turnsIn(messages: readonly BufferedMessage[]): readonly SaidTurn[] {
  let unnamed = 0;
  const keys = messages.map(({ turn_id: turnId, role }, index) => {
    const follows = index > 0 && messages[index - 1]?.turn_id === null;
    if (turnId === null && (role === "USER" || !follows)) unnamed++;
    return turnId === null ? unnamed : turnId;
  });
  const byKey = Map.groupBy(keys.keys(), (index) => keys[index]);
  const turns = [...byKey.values()].sort((a, b) => (a.at(-1) ?? 0) - (b.at(-1) ?? 0));
  return turns.map((indexes) => {
    const said = indexes.flatMap((index) => messages[index] ?? []);
    const answers = said.filter(
      ({ role, synthetic }) => role === "ASSISTANT" && synthetic === null,
    );
    const isLive = answers.some(({ live }) => live);
    return {
      turnId: said[0]?.turn_id ?? null,
      messages: said,
      answers,
      isLive,
      first: indexes[0] ?? 0,
    };
  });
}
