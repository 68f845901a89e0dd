/** Logs that are worked on at once: most of the time of each is waiting. */
export const logsAtOnce = 8;

/**
 * Works on items, some at once, and yields the results in the order of the items. After a failure, or
 * when the reader stops, it ends once all that was begun has ended.
 */
export async function* inOrder<T, R>(
  items: AsyncIterable<T>,
  limit: number,
  work: (item: T) => Promise<R>,
): AsyncGenerator<R> {
  const begun: Promise<R>[] = [];
  try {
    for await (const item of items) {
      const result = work(item);
      result.catch(() => undefined); // handled when its turn comes
      begun.push(result);
      const first = begun.length >= limit ? begun.shift() : undefined;
      if (first !== undefined) yield await first;
    }
    for (let first = begun.shift(); first !== undefined; first = begun.shift()) yield await first;
  } finally {
    await Promise.allSettled(begun);
  }
}
