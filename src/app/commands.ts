import { addCompletionCommand, completeCommand } from "../cli/completion.ts";
import { doctorCommand } from "../cli/doctor/command.ts";
import { addBackupCommand, addRestoreCommand } from "./backup/commands.ts";
import { addChatCommand } from "./chat-command.ts";
import { addChatsCommand } from "./chats-command.ts";
import type { AddProgramCommand } from "./feature.ts";
import { features } from "./features.ts";
import { addServeCommand } from "./serve-command.ts";

/** Every command, in the order of the help. */
const commands: ReadonlyMap<string, AddProgramCommand> = new Map([
  ["serve", addServeCommand],
  ["chat", addChatCommand],
  ["sessions", addChatsCommand],
  ...features.flatMap(({ commands = {} }) => Object.entries(commands)),
  ["backup", addBackupCommand],
  ["restore", addRestoreCommand],
  ["doctor", doctorCommand(async () => (await import("./checkers.ts")).checkers)],
  ["completion", addCompletionCommand],
  [
    "complete",
    completeCommand(async (flags, context) =>
      (await import("./chats/read.ts")).chatIds(flags, context),
    ),
  ],
]);

/**
 * The command that a line begins with; all of them where it names none, for the help and for advice, and
 * for `complete`, which looks through all.
 */
export function commandsFor([name = ""]: readonly string[]): Iterable<AddProgramCommand> {
  const named = name === "complete" ? undefined : commands.get(name);
  return named === undefined ? commands.values() : [named];
}
