import { Option } from "commander";
import { type AddCommand, examples, homeOption, jsonOption } from "./command.ts";

export const addImportCommand: AddCommand = (program, context) => {
  program
    .command("import <path>")
    .summary("Take over what another program kept.")
    .description(
      "Import chats or sessions from a file or a folder. What is imported is read and never changed; " +
        "importing it again adds only what is new.",
    )
    .addOption(
      new Option("--from <program>", "what wrote it")
        .choices(["nanobot", "ductor", "throughline", "reachy"])
        .makeOptionMandatory(),
    )
    .option("--chat <id>", "where the conversation of a reachy companion goes", "local:me")
    .option("--force", "bring back also what you had forgotten")
    .option("--dry-run", "say what would be done, and do nothing")
    .addOption(homeOption())
    .addOption(jsonOption())
    .addHelpText(
      "after",
      examples([
        ["import ~/.nanobot --from nanobot", "its chats: both of its folders of sessions"],
        ["import ~/.ductor/sessions.json --from ductor", "its sessions, to be resumed"],
        ["import ~/.reachy_nova/session --from reachy", "how a companion felt, and what it said"],
        ["import backup --from throughline", "what `throughline export` wrote"],
      ]),
    )
    .action(async (path, flags) => {
      const { importPath } = await import("./interchange/import.ts");
      await importPath(path, flags, context);
    });
};
