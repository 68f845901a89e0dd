// A fork and the chat that it was made from name each other, so that neither has to look through all chats.
import { errorName, isThroughlineError } from "../errors.ts";
import { isJsonObject, type JsonObject } from "../json.ts";
import type { ChatHead } from "./chat-head.ts";
import type { ChatLog } from "./chat-log.ts";
import type { Removed } from "./forget-receipt.ts";
import { isMessage } from "./message.ts";
import type { Transaction } from "./transaction.ts";

/** A chat that was made from this one, as this one's head names it. */
export interface Branch extends JsonObject {
  readonly chat_id: string;
  /** The last message that was copied; absent: none was. */
  readonly message_id?: string | undefined;
}

/** The other end of a branch. */
export interface LinkedChat {
  readonly chat_id: string;
  readonly title: string;
  readonly created_at: string;
  /** The last message that was copied, by its id and its place in the chat that was copied; absent: none was. */
  readonly message_id?: string | undefined;
  readonly seq?: number | undefined;
}

export interface ChatLinks {
  /** What this chat was made from; absent also where that was forgotten. */
  readonly origin: LinkedChat | undefined;
  /** What was made from this chat and is there, oldest first. */
  readonly branches: readonly LinkedChat[];
}

/** A chat names so many of its branches, the newest: they lie in every append to it. */
const maxBranches = 20;
/** And so many UTF-16 units of JSON. */
const maxLength = 4_096;

/**
 * Names a branch in the head of the chat that it is made from. This is written first: a branch that does not
 * follow is left out when it is read.
 */
export function addBranch(transaction: Transaction, branch: Branch): void {
  const others = branchesIn(transaction.head).filter(({ chat_id }) => chat_id !== branch.chat_id);
  const branches = [...others, branch].slice(-maxBranches);
  while (JSON.stringify(branches).length > maxLength) branches.shift();
  transaction.control("metadata", { branches: branches.length });
  transaction.set({ branches });
}

/**
 * Takes a chat that is being forgotten out of the head of the chat that it was made from. What fails stops
 * nothing, and is named.
 */
export async function removeBranch(log: ChatLog, chatId: string): Promise<readonly Removed[]> {
  const origin = (await stateOf(log, chatId))?.forked_from?.chat_id;
  if (typeof origin !== "string") return [];
  try {
    await log.changeExisting(origin, (transaction) => {
      const named = branchesIn(transaction.head);
      const branches = named.filter(({ chat_id }) => chat_id !== chatId);
      if (branches.length === named.length) return;
      transaction.control("metadata", { branches: branches.length });
      transaction.set({ branches: branches.length === 0 ? undefined : branches });
    });
    return [];
  } catch (error) {
    if (isThroughlineError(error, "THROUGHLINE_NOT_FOUND")) return [];
    log.ports.logger.warn({ error: errorName(error) }, "a chat still names a forgotten branch");
    return [{ unreachable: `the chat ${JSON.stringify(origin)}, which names it as a branch` }];
  }
}

/** The chats that this one was made from, or that were made from it. */
export async function linksOf(log: ChatLog, chatId: string, head: ChatHead): Promise<ChatLinks> {
  const from = isJsonObject(head.forked_from) ? head.forked_from : undefined;
  const { chat_id: originId, message_id: lastId } = from ?? {};
  const origin = typeof originId === "string" ? await stateOf(log, originId) : undefined;
  const branches: LinkedChat[] = [];
  for (const { chat_id, message_id } of branchesIn(head)) {
    const made = await stateOf(log, chat_id);
    // Another chat may have got the id since.
    if (made?.forked_from?.chat_id !== chatId) continue;
    branches.push({ ...linked(chat_id, made), ...(await placeOf(log, chatId, message_id)) });
  }
  return {
    origin: origin && {
      ...linked(String(originId), origin),
      ...(await placeOf(log, String(originId), lastId)),
    },
    branches,
  };
}

function branchesIn({ branches }: ChatHead): readonly Branch[] {
  const named: readonly unknown[] = Array.isArray(branches) ? branches : [];
  return named.filter(
    (each): each is Branch => isJsonObject(each) && typeof each["chat_id"] === "string",
  );
}

/** The head of a chat, if it is there and whole. */
async function stateOf(log: ChatLog, chatId: string): Promise<ChatHead | undefined> {
  try {
    const { head } = await log.state(chatId);
    return head?.unfinished === true ? undefined : head;
  } catch {
    return undefined; // such as an unreadable log, or an id that is none: a link leads nowhere
  }
}

const linked = (chat_id: string, { title, created_at }: ChatHead) => ({
  chat_id,
  title,
  created_at,
});

async function placeOf(
  log: ChatLog,
  chatId: string,
  messageId: unknown,
): Promise<Pick<LinkedChat, "message_id" | "seq">> {
  if (typeof messageId !== "string") return {};
  const record = await log.ports.logs.find(chatId, messageId);
  return record !== undefined && isMessage(record)
    ? { message_id: messageId, seq: record.seq }
    : {};
}
