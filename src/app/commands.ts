import type { AddCommand, Commands } from "../cli/command.ts";
import { doctorCommand } from "../cli/doctor/command.ts";
import { interchangeCommands } from "../interchange/commands.ts";
import { momentsCommands } from "../moments/commands.ts";
import { addChatCommand } from "./chat-command.ts";
import { addServeCommand } from "./serve-command.ts";
import { addSessionsCommand } from "./sessions-command.ts";

/** Every command, in the order of the help. */
const all: Commands = {
  serve: addServeCommand,
  chat: addChatCommand,
  sessions: addSessionsCommand,
  ...interchangeCommands({
    moves: () => import("../postgres/commands/move.ts"),
    companion: async () => {
      const { documentKey, readCompanionDocument } = await import(
        "../companion/companion-document.ts"
      );
      return { key: documentKey, read: readCompanionDocument };
    },
  }),
  ...momentsCommands,
  doctor: doctorCommand({
    checkers: async () => (await import("./checkers.ts")).checkers,
    proveDriver: async (io, asJson) => (await import("./prove-driver.ts")).proveDriver(io, asJson),
  }),
};
const commands: ReadonlyMap<string, AddCommand> = new Map(Object.entries(all));

/** The command that a line begins with; all of them where it names none, for the help and for advice. */
export function commandsFor([name = ""]: readonly string[]): Iterable<AddCommand> {
  const named = commands.get(name);
  return named === undefined ? commands.values() : [named];
}
