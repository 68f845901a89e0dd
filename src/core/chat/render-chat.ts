import { wholeFile } from "./attachments.ts";
import type { ChatFormat } from "./chat-formats.ts";
import { chatZone } from "./chat-head.ts";
import type { Chats } from "./chats.ts";
import { shownRecords } from "./marks.ts";
import { toHtml } from "./render-html.ts";
import { toSeedJsonl } from "./render-jsonl.ts";
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
  const { files, logs } = chats;
  const { head } = await chats.existing(chatId);
  if (format === "jsonl") {
    const records = await shownRecords(logs, chatId, head.clear_seq);
    return toSeedJsonl(chatId, head, records, files);
  }
  const chat = {
    key: chatId,
    title: head.title,
    zone: chatZone(head) ?? zone,
    // What is missing or damaged is named all the same.
    readFile: (sha256: string) => wholeFile(files, chatId, sha256),
  };
  const render = format === "html" ? toHtml : toMarkdown;
  return render(chat, await shownRecords(logs, chatId));
}
