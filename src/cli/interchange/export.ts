import { mkdir } from "node:fs/promises";
import { join, resolve } from "node:path";
import { type ExportFormat, exportChats } from "../../interchange/export.ts";
import type { Throughline } from "../../throughline.ts";
import type { Context } from "../command.ts";
import { counted, json } from "../format.ts";
import { untilStopped } from "../interrupt.ts";
import { tell, write } from "../io.ts";
import { wrongOut } from "../out-path.ts";
import { assertOutsideHome } from "../outside-home.ts";
import { withMemories } from "../sessions/with-memories.ts";
import type { Flags } from "../settings.ts";
import { removeLeftovers, temporaryNames, writeWhole } from "./whole-file.ts";

export interface ExportToFlags extends Flags {
  readonly format: ExportFormat;
  readonly out: string;
  readonly chat?: string;
  readonly force?: boolean;
  readonly json?: boolean;
}

interface Written {
  readonly file: string;
  readonly chat_id?: string;
}

/**
 * Writes each file whole or not at all. What an export of this home left there that was killed is
 * removed.
 *
 * @throws Exit with 130: interrupted. Files that were whole by then stay.
 * @throws ThroughlineError `THROUGHLINE_CONFLICT`: a file is there already.
 *   `THROUGHLINE_CONFIGURATION`: nothing can be written there.
 */
export function exportTo(flags: ExportToFlags, context: Context): Promise<void> {
  const { io } = context;
  const { format, out } = flags;
  return withMemories(flags, context, async (throughline, { home }) => {
    await assertOutsideHome(out, home);
    const files: Written[] = [];
    await untilStopped(io, async (signal) => {
      try {
        for await (const file of writeFiles(throughline, flags, signal)) files.push(file);
      } catch (error) {
        const what = counted(files.length, "file");
        if (signal.aborted) await tell(io, `Stopped. Written before, and whole: ${what} in ${out}`);
        throw wrongOut(out, error);
      }
    });
    const said = `Written: ${counted(files.length, "file")} in ${out}\n`;
    await write(io.output, flags.json ? json({ format, files }) : said);
  });
}

async function* writeFiles(
  { chats, storage }: Throughline,
  { format, out, chat: chatId, force = false }: ExportToFlags,
  signal: AbortSignal,
): AsyncGenerator<Written> {
  const folder = resolve(out);
  const names = await temporaryNames(storage);
  let isReady = false;
  for await (const file of exportChats(chats, { format, chatId })) {
    signal.throwIfAborted();
    if (!isReady) {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      await removeLeftovers(folder, names);
      isReady = true;
    }
    await writeWhole(folder, file, { names, force, signal });
    yield {
      file: join(out, file.name),
      ...(file.chatId === undefined ? {} : { chat_id: file.chatId }),
    };
  }
}
