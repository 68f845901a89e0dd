import type { Readable, Writable } from "node:stream";
import { isatty } from "node:tty";
import { Exit, exitCodes } from "./failure.ts";

const endSignals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
export type EndSignal = (typeof endSignals)[number];

/** What a command has of the world around its process. Passed in, so that tests need no process. */
export interface Io {
  readonly input: Readable;
  /** For results, and nothing else: scripts read it. */
  readonly output: Writable;
  /** For progress, questions, errors and logs. */
  readonly errors: Writable;
  /** A person reads and types here, so that questions may be asked. */
  readonly isInteractive: boolean;
  /**
   * From now on these signals end nothing by themselves. The same signal again within 500 ms counts
   * once: under `npm start` one Ctrl-C comes from the terminal and from npm. @returns a function that ends it.
   */
  onSignal(listener: (signal: EndSignal) => void): () => void;
  /** Ends the process at this point, whatever is under way. */
  exitNow(code: number): void;
}

/** Writes and waits until it is passed on. Rejects when the reader is gone (`EPIPE`). */
export function write(stream: Writable, text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    stream.write(text, (error) => (error ? reject(error) : resolve()));
  });
}

/** One line for the person, beside the results. */
export function tell(io: Io, line: string): Promise<void> {
  return write(io.errors, `${line}\n`);
}

/**
 * How far a command is: one line in place of the one before it, and "" takes it away. Only a person
 * at a terminal wants it; a pipe or a log gets nothing.
 */
export function showProgress({ errors }: Io, line: string): void {
  if ("isTTY" in errors && errors.isTTY === true) errors.write(`\r${line}\u001b[K\r`);
}

/** The process itself. Made once. */
export function processIo(): Io {
  const { stdout, stderr } = process;
  // A reader that leaves (`| head`) rejects the write: see `write`.
  for (const stream of [stdout, stderr]) stream.on("error", () => undefined);
  return {
    get input() {
      return process.stdin; // looking at it opens it, which takes some 5 ms
    },
    output: stdout,
    errors: stderr,
    isInteractive: isatty(0) && isatty(1),
    onSignal(listener) {
      const last = new Map<EndSignal, number>();
      const hear = (signal: EndSignal) => {
        const now = performance.now();
        if (now - (last.get(signal) ?? -Infinity) > 500) listener(signal);
        last.set(signal, now);
      };
      for (const signal of endSignals) process.on(signal, hear);
      return () => {
        for (const signal of endSignals) process.off(signal, hear);
      };
    },
    exitNow: (code) => process.exit(code),
  };
}

/**
 * Does work that a person can stop. The first signal aborts it, with an `Exit` of 130 as the reason, so
 * that it can tidy up; the second ends the process at once.
 */
export async function untilStopped<T>(
  io: Io,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const stop = new AbortController();
  const ignoreSignals = io.onSignal(() => {
    if (stop.signal.aborted) io.exitNow(exitCodes.interrupted);
    stop.abort(new Exit(exitCodes.interrupted));
  });
  try {
    return await work(stop.signal);
  } finally {
    ignoreSignals();
  }
}
