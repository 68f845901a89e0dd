import { addChatCommand } from "./chat-command.ts";
import type { AddCommand } from "./command.ts";
import { addDoctorCommand } from "./doctor-command.ts";
import { addExportCommand } from "./export-command.ts";
import { addFeedbackCommand } from "./feedback-command.ts";
import { addImportCommand } from "./import-command.ts";
import { addServeCommand } from "./serve-command.ts";
import { addSessionsCommand } from "./sessions-command.ts";

/** Every command, in the order of the help. */
export const commands: readonly AddCommand[] = [
  addServeCommand,
  addChatCommand,
  addSessionsCommand,
  addImportCommand,
  addExportCommand,
  addFeedbackCommand,
  addDoctorCommand,
];
