import { type Command, InvalidArgumentError, Option } from "commander";
import {
  type AddCommand,
  type Context,
  examples,
  homeOption,
  jsonOption,
  notEmpty,
  wholeNumber,
} from "../cli/command.ts";
import { isoTime } from "../core/clock.ts";
import { feedbackExportFormats } from "./export/options.ts";

export const addFeedbackCommand: AddCommand = (program, context) => {
  const feedback = program
    .command("feedback")
    .summary("What people reacted to: record, list, keep, mend, export, upload, delete.")
    .description("Packages of what people reacted to, in <home>/feedback.")
    .addHelpText(
      "after",
      examples([
        ["feedback list", "what was liked and what was not"],
        ["feedback record --sentiment positive --what 'the joke'", "the last answer of local:me"],
        ["feedback export --format kto --out data", "for preference training with TRL"],
      ]),
    );
  feedback
    .command("list")
    .description(
      "The packages, newest first: those that are uploaded, still owed to the bucket, or parked, " +
        "which go only when `feedback upload` asks again.",
    )
    .addOption(homeOption())
    .addOption(jsonOption())
    .action(async (flags) => (await import("./commands/feedback.ts")).list(flags, context));
  addRecord(feedback, context);
  addExport(feedback, context);
  addUpload(feedback, context);
  addMarks(feedback, context);
  addCare(feedback, context);
  addRemoval(feedback, context);
};

const sentiments = ["positive", "negative"] as const;

function addRecord(feedback: Command, context: Context): void {
  feedback
    .command("record")
    .description("Record a reaction to an answer that is in a chat. The server must not run.")
    .addOption(new Option("--sentiment <sentiment>").choices([...sentiments]).makeOptionMandatory())
    .requiredOption("--what <text>", "what was liked or disliked", notEmpty)
    .option("--trigger <text>", "what showed it, such as 'verbal correction'")
    .option("--chat <id>", "the chat", notEmpty, "local:me")
    .option("--message <id>", "the answer that it is about; if absent, the last one", notEmpty)
    .option("--score <number>", "from -1 to 1, its sign that of the sentiment", number(-1, 1))
    .option("--correction <text>", "the answer as it should have been", notEmpty)
    .option("--note <text>", "what to do differently", notEmpty)
    .addOption(homeOption())
    .addOption(jsonOption())
    .action(async (flags) =>
      (await import("./commands/feedback-record.ts")).record(flags, context),
    );
}

function addExport(feedback: Command, context: Context): void {
  feedback
    .command("export")
    .description(
      "Write the packages as data that trainers read, with a card. A second run writes the same bytes.",
    )
    .addOption(
      new Option("--format <format>", "for whom")
        .choices([...feedbackExportFormats])
        .makeOptionMandatory(),
    )
    .requiredOption("--out <dir>", "the folder, made new", notEmpty)
    .addOption(new Option("--sentiment <sentiment>", "only these").choices([...sentiments]))
    .option("--since <time>", "only from this instant on, as 2026-02-19 or with a time", instant)
    .option("--until <time>", "only before this instant", instant)
    .option("--chat <id>", "only of this chat", notEmpty)
    .option("--person <name>", "only where this person was seen", notEmpty)
    .addOption(
      new Option("--source <source>", "only by this door").choices([
        "skill",
        "http",
        "cli",
        "auto",
      ]),
    )
    .option("--min-score <number>", "only judgements at least this strong, 0 to 1", number(0, 1))
    .option("--max-frames <count>", "pictures a row", wholeNumber(0, 240))
    .option("--max-prompt-chars <count>", "of a prompt", wholeNumber(1, 100_000_000))
    .addOption(new Option("--style <style>", "of dpo").choices(["trl", "openai"]))
    .addOption(new Option("--layout <layout>", "of webdataset").choices(["inner-tar", "per-frame"]))
    .option("--no-audio", "webdataset without sound")
    .option("--replace", "in the place of an export that is there")
    .addOption(homeOption())
    .addOption(jsonOption())
    .action(async (flags) =>
      (await import("./commands/feedback-export.ts")).exportPackages(flags, context),
    );
}

function addUpload(feedback: Command, context: Context): void {
  feedback
    .command("upload")
    .description(
      "Send now what is owed to the bucket, and ask again where it was refused. Ends with 1 if " +
        "anything is owed still, refused or because the bucket is not to be had.",
    )
    .option("--create-bucket", "make the bucket if it is missing")
    .addOption(homeOption())
    .addOption(jsonOption())
    .action(async (flags) => (await import("./commands/feedback.ts")).upload(flags, context));
}

function addMarks(feedback: Command, context: Context): void {
  feedback
    .command("preserve <package>")
    .description("Keep a package from every purge.")
    .option("--reason <text>", "why")
    .option("--release", "let it go again")
    .addOption(homeOption())
    .addOption(jsonOption())
    .action(async (name, flags) =>
      (await import("./commands/feedback-packages.ts")).preserve(name, flags, context),
    );
  feedback
    .command("retract <package>")
    .description("Take a reaction back: it stays, and no export has it.")
    .option("--reason <text>", "why")
    .addOption(homeOption())
    .addOption(jsonOption())
    .action(async (name, flags) =>
      (await import("./commands/feedback-packages.ts")).retract(name, flags, context),
    );
}

function addCare(feedback: Command, context: Context): void {
  feedback
    .command("verify [packages...]")
    .description("Compare every byte with the seal, of these packages or of all.")
    .addOption(homeOption())
    .addOption(jsonOption())
    .action(async (names, flags) =>
      (await import("./commands/feedback-packages.ts")).verify(names, flags, context),
    );
  feedback
    .command("repair <package>")
    .description("Make a new package of what is right in a damaged one, which is kept aside.")
    .addOption(homeOption())
    .addOption(jsonOption())
    .action(async (name, flags) =>
      (await import("./commands/feedback-packages.ts")).repair(name, flags, context),
    );
  feedback
    .command("import <path>")
    .description("Take over packages of a reachy companion: one, or a folder of them, as copies.")
    .option("--allow-export", "the people in them agreed to training")
    .option("--allow-upload", "and to the bucket")
    .option("--by <name>", "who says so", notEmpty)
    .addOption(homeOption())
    .addOption(jsonOption())
    .action(async (path, flags) =>
      (await import("./commands/feedback-packages.ts")).importSeeds(path, flags, context),
    );
}

function addRemoval(feedback: Command, context: Context): void {
  feedback
    .command("purge")
    .description("Remove the oldest packages past a limit; none that is preserved or still owed.")
    .option("--max-age-days <days>", "older ones go", wholeNumber(1, 36_500))
    .option("--max-megabytes <count>", "of all together", wholeNumber(0, 1_000_000_000))
    .option("--cut-off", "in the bucket: what uploads left that ended a day ago, unfinished")
    .addOption(homeOption())
    .addOption(jsonOption())
    .action(async (flags) =>
      (await import("./commands/feedback-packages.ts")).purge(flags, context),
    );
  feedback
    .command("delete [package]")
    .description("Delete packages wherever they are, for good, and say what was deleted.")
    .option("--chat <id>", "those of a chat", notEmpty)
    .option("--person <name>", "those in which a person was seen", notEmpty)
    .option("--all", "every one")
    .option("--yes", "do not ask")
    .addOption(homeOption())
    .addOption(jsonOption())
    .action(async (name, flags) =>
      (await import("./commands/feedback-packages.ts")).remove(name, flags, context),
    );
}

function number(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = text.trim() === "" ? Number.NaN : Number(text);
    if (value >= min && value <= max) return value;
    throw new InvalidArgumentError(`It must be a number from ${min} to ${max}.`);
  };
}

const dateOrTime =
  /^(\d{4}-\d{2}-\d{2})(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?$/;

/** @returns milliseconds since 1970. */
function instant(text: string): number {
  const day = dateOrTime.exec(text)?.[1];
  const at = Date.parse(text);
  // 30 February is one to `Date.parse`, in March; so is a date with anything behind it.
  const isDay = day !== undefined && !Number.isNaN(at) && isoTime(Date.parse(day)).startsWith(day);
  if (isDay) return at;
  throw new InvalidArgumentError("It must be a date as 2026-02-19, or with a time.");
}
