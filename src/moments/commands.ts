import { InvalidArgumentError, Option } from "commander";
import {
  type AddCommand,
  type Command,
  type Commands,
  type Context,
  notEmpty,
  wholeNumber,
} from "../cli/command.ts";
import { isoTime } from "../core/clock.ts";
import { feedbackExportFormats } from "./export/selection.ts";
import { sentiments } from "./package/package-name.ts";

const addFeedbackCommand: AddCommand = (program, context) => {
  const feedback = program
    .command("feedback")
    .summary("Manage feedback packages: record, list, export, upload, delete.")
    .description("Manage the packages of recorded reactions, in <home>/feedback.")
    .examples(
      [
        ["feedback list", "every package"],
        [
          "feedback record --sentiment positive --what 'the joke'",
          "a reaction to the last answer in local:me",
        ],
        ["feedback export --format kto --out data", "training data for TRL"],
      ],
      `While \`throughline serve\` has the home, list, verify and export work; stop it for the others.`,
    );
  feedback
    .command("list")
    .description(
      "List the packages, newest first, and whether each is uploaded, pending or dead. A dead upload is " +
        "tried again only by `feedback upload`.",
    )
    .action(async (flags) => (await feedbackCommands()).list(flags, context));
  addRecord(feedback, context);
  addExport(feedback, context);
  addUpload(feedback, context);
  addMarks(feedback, context);
  addCare(feedback, context);
  addRemoval(feedback, context);
  feedback.eachTakes("json", "home");
};

/** `feedback`. */
export const momentsCommands: Commands = { feedback: addFeedbackCommand };

// Loaded when one of them runs.
const feedbackCommands = () => import("./commands/feedback.ts");
const packages = () => import("./commands/feedback-packages.ts");

function addRecord(feedback: Command, context: Context): void {
  feedback
    .command("record")
    .description("Record a reaction to an answer in a chat. Stop the server first.")
    .addOption(
      new Option("--sentiment <sentiment>", "the kind of reaction")
        .choices([...sentiments])
        .makeOptionMandatory(),
    )
    .requiredOption("--what <text>", "what was liked or disliked", notEmpty)
    .option("--trigger <text>", "what showed the reaction, such as 'verbal correction'")
    .option("--chat <id>", "the chat", notEmpty, "local:me")
    .option("--message <id>", "the answer that it is about (default: the last one)", notEmpty)
    .option("--score <number>", "from -1 to 1, negative for a negative sentiment", number(-1, 1))
    .option("--correction <text>", "what the answer should have been", notEmpty)
    .option("--note <text>", "what to do differently next time", notEmpty)
    .action(async (flags) => (await feedbackCommands()).record(flags, context));
}

function addExport(feedback: Command, context: Context): void {
  feedback
    .command("export")
    .description(
      "Write the packages as training data, with a dataset card. A second run writes the same bytes.",
    )
    .addOption(
      new Option("--format <format>", "the output format")
        .choices([...feedbackExportFormats])
        .makeOptionMandatory(),
    )
    .requiredOption("--out <dir>", "the folder to create", notEmpty)
    .addOption(
      new Option("--sentiment <sentiment>", "only this kind of reaction").choices([...sentiments]),
    )
    .option(
      "--since <time>",
      "only from this date on, such as 2026-02-19 or 2026-02-19T15:30Z",
      instant,
    )
    .option("--until <time>", "only before this date", instant)
    .option("--chat <id>", "only from this chat", notEmpty)
    .option("--person <name>", "only packages in which this person was seen", notEmpty)
    .addOption(
      new Option("--source <source>", "only reactions that came this way").choices([
        "skill",
        "http",
        "cli",
        "auto",
      ]),
    )
    .option(
      "--min-score <number>",
      "only reactions at least this strong, from 0 to 1",
      number(0, 1),
    )
    .option(
      "--max-frames <count>",
      "for imagefolder: the maximum number of pictures per row",
      wholeNumber(0, 240),
    )
    .option(
      "--max-prompt-chars <count>",
      "longest prompt in an exported row, in characters",
      wholeNumber(1, 100_000_000),
    )
    .option("--replace", "replace an existing export")
    .action(async (flags) =>
      (await import("./commands/feedback-export.ts")).exportPackages(flags, context),
    );
}

function addUpload(feedback: Command, context: Context): void {
  feedback
    .command("upload")
    .description(
      "Upload pending packages now, and retry dead uploads. The exit code is 1 if any upload is still " +
        "pending or dead.",
    )
    .takes("createBucket")
    .action(async (flags) => (await feedbackCommands()).upload(flags, context));
}

function addMarks(feedback: Command, context: Context): void {
  feedback
    .command("preserve <package>")
    .description("Protect a package from every purge.")
    .option("--reason <text>", "why")
    .option("--release", "end the protection")
    .action(async (name, flags) => (await packages()).preserve(name, flags, context));
  feedback
    .command("retract <package>")
    .description("Take a reaction back. The package stays, but is left out of every export.")
    .option("--reason <text>", "why")
    .action(async (name, flags) => (await packages()).retract(name, flags, context));
}

function addCare(feedback: Command, context: Context): void {
  feedback
    .command("verify [packages...]")
    .description("Check every byte of these packages, or of all, against its checksum.")
    .action(async (names, flags) => (await packages()).verify(names, flags, context));
  feedback
    .command("import <path>")
    .description(
      "Import copies of a reachy companion's packages: one package, or a folder of them.",
    )
    .option("--allow-export", "the people in them agreed to their use for training")
    .option("--allow-upload", "the people in them agreed to their upload")
    .option("--by <name>", "who confirms this", notEmpty)
    .action(async (path, flags) => (await packages()).importSeeds(path, flags, context));
}

function addRemoval(feedback: Command, context: Context): void {
  feedback
    .command("purge")
    .description(
      "Remove the oldest packages past a limit. Preserved packages and pending uploads stay.",
    )
    .option("--max-age-days <days>", "remove packages older than this", wholeNumber(1, 36_500))
    .option(
      "--max-megabytes <count>",
      "remove the oldest until the rest fits into this size",
      wholeNumber(0, 1_000_000_000),
    )
    .option(
      "--cut-off",
      "remove from the bucket what uploads left that broke off a day ago or earlier",
    )
    .action(async (flags) => (await packages()).purge(flags, context));
  feedback
    .command("delete [package]")
    .description("Delete packages and their known copies in buckets, and print what was deleted.")
    .option("--chat <id>", "every package from this chat", notEmpty)
    .option("--person <name>", "every package in which this person was seen", notEmpty)
    .option("--all", "every package")
    .option("--in-bucket", "also search the bucket for packages of another home")
    .option("--yes", "do not ask for confirmation")
    .action(async (name, flags) => (await packages()).remove(name, flags, context));
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
  throw new InvalidArgumentError("It must be a date such as 2026-02-19, or a date with a time.");
}
