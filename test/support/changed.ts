/**
 * An object that answers some calls in its own way, and the rest as the whole one does.
 *
 * @param changes the calls, or what gives one by its name each time that it is asked for.
 */
export function changed<T extends object>(
  whole: T,
  changes: Partial<T> | ((name: string | symbol) => unknown) = {},
): T {
  const ownOf = (name: string | symbol): unknown => {
    if (typeof changes === "function") return changes(name);
    return Object.hasOwn(changes, name) ? Reflect.get(changes, name) : undefined;
  };
  return new Proxy(whole, {
    get(_target, name) {
      const own = ownOf(name);
      const value: unknown = own ?? Reflect.get(whole, name);
      return typeof value === "function" ? value.bind(own === undefined ? whole : changes) : value;
    },
  });
}
