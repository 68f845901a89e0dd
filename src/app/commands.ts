// Every command that is of no feature, but for those of `sessions`: what it takes and how it is explained. What it
// does is loaded when it runs.
import { type AddCommand, notEmpty } from "../cli/command.ts";
import { addCompleteCommand, addCompletionCommand } from "../cli/completion.ts";
import { addChatsCommand } from "./chats-command.ts";
import type { AddProgramCommand } from "./feature.ts";
import { checkers, features } from "./features.ts";

const addServeCommand: AddCommand = (program, context) => {
  program
    .command("serve")
    .summary("Serve the web page and the HTTP API.")
    .description("Serve the web page and the HTTP API until Ctrl-C. Prints one line when ready.")
    .takes("home", "host", "port", "store", "model", "window", "tokenFile", "ephemeral")
    .examples(
      [
        ["serve", "on http://127.0.0.1:7423, for this machine only"],
        ["serve --model ollama/qwen3", "new sessions use a local model"],
        ["serve --token-file ~/.throughline/token", "require a token, if others use this machine"],
        ["serve --host 0.0.0.0 --token-file token", "for the network. See below, and add TLS"],
        [
          "serve --store postgres://me@db/chats",
          "store messages in PostgreSQL, for any number of servers",
        ],
        ["serve --ephemeral --port 0", "try it without storing anything"],
      ],
      `With --host 0.0.0.0 or ::, requests from other machines get 403 until you list the names they use for this
one in <home>/throughline.config.json: {"hosts": ["nova.example", "192.168.1.7"]}

With a token, a browser signs in with a code: press Enter in this terminal to get one.
Scripts send the token from the file: Authorization: Bearer <token>.`,
    )
    .action(async (flags) => (await import("./serve.ts")).serve(flags, context));
};

const addChatCommand: AddCommand = (program, context) => {
  program
    .command("chat")
    .summary("Chat in this terminal.")
    .description(
      "Chat in this terminal. Every message is kept, and the next chat continues from there. Ctrl-C " +
        'stops an answer. At the prompt, Ctrl-C, "goodbye" and "stop" end the chat.',
    )
    .option("--chat <id>", "the id of the chat", notEmpty, "local:me")
    .takes("home", "store", "model", "window", "ephemeral")
    .examples(
      [
        ["chat", "continue where you stopped"],
        ["chat --chat work", "a separate chat"],
        ["chat --model ollama/qwen3", "use this model from now on"],
        ["chat --ephemeral", "store nothing"],
        ["chat < questions.txt", "one message per line, answers on stdout"],
      ],
      `In the chat: /answer /attach /dismiss /model /new /newall /clear /help /quit
While \`throughline serve\` has the home, this asks that server; --window and a model by URL are then refused.`,
    )
    .action(async (flags) => (await import("./chat.ts")).chat(flags, context));
};

const addBackupCommand: AddCommand = (program, context) => {
  program
    .command("backup <dir>")
    .summary("Copy the home, also while it is in use.")
    .description(
      "Copy the home into a new directory and check the copy. A server may use the home: every message " +
        "that it acknowledged before is in the copy. Nothing that was forgotten before is. The directory " +
        "appears when it is complete. With a database, it holds only what lies in the home.",
    )
    .takes("home", "store", "json")
    .examples([
      ["backup /mnt/backups/monday", "every chat, document, package and setting"],
      ["backup /mnt/backups/monday --json", "for scripts"],
    ])
    .action(async (dir, flags) => (await import("./backup/copy.ts")).backup(dir, flags, context));
};

const addRestoreCommand: AddCommand = (program, context) => {
  program
    .command("restore <dir>")
    .summary("Make a home of a backup.")
    .description(
      "Check a backup and make a home of it. The home must not exist, or must be an empty directory. It " +
        "appears when it is complete. A damaged backup is refused.",
    )
    .takes("home", "json")
    .examples([
      ["restore /mnt/backups/monday", "on a new machine"],
      ["restore /mnt/backups/monday --home /tmp/look", "to look into it"],
    ])
    .action(async (dir, flags) =>
      (await import("./backup/restore.ts")).restore(dir, flags, context),
    );
};

const addDoctorCommand: AddCommand = (program, context) => {
  program
    .command("doctor")
    .summary("Check the stored data and the setup.")
    .description(
      "Check the home or the database, every log from end to end, every feedback package, and the model. " +
        "The exit code is 1 if something is damaged or could not be checked. What was found stays in the " +
        "output until you confirm it.",
    )
    .option(
      "--confirm <id...>",
      "note that you know of these findings and of what follows from them",
    )
    .takes("home", "store", "model", "json")
    .examples([
      ["doctor", "is everything in order?"],
      ["doctor --json", "for scripts, with a report of every repair"],
      ["doctor --confirm 1f0c2a9b", "go on with what is there"],
      [
        "doctor --store postgres://me@db/chats",
        "the database: durability, schema, connections and logs",
      ],
    ])
    .action(async (flags) => {
      const { doctor } = await import("../cli/doctor/doctor.ts");
      await doctor(flags, context, await checkers());
    });
};

/** In the order of the help. */
const commands: ReadonlyMap<string, AddProgramCommand> = new Map([
  ["serve", addServeCommand],
  ["chat", addChatCommand],
  ["sessions", addChatsCommand],
  ...features.flatMap(({ commands = {} }) => Object.entries(commands)),
  ["backup", addBackupCommand],
  ["restore", addRestoreCommand],
  ["doctor", addDoctorCommand],
  ["completion", addCompletionCommand],
  ["complete", addCompleteCommand],
]);

/**
 * The command that a line begins with; all of them where it names none, for the help and for advice, and
 * for `complete`, which looks through all.
 */
export function commandsFor([name = ""]: readonly string[]): Iterable<AddProgramCommand> {
  const named = name === "complete" ? undefined : commands.get(name);
  return named === undefined ? commands.values() : [named];
}
