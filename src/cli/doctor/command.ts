import {
  type AddCommand,
  examples,
  homeOption,
  jsonOption,
  modelOption,
  storeOption,
} from "../command.ts";
import type { Io } from "../io.ts";
import type { Checker } from "./check.ts";

/** What the program puts into `doctor`. */
interface DoctorParts {
  /** What is looked at, in the order of the output. */
  readonly checkers: () => Promise<readonly Checker[]>;
  /** `--driver`. */
  readonly proveDriver: (io: Io, asJson: boolean) => Promise<void>;
}

export const doctorCommand =
  ({ checkers, proveDriver }: DoctorParts): AddCommand =>
  (program, context) => {
    program
      .command("doctor")
      .summary("Check the stored data and the setup.")
      .description(
        "Check the home or the database, every log from end to end, every feedback package, and the model. " +
          "The exit code is 1 if something is damaged or could not be checked, such as the logs of a home " +
          "that a server is using.",
      )
      .option("--driver", "instead, test every promise of the file storage in a temporary home")
      .addOption(homeOption())
      .addOption(storeOption())
      .addOption(modelOption())
      .addOption(jsonOption())
      .addHelpText(
        "after",
        examples([
          ["doctor", "is everything in order?"],
          ["doctor --json", "for scripts, with a report of every repair"],
          [
            "doctor --store postgres://me@db/chats",
            "the database: durability, schema, connections and logs",
          ],
          ["doctor --driver", "does this machine's disk keep the promises?"],
        ]),
      )
      .action(async (flags) => {
        if (flags.driver) return proveDriver(context.io, flags.json ?? false);
        const { doctor } = await import("./doctor.ts");
        await doctor(flags, context, await checkers());
      });
  };
