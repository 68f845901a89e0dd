import { type Command, Option } from "commander";
import {
  type AddCommand,
  type Context,
  examples,
  homeOption,
  jsonOption,
  modelOption,
  notEmpty,
  storeOption,
  wholeNumber,
} from "../cli/command.ts";

/** `sessions`: what is kept, one command for each thing that can be done with it. */
export const addSessionsCommand: AddCommand = (program, context) => {
  const sessions = program
    .command("sessions")
    .summary("Look at what is kept, or change it.")
    .description("Look at what is kept, and change, copy, export or forget it.")
    .addHelpText(
      "after",
      examples([
        ["sessions list", "every chat, the newest first"],
        ["sessions show local:me", "one chat and its last messages"],
        ["sessions search lighthouse", "where was that said?"],
        ["sessions export local:me --format markdown", "a page to keep or print"],
        ["sessions forget local:me", "remove a chat wherever it is"],
      ]),
    );
  addReading(sessions, context);
  addExport(sessions, context);
  addChanges(sessions, context);
  addRemoving(sessions, context);
  addAnswers(sessions, context);
};

function addReading(sessions: Command, context: Context): void {
  sessions
    .command("list")
    .description("Chats, the one in which a person spoke last first.")
    .option("--limit <n>", "how many at most", wholeNumber(1, 1_000), 50)
    .option("--cursor <cursor>", "go on where the list before ended", notEmpty)
    .option("--unanswered", "only chats with a message that waits for an answer")
    .addOption(homeOption())
    .addOption(storeOption())
    .addOption(jsonOption())
    .addHelpText("after", examples([["sessions list --unanswered", "what was cut off?"]]))
    .action(async (flags) => (await import("./sessions/read.ts")).list(flags, context));
  sessions
    .command("show <chat>")
    .description("One chat: its session, and its last messages.")
    .option("--messages <n>", "how many", wholeNumber(0, 1_000), 20)
    .addOption(homeOption())
    .addOption(storeOption())
    .addOption(jsonOption())
    .addHelpText(
      "after",
      examples([
        ["sessions show local:me", "the last 20 messages"],
        ["sessions show local:me --messages 1000 --json", "for a script"],
      ]),
    )
    .action(async (chat, flags) => (await import("./sessions/read.ts")).show(chat, flags, context));
  sessions
    .command("search <words...>")
    .description(
      "Messages that hold every one of the words: by chat, the newest chat first; and chats whose title " +
        "and id hold them. The last word may be the beginning of a word.",
    )
    .option("--chat <id>", "in one chat only", notEmpty)
    .option("--limit <n>", "how many at most", wholeNumber(1, 1_000), 20)
    .addOption(homeOption())
    .addOption(storeOption())
    .addOption(jsonOption())
    .addHelpText(
      "after",
      examples([
        ["sessions search red lighthouse", "both words, in any order"],
        ["sessions search light", "lighthouses too"],
      ]),
    )
    .action(async (words: string[], flags) =>
      (await import("./sessions/read.ts")).search(words.join(" "), flags, context),
    );
}

function addExport(sessions: Command, context: Context): void {
  sessions
    .command("export <chat>")
    .description("Write a chat out. What was redacted or hidden is left out.")
    .addOption(
      new Option("--format <format>", "how")
        .choices(["jsonl", "markdown", "html"])
        .default("jsonl"),
    )
    .option("--out <file>", "a new file, instead of stdout", notEmpty)
    .addOption(homeOption())
    .addOption(storeOption())
    .addHelpText(
      "after",
      examples([
        ["sessions export local:me --format html --out me.html", "a page that stands alone"],
        ["sessions export local:me > me.jsonl", "one message a line, for other programs"],
      ]),
    )
    .action(async (chat, flags) =>
      (await import("./sessions/read.ts")).exportChat(chat, flags, context),
    );
}

function addChanges(sessions: Command, context: Context): void {
  sessions
    .command("reset <chat>")
    .description("Begin again with a provider: it forgets what was said, the transcript stays.")
    .option("--provider <name>", "which one (default: the one that the chat runs on)", notEmpty)
    .addOption(new Option("--all", "begin a new session with every provider").conflicts("provider"))
    .addOption(homeOption())
    .addOption(storeOption())
    .action(async (chat, flags) =>
      (await import("./sessions/change.ts")).reset(chat, flags, context),
    );
  sessions
    .command("clear <chat>")
    .description("Begin with an empty page: what was said stays in the file, and is shown no more.")
    .addOption(homeOption())
    .addOption(storeOption())
    .action(async (chat, flags) =>
      (await import("./sessions/change.ts")).clear(chat, flags, context),
    );
  sessions
    .command("fork <chat> <message> <newChat>")
    .description("Copy a chat up to and including one message into a new chat.")
    .addOption(homeOption())
    .addOption(storeOption())
    .addHelpText(
      "after",
      examples([["sessions fork local:me 3k2…f9 local:what-if", "go on differently from there"]]),
    )
    .action(async (chat, message, newChat, flags) =>
      (await import("./sessions/change.ts")).fork(chat, message, newChat, flags, context),
    );
}

function addRemoving(sessions: Command, context: Context): void {
  sessions
    .command("redact <chat> <message>")
    .description("Hide one message from models, pages, search and exports.")
    .option("--erase", "remove its bytes too, for good")
    .addOption(homeOption())
    .addOption(storeOption())
    .action(async (chat, message, flags) =>
      (await import("./sessions/change.ts")).redact(chat, message, flags, context),
    );
  sessions
    .command("forget <chat>")
    .description("Remove a chat wherever it is, for good, and say what was removed.")
    .option("--yes", "do not ask")
    .addOption(homeOption())
    .addOption(storeOption())
    .addOption(jsonOption())
    .addHelpText("after", examples([["sessions forget local:me --yes", "without a question"]]))
    .action(async (chat, flags) =>
      (await import("./sessions/forget.ts")).forget(chat, flags, context),
    );
}

function addAnswers(sessions: Command, context: Context): void {
  sessions
    .command("answer <chat>")
    .description(
      "Answer the oldest message of a chat that waits for an answer. One that failed or was cut off " +
        "waits until something else is said there: then the model sees both, and answers that.",
    )
    .addOption(homeOption())
    .addOption(storeOption())
    .addOption(modelOption())
    .addOption(jsonOption())
    .action(async (chat, flags) =>
      (await import("./sessions/answer.ts")).answer(chat, flags, context),
    );
  sessions
    .command("dismiss <chat>")
    .description("Leave what has no answer without one, for good.")
    .addOption(homeOption())
    .addOption(storeOption())
    .action(async (chat, flags) =>
      (await import("./sessions/answer.ts")).dismiss(chat, flags, context),
    );
}
