import type { ChatHead } from "../../memories/chat/chat-head.ts";
import { toHtml } from "../../memories/chat/render-html.ts";
import { toSeedJsonl } from "../../memories/chat/render-jsonl.ts";
import { toMarkdown } from "../../memories/chat/render-markdown.ts";
import { redactedIds } from "../../memories/chat/render-rows.ts";
import type { Throughline } from "../../throughline.ts";
import type { Context } from "../command.ts";
import { tell, write } from "../io.ts";
import { writeNewFile } from "../new-file.ts";
import type { Flags } from "../settings.ts";
import { withMemories } from "./with-memories.ts";

export interface ExportFlags extends Flags {
  readonly format: "jsonl" | "markdown" | "html";
  readonly out?: string;
}

/** Writes a chat to stdout or into a new file, in bounded memory however long it is. */
export function exportChat(chatId: string, flags: ExportFlags, context: Context): Promise<void> {
  const { io } = context;
  return withMemories(flags, context, async (throughline) => {
    const pieces = await render(throughline, chatId, flags.format);
    if (flags.out === undefined) {
      for await (const piece of pieces) await write(io.output, piece);
      return;
    }
    await writeNewFile(flags.out, pieces);
    await tell(io, `Written: ${flags.out}`);
  });
}

async function render(
  { chats, rules }: Throughline,
  chatId: string,
  format: ExportFlags["format"],
): Promise<AsyncIterable<string>> {
  const { head } = await chats.log.existing(chatId);
  const redacted = await redactedIds(chats.records(chatId));
  const records = chats.records(chatId);
  if (format === "jsonl") return toSeedJsonl(seedHead(chatId, head), records, { redacted });
  const chat = { key: chatId, ...(head.title === "" ? {} : { title: head.title }) };
  const options = { redacted, zone: rules.timeZone };
  return format === "html" ? toHtml(chat, records, options) : toMarkdown(chat, records, options);
}

function seedHead(key: string, head: ChatHead) {
  const { metadata, last_consolidated } = head;
  const known = (stamp: string) => (stamp === "" ? null : stamp);
  return {
    ...{ key, metadata, last_consolidated },
    created_at: known(head.created_at),
    updated_at: known(head.updated_at),
  };
}
