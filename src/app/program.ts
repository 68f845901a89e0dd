import { Command, ownPackage } from "../cli/command.ts";
import { type Environment, isDebugging, readEnvironment, variableHelp } from "../cli/env.ts";
import { describeFailure } from "../cli/failure.ts";
import { type Io, write } from "../cli/io.ts";
import { commandsFor } from "./commands.ts";
import type { AddProgramCommand, ProgramContext } from "./feature.ts";

const firstSteps = `
First steps:
  throughline chat                      chat in this terminal; every message is kept
  throughline serve                     chat in a browser, at http://127.0.0.1:7423
  throughline sessions list             list your chats
  throughline chat --model ollama/qwen3 chat with a model of a local Ollama

${variableHelp}

Exit codes: 0 done, 1 failed, 2 wrong usage, 130 interrupted.`;

/**
 * Runs one command line. Never rejects: errors are written to `io.errors`.
 *
 * @returns the exit code: 0 done, 1 failed, 2 wrong usage, 130 interrupted.
 */
export async function run(
  args: readonly string[],
  io: Io,
  environment: () => Environment = readEnvironment,
): Promise<number> {
  let help = "throughline --help";
  try {
    const context: ProgramContext = {
      io,
      env: environment(),
      version: ownPackage().version,
      openMemories: async (settings, options) =>
        (await import("./open-companion.ts")).openMemories(settings, options),
      withRoutes: async (flags, work, prepare) =>
        (await import("./routes.ts")).withRoutes(flags, context, work, prepare),
      openForTools: async (settings, logger) =>
        (await import("./open-companion.ts")).openForTools(settings, logger),
    };
    const program = createProgram(context, commandsFor(args));
    help = `throughline ${[...pathOf(program, args), "--help"].join(" ")}`;
    await program.parseAsync([...args], { from: "user" });
    return 0;
  } catch (error) {
    const { exitCode, text } = describeFailure(error, help, { stack: isDebugging() });
    await write(io.errors, text).catch(() => undefined); // the reader is gone
    return exitCode;
  }
}

function createProgram(context: ProgramContext, commands: Iterable<AddProgramCommand>): Command {
  const { io } = context;
  const program = new Command("throughline")
    .description(
      "The session layer for conversational companions. It keeps every message and every model " +
        "session through crashes, restarts and days away.",
    )
    .version(context.version, "-V, --version", "print the version")
    .helpOption("-h, --help", "show help for a command")
    .showSuggestionAfterError(true)
    .configureOutput({
      writeOut: (text) => void io.output.write(text),
      writeErr: (text) => void io.errors.write(text),
      outputError: () => undefined, // `describeFailure` writes it
    })
    .exitOverride()
    .addHelpText("after", firstSteps);
  for (const add of commands) add(program, context);
  return program;
}

/** The names of the commands that a command line begins with. */
function pathOf(program: Command, args: readonly string[]): string[] {
  const path: string[] = [];
  let command = program;
  for (const arg of args) {
    const next = command.commands.find((each) => each.name() === arg);
    if (next === undefined) break;
    path.push(arg);
    command = next;
  }
  return path;
}
