import type { Context } from "../../cli/command.ts";
import { untilStopped } from "../../cli/interrupt.ts";
import { tell, write } from "../../cli/io.ts";
import { withMemories } from "../../cli/memories.ts";
import { writeNewFile } from "../../cli/new-file.ts";
import { assertOutsideHome } from "../../cli/outside-home.ts";
import type { Flags } from "../../cli/settings.ts";
import { type ChatFormat, renderChat } from "../../core/chat/render-chat.ts";

export interface ExportFlags extends Flags {
  readonly format: ChatFormat;
  readonly out?: string;
}

/** Writes a chat to stdout or into a new file, in bounded memory however long it is. */
export function exportChat(chatId: string, flags: ExportFlags, context: Context): Promise<void> {
  const { io } = context;
  return withMemories(flags, context, async ({ chats, rules }, { home }) => {
    if (flags.out !== undefined) await assertOutsideHome(flags.out, home);
    const pieces = await renderChat(chats, chatId, flags.format, rules.timeZone);
    const { out } = flags;
    if (out === undefined) {
      for await (const piece of pieces) await write(io.output, piece);
      return;
    }
    await untilStopped(io, (signal) => writeNewFile(out, pieces, signal));
    await tell(io, `Written: ${out}`);
  });
}
