import { getSystemErrorMessage } from "node:util";
import { CommanderError } from "commander";
import { printable } from "../core/chat/printable.ts";
import {
  DatabaseFailure,
  type ErrorCode,
  isThroughlineError,
  ThroughlineError,
} from "../core/errors.ts";

export const exitCodes = { done: 0, failed: 1, usage: 2, interrupted: 130 } as const;

/** Ends a command that has already printed everything. */
export class Exit extends Error {
  override readonly name = "Exit";
  readonly exitCode: number;

  constructor(exitCode: number) {
    super(`exit ${exitCode}`);
    this.exitCode = exitCode;
  }
}

/** An error with its own advice, more precise than the one for its code. */
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

/** Wrong usage: exit code 2, with a pointer to the command's help. */
export function wrongUsage(message: string): CommanderError {
  return new CommanderError(exitCodes.usage, "throughline.usage", message);
}

/** What a person can do about an error whose message does not say it. */
const waysOut = {
  THROUGHLINE_BUSY: "Wait until some of the messages are answered, then try again.",
  THROUGHLINE_CLOSED: "Start it again.",
  THROUGHLINE_CONFIGURATION: "`throughline help` lists the settings and where to set them.",
  THROUGHLINE_CONFLICT: "Check what is there now, then choose another name or try again.",
  THROUGHLINE_CORRUPT:
    "`throughline doctor` shows what is damaged. Everything that can be read is kept.",
  THROUGHLINE_FENCED: "Another process has taken over this chat. Try again.",
  THROUGHLINE_FORBIDDEN: "Check the address and the token.",
  THROUGHLINE_ID_CONFLICT: "Use another id.",
  THROUGHLINE_INVALID: "`throughline help` shows what is accepted.",
  THROUGHLINE_LOCKED:
    "Stop that process, then run this again. For another companion, pass another --home.",
  THROUGHLINE_MEDIA_TYPE: "Send one of the accepted content types.",
  THROUGHLINE_MODEL_FAILED:
    "Your message is kept. `throughline sessions answer ID` asks again, until you say something else " +
    "in that chat.",
  THROUGHLINE_NEWER_FORMAT: "Use the version of Throughline that wrote it, or a later one.",
  THROUGHLINE_NOT_FOUND:
    "`throughline sessions list` shows the chats, and `sessions show CHAT` their messages with ids.",
  THROUGHLINE_OUTCOME_UNKNOWN: "Run the same command again to find out whether it was done.",
  THROUGHLINE_TOO_LARGE: "Send less data.",
  THROUGHLINE_UNAUTHORIZED: "Check the token.",
  THROUGHLINE_UNAVAILABLE:
    "Check the disk and its free space, or the database, with `throughline doctor`. Then try again.",
} as const satisfies Record<ErrorCode, string>;

/** The advice that differs for a database. */
const waysOutOfDatabases: Partial<Record<ErrorCode, string>> = {
  THROUGHLINE_CONFIGURATION:
    "Check the URL, the role with its rights, and TLS on both sides: docs/guides/postgresql.md.",
  THROUGHLINE_UNAVAILABLE:
    "Check that the database is running and reachable, with `throughline doctor`. Then try again.",
};

interface Failure {
  readonly exitCode: number;
  /** What to print, ending with a line break; "" for nothing. */
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
    // A command was missing, and commander has printed the list.
    if (error.code === "commander.help") return { exitCode: exitCodes.usage, text: "" };
    const message = oneLine(error.message.replace(/^error: /, ""));
    const text = `error: ${message} [THROUGHLINE_INVALID]\nsee: ${help}\n`;
    return { exitCode: exitCodes.usage, text };
  }
  // The reader has stopped, as `head` does.
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
const checkDisk = "Check the disk, its free space and its permissions, then try again.";
const unexpected = "This is a bug. Please report it; LOG_LEVEL=debug shows where it happened.";

/** The message of a system error names a path. That of any other may quote a chat. */
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

/** Describes an error of the system by its code, such as `no such file or directory (ENOENT)`. */
export function systemReason(error: unknown): string {
  const { errno, code = "unknown" } = error as NodeJS.ErrnoException;
  return errno === undefined ? code : `${getSystemErrorMessage(errno)} (${code})`;
}

/** A message may name a file, and a file can have any name. */
function oneLine(text: string): string {
  return printable(text)
    .replace(/\s*\n\s*/g, " ")
    .trim();
}
