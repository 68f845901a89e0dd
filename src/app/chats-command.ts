import { Option } from "commander";
import {
  type AddCommand,
  type Command,
  type Context,
  notEmpty,
  wholeNumber,
} from "../cli/command.ts";
import { chatFormatNames } from "../core/chat/chat-formats.ts";
import type { ChatCommandName } from "./chats/change.ts";

/** `sessions`, with one command for each thing that can be done with a chat. */
export const addChatsCommand: AddCommand = (program, context) => {
  const sessions = program
    .command("sessions")
    .summary("List, show, search, change or forget chats.")
    .description("List, show, search, change, copy, export or forget chats.")
    .examples(
      [
        ["sessions list", "every chat, newest first"],
        ["sessions show local:me", "one chat and its last messages"],
        ["sessions search lighthouse", "find messages that contain a word"],
        ["sessions export local:me --format markdown", "a page to keep or print"],
        ["sessions forget local:me", "delete a chat everywhere"],
      ],
      `While \`throughline serve\` has the home, these commands ask that server.`,
    );
  addReading(sessions, context);
  addExport(sessions, context);
  addChanges(sessions, context);
  addRemoving(sessions, context);
  addAnswers(sessions, context);
  sessions.eachTakes("home", "store");
};

/** Runs what a command does: it is loaded only then. */
const run =
  (name: ChatCommandName, context: Context) =>
  async (...given: readonly unknown[]) =>
    (await import("./chats/change.ts")).runChatCommand(name, given, context);

function addReading(sessions: Command, context: Context): void {
  sessions
    .command("list")
    .description("List chats. The one in which a person spoke last comes first.")
    .option("--limit <n>", "the maximum number of results", wholeNumber(1, 1_000), 50)
    .option("--cursor <cursor>", "the cursor that the previous page printed", notEmpty)
    .option("--unanswered", "only chats with an unanswered message")
    .takes("json")
    .examples([["sessions list --unanswered", "which messages got no answer?"]])
    .action(run("list", context));
  sessions
    .command("show <chat>")
    .description("Show one chat: its session and its last messages.")
    .option("--messages <n>", "the number of messages", wholeNumber(0, 1_000), 20)
    .takes("json")
    .examples([
      ["sessions show local:me", "the last 20 messages"],
      ["sessions show local:me --messages 1000 --json", "for a script"],
    ])
    .action(run("show", context));
  sessions
    .command("search <words...>")
    .description(
      "Find messages that contain all of the words, and chats whose title or id does. Messages are " +
        "listed by chat, newest chat first. The last word may be the beginning of a word.",
    )
    .option("--chat <id>", "search only this chat", notEmpty)
    .option("--limit <n>", "the maximum number of results", wholeNumber(1, 1_000), 20)
    .takes("json")
    .examples([
      ["sessions search red lighthouse", "both words, in any order"],
      ["sessions search light", "finds lighthouse, too"],
    ])
    .action(run("search", context));
}

function addExport(sessions: Command, context: Context): void {
  sessions
    .command("export <chat>")
    .description("Write a chat to stdout or a file, without hidden messages.")
    .addOption(
      new Option("--format <format>", "the output format")
        .choices(chatFormatNames)
        .default("jsonl"),
    )
    .option("--out <file>", "a new file to write to, instead of stdout", notEmpty)
    .examples([
      ["sessions export local:me --format html --out me.html", "a self-contained page"],
      ["sessions export local:me > me.jsonl", "one message per line, for other programs"],
    ])
    .action(run("export", context));
}

function addChanges(sessions: Command, context: Context): void {
  sessions
    .command("reset <chat>")
    .description(
      "Start over with a provider. It no longer gets what was said before; the transcript stays.",
    )
    .option("--provider <name>", "which provider (default: the one that the chat uses)", notEmpty)
    .addOption(new Option("--all", "start over with every provider").conflicts("provider"))
    .action(run("reset", context));
  sessions
    .command("clear <chat>")
    .description(
      "Hide every message so far. They stay in the file but are no longer shown, and no model gets them.",
    )
    .action(run("clear", context));
  sessions
    .command("fork <chat> <message> <newChat>")
    .description("Copy a chat, up to and including one message, to a new chat.")
    .examples([["sessions fork local:me 3k2…f9 local:what-if", "continue differently from there"]])
    .action(run("fork", context));
}

function addRemoving(sessions: Command, context: Context): void {
  sessions
    .command("erase <chat> <message>")
    .description("Delete one message and its bytes; a mark stays.")
    .action(run("erase", context));
  sessions
    .command("forget <chat>")
    .description("Delete a chat everywhere, permanently, and print what was removed.")
    .option("--yes", "do not ask for confirmation")
    .takes("json")
    .examples([["sessions forget local:me --yes", "without asking"]])
    .action(run("forget", context));
}

function addAnswers(sessions: Command, context: Context): void {
  sessions
    .command("answer <chat>")
    .description(
      "Answer the oldest unanswered message of a chat. If the answer fails or is cut off, the message " +
        "waits until you say something else there. The model then gets both, and answers the newer one.",
    )
    .takes("model", "window", "json")
    .action(async (chat, flags) =>
      (await import("./chats/change.ts")).answer(chat, flags, context),
    );
  sessions
    .command("dismiss <chat>")
    .description("Leave the unanswered messages of a chat without an answer, permanently.")
    .action(run("dismiss", context));
}
