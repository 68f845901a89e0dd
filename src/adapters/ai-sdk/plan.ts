// What a message of a chat page means for the chat, as it is stored: the log decides, not what the page has.
import { isDeepStrictEqual } from "node:util";
import { notFound } from "../../core/chat/chat-log.ts";
import { withoutFiles } from "../../core/chat/exact.ts";
import { isTakenBack } from "../../core/chat/marks.ts";
import { isCutByModel, isMessage, type StoredMessage } from "../../core/chat/message.ts";
import { besideWords } from "../../core/chat/waiting.ts";
import { conflict, idConflict } from "../../core/errors.ts";
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
import { readPiece, recordId, UiRecords, userInput } from "./ui-records.ts";

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
  /** An answer is to be continued, with news or as it is. */
  readonly isMore: boolean;
}

/**
 * @throws ThroughlineError `THROUGHLINE_CONFLICT`: the message was taken back. `THROUGHLINE_ID_CONFLICT`: its id is
 *   of another message. `THROUGHLINE_NOT_FOUND`: an answer that the chat does not have.
 */
export async function planOf(throughline: Chats, asked: ChatRequest): Promise<Plan> {
  const { chats } = throughline;
  const { chatId, message, messageId, isRegenerate } = asked;
  if (message.role === "assistant") {
    const { turn: id, isNews, isMore } = await continued(throughline, asked);
    const { content } = await chats.message(chatId, id);
    return { input: isMore ? { id } : { id, content }, isNews, isMore };
  }
  const answering = (input: OpenInput): Plan => ({ input, isNews: false, isMore: false });
  const versions = await versionsOf(throughline, asked);
  const newest = versions.at(-1);
  if (newest === undefined) return answering(await userInput(chats, chatId, message, message.id));
  if (isRegenerate && !(await isRepeated(throughline, asked))) return answering({ id: newest.id });
  if (isRegenerate || (await says(throughline, chatId, newest, message))) {
    return answering({ id: newest.id, content: newest.content, ...besideWords(newest) });
  }
  if (messageId !== message.id) {
    const used = "this id was used for another message";
    throw idConflict(used);
  }
  if (await isTakenBack(chats.logs, chatId, newest.id)) {
    throw conflict("this message was taken back since");
  }
  const edited = recordId(message.id, versions.length + 1);
  return answering(await userInput(chats, chatId, message, edited));
}

/** The versions of a person's message: it is stored again under another id when it is edited. */
async function versionsOf({ chats }: Chats, { chatId, message: { id } }: ChatRequest) {
  const waiting = await waitingIn(chats, chatId);
  const found: StoredMessage[] = [];
  for (;;) {
    const version = recordId(id, found.length + 1);
    const message = (await storedMessage({ chats }, chatId, version)) ?? waiting.get(version);
    if (message === undefined) return found;
    found.push(message);
  }
}

async function storedMessage(
  { chats }: Pick<Chats, "chats">,
  chatId: string,
  id: string,
): Promise<StoredMessage | undefined> {
  const record = await chats.logs.find(chatId, id);
  return record !== undefined && isMessage(record) ? record : undefined;
}

/** Whether the answer that is to be made again was taken back for that already. */
async function isRepeated({ chats }: Chats, { chatId, message, messageId }: ChatRequest) {
  if (messageId === undefined || messageId === message.id) return false;
  return isTakenBack(chats.logs, chatId, messageId);
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

/**
 * Brings the chat into order, once the turn is open. It may be done twice: after a crash.
 *
 * @returns `undefined`: there is nothing to be made. It was made while this waited, or the page comes first.
 */
export async function prepare(
  throughline: Chats,
  asked: ChatRequest,
  { isMore }: Plan,
  turn: OpenTurn,
): Promise<Ready | undefined> {
  const { chats } = throughline;
  const { chatId, message, isRegenerate } = asked;
  const { user, kept } = turn;
  if (message.role === "assistant") {
    const { records, now, before, ...found } = await continued(throughline, asked);
    if (isMore && !found.isMore) return undefined;
    records.next(now);
    await records.keep(chats, chatId, turn);
    return continuing(before, records);
  }
  if (isRegenerate && !(await isRepeated(throughline, asked))) {
    await takeBack(throughline, chatId, user.seq);
  } else if (isRegenerate && kept.some(({ stats }) => stats !== undefined)) return undefined;
  // An edited message stands where the first one stood: what came after that is gone.
  if (user.id !== message.id) {
    const first = await storedMessage(throughline, chatId, message.id);
    if (first !== undefined) await takeBack(throughline, chatId, first.seq - 1, user.seq);
  }
  const shown = await shownIn(throughline, chatId);
  const place = shown.findIndex(({ stored }) => stored.some(({ id }) => id === user.id));
  const before = shown.slice(0, place + 1);
  const steps = shown.filter((each) => each.turn === user.id && each.message.role !== "user");
  const made = steps.at(-1);
  const isEnded = made !== undefined && isOver(made);
  if (isEnded) {
    // It is not wanted any more: it was to be made again.
    const ids = kept.map(({ id }) => id);
    await chats.takeBack(chatId, ids);
  } else if (made?.records !== undefined) {
    // A process died while it was made: what its tools did is kept.
    if (made.records.message.parts.some(isForPage)) return undefined;
    return continuing(before, made.records);
  }
  const messages = await forModel(isEnded ? before : [...before, ...steps]);
  return { messages, records: new UiRecords(throughline.ports.newId()) };
}

/** Whether a turn ended with it: the last record has what it took. */
const isOver = ({ stored }: Shown) =>
  stored.findLast(({ role }) => role === "assistant")?.stats !== undefined;

/** An answer of which a call got its result from the page, or that was cut short. */
async function continued(throughline: Chats, { chatId, message }: ChatRequest) {
  const shown = await shownIn(throughline, chatId);
  const place = shown.findIndex((each) => each.message.id === message.id);
  const { records, turn, stored } = shown[place] ?? {};
  if (records === undefined || turn === undefined) throw notFound(chatId, "answer");
  const had = records.message;
  const now = withAnswers(had, message);
  const isNews = now !== had;
  const last = stored?.findLast(({ stats }) => stats !== undefined);
  // A page that continues by itself would ask a model that reached its limit again and again.
  const isCut = last?.partial === true && !isCutByModel(last);
  const isMore = isNews || (isCut && message.parts.length >= had.parts.length);
  return { records, turn, now, isNews, isMore, before: shown.slice(0, place) };
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
  after: number,
  before = Number.POSITIVE_INFINITY,
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
