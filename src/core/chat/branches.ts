// A fork names the chat that it was made from, and a label of the index finds it from there.
import { isJsonObject } from "../json.ts";
import { type ChatHead, forkLabel, readHead } from "./chat-head.ts";
import type { ChatLog } from "./chat-log.ts";
import { isMessage } from "./message.ts";

/** The other end of a branch. */
export interface LinkedChat {
  readonly chat_id: string;
  readonly title: string;
  readonly created_at: string;
  /** The last message that was copied, by its id and its place in the chat that was copied; absent: none was. */
  readonly message_id?: string | undefined;
  readonly seq?: number | undefined;
}

interface ChatLinks {
  /** What this chat was made from; absent also where that was forgotten. */
  readonly origin: LinkedChat | undefined;
  /** What was made from this chat and is there, oldest first. */
  readonly branches: readonly LinkedChat[];
}

/** Most branches that are named: those that a person used last. */
const maxBranches = 100;

/** Finds the chat that this one was made from, and those that were made from it. */
export async function linksOf(log: ChatLog, chatId: string, head: ChatHead): Promise<ChatLinks> {
  const { rows } = await log.logs.list({ limit: maxBranches, label: forkLabel(chatId) });
  const branches: LinkedChat[] = [];
  for (const row of rows) {
    const made = readHead(row.head);
    if (made.unfinished === true) continue;
    const place = await placeOf(log, chatId, made.forked_from?.message_id);
    branches.push({ ...linked(row.key, made), ...place });
  }
  const order = ({ created_at, chat_id }: LinkedChat) => `${created_at} ${chat_id}`;
  branches.sort((a, b) => (order(a) < order(b) ? -1 : 1));
  const from = isJsonObject(head.forked_from) ? head.forked_from : undefined;
  const { chat_id: originId, message_id: lastId } = from ?? {};
  const origin = typeof originId === "string" ? await stateOf(log, originId) : undefined;
  return {
    origin: origin && {
      ...linked(String(originId), origin),
      ...(await placeOf(log, String(originId), lastId)),
    },
    branches,
  };
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
  const record = await log.logs.find(chatId, messageId);
  return record !== undefined && isMessage(record)
    ? { message_id: messageId, seq: record.seq }
    : {};
}
