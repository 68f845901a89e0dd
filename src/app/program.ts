import { writeSync } from "node:fs";
import { PerformanceObserver } from "node:perf_hooks";
import { getHeapSpaceStatistics, getHeapStatistics, setFlagsFromString } from "node:v8";
import { Command, ownPackage } from "../cli/command.ts";
import {
  type Environment,
  isDebugging,
  isYoungHeapSized,
  readEnvironment,
  useMoreThreads,
  variableHelp,
} from "../cli/env.ts";
import { describeFailure, exitCodes } from "../cli/failure.ts";
import { type Io, processIo, write } from "../cli/io.ts";
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

/** The process's own command line, to its end or its failure. */
export async function start(): Promise<void> {
  useMoreThreads();
  boundYoungHeap(isYoungHeapSized());
  // Unhandled rejections come here too. The next start finishes or undoes what was being written;
  // continuing from an unknown state could do harm.
  process.on("uncaughtException", (error) => {
    writeSync(2, describeFailure(error, "", { stack: isDebugging() }).text);
    process.exit(exitCodes.failed);
  });
  process.exitCode = await run(process.argv.slice(2), processIo());
}

/** Both halves of it together, as V8 counts it. */
const enoughBytes = 32 * 1024 * 1024;
const shareOfHeap = 16;

/**
 * Lets V8's space for new objects grow to 32 MB, or a sixteenth of the heap's limit, and no further. V8
 * alone lets it grow to 128 MB, whatever the limit is: with `--max-old-space-size=128` a busy server then
 * collects garbage without end. Does nothing where the person who started the process has sized it.
 */
export function boundYoungHeap(isSized: boolean): void {
  if (isSized) return;
  const enough = Math.min(enoughBytes, getHeapStatistics().heap_size_limit / shareOfHeap);
  const observer = new PerformanceObserver(() => {
    const young = getHeapSpaceStatistics().find(({ space_name }) => space_name === "new_space");
    if ((young?.space_size ?? 0) < enough) return;
    // The size itself can be set only on the command line.
    setFlagsFromString("--semi-space-growth-factor=1");
    observer.disconnect();
  });
  observer.observe({ entryTypes: ["gc"] });
}

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
