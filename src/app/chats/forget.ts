import type { Context } from "../../cli/command.ts";
import { Exit, exitCodes, wrongUsage } from "../../cli/failure.ts";
import { counted, json, localTime } from "../../cli/format.ts";
import { tell, write } from "../../cli/io.ts";
import { confirm } from "../../cli/line-reader.ts";
import type { Flags } from "../../cli/settings.ts";
import { chatZone } from "../../core/chat/chat-metadata.ts";
import type { ForgetReceipt } from "../../core/chat/forget-receipt.ts";
import { printableLine } from "../../core/chat/printable.ts";
import { hasFrameworkLogs } from "../../core/storage/framework-logs.ts";
import { withAllFeatures } from "../open-companion.ts";
import { pagesOf } from "./pages.ts";

interface ForgetFlags extends Flags {
  readonly yes?: boolean;
  readonly json?: boolean;
}

/**
 * Forgets a chat, or what a framework keeps under an id, and prints the receipt. Asks first; without a
 * terminal it needs `--yes`.
 *
 * @throws Exit with 1: the person said no, or a place could not be reached.
 */
export async function forget(chatId: string, flags: ForgetFlags, context: Context): Promise<void> {
  const { io } = context;
  if (!flags.yes && !io.isInteractive) {
    throw wrongUsage("forgetting cannot be undone. Pass --yes to confirm");
  }
  await withAllFeatures(flags, context, async (throughline) => {
    const { chats, rules, storage } = throughline;
    const isChat = (await chats.state(chatId)).head !== undefined;
    // A framework may have a thread or a session of this id without a chat, and files may be left of one.
    const isElse = async () =>
      (await hasFrameworkLogs(storage, chatId)) || (await chats.files.list(chatId)).length > 0;
    const row = isChat || !(await isElse()) ? await chats.row(chatId) : undefined;
    if (!flags.yes) {
      const what = [printableLine(chatId)];
      if (row !== undefined) {
        const { head } = await chats.existing(chatId);
        const since = localTime(row.created_at, chatZone(head) ?? rules.timeZone);
        what.push(`${counted(row.message_count, "message")} since ${since}`);
      }
      if (!(await confirm(io, `Forget ${what.join(", ")}? This cannot be undone.`, false))) {
        await tell(io, "Nothing was forgotten.");
        throw new Exit(exitCodes.failed);
      }
    }
    const receipt = await chats.forget(chatId);
    pagesOf(throughline).publish("session", { chat_id: chatId, change: "forgotten" });
    await write(io.output, flags.json ? json(receipt) : receiptText(receipt));
    if (receipt.unreachable.length > 0) throw new Exit(exitCodes.failed);
  });
}

function receiptText(receipt: ForgetReceipt): string {
  const lines = [
    `Forgotten: ${printableLine(receipt.chat_id)}`,
    ...receipt.removed.map(({ place, count }) => `  ${place}: ${count}`),
    ...receipt.unreachable.map((place) => `  NOT REACHED: ${place}`),
    ...receipt.forks.map((id) => `  still in a fork, forget it too: ${printableLine(id)}`),
  ];
  return `${lines.join("\n")}\n`;
}
