// What a turn stores: one append as it begins, and one as it ends.
import { notFound } from "../chat/chat-log.ts";
import type { Chats } from "../chat/chats.ts";
import type { FreshnessRules } from "../chat/freshness.ts";
import { isTakenBack } from "../chat/marks.ts";
import { type AnswerStats, isMessage, type Outcome, type StoredMessage } from "../chat/message.ts";
import type { MessageInput } from "../chat/message-input.ts";
import { bucketOf, type Period } from "../chat/period.ts";
import type { ProviderModel, Resolution, Target } from "../chat/provider-sessions.ts";
import { controlId } from "../chat/record-ids.ts";
import type { Transaction } from "../chat/transaction.ts";
import { besideWords, pendingId, waitingInput } from "../chat/waiting.ts";
import { conflict } from "../errors.ts";
import type { JsonObject } from "../json.ts";
import type { FinishReason, Usage } from "../models/responder.ts";
import { isErased } from "../storage/batch.ts";
import { assertSame, type Turn } from "./turn.ts";
import { newestWords, TurnLog } from "./turn-log.ts";
import type { TurnsRuntime } from "./turns-options.ts";

export interface Begun {
  readonly user: StoredMessage;
  readonly resolution: Resolution;
  /** As the turn found it: what it writes later counts only while this period lasts. */
  readonly period: Period;
  readonly attempt: number;
  /** The person says this now: it is no second attempt, and no other answer to what was said. */
  readonly isNew: boolean;
  /** How long the person had been away, when that is worth a line. */
  readonly awayMs: number | undefined;
  /** For the person and the model: the period that ended with this turn, or with an attempt without an answer. */
  readonly notice: string | undefined;
  /** What an extension stored with the last answer: see `TurnPart.acknowledged`. */
  readonly acknowledged: number | undefined;
}

/**
 * Stores the files of a message, as a part of the change that stores the message: what is forgotten comes
 * before both or after both. A crash in between leaves files that no message names, and the same message
 * sent again finds them.
 */
async function keepFiles({ files }: Chats, turn: Turn): Promise<void> {
  for (const { bytes } of turn.files) await files.put(turn.chatId, bytes);
}

/** Begins a turn in one change: commits the user's message, with the period that it opens or goes on in. */
export async function beginTurn(
  ports: TurnsRuntime,
  transaction: Transaction,
  turn: Turn,
  target: Target,
): Promise<Begun> {
  if (turn.retryId !== undefined) return beginRetry(ports, transaction, turn, target);
  const { chats, sessions, rules } = ports;
  const { logs } = chats;
  const { chatId, head } = transaction;
  const isAbsent = turn.isFresh || turn.absentAt === transaction.seq;
  const record = isAbsent ? undefined : await logs.find(chatId, turn.id);
  const isShown = record && !(await isTakenBack(logs, chatId, turn.id));
  const known = isShown && isMessage(record) ? record : undefined;
  const isQueued = head.pending?.includes(turn.id) ?? false;
  const waiting = isQueued ? await waitingInput(logs, chatId, turn.id) : undefined;
  const isNew = known === undefined;
  const stored = known ?? waiting;
  if (stored !== undefined) assertSame(turn, stored);
  else await keepFiles(chats, turn);
  // An attempt at it has no answer.
  const open = head.open_turn?.id === turn.id ? head.open_turn : undefined;
  // Told once: with the words that were said after it.
  const away =
    waiting?.["away_ms"] ??
    (isNew && !isQueued ? awayBefore(rules, transaction, turn) : open?.away_ms);
  const awayMs = typeof away === "number" ? away : undefined;
  const resolution = await sessions.resolveIn(transaction, target, { isQueued });
  const trace_id = turn.span.traceId;
  const said = {
    id: turn.id,
    role: "user",
    content: turn.content,
    turn: turn.id,
    ...besideWords(turn),
    trace_id,
    // A message that waited was said when it came.
    timestamp: waiting && String(waiting["timestamp"]),
  } as const;
  const user = await chats.appendTo(transaction, said, record === undefined);
  // Only a person's act moves the clock: not the second attempt, and a queued message did before.
  const isAct = isNew ? !isQueued : turn.isAgain && open === undefined;
  if (isAct && turn.synthetic === undefined) sessions.humanActedIn(transaction);
  if (isNew && awayMs !== undefined) {
    transaction.control("turn", { event: "time_away", turn: turn.id, away_ms: awayMs });
  }
  const attempt = (open?.attempts ?? 0) + 1;
  if (!isNew) transaction.control("turn", { event: "attempt", turn: turn.id, attempt, trace_id });
  const notice = endNotice(resolution) ?? open?.notice;
  const pending = head.pending?.filter((each) => each !== turn.id);
  transaction.set({
    open_turn: { id: turn.id, seq: user.seq, attempts: attempt, away_ms: awayMs, notice },
    pending: pending?.length ? pending : undefined,
  });
  const { session, told_session: acknowledged } = transaction.head;
  const period = session as Period;
  return { user, resolution, period, attempt, isNew, awayMs, notice, acknowledged };
}

/** How long the person had been away before this was said, when that is worth a line. */
function awayBefore(
  rules: FreshnessRules,
  { head, now }: Transaction,
  turn: Turn,
): number | undefined {
  const humanAt = head.session?.human_at;
  if (humanAt === undefined || turn.synthetic !== undefined) return undefined;
  const away = now - Date.parse(humanAt);
  return rules.timeAwayMinutes > 0 && away >= rules.timeAwayMinutes * 60_000 ? away : undefined;
}

/** Keeps a message that waits for its turn. The person acted now: the period is not judged. */
export function keepPending(
  { chats, sessions, rules }: TurnsRuntime,
  turn: Turn,
  target: Target,
): Promise<void> {
  const { logs } = chats;
  const id = pendingId(turn.id);
  return chats.change(turn.chatId, async (transaction) => {
    if ((await logs.find(transaction.chatId, turn.id)) !== undefined) return;
    const kept = await logs.find(transaction.chatId, id);
    // Erased while it waited: its files must not come back either.
    if (kept !== undefined) return isErased(kept) ? undefined : assertSame(turn, kept);
    await keepFiles(chats, turn);
    const fields = { content: turn.content, ...besideWords(turn), ...target };
    const away_ms = awayBefore(rules, transaction, turn);
    transaction.control("pending_input", { ...fields, away_ms }, id);
    transaction.set({ pending: [...(transaction.head.pending ?? []), turn.id] });
    if (turn.synthetic === undefined) sessions.humanActedIn(transaction);
  });
}

/**
 * Begins to regenerate the answer to a message. The old answer stays until the new one is stored: a
 * crash in between leaves everything as it was.
 *
 * @throws ThroughlineError `THROUGHLINE_CONFLICT`: something was said after it, or it has no answer.
 */
async function beginRetry(
  { chats, sessions }: TurnsRuntime,
  transaction: Transaction,
  { id, retryId = "", span }: Turn,
  target: Target,
): Promise<Begun> {
  const user = await newestWords(chats, transaction);
  if (user?.id !== id || transaction.head.open_turn?.id === id) {
    throw conflict("only the answer to the newest message can be regenerated");
  }
  const resolution = await sessions.resolveIn(transaction, target);
  sessions.humanActedIn(transaction);
  const mark = controlId("retry", retryId);
  const fields = { event: "retry", turn: id, retry: retryId, trace_id: span.traceId };
  const isNew = (await chats.logs.find(transaction.chatId, mark)) === undefined;
  if (isNew) transaction.control("turn", fields, mark);
  const { session, told_session: acknowledged } = transaction.head;
  const begun = { user, resolution, period: session as Period, acknowledged, attempt: 1 };
  return { ...begun, isNew: false, awayMs: undefined, notice: endNotice(resolution) };
}

/**
 * The message that a retry with this id was of: also when something was said since.
 *
 * @throws ThroughlineError `THROUGHLINE_CONFLICT`: it was erased or taken back.
 */
export async function retriedWith(
  chats: Chats,
  chatId: string,
  retryId: string,
): Promise<StoredMessage | undefined> {
  const mark = await chats.logs.find(chatId, controlId("retry", retryId));
  if (mark === undefined) return undefined;
  const user = await chats.find(chatId, String(mark["turn"]));
  if (user !== undefined) return user;
  throw conflict("the message that this retry was of was erased or taken back");
}

/** Says what a person should know of the period, or a provider's part of it, that ended. */
function endNotice({ ended, reason, period }: Resolution): string | undefined {
  if (ended === "nothing") return undefined;
  return ended === "period"
    ? `A new session began (${reason}). The one before is kept and can be read.`
    : `${period.provider} starts afresh (${reason}). What was said is kept.`;
}

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
  { chats, sessions }: TurnsRuntime,
  turn: Turn,
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
  { logs }: Chats,
  { chatId, head }: Transaction,
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
