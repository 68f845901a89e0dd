import { mkdir } from "node:fs/promises";
import { join, resolve } from "node:path";
import type { Context } from "../../cli/command.ts";
import { Exit, exitCodes } from "../../cli/failure.ts";
import { counted, json } from "../../cli/format.ts";
import { tell, untilStopped, write } from "../../cli/io.ts";
import { withMemories } from "../../cli/memories.ts";
import { wrongOut } from "../../cli/out-path.ts";
import { assertOutsideHome } from "../../cli/outside-home.ts";
import type { Flags } from "../../cli/settings.ts";
import { printableLine } from "../../core/chat/printable.ts";
import { isFaultOfLog } from "../../core/storage/database-failure.ts";
import { hasFrameworkLogs } from "../../core/storage/framework-logs.ts";
import type { Throughline } from "../../core/throughline.ts";
import { type ExportFile, type ExportFormat, type ExportOptions, exportChats } from "../export.ts";
import { exportFrameworkLogs } from "../framework-log-file.ts";
import { removeLeftovers, temporaryNames, writeWhole } from "./whole-file.ts";

interface ExportToFlags extends Flags {
  readonly format: ExportFormat;
  readonly out: string;
  readonly chat?: string;
  readonly force?: boolean;
  readonly json?: boolean;
}

interface Written {
  readonly file: string;
  readonly chat_id?: string | undefined;
}

/**
 * Writes each file whole or not at all, and removes what a killed export of this home left there. A chat
 * that cannot be read is reported and left out.
 *
 * @throws Exit with 130: interrupted. Files that were whole by then stay. With 1: a chat was left out.
 * @throws ThroughlineError `THROUGHLINE_CONFLICT`: a file is there already.
 *   `THROUGHLINE_CONFIGURATION`: nothing can be written there.
 */
export function exportTo(flags: ExportToFlags, context: Context): Promise<void> {
  const { io } = context;
  const { format, out } = flags;
  return withMemories(flags, context, async (throughline, { home }) => {
    await assertOutsideHome(out, home);
    const files: Written[] = [];
    const leftOut: string[] = [];
    const leaveOut = async (chatId: string, error: unknown) => {
      if (chatId === flags.chat || !isFaultOfLog(error)) throw error;
      leftOut.push(chatId);
      await tell(io, `Left out: ${printableLine(error.message)}`);
    };
    await untilStopped(io, async (signal) => {
      try {
        for await (const file of writeFiles(throughline, flags, { signal, leaveOut })) {
          files.push(file);
        }
      } catch (error) {
        const what = counted(files.length, "file");
        if (signal.aborted) await tell(io, `Stopped. Already complete: ${what} in ${out}`);
        throw wrongOut(out, error);
      }
    });
    const said = `Written: ${counted(files.length, "file")} in ${out}\n`;
    const found = leftOut.length === 0 ? { format, files } : { format, files, left_out: leftOut };
    await write(io.output, flags.json ? json(found) : said);
    if (leftOut.length > 0) throw new Exit(exitCodes.failed);
  });
}

interface Leaving {
  readonly signal: AbortSignal;
  /** Reports a chat that cannot be read. Rethrows any other error. */
  readonly leaveOut: (chatId: string, error: unknown) => Promise<void>;
}

async function* writeFiles(
  throughline: Throughline,
  { format, out, chat: chatId, force = false }: ExportToFlags,
  { signal, leaveOut }: Leaving,
): AsyncGenerator<Written> {
  const folder = resolve(out);
  const names = await temporaryNames(throughline.storage);
  let isReady = false;
  for await (const file of filesOf(throughline, { format, chatId, onUnreadable: leaveOut })) {
    signal.throwIfAborted();
    if (!isReady) {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      await removeLeftovers(folder, names);
      isReady = true;
    }
    try {
      await writeWhole(folder, file, { names, force, signal });
    } catch (error) {
      if (file.chatId === undefined) throw error;
      await leaveOut(file.chatId, error);
      continue;
    }
    yield { file: join(out, file.name), chat_id: file.chatId };
  }
}

/** @throws ThroughlineError `THROUGHLINE_NOT_FOUND`: nothing has this id. */
async function* filesOf(
  { chats, storage }: Throughline,
  options: ExportOptions,
): AsyncGenerator<ExportFile> {
  const { format, chatId } = options;
  const isFull = format === "throughline";
  const hasNoChat =
    isFull && chatId !== undefined && (await chats.state(chatId)).head === undefined;
  if (!hasNoChat || !(await hasFrameworkLogs(storage, chatId))) yield* exportChats(chats, options);
  if (isFull) yield* exportFrameworkLogs(storage, chatId);
}
