import { chatPath, newKey, queryClient, request } from "../../api/client.ts";
import type { Message } from "../../api/openapi-types.ts";
import type { Feed } from "./feed.ts";
import { feedOf } from "./feeds.ts";
import { typedChat } from "./kept-words.ts";
import { type ReadPage, readPage } from "./read-page.ts";

/** An id for a chat that begins on this page. */
export function newChatId(): string {
  return `local:${newKey().slice(0, 10)}`;
}

/** An id for a chat that a person begins: the one in which they typed and said nothing yet, or a new one. */
export function unsaidChatId(): string {
  return typedChat() ?? newChatId();
}

/**
 * Says other words in the place of a message, in a new chat that holds what came before it.
 *
 * @returns the new chat.
 * @throws ProblemError nothing was copied.
 */
export async function editAndFork(feed: Feed, message: Message, content: string): Promise<string> {
  const chatId = newChatId();
  const before = await messageBefore(feed, message);
  if (before !== undefined) {
    const body = { message_id: before.id, chat_id: chatId };
    await request(`${chatPath(feed.chatId)}/fork`, { method: "POST", body });
  }
  void feedOf(chatId).send(content);
  void queryClient.invalidateQueries({ queryKey: ["chats"] });
  return chatId;
}

/** The last message before another that a copy can end with; `undefined`: it is the first. */
async function messageBefore(feed: Feed, message: Message): Promise<Message | undefined> {
  // Not by the feed's own way back, on which it may be already, or stop without a word.
  let page: Pick<ReadPage, "messages" | "before"> = feed.state;
  for (;;) {
    const { messages, before } = page;
    const found = messages.findLast(({ seq, redacted }) => seq < message.seq && redacted !== true);
    if (found !== undefined || before === undefined) return found;
    page = await readPage(feed.chatId, before);
  }
}
