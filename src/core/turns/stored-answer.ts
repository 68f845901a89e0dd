import { attachmentsOf, sameFiles } from "../chat/attachments.ts";
import type { Chats } from "../chat/chats.ts";
import { isTakenBack, shownMessages } from "../chat/marks.ts";
import { isControl, isCutByModel, isMessage, type StoredMessage } from "../chat/message.ts";
import { periodView } from "../chat/provider-sessions.ts";
import { answerId, stepNumber } from "../chat/turn-ids.ts";
import { pendingId } from "../chat/waiting.ts";
import { ThroughlineError } from "../errors.ts";
import { isErased } from "../storage/batch.ts";
import type { Turn, TurnAnswer } from "./turn.ts";

/**
 * The stored result of a turn that was answered before, replayed to the turn.
 *
 * @throws ThroughlineError `THROUGHLINE_ID_CONFLICT`: its id is of another message.
 *   `THROUGHLINE_CONFLICT`: the message or its answer was taken back, erased, cleared or
 *   forgotten since.
 */
export async function storedAnswer(chats: Chats, turn: Turn): Promise<TurnAnswer | undefined> {
  const { chatId, retryId } = turn;
  const { logs } = chats;
  const user = await shownStill(chats, chatId, turn.id);
  if (user === undefined) {
    const waited = await logs.find(chatId, pendingId(turn.id));
    if (waited !== undefined && isErased(waited)) throw hidden("erased");
    if (await chats.tombstones.holds(chatId, turn.id)) throw hidden("forgotten");
    return undefined;
  }
  const isSame = user.role === "user" && user.content === turn.content;
  if (!isSame || !sameFiles(attachmentsOf(user), turn.attachments)) {
    throw new ThroughlineError("this id was used for another message", {
      code: "THROUGHLINE_ID_CONFLICT",
    });
  }
  const { head } = await chats.existing(chatId);
  // Answered again, and not to the end.
  if (retryId === undefined && head.open_turn?.id === turn.id) return undefined;
  const assistant = await answerOf(chats, turn, user);
  if (assistant === undefined || head.session === null) return undefined;
  turn.add({ type: "accepted", user });
  await replaySteps(chats, turn, user, assistant);
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

async function answerOf(
  chats: Chats,
  { chatId, id, retryId }: Turn,
  user: StoredMessage,
): Promise<StoredMessage | undefined> {
  const ownId = answerId(id, retryId);
  const own = await chats.find(chatId, ownId);
  const [shown] = await shownMessages(chats.logs, chatId, own ? [own] : []);
  // One whose model was called elsewhere has an answer of any id.
  const isOther = shown === undefined && retryId === undefined;
  const other = isOther ? (await turnOnRecord(chats, chatId, user)).answer : undefined;
  return other ?? shownStill(chats, chatId, ownId);
}

/** Replays the calls and results that led to an answer. */
async function replaySteps(
  chats: Chats,
  turn: Turn,
  user: StoredMessage,
  assistant: StoredMessage,
): Promise<void> {
  const { logs } = chats;
  for await (const record of logs.read(turn.chatId, { after: user.seq })) {
    if (record.seq >= assistant.seq) return;
    if (stepNumber(record.id, turn) === undefined || !isMessage(record)) continue;
    const [message] = await shownMessages(logs, turn.chatId, [record]);
    if (message !== undefined && !message.hidden) turn.add({ type: "message", message });
  }
}

/**
 * The messages that a turn stored after its user message, oldest first, without those that are
 * replaced. `answer` is the last of the assistant's once an attempt at it has ended with one.
 */
export async function turnOnRecord(
  chats: Chats,
  chatId: string,
  { id, seq }: StoredMessage,
): Promise<{
  readonly messages: readonly StoredMessage[];
  readonly answer: StoredMessage | undefined;
}> {
  const { logs } = chats;
  const said: StoredMessage[] = [];
  let isOver = false;
  for await (const record of logs.read(chatId, { after: seq })) {
    if (record["turn"] !== id) continue;
    if (isMessage(record)) said.push(record);
    else if (isControl(record, "turn") && record["event"] === "attempt") isOver = false;
    else if (isControl(record, "usage")) {
      // A model that failed after its first words is not asked again.
      isOver = record["outcome"] !== "failed" || said.at(-1)?.partial_reason === "error";
    }
  }
  const shown = await shownMessages(logs, chatId, said);
  const messages = shown.filter(({ replaced }) => !replaced);
  const answer = isOver ? messages.findLast(({ role }) => role === "assistant") : undefined;
  return { messages, answer };
}

/** A message that may be replayed. */
export async function shownStill(
  chats: Chats,
  chatId: string,
  id: string,
): Promise<StoredMessage | undefined> {
  const { logs } = chats;
  const record = await logs.find(chatId, id);
  if (record === undefined) return undefined;
  if (isErased(record)) throw hidden("erased");
  if (!isMessage(record)) return undefined;
  const { head } = await chats.state(chatId);
  if (record.seq <= (head?.clear_seq ?? 0)) throw hidden("cleared");
  if (await isTakenBack(logs, chatId, id)) throw hidden("taken back");
  return record;
}

function hidden(how: string): ThroughlineError {
  return new ThroughlineError(`this message or its answer was ${how} since`, {
    code: "THROUGHLINE_CONFLICT",
  });
}
