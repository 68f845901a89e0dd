import { Option } from "commander";
import {
  type AddCommand,
  examples,
  homeOption,
  jsonOption,
  storeOption,
} from "../../cli/command.ts";
import { wrongUsage } from "../../cli/failure.ts";

export const addImportCommand: AddCommand = (program, context) => {
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
      if (flags.from === "store") {
        if (flags.force || flags.dryRun) {
          throw wrongUsage("--from store copies all, as it is: leave --force and --dry-run out");
        }
        const { importFromStore } = await import("../../postgres/commands/move.ts");
        return importFromStore(path, flags, context);
      }
      const { importPath } = await import("./import.ts");
      await importPath(path, { ...flags, from: flags.from }, context);
    });
};
