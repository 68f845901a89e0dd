import { notFound } from "../chat/chat-log.ts";
import type { Chats } from "../chat/chats.ts";
import type { StoredMessage } from "../chat/message.ts";
import { withoutSessionIds } from "../chat/period.ts";
import type { Transaction } from "../chat/transaction.ts";
import { variantOf } from "../chat/turn-ids.ts";
import { ThroughlineError } from "../errors.ts";
import { newestWords } from "./retry-records.ts";
import { isBeingAnswered } from "./run-turn.ts";
import { shownStill } from "./stored-answer.ts";
import type { TurnsRuntime } from "./turns-options.ts";
import { showVariant, variantsOf } from "./variants.ts";

/** Makes an answer the one that is shown: see `Turns.choose`. */
export async function chooseAnswer(
  ports: Pick<TurnsRuntime, "chats" | "workingMemory" | "queue">,
  chatId: string,
  messageId: string,
): Promise<StoredMessage> {
  const { chats, workingMemory, queue } = ports;
  await chats.existing(chatId);
  if (queue.count(chatId) > 0) throw isBeingAnswered();
  const choose = (transaction: Transaction) => chooseIn(chats, transaction, messageId);
  const chosen = await chats.aloneNow(chatId, () => chats.changeExisting(chatId, choose));
  if (chosen === undefined) throw isBeingAnswered();
  const { turn = "", content, partial } = chosen;
  const outcome = partial === true ? "interrupted" : "answered";
  workingMemory.replace(chatId, turn, { response: content, outcome });
  // What other processes remember may be another answer.
  chats.cluster.publish({ about: "drop", chat: chatId });
  return chosen;
}

async function chooseIn(
  chats: Chats,
  transaction: Transaction,
  messageId: string,
): Promise<StoredMessage> {
  const { chatId, head } = transaction;
  const answer = await shownStill(chats, chatId, messageId);
  if (answer === undefined || answer.role !== "assistant") throw notFound(chatId, "answer");
  if (head.open_turn !== undefined || head.pending !== undefined) {
    throw conflict("a message of this chat has no answer yet: answer or dismiss it first");
  }
  const user = await newestWords(chats, transaction);
  if (user === undefined || answer.turn !== user.id) {
    throw conflict("more was said since: fork the chat at this answer instead");
  }
  const { ids, shown } = await variantsOf(chats, chatId, user);
  if (!ids.includes(messageId)) throw notFound(chatId, "answer");
  if (shown !== messageId) {
    await showVariant(chats, transaction, user, variantOf(answer));
    const { session: period } = head;
    // A provider that resumes its own session would remember the other answer, and counted that.
    const session = period && withoutSessionIds(period);
    transaction.set({ session, reported: undefined });
  }
  return ids.length < 2 ? answer : { ...answer, variants: ids };
}

function conflict(message: string): ThroughlineError {
  return new ThroughlineError(message, { code: "THROUGHLINE_CONFLICT" });
}
