import type { AddCommand } from "../cli/command.ts";
import { addExportCommand } from "../interchange/commands/export-command.ts";
import { addImportCommand } from "../interchange/commands/import-command.ts";
import { addFeedbackCommand } from "../moments/commands/feedback-command.ts";
import { addChatCommand } from "./chat-command.ts";
import { addDoctorCommand } from "./doctor-command.ts";
import { addServeCommand } from "./serve-command.ts";
import { addSessionsCommand } from "./sessions-command.ts";

/** Every command, in the order of the help. */
const commands: ReadonlyMap<string, AddCommand> = new Map([
  ["serve", addServeCommand],
  ["chat", addChatCommand],
  ["sessions", addSessionsCommand],
  ["import", addImportCommand],
  ["export", addExportCommand],
  ["feedback", addFeedbackCommand],
  ["doctor", addDoctorCommand],
]);

/** The command that a line begins with; all of them where it names none, for the help and for advice. */
export function commandsFor([name = ""]: readonly string[]): Iterable<AddCommand> {
  const named = commands.get(name);
  return named === undefined ? commands.values() : [named];
}
