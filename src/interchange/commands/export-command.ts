import { Option } from "commander";
import {
  type AddCommand,
  examples,
  homeOption,
  jsonOption,
  notEmpty,
  storeOption,
} from "../../cli/command.ts";
import { wrongUsage } from "../../cli/failure.ts";

export const addExportCommand: AddCommand = (program, context) => {
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
        const given = { format, out, chat, force };
        if (Object.values(given).some((each) => each !== undefined)) {
          throw wrongUsage("--to copies all, as it is: leave --format, --out, --chat, --force out");
        }
        const { exportToStore } = await import("../../postgres/commands/move.ts");
        return exportToStore(to, flags, context);
      }
      if (format === undefined) throw missing("--format <format>");
      if (out === undefined) throw missing("--out <dir>");
      const { exportTo } = await import("./export.ts");
      await exportTo({ ...flags, format, out }, context);
    });
};

const missing = (option: string) => wrongUsage(`required option '${option}' not specified`);
