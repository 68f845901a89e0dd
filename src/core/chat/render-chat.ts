import { wholeFile } from "./attachments.ts";
import type { ChatFormat } from "./chat-formats.ts";
import { chatZone } from "./chat-head.ts";
import type { Chats } from "./chats.ts";
import { Marks } from "./marks.ts";
import { toHtml } from "./render-html.ts";
import { seedHead, sinceClear, toSeedJsonl } from "./render-jsonl.ts";
import { toMarkdown } from "./render-markdown.ts";

/**
 * A whole chat for people or other programs, piece by piece, in bounded memory. What was replaced by another answer or taken back is left out. For other programs, who
 * know no clear, so is what was cleared.
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
  const { head } = await chats.existing(chatId);
  const marks = await Marks.in(chats.records(chatId));
  const records = marks.shownIn(chats.records(chatId));
  if (format === "jsonl") {
    return toSeedJsonl(seedHead(chatId, head), sinceClear(records, head), {
      files: chats.files,
    });
  }
  const { title } = head;
  const render = format === "html" ? toHtml : toMarkdown;
  const chat = { key: chatId, title: title === "" ? undefined : title };
  // What is missing or damaged is named all the same.
  const readFile = (sha256: string) => wholeFile(chats.files, chatId, sha256);
  return render(chat, records, { zone: chatZone(head) ?? zone, readFile });
}
