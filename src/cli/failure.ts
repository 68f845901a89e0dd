import { CommanderError } from "commander";
import { type ErrorCode, isThroughlineError, ThroughlineError } from "../core/errors.ts";
import { DatabaseFailure } from "../core/storage/database-failure.ts";

export const exitCodes = { done: 0, failed: 1, usage: 2, interrupted: 130 } as const;

/** Ends a command that has said everything already. */
export class Exit extends Error {
  override readonly name = "Exit";
  readonly exitCode: number;

  constructor(exitCode: number) {
    super(`exit ${exitCode}`);
    this.exitCode = exitCode;
  }
}

/** An error that knows its own way out, better than its code does. */
export class Failed extends ThroughlineError {
  readonly wayOut: string;

  constructor(
    message: string,
    options: { readonly code: ErrorCode; readonly wayOut: string; readonly cause?: unknown },
  ) {
    super(message, options);
    this.wayOut = options.wayOut;
  }
}

/** A command line that cannot be meant: exit code 2, and the way to the command's help. */
export function wrongUsage(message: string): CommanderError {
  return new CommanderError(exitCodes.usage, "throughline.usage", message);
}

/** What a person can do about an error whose message does not say it. */
const waysOut = {
  THROUGHLINE_BUSY: "Wait until some of them are answered.",
  THROUGHLINE_CLOSED: "Start it again.",
  THROUGHLINE_CONFIGURATION: "`throughline help` lists what can be set, and where.",
  THROUGHLINE_CONFLICT: "Look at what is there now, then choose another name or try again.",
  THROUGHLINE_CORRUPT: "`throughline doctor` says what is damaged. What is readable is kept.",
  THROUGHLINE_FENCED: "Try again: another process has this in hand now.",
  THROUGHLINE_FORBIDDEN: "Check the address and the token.",
  THROUGHLINE_ID_CONFLICT: "Use another id.",
  THROUGHLINE_INVALID: "`throughline help` says what is accepted.",
  THROUGHLINE_LOCKED:
    "If that is `throughline serve`, use the address that it printed, http://127.0.0.1:7423 unless " +
    "told otherwise. Another companion needs another --home.",
  THROUGHLINE_MEDIA_TYPE: "Send what is accepted.",
  THROUGHLINE_MODEL_FAILED:
    "The message is kept: `throughline sessions answer ID` asks again, until something else is said " +
    "in that chat.",
  THROUGHLINE_NEWER_FORMAT: "Use the version of Throughline that wrote it, or a later one.",
  THROUGHLINE_NOT_FOUND: "`throughline sessions list` shows what is there.",
  THROUGHLINE_OUTCOME_UNKNOWN: "Run the same command again: it finds out.",
  THROUGHLINE_TOO_LARGE: "Send less.",
  THROUGHLINE_UNAUTHORIZED: "Check the token.",
  THROUGHLINE_UNAVAILABLE:
    "Check the disk and its space, or the database (`throughline doctor`), then try again.",
} as const satisfies Record<ErrorCode, string>;

/** Those that are others when a database is to blame. */
const waysOutOfDatabases: Partial<Record<ErrorCode, string>> = {
  THROUGHLINE_CONFIGURATION:
    "Check the URL, the role with its rights, and TLS on both sides: docs/guides/postgresql.md.",
  THROUGHLINE_UNAVAILABLE:
    "Check that the database runs and is reached (`throughline doctor`), then try again.",
};

export interface Failure {
  readonly exitCode: number;
  /** What to say, ending with a line break; "" when all is said. */
  readonly text: string;
}

/**
 * What a command ended with, as an exit code and two lines for the person: the error with its code,
 * and the way out.
 *
 * @param help what explains wrong usage, as `throughline sessions show --help`.
 * @param options.stack tell where it happened.
 */
export function describeFailure(
  error: unknown,
  help: string,
  options: { readonly stack: boolean },
): Failure {
  if (error instanceof Exit) return { exitCode: error.exitCode, text: "" };
  if (error instanceof CommanderError) {
    if (error.exitCode === 0) return { exitCode: exitCodes.done, text: "" };
    // Help that nobody asked for: a command was missing, and its list was shown.
    if (error.code === "commander.help") return { exitCode: exitCodes.usage, text: "" };
    const message = oneLine(error.message.replace(/^error: /, ""));
    const text = `error: ${message} [THROUGHLINE_INVALID]\nsee: ${help}\n`;
    return { exitCode: exitCodes.usage, text };
  }
  // Whoever read the results has had enough, as `head` does.
  if (isErrno(error, "EPIPE")) return { exitCode: exitCodes.done, text: "" };
  const stack = options.stack ? framesOf(error) : "";
  if (isThroughlineError(error)) {
    const text = `error: ${oneLine(error.message)} [${error.code}]\n${wayOutOf(error)}\n${stack}`;
    return { exitCode: exitCodes.failed, text };
  }
  const name = error instanceof Error ? error.name : typeof error;
  const wayOut = isErrno(error, ...ofDisks) ? checkDisk : unexpected;
  const text = `error: ${messageOf(error, name)} [${name}]\n${wayOut}\n${stack}`;
  return { exitCode: exitCodes.failed, text };
}

function wayOutOf(error: ThroughlineError): string {
  if (error instanceof Failed) return error.wayOut;
  const ofDatabase = error instanceof DatabaseFailure ? waysOutOfDatabases[error.code] : undefined;
  return ofDatabase ?? waysOut[error.code];
}

const ofDisks = ["ENOSPC", "EDQUOT", "EFBIG", "EIO", "EROFS", "EACCES", "EPERM", "EMFILE"] as const;
const checkDisk = "Check the disk, its space and its permissions, then try again.";
const unexpected = "This should not happen: please report it. LOG_LEVEL=debug shows where it was.";

/** A system's message names a path. Any other of a stranger may quote what a person said. */
function messageOf(error: unknown, name: string): string {
  const isSystem = error instanceof Error && "syscall" in error;
  return isSystem ? oneLine(error.message) : `an unexpected ${name}`;
}

/** Where it happened, and where its causes did, without their messages. */
function framesOf(error: unknown): string {
  const lines: string[] = [];
  for (let each = error; each instanceof Error && lines.length < 100; each = each.cause) {
    lines.push(each.name, ...(each.stack ?? "").split("\n").filter((line) => /^\s+at /.test(line)));
  }
  return lines.map((line) => `${line}\n`).join("");
}

export function isErrno(error: unknown, ...codes: readonly string[]): boolean {
  const code: unknown = error instanceof Error && "code" in error ? error.code : undefined;
  return codes.some((each) => each === code);
}

function oneLine(text: string): string {
  return text.replace(/\s*\n\s*/g, " ").trim();
}
