// The answers to one message: each regeneration adds one, and one of them is shown.
import type { Chats } from "../chat/chats.ts";
import { Marks } from "../chat/marks.ts";
import { isMessage, type StoredMessage } from "../chat/message.ts";
import type { Transaction } from "../chat/transaction.ts";
import { retryAnswerId, variantOf } from "../chat/turn-ids.ts";

interface Variants {
  /** Of the answers that can be chosen, oldest first. */
  readonly ids: readonly string[];
  /** The one that is shown; `undefined`: it was taken back or erased. */
  readonly shown: string | undefined;
}

/**
 * Shows one answer to a message, with the tool calls and results that led to it, and hides the others, as
 * part of a larger change. What stands as it should gets no record.
 *
 * @param variant as `variantOf` names it.
 */
export async function showVariant(
  chats: Chats,
  transaction: Transaction,
  user: StoredMessage,
  variant: string | undefined,
): Promise<void> {
  const { logs } = chats;
  const { chatId } = transaction;
  for await (const record of logs.read(chatId, { after: user.seq })) {
    if (!isMessage(record) || record.role === "user" || record.turn !== user.id) continue;
    // Of a retry whose answer comes now, or of one that has no answer: that hides them.
    const retry = retryAnswerId(record);
    if (retry !== undefined && (await logs.find(chatId, retry)) === undefined) continue;
    const target = record.id;
    const isWanted = variantOf(record) === variant;
    const marks = await Marks.about(logs, chatId, [{ id: target }], ["replacement"]);
    if (marks.has("replacement", target) !== isWanted) continue;
    const id = marks.nextId("replacement", target);
    transaction.control("replacement", { target, restored: isWanted ? true : undefined }, id);
  }
}

/** The answers to a message that can be chosen: those that are whole, and neither taken back nor erased. */
export async function variantsOf(
  chats: Chats,
  chatId: string,
  user: StoredMessage,
): Promise<Variants> {
  const { logs } = chats;
  const said: StoredMessage[] = [];
  for await (const record of logs.read(chatId, { after: user.seq })) {
    const isOfTurn = isMessage(record) && record.turn === user.id;
    if (isOfTurn && record.role === "assistant" && record.hidden !== true) said.push(record);
  }
  const marks = await Marks.about(logs, chatId, said);
  /** By variant, its last message: the answer. */
  const answers = new Map<string | undefined, StoredMessage>();
  for (const message of said) {
    const shown = marks.shown(message);
    if (shown !== undefined) answers.set(variantOf(message), shown);
  }
  const whole = [...answers].flatMap(([variant, last]) => {
    const { id, content, tool_calls: calls = [] } = last;
    // One that was cut off in its tools has said nothing yet.
    const isAnswer = variant === undefined ? content !== "" || calls.length === 0 : id === variant;
    return isAnswer ? [last] : [];
  });
  const shown = whole.find(({ replaced }) => replaced !== true);
  return { ids: whole.map(({ id }) => id), shown: shown?.id };
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
  const { ids, shown } = user === undefined ? none : await variantsOf(chats, chatId, user);
  if (ids.length < 2) return page;
  return page.map((each) => (each.id === shown ? { ...each, variants: ids } : each));
}

const none: Variants = { ids: [], shown: undefined };
