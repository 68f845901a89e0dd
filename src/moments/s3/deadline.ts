import type { Timers } from "../../core/timers.ts";
import { UploadFailure } from "./upload-failure.ts";

/**
 * Calls with a signal that is aborted with `outer`, or `ms` later; and rejects then, also when the
 * call takes no notice of its signal.
 *
 * @throws `UploadFailure` `retry`: nothing came in time. The reason of `outer`, or what the call rejects with.
 */
export async function withDeadline<T>(
  timers: Timers,
  ms: number,
  outer: AbortSignal,
  call: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const late = new AbortController();
  const giveUp = () => late.abort(new UploadFailure("retry", { code: "DeadlinePassed" }));
  const cancel = timers.after(ms, giveUp, { holdsProcess: true });
  const signal = AbortSignal.any([outer, late.signal]);
  try {
    signal.throwIfAborted();
    const aborted = new Promise<never>((_resolve, reject) => {
      signal.addEventListener("abort", () => reject(signal.reason), { once: true });
    });
    return await Promise.race([call(signal), aborted]);
  } catch (error) {
    throw signal.aborted ? signal.reason : error;
  } finally {
    cancel();
  }
}
