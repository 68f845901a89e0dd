// What a turn writes, and when: the user's message before a model is asked, everything else after,
// each in one append.

import { attachmentsOf, sameFiles, type TakenFile } from "../chat/attachments.ts";
import type { Chats } from "../chat/chats.ts";
import { checkMessageId } from "../chat/control-ids.ts";
import type { FreshnessRules } from "../chat/freshness.ts";
import type { Outcome } from "../chat/interaction.ts";
import { isTakenBack } from "../chat/marks.ts";
import {
  type AnswerStats,
  type Attachment,
  isControl,
  isMessage,
  type StoredMessage,
} from "../chat/message.ts";
import type { MessageInput } from "../chat/message-input.ts";
import { bucketOf, type Period } from "../chat/period.ts";
import type { Resolution, Target } from "../chat/provider-sessions.ts";
import type { Transaction } from "../chat/transaction.ts";
import { answerId } from "../chat/turn-ids.ts";
import { besideWords, pendingId, waitingInput } from "../chat/waiting.ts";
import { isThroughlineError, ThroughlineError } from "../errors.ts";
import type { Json, JsonObject } from "../json.ts";
import type { Usage } from "../models/responder.ts";
import { isErased, prepareBatch } from "../storage/batch.ts";
import type { StoredRecord } from "../storage/log-store.ts";
import type { Span } from "../telemetry.ts";
import { type EndedPart, endedAt, endedBy } from "./rollover.ts";
import type { TurnsRuntime } from "./turns-options.ts";
import { showVariant } from "./variants.ts";

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
  /** What ended with this turn, or with an attempt at it without an answer: not announced yet. */
  readonly ended: EndedPart | undefined;
  /** What an extension stored with the last answer: see `TurnPart.acknowledged`. */
  readonly acknowledged: number | undefined;
}

export interface NewTurn {
  readonly chatId: string;
  readonly id: string;
  readonly content: string;
  /** Who of a group said it. */
  readonly name?: string | undefined;
  /** Set when no person said it: what it is. */
  readonly synthetic?: string | undefined;
  /** The caller's own fields of the message. */
  readonly extra?: JsonObject | undefined;
  readonly exact?: JsonObject | undefined;
  readonly attachments?: readonly Attachment[] | undefined;
  /** Files of it that are not stored yet. */
  readonly files?: readonly TakenFile[] | undefined;
  /** Its id was made up for it, and nothing of it is stored yet. */
  readonly isFresh?: boolean | undefined;
  /** It was said before, and a person asks for another answer. */
  readonly isAgain?: boolean | undefined;
  /** By which the turn is found in traces. */
  readonly span?: Pick<Span, "traceId"> | undefined;
}

/**
 * Stores the files of a message, as a part of the change that stores the message: what is forgotten comes
 * before both or after both. A crash in between leaves files that no message names, and the same message
 * sent again finds them.
 */
async function keepFiles({ files }: Chats, turn: NewTurn, transaction: Transaction): Promise<void> {
  const { chatId, files: given = [] } = turn;
  if (given.length === 0) return;
  // What is refused leaves no files behind.
  checkMessageId(turn.id);
  checkRoom(turn, transaction);
  for (const { bytes } of given) await files.put(chatId, bytes);
}

/** @throws ThroughlineError `THROUGHLINE_ID_CONFLICT`: the stored message has other files. */
function assertSameFiles(stored: StoredRecord, { attachments }: NewTurn): void {
  if (sameFiles(attachmentsOf(stored), attachments)) return;
  throw new ThroughlineError("a message with this id and other files is stored already", {
    code: "THROUGHLINE_ID_CONFLICT",
  });
}

/** Commits the user's message, with the period that it opens or goes on in. */
export function beginTurn(
  ports: Pick<TurnsRuntime, "chats" | "sessions" | "rules">,
  turn: NewTurn,
  target: Target,
): Promise<Begun> {
  return ports.chats.change(turn.chatId, (transaction) =>
    beginTurnIn(ports, transaction, turn, target),
  );
}

/** `beginTurn` as a part of a larger change, or of one that is not stored. */
export async function beginTurnIn(
  ports: Pick<TurnsRuntime, "chats" | "sessions" | "rules">,
  transaction: Transaction,
  turn: NewTurn,
  target: Target,
): Promise<Begun> {
  const { chats, sessions, rules } = ports;
  const { logs } = chats;
  const record = turn.isFresh ? undefined : await logs.find(transaction.chatId, turn.id);
  const isShown = record && !(await isTakenBack(logs, transaction.chatId, turn.id));
  const known = isShown && isMessage(record) ? record : undefined;
  const isQueued = transaction.head.pending?.includes(turn.id) ?? false;
  const waiting = isQueued ? await waitingInput(logs, transaction.chatId, turn.id) : undefined;
  const isNew = known === undefined;
  const stored = known ?? waiting;
  if (stored === undefined) await keepFiles(chats, turn, transaction);
  else assertSameFiles(stored, turn);
  // Told once: with the words that were said after it.
  const away = isNew
    ? (waiting?.["away_ms"] ?? awayBefore(transaction, turn, { isQueued, rules }))
    : await awayAt(chats, transaction.chatId, known);
  const resolution = await sessions.resolveIn(transaction, target, { isQueued });
  const said = {
    id: turn.id,
    role: "user",
    content: turn.content,
    turn: turn.id,
    ...besideWords(turn),
    trace_id: turn.span?.traceId,
    // A message that waited was said when it came.
    timestamp: waiting && String(waiting["timestamp"]),
  } as const;
  const user = await chats.appendTo(transaction, said, record === undefined);
  const open = transaction.head.open_turn;
  // Only a person's act moves the clock: not the second attempt, and a queued message did before.
  const isAct = isNew ? !isQueued : turn.isAgain === true && open?.id !== turn.id;
  if (isAct && isPersons(turn)) sessions.humanActedIn(transaction);
  if (isNew && typeof away === "number") {
    transaction.control("turn", { event: "time_away", turn: turn.id, away_ms: away });
  }
  const attempt = open?.id === turn.id ? open.attempts + 1 : 1;
  if (!isNew) {
    const trace_id = turn.span?.traceId;
    transaction.control("turn", { event: "attempt", turn: turn.id, attempt, trace_id });
  }
  transaction.set({
    open_turn: { id: turn.id, seq: user.seq, attempts: attempt },
    pending: without(transaction.head.pending, turn.id),
  });
  const period = transaction.head.session as Period;
  const awayMs = typeof away === "number" ? away : undefined;
  const ended =
    endedBy(resolution) ?? (isNew ? undefined : await endedAt(chats, transaction, user));
  const acknowledged = transaction.head.told_session;
  return { user, resolution, period, attempt, isNew, awayMs, ended, acknowledged };
}

/** How long the person had been away when this was said, as it was noted with it. */
async function awayAt(
  chats: Chats,
  chatId: string,
  { id, seq }: StoredMessage,
): Promise<Json | undefined> {
  const [record] = await chats.logs.page(chatId, { after: seq, limit: 1 });
  const isIt = record !== undefined && isControl(record, "turn") && record["turn"] === id;
  return isIt && record["event"] === "time_away" ? record["away_ms"] : undefined;
}

/** Whether a person said it, not the application. */
const isPersons = ({ synthetic }: NewTurn) => synthetic === undefined;

/** How long the person had been away before this was said, when that is worth a line. */
function awayBefore(
  { head, now }: Transaction,
  turn: NewTurn,
  { isQueued, rules }: { readonly isQueued: boolean; readonly rules: FreshnessRules },
): number | undefined {
  const humanAt = head.session?.human_at;
  if (humanAt === undefined || isQueued || !isPersons(turn)) return undefined;
  const away = now - Date.parse(humanAt);
  return rules.timeAwayMs > 0 && away >= rules.timeAwayMs ? away : undefined;
}

/** Keeps a message that waits for its turn. The person acted now: the period is not judged. */
export async function keepPending(
  ports: Pick<TurnsRuntime, "chats" | "sessions" | "rules">,
  turn: NewTurn,
  target: Target,
): Promise<void> {
  const { chats, sessions, rules } = ports;
  const { logs } = chats;
  const id = pendingId(turn.id);
  const keep = chats.change(turn.chatId, async (transaction) => {
    if ((await logs.find(transaction.chatId, turn.id)) !== undefined) return;
    const kept = await logs.find(transaction.chatId, id);
    // Erased while it waited: its files must not come back either.
    if (kept !== undefined && (isErased(kept) || isControl(kept, "pending_input"))) return;
    checkMessageId(turn.id);
    checkRoom(turn, transaction);
    await keepFiles(chats, turn, transaction);
    const away = awayBefore(transaction, turn, { isQueued: false, rules });
    transaction.control(
      "pending_input",
      {
        content: turn.content,
        ...besideWords(turn),
        provider: target.provider,
        model: target.model,
        away_ms: away,
      },
      id,
    );
    transaction.set({ pending: [...(transaction.head.pending ?? []), turn.id] });
    if (isPersons(turn)) sessions.humanActedIn(transaction);
  });
  try {
    await keep;
  } catch (error) {
    // The same message was sent to another process, which kept it first, with its own time.
    const isKept = isThroughlineError(error, "THROUGHLINE_ID_CONFLICT");
    if (!isKept || (await waitingInput(logs, turn.chatId, turn.id)) === undefined) throw error;
  }
  const kept = await waitingInput(logs, turn.chatId, turn.id);
  if (kept !== undefined) assertSameFiles(kept, turn);
}

/** What is kept must fit into a record in whatever form it ends: traced or dismissed. */
function checkRoom(turn: NewTurn, { at }: Transaction): void {
  const { chatId, id, content } = turn;
  const longest = {
    id,
    role: "user",
    content,
    timestamp: at,
    turn: id,
    ...besideWords(turn),
    trace_id: "0".repeat(32), // longer than the mark of a dismissed one
  };
  prepareBatch(chatId, [longest]);
}

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
  readonly partialReason: "stopped" | "error" | "length" | "content_filter" | undefined;
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
}

/**
 * Commits the end of a turn: the answer, the usage, the period. One append: after a crash all of it
 * is there, or the turn is still open.
 */
export function endTurn(
  memories: Pick<TurnsRuntime, "chats" | "sessions">,
  turn: { readonly chatId: string; readonly id: string; readonly retryId?: string | undefined },
  begun: Begun,
  ended: Ended,
): Promise<{ assistant: StoredMessage | undefined; period: Period }> {
  const { chats, sessions } = memories;
  const { generation } = begun.period;
  return chats.changeExisting(turn.chatId, async (transaction) => {
    const isLate = isAfterItsPeriod(transaction, begun);
    const hasAnswer = ended.text !== "" || ended.outcome === "answered";
    // Its message was hidden or erased since: the provider's own session remembers it and must not be resumed,
    // and what the provider counted had it in it.
    const isGone = turn.retryId === undefined && transaction.head.open_turn?.id !== turn.id;
    // One that is late hides nothing: the message would be left without any answer.
    const replaces = turn.retryId !== undefined && hasAnswer && !isLate;
    if (replaces) {
      await showVariant(chats, transaction, begun.user, answerId(turn.id, turn.retryId));
    }
    const by = answeredBy(transaction, turn, begun, ended);
    let assistant: { readonly id: string } | undefined;
    if (ended.messages !== undefined) {
      const { messages } = ended;
      assistant = await storeMessages(chats, transaction, { messages, ended, by });
    } else if (hasAnswer) {
      assistant = transaction.message(
        await ownAnswer(chats, transaction, { turn, begun, ended, by }),
      );
    }
    sessions.updateIn(transaction, {
      turn: turn.id,
      provider: ended.provider,
      model: ended.model,
      messages: 1,
      generation,
      cost_usd: ended.usage.costUsd ?? null,
      tokens: (ended.usage.inputTokens ?? 0) + (ended.usage.outputTokens ?? 0),
      outcome: ended.outcome,
      bucket_generation: bucketOf(begun.period, ended.provider).generation,
      session_id: isGone ? undefined : ended.providerSessionId,
    });
    // Only a model that failed without a word leaves the turn open: it can be asked again.
    const isOver = ended.outcome !== "failed" || hasAnswer;
    if (isOver && transaction.head.open_turn?.id === turn.id)
      transaction.set({ open_turn: undefined });
    // With the answer that was made with it, or not at all: acknowledged exactly once.
    const isAcknowledged = ended.acknowledged !== undefined && ended.text !== "" && !isLate;
    if (isAcknowledged) transaction.set({ told_session: ended.acknowledged });
    if (!isLate && !isGone && ended.viewFrom !== undefined) {
      const views = { ...transaction.head.view_from, [ended.provider]: ended.viewFrom };
      transaction.set({ view_from: views, ...reportedBy(transaction, ended) });
    }
    return {
      assistant: assistant as unknown as StoredMessage | undefined,
      period: transaction.head.session ?? begun.period,
    };
  });
}

/** The message of an answer that we asked for. */
async function ownAnswer(
  chats: Chats,
  transaction: Transaction,
  of: {
    readonly turn: { readonly id: string; readonly retryId?: string | undefined };
    readonly begun: Begun;
    readonly ended: Ended;
    readonly by: JsonObject;
  },
): Promise<MessageInput> {
  const { turn, begun, ended, by } = of;
  const id = answerId(turn.id, turn.retryId);
  // A message that is answered again may have the answer of before.
  const isSecond = !begun.isNew && turn.retryId === undefined;
  const { logs } = chats;
  const isTaken = isSecond && (await logs.find(transaction.chatId, id)) !== undefined;
  return {
    id: isTaken ? transaction.newId() : id,
    role: "assistant",
    content: ended.text,
    reasoning_content: ended.reasoning || undefined,
    ...by,
    partial: ended.partialReason !== undefined || undefined,
    partial_reason: ended.partialReason,
    stats: statsOf(ended),
    provider_data: ended.providerData,
  };
}

/** Stores what a model said that was called elsewhere. @returns the last of it that is an answer. */
async function storeMessages(
  chats: Chats,
  transaction: Transaction,
  of: {
    readonly messages: readonly MessageInput[];
    readonly ended: Ended;
    readonly by: JsonObject;
  },
): Promise<StoredMessage | undefined> {
  const { messages, ended, by } = of;
  const last = messages.findLastIndex(({ role }) => role === "assistant");
  let assistant: StoredMessage | undefined;
  for (const [index, message] of messages.entries()) {
    const own = { ...message, ...by };
    // An answer may have been stopped while its tools ran.
    const isStopped = ended.partialReason === "stopped" && index === last;
    const isCut = isStopped || (ended.partialReason !== undefined && message.content !== "");
    const cut = isCut ? { partial: true, partial_reason: ended.partialReason } : {};
    const answer = { ...own, ...cut, stats: statsOf(ended) };
    const stored = await chats.appendTo(transaction, index === last ? answer : own);
    if (index === last) assistant = stored;
  }
  return assistant;
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
function reportedBy(
  transaction: Transaction,
  { usage, provider, model, partialReason, estimated, ...ended }: Ended,
) {
  // With a tool's result the model was asked again, and what it read the first time counted twice.
  if (ended.usedTools) return {};
  const { inputTokens: tokens } = usage;
  const isKnown = tokens !== undefined && tokens > 0 && estimated !== undefined;
  if (!isKnown || partialReason !== undefined) return {};
  const use = { model, tokens, estimated };
  return { reported: { ...transaction.head.reported, [provider]: use } };
}

/** Whose turn an answer, a call or a result is of, and who made it. */
export function answeredBy(
  transaction: Transaction,
  turn: { readonly id: string },
  begun: Begun,
  { provider, model }: { readonly provider: string; readonly model: string },
): JsonObject {
  const by = { turn: turn.id, provider, model };
  // Out of every view of the period that began since.
  if (isAfterItsPeriod(transaction, begun)) {
    return { ...by, hidden: true, generation: begun.period.generation };
  }
  return by;
}

/** Whether the period in which the turn began has ended: what it stores belongs to the old one. */
function isAfterItsPeriod(transaction: Transaction, begun: Begun): boolean {
  return transaction.head.session?.generation !== begun.period.generation;
}

function without(pending: readonly string[] | undefined, id: string) {
  const rest = pending?.filter((each) => each !== id);
  return rest === undefined || rest.length === 0 ? undefined : rest;
}
