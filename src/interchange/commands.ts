import { Option } from "commander";
import { type AddCommand, type Commands, type Context, notEmpty } from "../cli/command.ts";
import { wrongUsage } from "../cli/failure.ts";
import type { Flags } from "../cli/settings.ts";
import type { CompanionReader } from "./reachy-import.ts";

/** What other features do for `import` and `export`, loaded when it is asked for. */
interface InterchangeParts {
  /** Copies a whole companion: `export --to` and `import --from store`. */
  readonly moves?: (() => Promise<StoreMoves>) | undefined;
  /** Reads a companion's own document: `import --from reachy`. */
  readonly companion?: (() => Promise<CompanionReader>) | undefined;
}

interface StoreMoves {
  exportToStore(to: string, flags: MoveFlags, context: Context): Promise<void>;
  importFromStore(from: string, flags: MoveFlags, context: Context): Promise<void>;
}

interface MoveFlags extends Flags {
  readonly withDamage?: boolean;
  readonly json?: boolean;
}

const notHere = (option: string) => wrongUsage(`this program has no ${option}`);

/** `import` and `export`. */
export function interchangeCommands(parts: InterchangeParts): Commands {
  return { import: importCommand(parts), export: exportCommand(parts) };
}

function importCommand({ moves, companion }: InterchangeParts): AddCommand {
  return (program, context) => {
    program
      .command("import <path>")
      .summary("Import chats from another program, or everything from another store.")
      .description(
        "Import chats or sessions from a file or a folder. The source is never changed. Importing it " +
          "again adds nothing, or the rest if the file has grown. A chat that exists and is not of " +
          "this file alone is refused: import the file into a new chat with --into. With --from store, " +
          "the path is a postgres:// URL or a home, and the whole companion in it is copied, as with " +
          "`throughline export --to`.",
      )
      .addOption(
        new Option("--from <program>", "the program that wrote it")
          .choices(["nanobot", "ductor", "throughline", "reachy", "store"])
          .makeOptionMandatory(),
      )
      .option("--chat <id>", "the chat for the conversation of a reachy companion", "local:me")
      .option("--into <id>", "import a single file into this new chat", notEmpty)
      .option("--force", "also import forgotten chats")
      .option("--dry-run", "count the messages and chats in the source, and change nothing")
      .option(
        "--with-damage",
        "with --from store: mark records that cannot be read, and copy the rest",
      )
      .takes("home", "store", "json")
      .examples(
        [
          ["import ~/.nanobot --from nanobot", "its chats, from both of its session folders"],
          ["import ~/.ductor/sessions.json --from ductor", "its sessions, which can be resumed"],
          [
            "import ~/.reachy_nova/session --from reachy",
            "a companion's emotions and conversation",
          ],
          ["import backup --from throughline", "files that `throughline export` wrote"],
          ["import a.jsonl --from nanobot --into copy", "one file, into a chat of another name"],
          [
            "import 'postgres://me@db/chats?companion=nova' --from store",
            "from a database to files",
          ],
        ],
        `Stop \`throughline serve\` first: this needs the home for itself.`,
      )
      .action(async (path, flags) => {
        const { from } = flags;
        if (from === "store") {
          if (flags.force || flags.dryRun || flags.into !== undefined) {
            throw wrongUsage(
              "--from store copies everything as it is: leave --force, --dry-run and --into out",
            );
          }
          if (moves === undefined) throw notHere("--from store");
          return (await moves()).importFromStore(path, flags, context);
        }
        if (from === "reachy" && companion === undefined) throw notHere("--from reachy");
        if (flags.into !== undefined && from !== "nanobot" && from !== "throughline") {
          throw wrongUsage("--into takes a chat --from nanobot or --from throughline");
        }
        const { importPath } = await import("./commands/import.ts");
        await importPath(path, { ...flags, from }, context, companion);
      });
  };
}

function exportCommand({ moves }: InterchangeParts): AddCommand {
  return (program, context) => {
    program
      .command("export")
      .summary("Write chats for other programs, or copy everything to another store.")
      .description(
        "Write every chat, or one, to a folder. The format throughline contains everything, including " +
          "hidden messages; the others contain what their programs read. A chat that cannot " +
          "be read is reported and left out, and the exit code is 1. With --to: copy the whole companion " +
          "to another store, which must be empty.",
      )
      .addOption(
        new Option("--format <format>", "the program that will read it").choices([
          "nanobot",
          "ductor",
          "throughline",
        ]),
      )
      .option("--out <dir>", "the folder to write to. A missing folder is created", notEmpty)
      .option("--chat <id>", "export only this chat", notEmpty)
      .option("--force", "overwrite existing files")
      .option("--to <store>", "the store to copy to: a postgres:// URL or a directory", notEmpty)
      .option("--with-damage", "with --to: mark records that cannot be read, and copy the rest")
      .takes("home", "store", "json")
      .examples(
        [
          ["export --format throughline --out backup", "everything, for a later import"],
          ["export --format nanobot --out sessions --chat local:me", "one chat for nanobot"],
          ["export --to 'postgres://me@db/chats?companion=nova'", "copy to a database"],
          ["export --store postgres://me@db/chats --to ./home", "and back to files"],
        ],
        `If a copy with --to is interrupted, run the same command again: it starts over. Each log of the copy
has as many records and the same head. The source is not changed. --to needs the home for itself: stop
\`throughline serve\` first. While it has the home, the other exports ask that server.`,
      )
      .action(async (flags) => {
        const { format, out, to, chat, force } = flags;
        if (to !== undefined) {
          if ([format, out, chat, force].some((each) => each !== undefined)) {
            throw wrongUsage(
              "--to copies everything: leave out --format, --out, --chat and --force",
            );
          }
          if (moves === undefined) throw notHere("--to");
          return (await moves()).exportToStore(to, flags, context);
        }
        if (format === undefined) throw missing("--format <format>");
        if (out === undefined) throw missing("--out <dir>");
        const { exportTo } = await import("./commands/export.ts");
        await exportTo({ ...flags, format, out }, context);
      });
  };
}

const missing = (option: string) => wrongUsage(`required option '${option}' not specified`);
