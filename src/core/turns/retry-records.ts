// What regenerating an answer writes: which retry was of which message, and what replaces what.

import type { Chats } from "../chat/chats.ts";
import { controlId } from "../chat/control-ids.ts";
import { shownMessages } from "../chat/marks.ts";
import { isControl, isMessage, type StoredMessage } from "../chat/message.ts";
import type { Period } from "../chat/period.ts";
import type { ProviderSessions, Target } from "../chat/provider-sessions.ts";
import type { Transaction } from "../chat/transaction.ts";
import { ThroughlineError } from "../errors.ts";
import type { LogStore } from "../storage/log-store.ts";
import { endedBy } from "./rollover.ts";
import type { Begun, NewTurn } from "./turn-records.ts";

/**
 * Begins to regenerate the answer to a message. The old answer stays until the new one is stored: a
 * crash in between leaves everything as it was.
 *
 * @throws ThroughlineError `THROUGHLINE_CONFLICT`: something was said after it, or it has no answer.
 */
export function beginRetry(
  memories: { readonly chats: Chats; readonly sessions: ProviderSessions },
  turn: Omit<NewTurn, "content"> & { readonly retryId: string },
  target: Target,
): Promise<Begun> {
  const { chats, sessions } = memories;
  return chats.change(turn.chatId, async (transaction) => {
    const user = await newestWords(chats, transaction);
    if (user?.id !== turn.id || transaction.head.open_turn?.id === turn.id) {
      throw new ThroughlineError("only the answer to the newest message can be regenerated", {
        code: "THROUGHLINE_CONFLICT",
      });
    }
    const resolution = await sessions.resolveIn(transaction, target);
    sessions.humanActedIn(transaction);
    const { logs } = chats;
    const mark = await retryMark(logs, transaction.chatId, turn.retryId);
    const trace_id = turn.span?.traceId;
    const fields = { event: "retry", turn: turn.id, retry: turn.retryId, trace_id };
    if (mark.of === undefined) transaction.control("turn", fields, mark.id);
    const period = transaction.head.session as Period;
    const ended = endedBy(resolution);
    const acknowledged = transaction.head.told_session;
    return {
      user,
      resolution,
      period,
      attempt: 1,
      isNew: false,
      awayMs: undefined,
      ended,
      acknowledged,
    };
  });
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
  const { of } = await retryMark(chats.logs, chatId, retryId);
  if (of === undefined) return undefined;
  const user = await chats.find(chatId, of);
  if (user !== undefined) return user;
  throw new ThroughlineError("the message that this retry was of was erased or taken back", {
    code: "THROUGHLINE_CONFLICT",
  });
}

/** The record of a retry, and where there is none, the id that it is to have. */
async function retryMark(
  logs: Pick<LogStore, "find">,
  chatId: string,
  retryId: string,
): Promise<{ readonly id: string; readonly of: string | undefined }> {
  for (let n = 1; ; n++) {
    const id = controlId("retry", retryId, n);
    const record = await logs.find(chatId, id);
    if (record === undefined) return { id, of: undefined };
    const { retry, turn } = record;
    const isIt = isControl(record, "turn") && retry === retryId && typeof turn === "string";
    if (isIt) return { id, of: turn };
  }
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
