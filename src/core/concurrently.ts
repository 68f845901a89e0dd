/**
 * Works through items with at most `count` at once. After a failure no other is begun; those under way
 * are waited for, and the first failure is what the caller gets.
 */
export async function concurrently<T>(
  items: Iterable<T> | AsyncIterable<T>,
  count: number,
  work: (item: T, index: number) => Promise<void>,
): Promise<void> {
  const walk: AsyncIterator<T> | Iterator<T> =
    Symbol.asyncIterator in items ? items[Symbol.asyncIterator]() : items[Symbol.iterator]();
  let index = 0;
  let failure: { readonly error: unknown } | undefined;
  const worker = async () => {
    while (failure === undefined) {
      try {
        const next = await walk.next();
        if (next.done === true || failure !== undefined) break;
        await work(next.value, index++);
      } catch (error) {
        failure ??= { error };
      }
    }
  };
  await Promise.all(Array.from({ length: count }, worker));
  await walk.return?.();
  if (failure !== undefined) throw failure.error;
}
