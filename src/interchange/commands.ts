import { Option } from "commander";
import {
  type AddCommand,
  type Context,
  examples,
  homeOption,
  jsonOption,
  notEmpty,
  storeOption,
} from "../cli/command.ts";
import { wrongUsage } from "../cli/failure.ts";
import type { Flags } from "../cli/settings.ts";
import type { CompanionReader } from "./reachy-import.ts";

/** What other features do for `import` and `export`, loaded when it is asked for. */
export interface InterchangeParts {
  /** Copies a whole companion: `export --to` and `import --from store`. */
  readonly moves?: (() => Promise<StoreMoves>) | undefined;
  /** Reads a companion's own document: `import --from reachy`. */
  readonly companion?: (() => Promise<CompanionReader>) | undefined;
}

export interface StoreMoves {
  exportToStore(to: string, flags: MoveFlags, context: Context): Promise<void>;
  importFromStore(from: string, flags: MoveFlags, context: Context): Promise<void>;
}

interface MoveFlags extends Flags {
  readonly withDamage?: boolean;
  readonly json?: boolean;
}

const notHere = (option: string) => wrongUsage(`this program has no ${option}`);

/** `import`. */
export function importCommand({ moves, companion }: InterchangeParts): AddCommand {
  return (program, context) => {
    program
      .command("import <path>")
      .summary("Take over what another program kept, or all of another store.")
      .description(
        "Import chats or sessions from a file or a folder. What is imported is read and never changed; " +
          "importing it again adds only what is new. With --from store the path is a postgres:// URL or " +
          "a home, and the whole companion in it is copied, as `throughline export --to` does.",
      )
      .addOption(
        new Option("--from <program>", "what wrote it")
          .choices(["nanobot", "ductor", "throughline", "reachy", "store"])
          .makeOptionMandatory(),
      )
      .option("--chat <id>", "where the conversation of a reachy companion goes", "local:me")
      .option("--force", "bring back also what you had forgotten")
      .option("--dry-run", "say what would be done, and do nothing")
      .option("--with-damage", "from a store: mark what cannot be read, and copy the rest")
      .addOption(homeOption())
      .addOption(storeOption())
      .addOption(jsonOption())
      .addHelpText(
        "after",
        examples([
          ["import ~/.nanobot --from nanobot", "its chats: both of its folders of sessions"],
          ["import ~/.ductor/sessions.json --from ductor", "its sessions, to be resumed"],
          ["import ~/.reachy_nova/session --from reachy", "how a companion felt, and what it said"],
          ["import backup --from throughline", "what `throughline export` wrote"],
          ["import 'postgres://me@db/chats?companion=nova' --from store", "back into files"],
        ]),
      )
      .action(async (path, flags) => {
        const { from } = flags;
        if (from === "store") {
          if (flags.force || flags.dryRun) {
            throw wrongUsage("--from store copies all, as it is: leave --force and --dry-run out");
          }
          if (moves === undefined) throw notHere("--from store");
          return (await moves()).importFromStore(path, flags, context);
        }
        if (from === "reachy" && companion === undefined) throw notHere("--from reachy");
        const { importPath } = await import("./commands/import.ts");
        await importPath(path, { ...flags, from }, context, companion);
      });
  };
}

/** `export`. */
export function exportCommand({ moves }: InterchangeParts): AddCommand {
  return (program, context) => {
    program
      .command("export")
      .summary("Write chats out for other programs, or copy all of it to another store.")
      .description(
        "Write every chat, or one, into a folder. The format throughline keeps everything, what was " +
          "hidden or redacted too; the others have what their programs read. A chat that cannot be read is " +
          "named and left out, and the exit code is 1. With --to instead: copy " +
          "the whole companion into another store, which is empty or holds an earlier copy of it.",
      )
      .addOption(
        new Option("--format <format>", "for whom").choices(["nanobot", "ductor", "throughline"]),
      )
      .option("--out <dir>", "the folder, made if it is not there", notEmpty)
      .option("--chat <id>", "only this chat", notEmpty)
      .option("--force", "overwrite files that are there")
      .option("--to <store>", "the other store: a postgres:// URL, or a directory", notEmpty)
      .option("--with-damage", "with --to: mark what cannot be read, and copy the rest")
      .addOption(homeOption())
      .addOption(storeOption())
      .addOption(jsonOption())
      .addHelpText(
        "after",
        `${examples([
          ["export --format throughline --out backup", "everything, to be imported again"],
          ["export --format nanobot --out sessions --chat local:me", "one chat for nanobot"],
          ["export --to 'postgres://me@db/chats?companion=nova'", "move to a database"],
          ["export --store postgres://me@db/chats --to ./home", "and back into files"],
        ])}
\nA copy with --to that was interrupted goes on where it stopped when the same line is run again. Both
sides are read and compared before it says that it is done. The source is not changed.`,
      )
      .action(async (flags) => {
        const { format, out, to, chat, force } = flags;
        if (to !== undefined) {
          if ([format, out, chat, force].some((each) => each !== undefined)) {
            throw wrongUsage(
              "--to copies all, as it is: leave --format, --out, --chat, --force out",
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
