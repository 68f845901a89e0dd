import { Option } from "commander";
import { type AddCommand, examples, homeOption, jsonOption, notEmpty } from "./command.ts";

export const addExportCommand: AddCommand = (program, context) => {
  program
    .command("export")
    .summary("Write chats out for other programs, or as a backup.")
    .description(
      "Write every chat, or one, into a folder. The format throughline keeps everything, what was " +
        "hidden or redacted too; the others have what their programs read.",
    )
    .addOption(
      new Option("--format <format>", "for whom")
        .choices(["nanobot", "ductor", "throughline"])
        .makeOptionMandatory(),
    )
    .requiredOption("--out <dir>", "the folder, made if it is not there", notEmpty)
    .option("--chat <id>", "only this chat", notEmpty)
    .option("--force", "overwrite files that are there")
    .addOption(homeOption())
    .addOption(jsonOption())
    .addHelpText(
      "after",
      examples([
        ["export --format throughline --out backup", "everything, to be imported again"],
        ["export --format nanobot --out sessions --chat local:me", "one chat for nanobot"],
      ]),
    )
    .action(async (flags) => {
      const { exportTo } = await import("./interchange/export.ts");
      await exportTo(flags, context);
    });
};
