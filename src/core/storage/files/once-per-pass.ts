/** A pass that takes longer looks again. */
const longestMs = 10;

/**
 * A check that holds for everything that is written in the same pass of the event loop: with 200 chats at
 * once, looking before each write was a tenth of what a turn cost. Between a look and the end of a write
 * there is always more time than a pass takes.
 *
 * @param check throws when nothing may be written; what it threw does not hold.
 */
export function oncePerPass(check: () => void, now = () => performance.now()): () => void {
  let seenAt = Number.NEGATIVE_INFINITY;
  const forget = () => {
    seenAt = Number.NEGATIVE_INFINITY;
  };
  return () => {
    const time = now();
    if (time - seenAt < longestMs) return;
    check();
    if (seenAt === Number.NEGATIVE_INFINITY) setImmediate(forget);
    seenAt = time;
  };
}
