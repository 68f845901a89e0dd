import { Option } from "commander";
import { feedbackExportFormats } from "../interchange/feedback-export/options.ts";
import { type AddCommand, examples, homeOption, jsonOption, notEmpty } from "./command.ts";

export const addFeedbackCommand: AddCommand = (program, context) => {
  const feedback = program
    .command("feedback")
    .summary("What people reacted to: list, export, upload.")
    .description("Packages of what people reacted to, in <home>/feedback.")
    .addHelpText(
      "after",
      examples([
        ["feedback list", "what was liked and what was not"],
        ["feedback export --format kto --out data", "for preference training with TRL"],
      ]),
    );
  feedback
    .command("list")
    .description("The packages, newest first.")
    .addOption(homeOption())
    .addOption(jsonOption())
    .action(async (flags) => (await import("./feedback.ts")).list(flags, context));
  feedback
    .command("export")
    .description(
      "Write the packages as data that trainers read. A second run writes the same bytes.",
    )
    .addOption(
      new Option("--format <format>", "for whom")
        .choices([...feedbackExportFormats])
        .makeOptionMandatory(),
    )
    .requiredOption("--out <dir>", "the folder, made new", notEmpty)
    .addOption(new Option("--style <style>", "of dpo").choices(["trl", "openai"]))
    .addOption(new Option("--layout <layout>", "of webdataset").choices(["inner-tar", "per-frame"]))
    .option("--no-audio", "webdataset without sound")
    .option("--replace", "in the place of an export that is there")
    .addOption(homeOption())
    .addOption(jsonOption())
    .action(async (flags) => (await import("./feedback.ts")).exportPackages(flags, context));
  feedback
    .command("upload")
    .description("Send now what is owed to the bucket, and ask again where it was refused.")
    .addOption(homeOption())
    .addOption(jsonOption())
    .action(async (flags) => (await import("./feedback.ts")).upload(flags, context));
};
