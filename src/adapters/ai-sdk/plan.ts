// What a message of a chat page means for the chat, as it is stored: the log decides, not what the page has.

import { isDeepStrictEqual } from "node:util";
import { notFound } from "../../core/chat/chat-log.ts";
import { withoutFiles } from "../../core/chat/exact.ts";
import { isTakenBack } from "../../core/chat/marks.ts";
import { isCutByModel, isMessage, type StoredMessage } from "../../core/chat/message.ts";
import { besideWords } from "../../core/chat/waiting.ts";
import { conflict, ThroughlineError } from "../../core/errors.ts";
import type { Throughline } from "../../core/throughline.ts";
import type { OpenInput, OpenTurn } from "../../core/turns/open-turn.ts";
import type { ChatRequest } from "./chat-request.ts";
import { type Shown, shownIn, waitingIn } from "./load-messages.ts";
import {
  asJson,
  isForPage,
  type Message,
  plainParts,
  type UIChatMessage,
  withAnswers,
  withResults,
} from "./ui-message.ts";
import { inputsOf, readPiece, recordId, UiRecords, userInput } from "./ui-records.ts";

type Chats = Pick<Throughline, "chats" | "ports">;

/** What an answer is made of. */
export interface Ready {
  /** The conversation up to what is answered or continued. */
  readonly messages: UIChatMessage[];
  /** What the log has of the answer: nothing, unless it is continued. */
  readonly records: UiRecords;
}

export interface Plan {
  /** The turn that it is a part of. */
  readonly input: OpenInput;
  /** The page answers a call, and the log does not have it. */
  readonly isNews: boolean;
  /**
   * Brings the chat into order, once the turn is open. It may be done twice: after a crash.
   *
   * @returns `undefined`: there is nothing to be made. It was made while this waited, or the page comes first.
   */
  prepare(turn: OpenTurn): Promise<Ready | undefined>;
}

/**
 * @throws ThroughlineError `THROUGHLINE_CONFLICT`: the message was taken back. `THROUGHLINE_ID_CONFLICT`: its id is
 *   of another message. `THROUGHLINE_NOT_FOUND`: an answer that the chat does not have.
 */
export function planOf(throughline: Chats, asked: ChatRequest): Promise<Plan> {
  const isContinued = asked.message.role === "assistant";
  return isContinued ? continuation(throughline, asked) : answer(throughline, asked);
}

/** A message of a person: new, sent again, edited, or to be answered again. */
async function answer(throughline: Chats, asked: ChatRequest): Promise<Plan> {
  const { chats } = throughline;
  const { chatId, message, messageId, isRegenerate } = asked;
  const { newest, count } = await versionsOf(throughline, chatId, message.id);
  const prepare = (turn: OpenTurn) => readyToAnswer(throughline, chatId, turn);
  const isNews = false;
  if (newest === undefined) {
    return { input: await userInput(chats, chatId, message, message.id), prepare, isNews };
  }
  const { logs } = chats;
  const isRepeated = async () =>
    messageId !== undefined && messageId !== message.id && isTakenBack(logs, chatId, messageId);
  if (isRegenerate && !(await isRepeated())) {
    const again = async (turn: OpenTurn) => {
      if (!(await isRepeated())) await takeBack(throughline, chatId, { after: turn.user.seq });
      else if (turn.kept.some(({ stats }) => stats !== undefined)) return undefined;
      return prepare(turn);
    };
    return { input: { id: newest.id }, prepare: again, isNews };
  }
  const isSame = isRegenerate || (await says(throughline, chatId, newest, message));
  if (!isSame && messageId !== message.id) {
    const says = "this id was used for another message";
    throw new ThroughlineError(says, { code: "THROUGHLINE_ID_CONFLICT" });
  }
  if (!isSame && (await isTakenBack(logs, chatId, newest.id))) {
    throw conflict("this message was taken back since");
  }
  const version = isSame ? count : count + 1;
  const input = isSame
    ? { id: newest.id, content: newest.content, ...besideWords(newest) }
    : await userInput(chats, chatId, message, recordId(message.id, version));
  // An edited message stands where the first one stood: what came after that is gone.
  const edited = async (turn: OpenTurn) => {
    const before = turn.user.seq;
    const { first } = await versionsOf(throughline, chatId, message.id);
    if (first !== undefined) {
      await takeBack(throughline, chatId, { after: first.seq - 1, before });
    }
    return prepare(turn);
  };
  return { input, prepare: version > 1 ? edited : prepare, isNews };
}

/** The versions of a person's message: it is stored again under another id when it is edited. */
async function versionsOf({ chats }: Chats, chatId: string, id: string) {
  const waiting = await waitingIn(chats, chatId);
  const found: StoredMessage[] = [];
  for (;;) {
    const version = recordId(id, found.length + 1);
    const record = await chats.logs.find(chatId, version);
    const said = record !== undefined && isMessage(record) ? record : undefined;
    const message = said ?? waiting.get(version);
    if (message === undefined) break;
    found.push(message);
  }
  return { first: found[0], newest: found.at(-1), count: found.length };
}

async function says(
  { chats }: Chats,
  chatId: string,
  stored: StoredMessage,
  { parts, metadata }: Message,
): Promise<boolean> {
  const piece = await readPiece(chats, chatId, stored);
  const own = piece.parts ?? plainParts("user", stored.content);
  const { value: given } = withoutFiles([parts, metadata]);
  return isDeepStrictEqual([own, piece.metadata], given);
}

async function readyToAnswer(
  throughline: Chats,
  chatId: string,
  { user, kept }: OpenTurn,
): Promise<Ready | undefined> {
  const shown = await shownIn(throughline, chatId);
  const place = shown.findIndex(({ stored }) => stored.some(({ id }) => id === user.id));
  const before = shown.slice(0, place + 1);
  const steps = shown.filter(({ turn, message }) => turn === user.id && message.role !== "user");
  const made = steps.at(-1);
  const isEnded = made !== undefined && isOver(made);
  // An answer that ended is not wanted any more: it was to be made again.
  if (isEnded) {
    await throughline.chats.takeBack(
      chatId,
      kept.map(({ id }) => id),
    );
  }
  // A process died while it was made: what its tools did is kept.
  if (!isEnded && made?.records !== undefined) {
    if (made.records.message.parts.some(isForPage)) return undefined;
    return continuing(before, made.records);
  }
  const messages = await forModel(isEnded ? before : [...before, ...steps]);
  return { messages, records: new UiRecords(throughline.ports.newId()) };
}

/** Whether a turn ended with it: the last record has what it took. */
const isOver = ({ stored }: Shown) =>
  stored.findLast(({ role }) => role === "assistant")?.stats !== undefined;

/** A call of an answer got its result from the page, or an answer that was cut short is continued. */
async function continuation(throughline: Chats, asked: ChatRequest): Promise<Plan> {
  const { chats } = throughline;
  const { chatId, message } = asked;
  const find = async () => {
    const shown = await shownIn(throughline, chatId);
    const place = shown.findIndex((each) => each.message.id === message.id);
    const { records, turn, stored } = shown[place] ?? {};
    if (records === undefined || turn === undefined) {
      throw notFound(chatId, "answer");
    }
    const had = records.message;
    const now = withAnswers(had, message);
    const last = stored?.findLast(({ stats }) => stats !== undefined);
    // A page that continues by itself would ask a model that reached its limit again and again.
    const isCut = last?.partial === true && !isCutByModel(last);
    const isMore = now !== had || (isCut && message.parts.length >= had.parts.length);
    return { records, turn, now, isNews: now !== had, isMore, before: shown.slice(0, place) };
  };
  const { turn: id, isNews, isMore } = await find();
  const { content } = await chats.message(chatId, id);
  const prepare = async (turn: OpenTurn) => {
    const { records, now, before, ...found } = await find();
    if (isMore && !found.isMore) return undefined;
    const changes = await inputsOf(chats, chatId, turn.user.id, records.next(now));
    if (changes.length > 0) await turn.keep(changes);
    return continuing(before, records);
  };
  return { input: isMore ? { id } : { id, content }, prepare, isNews };
}

async function continuing(before: readonly Shown[], records: UiRecords): Promise<Ready> {
  const last = records.message as unknown as UIChatMessage;
  return { messages: [...(await forModel(before)), last], records };
}

const forModel = (shown: readonly Shown[]) =>
  Promise.all(
    shown.map(({ message, whole }) =>
      whole(withResults(asJson(message)) as unknown as UIChatMessage),
    ),
  );

/** How many messages are taken back in one append. */
const atOnce = 500;

/** Takes back what was said in a part of the chat, its oldest message last: that one tells that all is done. */
async function takeBack(
  { chats }: Chats,
  chatId: string,
  {
    after,
    before = Number.POSITIVE_INFINITY,
  }: { readonly after: number; readonly before?: number },
): Promise<void> {
  const { head } = await chats.existing(chatId);
  const ids: string[] = [];
  const from = Math.max(after, head.clear_seq ?? 0);
  for await (const record of chats.logs.read(chatId, { after: from })) {
    if (record.seq >= before) break;
    if (isMessage(record)) ids.push(record.id);
  }
  ids.reverse();
  for (let at = 0; at < ids.length; at += atOnce) {
    await chats.takeBack(chatId, ids.slice(at, at + atOnce));
  }
}
