import { mkdir } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import type { Context } from "../../cli/command.ts";
import { Exit, exitCodes } from "../../cli/failure.ts";
import { counted, json } from "../../cli/format.ts";
import { tell, untilStopped, write } from "../../cli/io.ts";
import { assertOutsideHome, removeLeftovers, writeWhole, wrongOut } from "../../cli/out-path.ts";
import type { Flags } from "../../cli/settings.ts";
import { printableLine } from "../../core/chat/printable.ts";
import type { ExportFormat } from "../export.ts";
import type { ExportLine } from "../routes.ts";

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
 * that cannot be read is reported and left out. Asks the server that has the home, if there is one.
 *
 * @throws Exit with 130: interrupted. Files that were whole by then stay. With 1: a chat was left out.
 * @throws ThroughlineError `THROUGHLINE_CONFLICT`: a file is there already.
 *   `THROUGHLINE_CONFIGURATION`: nothing can be written there.
 */
export function exportTo(flags: ExportToFlags, context: Context): Promise<void> {
  const { io } = context;
  const { format, out, chat: chat_id, force = false } = flags;
  const prepare = async () => [(await import("../routes.ts")).interchangeRoutes];
  return context.withRoutes(
    flags,
    async (routes, { home }) => {
      await assertOutsideHome(out, home);
      const files: Written[] = [];
      const leftOut: string[] = [];
      const folder = resolve(out);
      await untilStopped(io, async (signal) => {
        try {
          const text = await routes.text("/api/export", { query: { format, chat_id } });
          const lines = linesIn(text);
          for await (const line of lines) {
            if (!("file" in line)) continue;
            signal.throwIfAborted();
            if (files.length === 0) {
              await mkdir(folder, { recursive: true, mode: 0o700 });
              await removeLeftovers(folder);
            }
            const name = basename(line.file);
            try {
              await writeWhole(join(folder, name), piecesIn(lines, leaveOut), { force, signal });
              files.push({ file: join(out, name), chat_id: line.chat_id });
            } catch (error) {
              if (error !== notWhole) throw error;
            }
          }
        } catch (error) {
          const what = counted(files.length, "file");
          if (signal.aborted) await tell(io, `Stopped. Already complete: ${what} in ${out}`);
          throw wrongOut(out, error);
        }
      });
      async function leaveOut(chatId: string, says: string) {
        leftOut.push(chatId);
        await tell(io, `Left out: ${printableLine(says)}`);
      }
      const said = `Written: ${counted(files.length, "file")} in ${out}\n`;
      const found = leftOut.length === 0 ? { format, files } : { format, files, left_out: leftOut };
      await write(io.output, flags.json ? json(found) : said);
      if (leftOut.length > 0) throw new Exit(exitCodes.failed);
    },
    prepare,
  );
}

async function* linesIn(pieces: AsyncIterable<string>): AsyncGenerator<ExportLine, undefined> {
  let rest = "";
  for await (const piece of pieces) {
    const lines = `${rest}${piece}`.split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) yield JSON.parse(line);
  }
}

const notWhole = new Error("a chat is left out");

/** The text of one file, up to its end. @throws notWhole */
async function* piecesIn(
  lines: AsyncGenerator<ExportLine, undefined>,
  leaveOut: (chatId: string, says: string) => Promise<void>,
): AsyncGenerator<string, void> {
  for (;;) {
    const { value: line } = await lines.next();
    if (line === undefined) throw notWhole;
    if ("end" in line) {
      if (line.end === "whole") return;
      throw notWhole;
    }
    if ("left_out" in line) await leaveOut(line.left_out, line.says);
    if ("text" in line) yield line.text;
  }
}
