import { link, mkdir, open, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { randomId } from "../../ids.ts";
import { type ExportFile, type ExportFormat, exportChats } from "../../interchange/export.ts";
import type { Context } from "../command.ts";
import { Failed, isErrno } from "../failure.ts";
import { counted, json } from "../format.ts";
import { write } from "../io.ts";
import { wrongOut } from "../out-path.ts";
import { withMemories } from "../sessions/with-memories.ts";
import type { Flags } from "../settings.ts";

export interface ExportToFlags extends Flags {
  readonly format: ExportFormat;
  readonly out: string;
  readonly chat?: string;
  readonly force?: boolean;
  readonly json?: boolean;
}

/**
 * Writes each file whole or not at all.
 *
 * @throws ThroughlineError `THROUGHLINE_CONFLICT`: a file is there already.
 *   `THROUGHLINE_CONFIGURATION`: nothing can be written there.
 */
export function exportTo(flags: ExportToFlags, context: Context): Promise<void> {
  const { io } = context;
  return withMemories(flags, context, async ({ chats }) => {
    const { format, out, chat: chatId } = flags;
    const files: { readonly file: string; readonly chat_id?: string }[] = [];
    for await (const file of exportChats(chats, { format, chatId })) {
      try {
        await mkdir(out, { recursive: true, mode: 0o700 });
        await writeWhole(out, file, flags.force === true);
      } catch (error) {
        throw wrongOut(out, error);
      }
      const of = file.chatId === undefined ? {} : { chat_id: file.chatId };
      files.push({ file: join(out, file.name), ...of });
    }
    const said = `Written: ${counted(files.length, "file")} in ${out}\n`;
    await write(io.output, flags.json ? json({ format, files }) : said);
  });
}

async function writeWhole(
  out: string,
  { name, pieces }: ExportFile,
  force: boolean,
): Promise<void> {
  const path = join(out, name);
  const temporary = join(out, `.${randomId()}.tmp`);
  try {
    const file = await open(temporary, "wx", 0o600);
    try {
      for await (const piece of pieces) await file.writeFile(piece);
      await file.sync();
    } finally {
      await file.close();
    }
    // A link takes no name that is taken; a rename would.
    await (force ? rename(temporary, path) : link(temporary, path));
  } catch (cause) {
    if (!isErrno(cause, "EEXIST")) throw cause;
    throw new Failed(`${path} is there already`, {
      code: "THROUGHLINE_CONFLICT",
      wayOut: "Name another folder with --out, or overwrite with --force.",
      cause,
    });
  } finally {
    await rm(temporary, { force: true });
  }
}
