import { chatPath, newKey, queryClient, request } from "../../api/client.ts";
import type { Message } from "../../api/openapi-types.ts";
import { modelOfChat } from "../models/choice.ts";
import { newestUnsentChat } from "./drafts.ts";
import type { Feed } from "./feed.ts";
import { feedOf } from "./feeds.ts";
import { storedFiles } from "./files/stored-files.ts";
import { type ReadPage, readPage } from "./read-page.ts";

/** An id for a chat that begins on this page. */
export function newChatId(): string {
  return `local:${newKey().slice(0, 10)}`;
}

/** The id for a new chat: of one in which something is typed but not sent, or a new one. */
export function unsaidChatId(): string {
  return newestUnsentChat() ?? newChatId();
}

/**
 * Copies a chat into a new one, up to and including a message; without one nothing but the link is made.
 *
 * @returns the new chat.
 * @throws ProblemError nothing was copied.
 */
export async function branchFrom(feed: Feed, last: Message | undefined): Promise<string> {
  const chatId = newChatId();
  const body = { message_id: last?.id, chat_id: chatId };
  await request(`${chatPath(feed.chatId)}/fork`, { method: "POST", body });
  void queryClient.invalidateQueries({ queryKey: ["chats"] });
  void queryClient.invalidateQueries({ queryKey: ["chat", feed.chatId] });
  const model = modelOfChat(feed.chatId, feed.state.model);
  if (model !== undefined) feedOf(chatId).keep({ model });
  return chatId;
}

/**
 * Sends the edited form of a message in a new chat, which starts with a copy of what came before it.
 * Its files are sent again.
 *
 * @returns the new chat.
 * @throws ProblemError nothing was copied.
 */
export async function editAndFork(feed: Feed, message: Message, content: string): Promise<string> {
  const files = await storedFiles(feed.chatId, message);
  const chatId = await branchFrom(feed, await messageBefore(feed, message));
  void feedOf(chatId).send(content, files);
  return chatId;
}

/** The last message before another that a copy can end with; `undefined`: it is the first. */
async function messageBefore(feed: Feed, message: Message): Promise<Message | undefined> {
  // Not with `loadOlder`, which may be running already and ignores a second call.
  let page: Pick<ReadPage, "messages" | "before"> = feed.state;
  for (;;) {
    const { messages, before } = page;
    const found = messages.findLast(({ seq, redacted }) => seq < message.seq && redacted !== true);
    if (found !== undefined || before === undefined) return found;
    page = await readPage(feed.chatId, before);
  }
}
