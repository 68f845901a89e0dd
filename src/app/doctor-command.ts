import {
  type AddCommand,
  examples,
  homeOption,
  jsonOption,
  modelOption,
  storeOption,
} from "../cli/command.ts";

export const addDoctorCommand: AddCommand = (program, context) => {
  program
    .command("doctor")
    .summary("Check that all is well.")
    .description(
      "Check the home or the database, every log from end to end, every package of feedback, and the model. Ends with 1 if " +
        "something is damaged or could not be looked at, as the logs of a home that a server has in use.",
    )
    .option("--driver", "instead, prove each promise of the file storage on a temporary home")
    .addOption(homeOption())
    .addOption(storeOption())
    .addOption(modelOption())
    .addOption(jsonOption())
    .addHelpText(
      "after",
      examples([
        ["doctor", "is everything all right?"],
        ["doctor --json", "for a script, with a report of every repair"],
        [
          "doctor --store postgres://me@db/chats",
          "the database: durability, schema, connections, logs",
        ],
        ["doctor --driver", "does this machine's disk keep the promises?"],
      ]),
    )
    .action(async (flags) => {
      const { doctor } = await import("./doctor.ts");
      await doctor(flags, context);
    });
};
