// The end of a turn: its answer, usage and period in one append.
import { notFound } from "../chat/chat-log.ts";
import type { Chats } from "../chat/chats.ts";
import type { AnswerStats, Outcome, StoredMessage } from "../chat/message.ts";
import type { MessageInput } from "../chat/message-input.ts";
import { bucketOf, type Period } from "../chat/period.ts";
import type { ProviderModel } from "../chat/provider-sessions.ts";
import type { Transaction } from "../chat/transaction.ts";
import type { JsonObject } from "../json.ts";
import type { FinishReason, Usage } from "../models/responder.ts";
import type { Begun } from "./begun.ts";
import type { Turn } from "./turn.ts";
import { TurnLog } from "./turn-log.ts";
import type { TurnsRuntime } from "./turns-options.ts";

/** How a turn ended, and its answer. */
export interface Ended extends ProviderModel {
  /**
   * What it said and is not stored yet. The last message of the assistant is the answer. Empty: not a word came.
   */
  readonly messages: readonly MessageInput[];
  /** The id of the answer. Absent where the model was called elsewhere: its messages have ids of their own. */
  readonly answerId?: string | undefined;
  readonly providerSessionId: string | undefined;
  readonly usage: Usage;
  readonly outcome: Outcome;
  readonly viewFrom?: number | undefined;
  /** Of the prompt, in tokens, if the provider's count can be held against it. */
  readonly estimated?: number | undefined;
  /** From when the model was asked to the end of its answer, waits for the provider included. */
  readonly latencyMs: number;
  /** To its first word. */
  readonly firstWordMs?: number | undefined;
  /** Stored with the answer: see `TurnPart.acknowledged`. */
  readonly acknowledged?: number | undefined;
  /** Why the answer is not whole: one sentence that is safe to show. */
  readonly reason?: string | undefined;
  /** What the provider said about it. */
  readonly detail?: string | undefined;
  /** Why the model ended its answer; absent when it did not. */
  readonly finish?: FinishReason | undefined;
}

/** The end of a turn, as it is stored. */
export interface Stored extends Ended {
  readonly assistant: StoredMessage | undefined;
  readonly period: Period;
}

/**
 * Commits the end of a turn: the answer, the usage, the period. One append: after a crash all of it
 * is there, or the turn is still open.
 */
export function endTurn(
  { chats, sessions }: Pick<TurnsRuntime, "chats" | "sessions">,
  turn: Pick<Turn, "chatId" | "id" | "retryId" | "isFresh">,
  begun: Begun,
  ended: Ended,
): Promise<Stored> {
  const { chatId, id, retryId } = turn;
  const { messages, answerId: own, provider, model, usage, outcome } = ended;
  return chats.changeExisting(chatId, async (transaction) => {
    const by = await answeredBy(chats, transaction, begun, ended);
    const isLate = by["hidden"] === true;
    const last = messages.findLast(({ role }) => role === "assistant");
    const isSaid = last !== undefined && last.content !== "";
    const isAnswered = isSaid || outcome === "answered";
    const isOpen = transaction.head.open_turn?.id === id;
    // Its message was hidden or erased since: the provider's own session remembers it and must not be resumed,
    // and what the provider counted had it in it.
    const isGone = retryId === undefined && !isOpen;
    // One that is late hides nothing: the message would be left without any answer.
    if (retryId !== undefined && isAnswered && !isLate) {
      (await TurnLog.read(chats, chatId, begun.user)).show(own, transaction);
    }
    let assistant: StoredMessage | undefined;
    for (const message of messages) {
      const fields = { ...message, ...by, ...(message === last ? ofAnswer(ended, message) : {}) };
      if (message !== last || own === undefined) {
        const stored = await chats.appendTo(transaction, fields);
        if (message === last) assistant = stored;
        continue;
      }
      // A message that is answered again may have the answer of before.
      const isSecond = !begun.isNew && retryId === undefined;
      const isTaken = isSecond && (await chats.logs.find(chatId, own)) !== undefined;
      // The id of the message was made up for it, and nothing was stored since.
      if (turn.isFresh && transaction.seq === begun.user.seq) transaction.newIds.add(own);
      assistant = transaction.message({ ...fields, id: isTaken ? transaction.newId() : own });
    }
    const delta = {
      turn: id,
      provider,
      model,
      messages: 1,
      generation: begun.period.generation,
      cost_usd: usage.costUsd ?? null,
      tokens: (usage.inputTokens ?? 0) + (usage.outputTokens ?? 0),
      outcome,
      bucket_generation: bucketOf(begun.period, provider).generation,
      session_id: isGone ? undefined : ended.providerSessionId,
    };
    sessions.updateIn(transaction, delta);
    // Only a model that failed without a word leaves the turn open: it can be asked again.
    const isOver = outcome !== "failed" || isAnswered;
    if (isOver && isOpen) transaction.set({ open_turn: undefined });
    // With the answer that was made with it, or not at all: acknowledged exactly once.
    const isAcknowledged = ended.acknowledged !== undefined && isSaid && !isLate;
    if (isAcknowledged) transaction.set({ told_session: ended.acknowledged });
    if (!isLate && !isGone && ended.viewFrom !== undefined) {
      const views = { ...transaction.head.view_from, [provider]: ended.viewFrom };
      transaction.set({ view_from: views, ...reportedBy(transaction, ended) });
    }
    return { ...ended, assistant, period: transaction.head.session ?? begun.period };
  });
}

/** What stands beside the words of an answer: why it is not whole, and what it took. `null`: not known. */
function ofAnswer(ended: Ended, { content }: MessageInput): JsonObject {
  const { usage, latencyMs, firstWordMs } = ended;
  const stats: AnswerStats & JsonObject = {
    input_tokens: usage.inputTokens ?? null,
    output_tokens: usage.outputTokens ?? null,
    cached_input_tokens: usage.cachedInputTokens,
    cost_usd: usage.costUsd ?? null,
    latency_ms: latencyMs,
    first_word_ms: firstWordMs ?? null,
  };
  const partial_reason = partialReasonOf(ended);
  // An answer may have been stopped while its tools ran.
  const isCut = partial_reason === "stopped" || (partial_reason !== undefined && content !== "");
  return isCut ? { partial: true, partial_reason, stats } : { stats };
}

function partialReasonOf({ outcome, finish }: Ended) {
  if (outcome !== "answered") return outcome === "failed" ? "error" : "stopped";
  if (finish === "length") return finish;
  return finish === "content-filter" ? "content_filter" : undefined;
}

/** What the provider counted for the prompt, for the next turn to go by. */
function reportedBy(transaction: Transaction, ended: Ended) {
  const { usage, provider, model, estimated } = ended;
  const { inputTokens: tokens = 0 } = usage;
  if (tokens <= 0 || estimated === undefined) return {};
  if (partialReasonOf(ended) !== undefined) return {};
  const use = { model, tokens, estimated };
  return { reported: { ...transaction.head.reported, [provider]: use } };
}

/**
 * Whose turn an answer, a call or a result is of, and who made it.
 *
 * @throws ThroughlineError `THROUGHLINE_NOT_FOUND`: the chat was forgotten, and another one of its id has begun.
 */
export async function answeredBy(
  { logs }: Pick<Chats, "logs">,
  { chatId, head }: Pick<Transaction, "chatId" | "head">,
  { user: { id }, period: { generation } }: Begun,
  { provider, model }: ProviderModel,
): Promise<JsonObject> {
  const isThere = head.open_turn?.id === id || (await logs.find(chatId, id)) !== undefined;
  if (!isThere) throw notFound(chatId, "message");
  const by = { turn: id, provider, model };
  if (head.session?.generation === generation) return by;
  // Its period has ended: out of every view of the one that began since.
  return { ...by, hidden: true, generation };
}
