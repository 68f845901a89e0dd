/** What calls back later, so that a test can hold it beside the clock. */
export interface Timers {
  /**
   * Calls back once, `delayMs` from now at the earliest; a timer may be a little early or late, so
   * the callback must look at the clock. Does not keep the process alive, unless `holdsProcess`
   * says that somebody waits for it: with nothing else under way, a promise that hangs on it would
   * never settle.
   *
   * @returns what cancels it; nothing happens when it was called or cancelled already.
   */
  after(
    delayMs: number,
    call: () => void,
    options?: { readonly holdsProcess?: boolean },
  ): () => void;
}

/** Past it, a timer of Node fires at once. */
const longestMs = 2_147_483_647;

export const systemTimers: Timers = {
  after(delayMs, call, { holdsProcess = false } = {}) {
    const timer = setTimeout(call, Math.min(Math.max(Math.ceil(delayMs), 0), longestMs));
    if (!holdsProcess) timer.unref();
    return () => clearTimeout(timer);
  },
};

/** Keeps the process alive until this settles: what timers and threads settle alone does not. */
export function awaited<T>(promise: Promise<T>): Promise<T> {
  const timer = setInterval(() => undefined, longestMs);
  const settled = () => clearInterval(timer);
  promise.then(settled, settled);
  return promise;
}

/**
 * Waits for a promise until a signal fires or a time is over. Whatever becomes of the promise later is of no
 * interest.
 *
 * @returns what it resolved with; `undefined`: it was not waited for to its end.
 */
export async function until<T>(
  promise: Promise<T>,
  limit: {
    readonly signal?: AbortSignal | undefined;
    readonly ms?: number | undefined;
    readonly timers?: Timers | undefined;
  },
): Promise<T | undefined> {
  const { signal, ms, timers = systemTimers } = limit;
  const { promise: over, resolve } = Promise.withResolvers<undefined>();
  const end = () => resolve(undefined);
  const cancel = ms === undefined ? undefined : timers.after(ms, end, { holdsProcess: true });
  if (signal?.aborted) end();
  // Taken away again: a long-lived signal would gather one of them from each wait.
  signal?.addEventListener("abort", end, { once: true });
  try {
    return await Promise.race([promise, over]);
  } catch (error) {
    if (signal?.aborted) return undefined;
    throw error;
  } finally {
    cancel?.();
    signal?.removeEventListener("abort", end);
  }
}
