// What is stored of a turn after its user message, read once: its answer, its variants, its replay.
import { attachmentsOf } from "../chat/attachments.ts";
import { notFound } from "../chat/chat-log.ts";
import type { Chats } from "../chat/chats.ts";
import { withoutSummaryOf } from "../chat/erasure.ts";
import { isTakenBack, Marks, shownMessages } from "../chat/marks.ts";
import { isControl, isCutByModel, isMessage, type StoredMessage } from "../chat/message.ts";
import { withoutSessionIds } from "../chat/period.ts";
import { periodView, type Target } from "../chat/provider-sessions.ts";
import { answerId, retryAnswerId, stepNumber, variantOf } from "../chat/record-ids.ts";
import type { Transaction } from "../chat/transaction.ts";
import { besideWords, endWaits, pendingId, waitingInput } from "../chat/waiting.ts";
import { conflict, type ThroughlineError } from "../errors.ts";
import { isErased } from "../storage/batch.ts";
import type { StoredRecord } from "../storage/log-store.ts";
import { assertSame, type Turn, type TurnAnswer } from "./turn.ts";

/** The records of one turn behind its user message. */
export class TurnLog {
  /** Messages of the assistant and of tools, oldest first, as they are stored. */
  readonly stored: StoredMessage[] = [];
  /** The same as people see them, without those that were taken back. */
  readonly shown: StoredMessage[] = [];
  /** The ids that the turn made, also those of records that were erased. */
  readonly ids = new Set<string>();
  /** An attempt has ended with an answer. */
  #isOver = false;
  #marks = new Marks();

  private constructor() {}

  /** @param before a number of the log that ends the reading. */
  static async read(
    { logs }: Chats,
    chatId: string,
    user: Pick<StoredMessage, "id" | "seq">,
    before = Number.POSITIVE_INFINITY,
  ): Promise<TurnLog> {
    const log = new TurnLog();
    const { stored, ids } = log;
    for await (const record of logs.read(chatId, { after: user.seq })) {
      if (record.seq >= before) break;
      if (record.id.startsWith(`${user.id}:`)) ids.add(record.id);
      if (record["turn"] !== user.id) continue;
      if (isMessage(record) && record.role !== "user") stored.push(record);
      else if (isControl(record, "turn") && record["event"] === "attempt") log.#isOver = false;
      else if (isControl(record, "usage")) {
        // A model that failed after its first words is not asked again.
        log.#isOver = record["outcome"] !== "failed" || stored.at(-1)?.partial_reason === "error";
      }
    }
    log.#marks = await Marks.about(logs, chatId, stored);
    log.shown.push(...stored.flatMap((message) => log.#marks.shown(message) ?? []));
    return log;
  }

  /** The shown messages that no other answer has replaced. */
  get kept(): readonly StoredMessage[] {
    return this.shown.filter(({ replaced }) => !replaced);
  }

  /** The calls and results that an attempt at the turn or a retry of it stored, as they are shown. */
  stepsOf(turn: Parameters<typeof stepNumber>[1]) {
    const steps = this.shown.flatMap((message) => {
      const number = stepNumber(message.id, turn);
      return number === undefined ? [] : [{ number, message }];
    });
    // The number of an erased one is not used again.
    const numbers = [...this.ids].map((id) => stepNumber(id, turn) ?? 0);
    return { steps, lastNumber: Math.max(0, ...numbers) };
  }

  /** The last message of the assistant, once an attempt has ended with one. */
  get answer(): StoredMessage | undefined {
    return this.#isOver ? this.kept.findLast(({ role }) => role === "assistant") : undefined;
  }

  /**
   * The answers that can be chosen, oldest first: those that are whole, and neither taken back nor erased.
   * `shown`: the id of the one that is shown; `undefined`: it was taken back or erased.
   */
  get variants(): { readonly ids: readonly string[]; readonly shown: string | undefined } {
    const late = new Set(this.stored.filter(({ hidden }) => hidden === true).map(({ id }) => id));
    /** By variant, its last message: the answer. */
    const answers = new Map<string | undefined, StoredMessage>();
    for (const message of this.shown) {
      const isSaid = message.role === "assistant" && !late.has(message.id);
      if (isSaid) answers.set(variantOf(message), message);
    }
    const whole = [...answers].flatMap(([variant, last]) => {
      const { id, content, tool_calls: calls = [] } = last;
      // One that was cut off in its tools has said nothing yet.
      const isAnswer =
        variant === undefined ? content !== "" || calls.length === 0 : id === variant;
      return isAnswer ? [last] : [];
    });
    const shown = whole.find(({ replaced }) => replaced !== true);
    return { ids: whole.map(({ id }) => id), shown: shown?.id };
  }

  /**
   * Shows one answer, with the tool calls and results that led to it, and hides the others, as part of a
   * larger change. What stands as it should gets no record.
   *
   * @param variant as `variantOf` names it.
   */
  show(variant: string | undefined, transaction: Transaction): void {
    for (const message of this.stored) {
      // Of a retry whose answer comes now, or of one that has no answer: that hides them.
      const retry = retryAnswerId(message);
      if (retry !== undefined && !this.ids.has(retry)) continue;
      const { id: target } = message;
      const isWanted = variantOf(message) === variant;
      if (this.#marks.has("replacement", target) !== isWanted) continue;
      const id = this.#marks.nextReplacement(target);
      transaction.control("replacement", { target, restored: isWanted ? true : undefined }, id);
      withoutSummaryOf(transaction, message.seq);
    }
  }
}

/**
 * The newest page of messages, in which the newest answer has its `variants`. The log is read again only if
 * there are some.
 */
export async function withVariants(
  chats: Chats,
  chatId: string,
  page: readonly StoredMessage[],
): Promise<readonly StoredMessage[]> {
  const answer = page.findLast(({ role, hidden }) => role === "assistant" && !hidden);
  const newest = page.findLast(({ role, hidden }) => role === "user" && !hidden);
  const turn = answer?.turn;
  if (answer === undefined || turn === undefined || (newest?.id ?? turn) !== turn) return page;
  const isOther = (each: StoredMessage) => each.turn === turn && each.replaced === true;
  // Others than the first answer come after it, and so they are on this page.
  if (variantOf(answer) === undefined && !page.some(isOther)) return page;
  const user = newest ?? (await chats.find(chatId, turn));
  if (user === undefined) return page;
  const { ids, shown } = (await TurnLog.read(chats, chatId, user)).variants;
  if (ids.length < 2) return page;
  return page.map((each) => (each.id === shown ? { ...each, variants: ids } : each));
}

/** Makes an answer the one that is shown, in one change of its chat: see `Turns.choose`. */
export async function chooseIn(
  chats: Chats,
  transaction: Transaction,
  messageId: string,
): Promise<StoredMessage> {
  const { chatId, head } = transaction;
  const answer = await stillShown(chats, chatId, await chats.logs.find(chatId, messageId));
  if (answer === undefined || answer.role !== "assistant") throw notFound(chatId, "answer");
  if (head.open_turn !== undefined || head.pending !== undefined) {
    throw conflict("a message of this chat has no answer yet: answer or dismiss it first");
  }
  const user = await newestWords(chats, transaction);
  if (user === undefined || answer.turn !== user.id) {
    throw conflict("more was said since: fork the chat at this answer instead");
  }
  const log = await TurnLog.read(chats, chatId, user);
  const { ids, shown } = log.variants;
  if (!ids.includes(messageId)) throw notFound(chatId, "answer");
  if (shown !== messageId) {
    log.show(variantOf(answer), transaction);
    const { session: period } = head;
    // A provider that resumes its own session would remember the other answer, and counted that.
    const session = period && withoutSessionIds(period);
    transaction.set({ session, reported: undefined });
  }
  return ids.length < 2 ? answer : { ...answer, variants: ids };
}

/**
 * The stored result of a turn that was answered before, replayed to the turn.
 *
 * @throws ThroughlineError `THROUGHLINE_ID_CONFLICT`: its id is of another message.
 *   `THROUGHLINE_CONFLICT`: the message or its answer was taken back, erased, cleared or
 *   forgotten since.
 */
export async function storedAnswer(chats: Chats, turn: Turn): Promise<TurnAnswer | undefined> {
  const { chatId, retryId } = turn;
  const known = chats.known(chatId);
  const waits = pendingId(turn.id);
  const [found, isForgotten] = await Promise.all([
    chats.logs.findAll(chatId, [turn.id, waits]),
    chats.tombstones.holds(chatId, turn.id),
  ]);
  const record = found.get(turn.id);
  if (record === undefined) turn.absentAt = known?.seq;
  const user = await stillShown(chats, chatId, record);
  if (user === undefined) {
    const waited = found.get(waits);
    if (waited !== undefined && isErased(waited)) throw hidden("erased");
    if (isForgotten) throw hidden("forgotten");
    return undefined;
  }
  assertSame(turn, user);
  const { head } = await chats.existing(chatId);
  // Answered again, and not to the end.
  if (retryId === undefined && head.open_turn?.id === turn.id) return undefined;
  const ownId = answerId(turn.id, retryId);
  const own = await chats.find(chatId, ownId);
  // One whose model was called elsewhere has an answer of any id.
  const isOther = own === undefined && retryId === undefined;
  const log = await TurnLog.read(chats, chatId, user, own?.seq);
  const assistant =
    (isOther ? log.answer : undefined) ??
    (await stillShown(chats, chatId, await chats.logs.find(chatId, ownId)));
  if (assistant === undefined || head.session === null) return undefined;
  turn.add({ type: "accepted", user });
  for (const { message } of log.stepsOf(turn).steps) {
    if (message.seq < assistant.seq && !message.hidden) turn.add({ type: "message", message });
  }
  const { reasoning_content: reasoning = "", content } = assistant;
  if (reasoning !== "") turn.add({ type: "reasoning", text: reasoning });
  turn.add({ type: "text", text: content });
  return {
    turnId: turn.id,
    user,
    assistant,
    notices: [],
    period: periodView(chatId, head.session),
    // What it cost was counted then.
    usage: { inputTokens: undefined, outputTokens: undefined, costUsd: 0 },
    outcome: assistant.partial && !isCutByModel(assistant) ? "interrupted" : "answered",
  };
}

/** A message that may be replayed, by its record. */
async function stillShown(
  chats: Chats,
  chatId: string,
  record: StoredRecord | undefined,
): Promise<StoredMessage | undefined> {
  if (record === undefined) return undefined;
  if (isErased(record)) throw hidden("erased");
  if (!isMessage(record)) return undefined;
  const { head } = await chats.state(chatId);
  if (record.seq <= (head?.clear_seq ?? 0)) throw hidden("cleared");
  if (await isTakenBack(chats.logs, chatId, record.id)) throw hidden("taken back");
  return record;
}

/** The newest message that is to be answered and that models see. */
export async function newestWords(
  chats: Chats,
  { chatId, head }: Pick<Transaction, "chatId" | "head">,
): Promise<StoredMessage | undefined> {
  const { logs } = chats;
  for (let before = Number.MAX_SAFE_INTEGER; ; ) {
    const page = await logs.page(chatId, { before, limit: 50 });
    for (const record of page.toReversed()) {
      if (record.seq <= (head.clear_seq ?? 0)) return undefined;
      if (!isMessage(record) || record.role !== "user" || record.hidden) continue;
      const [message] = await shownMessages(logs, chatId, [record]);
      if (message !== undefined) return message;
    }
    before = page[0]?.seq ?? 0;
    if (before <= 1) return undefined;
  }
}

/**
 * A stored message, to be answered again: the one with this id, or without one the oldest that has no
 * answer: cut off, failed, or accepted and never begun. `own`: what one that waits was meant to run on.
 *
 * @throws ThroughlineError `THROUGHLINE_NOT_FOUND`: there is none.
 *   `THROUGHLINE_CONFLICT`: it was taken back, erased or cleared.
 */
export async function storedWords(chats: Chats, chatId: string, id: string | undefined) {
  const { open_turn: open, pending = [] } = (await chats.existing(chatId)).head;
  const unanswered = open === undefined ? pending : [open.id, ...pending];
  for (const each of id === undefined ? unanswered : [id]) {
    const shown =
      id === undefined
        ? await chats.find(chatId, each)
        : await stillShown(chats, chatId, await chats.logs.find(chatId, each));
    const record = shown ?? (await waitingInput(chats.logs, chatId, each));
    const content = record?.["content"];
    const isSaid = typeof content === "string" && (record?.["role"] ?? "user") === "user";
    if (record === undefined || !isSaid) continue; // erased
    const { provider, model } = isMessage(record) ? ({} as Target) : (record as Target);
    const own = { provider: provider || undefined, model: model || undefined };
    const attachments = attachmentsOf(record);
    return { id: each, content, ...besideWords(record), attachments, own };
  }
  throw notFound(chatId, id === undefined ? "unanswered message" : "user message");
}

/** Whether a message that waited was dismissed, taken back or erased, or its chat forgotten, before its turn came. */
export async function isDismissed(chats: Chats, turn: Turn): Promise<boolean> {
  const { head } = await chats.state(turn.chatId);
  if (head?.pending?.includes(turn.id)) return false;
  const known = await chats.find(turn.chatId, turn.id);
  return known === undefined || known["dismissed"] === true;
}

/**
 * Leaves the unanswered messages of a chat without an answer, but those that are `kept`, as part of a larger
 * change. One that waited becomes a message like any other: it was said.
 *
 * @returns how many that were.
 */
export async function dismissTurns(
  { logs }: Chats,
  transaction: Transaction,
  isKept: (id: string) => boolean,
): Promise<number> {
  const { open_turn: open, pending = [] } = transaction.head;
  const waiting = pending.filter((id) => !isKept(id));
  const isOpen = open !== undefined && !isKept(open.id);
  const turns = isOpen ? [open.id, ...waiting] : waiting;
  if (turns.length === 0) return 0;
  await endWaits(logs, transaction, waiting);
  transaction.control("turn", { event: "dismissed", turns });
  if (isOpen) transaction.set({ open_turn: undefined });
  return turns.length;
}

function hidden(how: string): ThroughlineError {
  return conflict(`this message or its answer was ${how} since`);
}
