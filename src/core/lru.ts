/** A map that forgets what was not used for longest, once it holds more than it may. */
export class Lru<K, V extends NonNullable<unknown>> implements Iterable<readonly [K, V]> {
  readonly #max: number;
  /** Least recently used first. */
  readonly #entries = new Map<K, V>();
  /** The key that was used last, if it is still there: to move it would change nothing. */
  #newest: K | undefined;

  /** @param max how many entries it holds. */
  constructor(max: number) {
    if (!(max >= 0)) throw new TypeError("the bound must be 0 or more");
    this.#max = max;
  }

  /** The value of a key, which counts as use. */
  get(key: K): V | undefined {
    const value = this.#entries.get(key);
    if (value !== undefined && key !== this.#newest) this.set(key, value);
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
    if (key !== this.#newest) this.#entries.delete(key);
    this.#newest = key;
    this.#entries.set(key, value);
    if (this.#entries.size <= this.#max) return;
    const [oldest] = this.#entries.keys();
    this.#entries.delete(oldest as K);
  }

  delete(key: K): boolean {
    return this.#entries.delete(key);
  }

  clear(): void {
    this.#entries.clear();
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
}
