import type { Context } from "../../cli/command.ts";
import { Exit, exitCodes, wrongUsage } from "../../cli/failure.ts";
import { counted, json, localTime } from "../../cli/format.ts";
import { tell, write } from "../../cli/io.ts";
import { confirm } from "../../cli/line-reader.ts";
import { chatPath, type Routes } from "../../cli/routes.ts";
import type { Flags, Settings } from "../../cli/settings.ts";
import { notFound } from "../../core/chat/chat-log.ts";
import type { ForgetReceipt } from "../../core/chat/forget.ts";
import { printableLine } from "../../core/chat/printable.ts";
import { everywhere, withRoutes } from "../routes.ts";
import { type ServedChat, zoneOf } from "./served-chat.ts";

interface ForgetFlags extends Flags {
  readonly yes?: boolean;
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
  const work = async (routes: Routes, settings: Settings) => {
    const path = chatPath(chatId);
    const query = { if_exists: true };
    const chat = await routes.json<ServedChat | undefined>(path, { query });
    if (!flags.yes) {
      const what = [printableLine(chatId)];
      if (chat !== undefined) {
        const since = localTime(chat.row.created_at, zoneOf(settings, chat));
        what.push(`${counted(chat.row.message_count, "message")} since ${since}`);
      }
      if (!(await confirm(io, `Forget ${what.join(", ")}? This cannot be undone.`, false))) {
        await tell(io, "Nothing was forgotten.");
        throw new Exit(exitCodes.failed);
      }
    }
    const receipt = await routes.json<ForgetReceipt>(path, { method: "DELETE" });
    const { removed, unreachable } = receipt;
    // A framework may have a thread or a session of this id without a chat, and files may be left of one.
    const isElse = removed.some(({ count }) => count > 0) || unreachable.length > 0;
    if (chat === undefined && !isElse) throw notFound(chatId);
    await write(io.output, flags.json ? json(receipt) : receiptText(receipt));
    if (unreachable.length > 0) throw new Exit(exitCodes.failed);
  };
  await withRoutes(flags, context, work, everywhere);
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
