import { chatZone } from "./chat-metadata.ts";
import type { Chats } from "./chats.ts";
import { toHtml } from "./render-html.ts";
import { extraOf, toSeedJsonl } from "./render-jsonl.ts";
import { toMarkdown } from "./render-markdown.ts";
import { marksIn, withReplaced } from "./shown-messages.ts";

/** What a chat can be read as outside: the seed's lines, a text, a page. */
export type ChatFormat = "jsonl" | "markdown" | "html";

/**
 * A whole chat for people or other programs, piece by piece, in bounded memory. What was redacted comes
 * without its text; what was replaced by another answer is left out.
 *
 * @param zone the IANA zone that a text or page shows times in, where the chat has none of its own.
 * @throws ThroughlineError `THROUGHLINE_NOT_FOUND`.
 */
export async function renderChat(
  chats: Chats,
  chatId: string,
  format: ChatFormat,
  zone: string,
): Promise<AsyncGenerator<string>> {
  const { head } = await chats.log.existing(chatId);
  const { redacted, replaced } = await marksIn(chats.records(chatId));
  const records = withReplaced(chats.records(chatId), replaced);
  const { title, created_at, updated_at, metadata, last_consolidated } = head;
  if (format === "jsonl") {
    const stamps = { created_at: created_at || null, updated_at: updated_at || null };
    const seedHead = { key: chatId, ...stamps, metadata, last_consolidated, ...extraOf(head) };
    return toSeedJsonl(seedHead, records, { redacted });
  }
  const render = format === "html" ? toHtml : toMarkdown;
  const chat = { key: chatId, ...(title === "" ? {} : { title }) };
  return render(chat, records, { redacted, zone: chatZone(head) ?? zone });
}
