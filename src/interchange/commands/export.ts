import { link, mkdir, open, readdir, rename, rm } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import type { Context } from "../../cli/command.ts";
import { Exit, exitCodes, Failed, isErrno } from "../../cli/failure.ts";
import { counted, json } from "../../cli/format.ts";
import { tell, untilStopped, write } from "../../cli/io.ts";
import { assertOutsideHome, wrongOut } from "../../cli/out-path.ts";
import type { Flags } from "../../cli/settings.ts";
import { printableLine } from "../../core/chat/printable.ts";
import { randomId } from "../../core/ids.ts";
import { isRunning } from "../../core/storage/files/file-ports.ts";
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
            const file = { name: basename(line.file), pieces: piecesIn(lines, leaveOut) };
            const isWhole = await writeWhole(folder, file, { force, signal });
            if (isWhole) files.push({ file: join(out, file.name), chat_id: line.chat_id });
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

/** The text of one file, up to its end. @returns whether it is whole. */
async function* piecesIn(
  lines: AsyncGenerator<ExportLine, undefined>,
  leaveOut: (chatId: string, says: string) => Promise<void>,
): AsyncGenerator<string, boolean> {
  for (;;) {
    const { value: line } = await lines.next();
    if (line === undefined) return false;
    if ("end" in line) return line.end === "whole";
    if ("left_out" in line) await leaveOut(line.left_out, line.says);
    if ("text" in line) yield line.text;
  }
}

/** How a file is named until it is whole: by the process that writes it. */
const temporaryName = /^\.throughline-export-(\d+)-[0-9a-z]{18}\.tmp$/;

/** Removes what exports that were killed left in a folder: before the first file of this process. */
async function removeLeftovers(folder: string): Promise<void> {
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const [, pid] = temporaryName.exec(entry.name) ?? [];
    const isLeft = pid !== undefined && entry.isFile() && !isRunning(Number(pid));
    if (isLeft) await rm(join(folder, entry.name), { force: true });
  }
}

interface WholeFileOptions {
  /** Overwrite an existing file. */
  readonly force: boolean;
  readonly signal: AbortSignal;
}

interface NewFile {
  readonly name: string;
  /** Read once. What they return says whether they are all of the file. */
  readonly pieces: AsyncGenerator<string, boolean>;
}

/**
 * Writes a file whole or not at all, synced and readable by this user alone. After an abort it rejects
 * with the reason of `signal`, and nothing of the file is left.
 *
 * @returns false: the pieces were not all of it, and nothing of it is left.
 * @throws ThroughlineError `THROUGHLINE_CONFLICT`: a file is there already.
 */
async function writeWhole(
  folder: string,
  { name, pieces }: NewFile,
  { force, signal }: WholeFileOptions,
): Promise<boolean> {
  const path = join(folder, name);
  const temporary = join(folder, `.throughline-export-${process.pid}-${randomId()}.tmp`);
  try {
    const file = await open(temporary, "wx", 0o600);
    try {
      let piece = await pieces.next();
      for (; piece.done !== true; piece = await pieces.next()) {
        signal.throwIfAborted();
        await file.writeFile(piece.value);
      }
      if (!piece.value) return false;
      await file.sync();
    } finally {
      await file.close();
    }
    signal.throwIfAborted();
    // A link takes no name that is taken; a rename would.
    await (force ? rename(temporary, path) : link(temporary, path));
    return true;
  } catch (cause) {
    if (!isErrno(cause, "EEXIST")) throw cause;
    throw new Failed(`${path} already exists`, {
      code: "THROUGHLINE_CONFLICT",
      wayOut: "Pass another folder with --out, or --force to overwrite.",
      cause,
    });
  } finally {
    await rm(temporary, { force: true });
  }
}
