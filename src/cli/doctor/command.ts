import type { AddCommand } from "../command.ts";
import type { Checker } from "./check.ts";

/** @param checkers what is looked at, in the order of the output. */
export const doctorCommand =
  (checkers: () => Promise<readonly Checker[]>): AddCommand =>
  (program, context) => {
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
        const { doctor } = await import("./doctor.ts");
        await doctor(flags, context, await checkers());
      });
  };
