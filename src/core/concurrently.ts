/**
 * Works through items with at most `count` at once. After a failure no other is begun; those under way
 * are waited for, and the first failure is what the caller gets.
 */
export async function concurrently<T>(
  items: readonly T[],
  count: number,
  work: (item: T, index: number) => Promise<void>,
): Promise<void> {
  let next = 0;
  let failure: { readonly error: unknown } | undefined;
  const worker = async () => {
    while (failure === undefined && next < items.length) {
      const index = next++;
      try {
        await work(items[index] as T, index);
      } catch (error) {
        failure ??= { error };
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(count, items.length) }, worker));
  if (failure !== undefined) throw failure.error;
}
