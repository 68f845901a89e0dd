import type { Timers } from "../../core/timers.ts";

/** The `reason` of a signal that a deadline aborted. */
export class DeadlinePassed extends Error {
  override readonly name = "DeadlinePassed";
}

/**
 * Calls with a signal that is aborted with `outer`, or `ms` later; and rejects then, also when the
 * call takes no notice of its signal.
 *
 * @throws `DeadlinePassed`, the reason of `outer`, or what the call rejects with.
 */
export async function withDeadline<T>(
  timers: Timers,
  ms: number,
  outer: AbortSignal,
  call: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  outer.throwIfAborted();
  const controller = new AbortController();
  const { signal } = controller;
  const aborted = new Promise<never>((_resolve, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
  const onOuter = () => controller.abort(outer.reason);
  outer.addEventListener("abort", onOuter, { once: true });
  const giveUp = () => controller.abort(new DeadlinePassed(`nothing came within ${ms} ms`));
  const cancel = timers.after(ms, giveUp, { holdsProcess: true });
  try {
    return await Promise.race([call(signal), aborted]);
  } catch (error) {
    throw signal.aborted ? signal.reason : error;
  } finally {
    cancel();
    outer.removeEventListener("abort", onOuter);
  }
}
