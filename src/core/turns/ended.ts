// The end of a turn: its answer, usage and period in one append.
import { notFound } from "../chat/chat-log.ts";
import type { Chats } from "../chat/chats.ts";
import type { AnswerStats, Outcome, StoredMessage } from "../chat/message.ts";
import type { MessageInput } from "../chat/message-input.ts";
import { bucketOf, checkUsage, type Period } from "../chat/period.ts";
import type { ProviderModel } from "../chat/provider-sessions.ts";
import { answerId } from "../chat/record-ids.ts";
import type { Transaction } from "../chat/transaction.ts";
import type { JsonObject } from "../json.ts";
import type { FinishReason, Usage } from "../models/responder.ts";
import type { Begun } from "./begun.ts";
import type { Turn } from "./turn.ts";
import { TurnLog } from "./turn-log.ts";
import type { TurnsRuntime } from "./turns-options.ts";

/** How a turn ended, and its answer. */
export interface Ended {
  /** What was said, and thought, after the last call that is stored. */
  readonly text: string;
  readonly reasoning: string;
  /** Whether calls or results are stored of this attempt. */
  readonly usedTools: boolean;
  readonly providerData?: JsonObject | undefined;
  readonly providerSessionId: string | undefined;
  readonly usage: Usage;
  readonly outcome: Outcome;
  readonly provider: string;
  readonly model: string;
  readonly viewFrom?: number | undefined;
  /** Of the prompt, in tokens. */
  readonly estimated?: number | undefined;
  /** From when the model was asked to the end of its answer, waits for the provider included. */
  readonly latencyMs: number;
  /** To its first word. */
  readonly firstWordMs?: number | undefined;
  /** Stored with the answer: see `TurnPart.acknowledged`. */
  readonly acknowledged?: number | undefined;
  /** What is stored in place of `text`, where the model was called elsewhere. `text` is of its last one. */
  readonly messages?: readonly MessageInput[] | undefined;
  /** Why the answer is not whole: one sentence that is safe to show. */
  readonly reason?: string | undefined;
  /** What the provider said about it. */
  readonly detail?: string | undefined;
  /** Why the model ended its answer; absent when it did not. */
  readonly finish?: FinishReason | undefined;
}

/** The end of a turn, as it is stored. */
export interface Stored {
  readonly assistant: StoredMessage | undefined;
  readonly period: Period;
  readonly ended: Ended;
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
  const { generation } = begun.period;
  const { chatId, id, retryId } = turn;
  return chats.changeExisting(chatId, async (transaction) => {
    const by = await answeredBy(chats, transaction, begun, ended);
    const isLate = by["hidden"] === true;
    const hasAnswer = ended.text !== "" || ended.outcome === "answered";
    const isOpen = transaction.head.open_turn?.id === id;
    // Its message was hidden or erased since: the provider's own session remembers it and must not be resumed,
    // and what the provider counted had it in it.
    const isGone = retryId === undefined && !isOpen;
    // One that is late hides nothing: the message would be left without any answer.
    if (retryId !== undefined && hasAnswer && !isLate) {
      const log = await TurnLog.read(chats, chatId, begun.user);
      log.show(answerId(id, retryId), transaction);
    }
    const partialReason = partialReasonOf(ended);
    let assistant: StoredMessage | undefined;
    if (ended.messages !== undefined) {
      assistant = await storeMessages(chats, transaction, ended, by);
    } else if (hasAnswer) {
      // A message that is answered again may have the answer of before.
      const isSecond = !begun.isNew && retryId === undefined;
      const own = answerId(id, retryId);
      const isTaken = isSecond && (await chats.logs.find(chatId, own)) !== undefined;
      // The id of the message was made up for it, and nothing was stored since.
      if (turn.isFresh && transaction.seq === begun.user.seq) transaction.newIds.add(own);
      assistant = transaction.message({
        id: isTaken ? transaction.newId() : own,
        role: "assistant",
        content: ended.text,
        reasoning_content: ended.reasoning || undefined,
        ...by,
        partial: partialReason !== undefined || undefined,
        partial_reason: partialReason,
        stats: statsOf(ended),
        provider_data: ended.providerData,
      }) as unknown as StoredMessage;
    }
    const { provider, model, usage, outcome } = ended;
    const delta = {
      turn: id,
      provider,
      model,
      messages: 1,
      generation,
      cost_usd: usage.costUsd ?? null,
      tokens: (usage.inputTokens ?? 0) + (usage.outputTokens ?? 0),
      outcome,
      bucket_generation: bucketOf(begun.period, provider).generation,
      session_id: isGone ? undefined : ended.providerSessionId,
    };
    if (ended.messages !== undefined) checkUsage(delta); // its caller says what was used
    sessions.updateIn(transaction, delta);
    // Only a model that failed without a word leaves the turn open: it can be asked again.
    const isOver = outcome !== "failed" || hasAnswer;
    if (isOver && isOpen) transaction.set({ open_turn: undefined });
    // With the answer that was made with it, or not at all: acknowledged exactly once.
    const isAcknowledged = ended.acknowledged !== undefined && ended.text !== "" && !isLate;
    if (isAcknowledged) transaction.set({ told_session: ended.acknowledged });
    if (!isLate && !isGone && ended.viewFrom !== undefined) {
      const views = { ...transaction.head.view_from, [provider]: ended.viewFrom };
      transaction.set({ view_from: views, ...reportedBy(transaction, ended) });
    }
    return { assistant, period: transaction.head.session ?? begun.period, ended };
  });
}

/** Stores what a model said that was called elsewhere. @returns the last of it that is an answer. */
async function storeMessages(
  chats: Chats,
  transaction: Transaction,
  ended: Ended,
  by: JsonObject,
): Promise<StoredMessage | undefined> {
  const partial_reason = partialReasonOf(ended);
  const { messages = [] } = ended;
  const last = messages.findLastIndex(({ role }) => role === "assistant");
  let assistant: StoredMessage | undefined;
  for (const [index, message] of messages.entries()) {
    const isLast = index === last;
    // An answer may have been stopped while its tools ran.
    const isCut = partial_reason !== undefined && message.content !== "";
    const cut = isCut || partial_reason === "stopped" ? { partial: true, partial_reason } : {};
    const more = isLast ? { ...cut, stats: statsOf(ended) } : {};
    const stored = await chats.appendTo(transaction, { ...message, ...by, ...more });
    if (isLast) assistant = stored;
  }
  return assistant;
}

function partialReasonOf({ outcome, finish }: Ended) {
  if (outcome !== "answered") return outcome === "failed" ? "error" : "stopped";
  if (finish === "length") return finish;
  return finish === "content-filter" ? "content_filter" : undefined;
}

/** What an answer took, kept with it. `null`: not known. */
function statsOf({ usage, latencyMs, firstWordMs }: Ended): AnswerStats & JsonObject {
  const { cachedInputTokens } = usage;
  return {
    input_tokens: usage.inputTokens ?? null,
    output_tokens: usage.outputTokens ?? null,
    cached_input_tokens: cachedInputTokens,
    cost_usd: usage.costUsd ?? null,
    latency_ms: latencyMs,
    first_word_ms: firstWordMs ?? null,
  };
}

/** What the provider counted for the prompt, for the next turn to go by. */
function reportedBy(transaction: Transaction, ended: Ended) {
  const { usage, provider, model, estimated } = ended;
  const { inputTokens: tokens = 0 } = usage;
  // With a tool's result the model was asked again, and what it read the first time counted twice.
  if (ended.usedTools || tokens <= 0 || estimated === undefined) return {};
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
