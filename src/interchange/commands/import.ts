import { constants, existsSync } from "node:fs";
import { lstat, open, opendir, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import type { Context } from "../../cli/command.ts";
import { Exit, exitCodes, isErrno, wrongUsage } from "../../cli/failure.ts";
import { counted, json } from "../../cli/format.ts";
import { tell, write } from "../../cli/io.ts";
import { openLog } from "../../cli/log.ts";
import { type Flags, resolveSettings } from "../../cli/settings.ts";
import { printableLine } from "../../core/chat/printable.ts";
import { systemClock } from "../../core/clock.ts";
import { invalid } from "../../core/errors.ts";
import { tooLarge } from "../../core/json.ts";
import type { Throughline } from "../../core/throughline.ts";
import { importChats } from "../chat-import.ts";
import { importSessions } from "../ductor-import.ts";
import type { ImportOptions, ImportReport, Source } from "../import.ts";
import { type CompanionReader, importCompanion } from "../reachy-import.ts";

interface ImportFlags extends Flags {
  readonly from: "nanobot" | "ductor" | "throughline" | "reachy";
  /** Where the conversation of a companion goes. */
  readonly chat: string;
  readonly into?: string;
  readonly force?: boolean;
  readonly dryRun?: boolean;
  readonly json?: boolean;
}

/** What a source is named, or ends in. */
const endings = {
  nanobot: ".jsonl",
  throughline: ".jsonl",
  ductor: "sessions.json",
  reachy: "session.json",
} as const satisfies Record<ImportFlags["from"], string>;

/**
 * @throws Exit with 1: a source could not be imported.
 * @throws CommanderError wrong usage: there is no source.
 */
export async function importPath(
  path: string,
  flags: ImportFlags,
  context: Context,
  companion?: () => Promise<CompanionReader>,
): Promise<void> {
  const { io, env, openMemories } = context;
  const ending = endings[flags.from];
  const found = await findSources(path, ending);
  for (const line of found.passedOver) await tell(io, printableLine(line));
  if (found.sources.length === 0) {
    throw wrongUsage(`${path} contains no ${ending} file`);
  }
  if (flags.into !== undefined && found.sources.length > 1) {
    throw wrongUsage(`--into takes one file: name one of the ${found.sources.length} in ${path}`);
  }
  const settings = resolveSettings(flags, env);
  // A trial run makes no home.
  const hasPlace = settings.store !== undefined || existsSync(settings.home);
  const isEphemeral = flags.dryRun === true && !hasPlace;
  const logger = openLog(settings.logLevel, "warn");
  const throughline = await openMemories({ ...settings, isEphemeral }, { logger });
  let report: ImportReport;
  try {
    report = await runImport(found, flags, throughline, companion);
  } finally {
    await throughline.close();
  }
  const dry_run = flags.dryRun === true;
  await write(io.output, flags.json ? json({ ...report, dry_run }) : text(report, dry_run));
  if (report.failed.length > 0) throw new Exit(exitCodes.failed);
}

async function runImport(
  { sources }: FoundSources,
  flags: ImportFlags,
  { chats, rules, storage }: Throughline,
  companion: (() => Promise<CompanionReader>) | undefined,
): Promise<ImportReport> {
  const options: ImportOptions = {
    chats,
    clock: systemClock,
    zone: rules.timeZone,
    into: flags.into,
    force: flags.force,
    dryRun: flags.dryRun,
  };
  const [source] = sources;
  if (source === undefined) return importChats([], options);
  if (companion !== undefined && flags.from === "reachy") {
    return importCompanion(source, {
      ...options,
      documents: storage.documents("session"),
      companion: await companion(),
      chatId: flags.chat,
    });
  }
  if (flags.from === "ductor") return importSessions(source, options);
  if (flags.from === "nanobot") return importChats(sources, options);
  return importChats(sources, options, "own");
}

function text(report: ImportReport, isDryRun: boolean): string {
  const { chats, sessions, quarantined, quarantined_count, foreign, refused, failed } = report;
  const lines: string[] = [];
  for (const { chat_id, source, messages, skipped, notes } of chats) {
    const known = skipped === 0 ? "" : `, ${skipped} already here`;
    lines.push(`${chat_id}: ${counted(messages, "message")} from ${source}${known}`);
    lines.push(...notes.map(asNote));
  }
  for (const { chat_id, outcome, notes } of sessions) {
    lines.push(`${chat_id}: ${outcomes[outcome]}`, ...notes.map(asNote));
  }
  for (const { chat_id, source, forgotten_at, messages } of refused) {
    const why = `the chat was forgotten at ${forgotten_at}`;
    const what = messages === 0 ? source : `${counted(messages, "message")} from ${source}`;
    lines.push(`${chat_id}: not imported: ${what}: ${why}. --force imports it anyway`);
  }
  for (const { source, line, offset, bytes, reason } of quarantined) {
    lines.push(
      `${source}:${line}: not imported: ${counted(bytes, "byte")} at ${offset}: ${reason}`,
    );
  }
  const more = quarantined_count - quarantined.length;
  if (more > 0) lines.push(`${more} more lines not imported`);
  for (const { source, reason, code } of failed) {
    lines.push(`${source}: not imported: ${reason} [${code}]`);
  }
  const sum = chats.reduce((total, { messages }) => total + messages, 0);
  const parts = [
    `${counted(sum, "message")} in ${counted(chats.length, "chat")}`,
    counted(sessions.filter(({ outcome }) => outcome === "imported").length, "session"),
  ];
  if (foreign > 0) parts.push(`${counted(foreign, "record")} of other kinds`);
  const begins = isDryRun ? "Would be imported: " : "Imported: ";
  return [...lines, `${begins}${parts.join(", ")}.`]
    .map((line) => `${printableLine(line)}\n`)
    .join("");
}

const asNote = (note: string) => `- ${note}`;

const outcomes = {
  imported: "session imported",
  known: "session already imported",
  kept: "the chat has a session of its own, which was kept",
} as const;

/** Files that one import takes. */
const maxFiles = 100_000;

interface FoundSources {
  readonly sources: readonly Source[];
  /** What was skipped, and why: sentences for the person. */
  readonly passedOver: readonly string[];
}

/**
 * The files that a path stands for: itself, or what lies in the folder and ends right; in nanobot's
 * own folder both places where it keeps sessions. Links inside of folders are not followed, and
 * nothing but plain files is opened.
 *
 * @param ending of a file's name, such as `.jsonl`; or the whole name.
 * @throws CommanderError wrong usage: nothing is there. ThroughlineError `THROUGHLINE_TOO_LARGE`.
 */
async function findSources(path: string, ending: string): Promise<FoundSources> {
  const about = await stat(path).catch((error: unknown) => {
    if (!isErrno(error, "ENOENT", "ENOTDIR")) throw error;
    throw wrongUsage(`there is no file or folder at ${path}`);
  });
  if (!about.isDirectory())
    return { sources: [fileSource(path, about.mtimeMs, true)], passedOver: [] };
  const sources: Source[] = [];
  const passedOver: string[] = [];
  for (const folder of await foldersIn(path, ending)) {
    for await (const { name } of await opendir(folder)) {
      if (!name.toLowerCase().endsWith(ending)) continue;
      const file = join(folder, name);
      const entry = await lstat(file);
      if (!entry.isFile()) passedOver.push(`${file} is not a regular file: skipped`);
      else sources.push(fileSource(file, entry.mtimeMs, false));
      if (sources.length > maxFiles) {
        throw tooLarge(`${path} contains more than ${maxFiles} files`);
      }
    }
  }
  return { sources, passedOver };
}

async function foldersIn(path: string, ending: string): Promise<readonly string[]> {
  if (ending !== ".jsonl") return [path];
  const own = [join(path, "workspace", "sessions"), join(path, "sessions")];
  const isFolder = async (folder: string) => {
    try {
      return (await lstat(folder)).isDirectory();
    } catch (error) {
      if (isErrno(error, "ENOENT", "ENOTDIR")) return false;
      throw error;
    }
  };
  const there = await Promise.all(own.map(isFolder));
  return [path, ...own.filter((_, index) => there[index])];
}

function fileSource(path: string, modifiedAt: number, followsLink: boolean): Source {
  // A pipe in its place would never end; a link put there would lead elsewhere.
  const { O_RDONLY, O_NONBLOCK = 0, O_NOFOLLOW = 0 } = constants;
  const flags = O_RDONLY | O_NONBLOCK | (followsLink ? 0 : O_NOFOLLOW);
  return {
    name: basename(path),
    modifiedAt,
    bytes: {
      async *[Symbol.asyncIterator]() {
        const file = await open(path, flags);
        try {
          if (!(await file.stat()).isFile()) {
            throw invalid(`${path} is not a regular file`);
          }
          const buffer = Buffer.alloc(256 * 1024);
          for (;;) {
            const { bytesRead } = await file.read(buffer, 0, buffer.length, null);
            if (bytesRead === 0) return;
            // A copy: readers keep pieces of it, and the buffer is used again.
            yield Buffer.from(buffer.subarray(0, bytesRead));
          }
        } finally {
          await file.close();
        }
      },
    },
  };
}
