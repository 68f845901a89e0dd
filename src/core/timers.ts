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
