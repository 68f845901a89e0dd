import { Exit, exitCodes } from "./failure.ts";
import type { Io } from "./io.ts";

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
