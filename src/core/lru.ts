interface LruOptions<K, V> {
  /** What an entry counts for against the bound. @default 1 for each */
  readonly weigh?: ((value: V, key: K) => number) | undefined;
  /** Called with each entry that had to make place: not with one that is deleted or replaced. */
  readonly onEvict?: ((key: K, value: V) => void) | undefined;
}

/**
 * A map that forgets what was not used for longest, once it holds more than it may. An entry that
 * alone weighs more than the bound is not kept.
 */
export class Lru<K, V extends NonNullable<unknown>> implements Iterable<readonly [K, V]> {
  readonly #max: number;
  readonly #options: LruOptions<K, V>;
  /** Least recently used first. */
  readonly #entries = new Map<K, V>();
  #weight = 0;

  /** @param max how many entries it holds; with `weigh`, how much they weigh together. */
  constructor(max: number, options: LruOptions<K, V> = {}) {
    if (!(max >= 0)) throw new TypeError("the bound must be 0 or more");
    this.#max = max;
    this.#options = options;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** The value of a key, which counts as use. */
  get(key: K): V | undefined {
    const value = this.#entries.get(key);
    if (value === undefined) return undefined;
    this.#entries.delete(key);
    this.#entries.set(key, value);
    return value;
  }

  /** The same without counting as use. */
  peek(key: K): V | undefined {
    return this.#entries.get(key);
  }

  has(key: K): boolean {
    return this.#entries.has(key);
  }

  /** Keeps a value as the one used last, and forgets others to make place for it. */
  set(key: K, value: V): void {
    this.delete(key);
    this.#entries.set(key, value);
    this.#weight += this.#weightOf(key, value);
    for (const [oldest, old] of this.#entries) {
      if (this.#weight <= this.#max) break;
      this.delete(oldest);
      this.#options.onEvict?.(oldest, old);
    }
  }

  delete(key: K): boolean {
    const value = this.#entries.get(key);
    if (value === undefined) return false;
    this.#weight -= this.#weightOf(key, value);
    return this.#entries.delete(key);
  }

  clear(): void {
    this.#entries.clear();
    this.#weight = 0;
  }

  /** Least recently used first, as the other iterators too. */
  [Symbol.iterator](): MapIterator<[K, V]> {
    return this.#entries[Symbol.iterator]();
  }

  keys(): MapIterator<K> {
    return this.#entries.keys();
  }

  values(): MapIterator<V> {
    return this.#entries.values();
  }

  #weightOf(key: K, value: V): number {
    return this.#options.weigh?.(value, key) ?? 1;
  }
}
