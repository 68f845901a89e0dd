import type { AddCommand } from "../cli/command.ts";
import { type DoctorParts, doctorCommand } from "../cli/doctor/command.ts";
import { exportCommand, type InterchangeParts, importCommand } from "../interchange/commands.ts";
import { addFeedbackCommand } from "../moments/commands.ts";
import { addChatCommand } from "./chat-command.ts";
import { addServeCommand } from "./serve-command.ts";
import { addSessionsCommand } from "./sessions-command.ts";

const interchange: InterchangeParts = {
  moves: () => import("../postgres/commands/move.ts"),
  companion: async () => {
    const { documentKey, readCompanionDocument } = await import(
      "../companion/companion-document.ts"
    );
    return { key: documentKey, read: readCompanionDocument };
  },
};

const doctor: DoctorParts = {
  checkers: async () => (await import("./checkers.ts")).checkers,
  proveDriver: async (io, asJson) => (await import("./prove-driver.ts")).proveDriver(io, asJson),
};

/** Every command, in the order of the help. */
const commands: ReadonlyMap<string, AddCommand> = new Map([
  ["serve", addServeCommand],
  ["chat", addChatCommand],
  ["sessions", addSessionsCommand],
  ["import", importCommand(interchange)],
  ["export", exportCommand(interchange)],
  ["feedback", addFeedbackCommand],
  ["doctor", doctorCommand(doctor)],
]);

/** The command that a line begins with; all of them where it names none, for the help and for advice. */
export function commandsFor([name = ""]: readonly string[]): Iterable<AddCommand> {
  const named = commands.get(name);
  return named === undefined ? commands.values() : [named];
}
