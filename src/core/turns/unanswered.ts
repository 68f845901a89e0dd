// Messages of a chat that have no answer: cut off, failed, or accepted and never begun.

import { attachmentsOf } from "../chat/attachments.ts";
import { notFound } from "../chat/chat-log.ts";
import type { Chats } from "../chat/chats.ts";
import { isMessage } from "../chat/message.ts";
import type { Target } from "../chat/provider-sessions.ts";
import { besideWords, endWaits, waitingInput } from "../chat/waiting.ts";
import type { StoredRecord } from "../storage/log-store.ts";
import type { Turn } from "./turn.ts";
import { shownStill } from "./turn-log.ts";

/**
 * The oldest one, to be submitted again as it was.
 *
 * @param asked what to run on, in place of what the message asked for.
 * @throws ThroughlineError `THROUGHLINE_NOT_FOUND`: every message is answered.
 */
export async function oldestUnanswered(
  chats: Chats,
  chatId: string,
  asked: Target,
): Promise<ReturnType<typeof wordsOf> & Target> {
  const { head } = await chats.existing(chatId);
  const { logs } = chats;
  const open = head.open_turn === undefined ? [] : [head.open_turn.id];
  for (const id of [...open, ...(head.pending ?? [])]) {
    const record = (await chats.find(chatId, id)) ?? (await waitingInput(logs, chatId, id));
    if (typeof record?.["content"] !== "string") continue; // erased
    // A message that waits still says what it was meant to run on.
    const own = isMessage(record) ? {} : (record as Target);
    const { provider, model } = asked.provider || asked.model ? asked : own;
    return { ...wordsOf(id, record["content"], record), provider, model };
  }
  throw notFound(chatId, "unanswered message");
}

/**
 * A stored message, to be answered again: the one with this id, or without one the oldest that has no
 * answer.
 *
 * @throws ThroughlineError `THROUGHLINE_NOT_FOUND`: there is none.
 *   `THROUGHLINE_CONFLICT`: it was taken back, erased or cleared.
 */
export async function storedWords(
  chats: Chats,
  chatId: string,
  id: string | undefined,
): Promise<ReturnType<typeof wordsOf>> {
  if (id === undefined) return oldestUnanswered(chats, chatId, {});
  const user = await shownStill(chats, chatId, id);
  const record = user ?? (await waitingInput(chats.logs, chatId, id));
  const isSaid = user === undefined || user.role === "user";
  if (typeof record?.["content"] !== "string" || !isSaid) throw notFound(chatId, "user message");
  return wordsOf(id, record["content"], record);
}

function wordsOf(id: string, content: string, record: StoredRecord) {
  return { id, content, ...besideWords(record), attachments: attachmentsOf(record) };
}

/** Whether a message that waited was dismissed, taken back or erased, or its chat forgotten, before its turn came. */
export async function isDismissed(chats: Chats, turn: Turn): Promise<boolean> {
  const { head } = await chats.state(turn.chatId);
  if (head?.pending?.includes(turn.id)) return false;
  const known = await chats.find(turn.chatId, turn.id);
  return known === undefined || known["dismissed"] === true;
}

/**
 * Leaves the unanswered messages of a chat without an answer, but those that are `kept`. One that waited
 * becomes a message like any other: it was said.
 *
 * @returns how many that were.
 */
export function dismissTurns(
  chats: Chats,
  chatId: string,
  isKept: (id: string) => boolean,
): Promise<number> {
  return chats.change(chatId, async (transaction) => {
    const { open_turn: open, pending = [] } = transaction.head;
    const waiting = pending.filter((id) => !isKept(id));
    const isOpen = open !== undefined && !isKept(open.id);
    const turns = [...(isOpen ? [open.id] : []), ...waiting];
    if (turns.length === 0) return 0;
    await endWaits(chats.logs, transaction, waiting);
    transaction.control("turn", { event: "dismissed", turns });
    if (isOpen) transaction.set({ open_turn: undefined });
    return turns.length;
  });
}
