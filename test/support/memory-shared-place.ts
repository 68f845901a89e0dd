import type { Storage } from "../../src/core/storage/storage.ts";
import type { SharedPlace } from "./contracts/shared-place.ts";
import { HeldBackTimers } from "./held-back-timers.ts";
import { HeldClock } from "./held-clock.ts";
import { HeldTimers } from "./held-timers.ts";
import { leaseMs, MemoryPlace, openMemoryProcess } from "./memory-place.ts";

/** A place in memory whose time passes only when a storage of it is killed or sleeps. */
export class MemorySharedPlace implements SharedPlace {
  readonly #clock = new HeldClock();
  readonly #time = new HeldTimers(this.#clock);
  readonly #place = new MemoryPlace(this.#clock);
  readonly #timers = new Map<Storage, HeldBackTimers>();
  readonly #wrap: (storage: Storage) => Storage;

  /** @param wrap makes what joins of each storage, such as one with a mistake. */
  constructor(wrap: (storage: Storage) => Storage = (storage) => storage) {
    this.#wrap = wrap;
  }

  async join(): Promise<Storage> {
    const timers = new HeldBackTimers(this.#time);
    const storage = this.#wrap(openMemoryProcess({ place: this.#place, timers }));
    this.#timers.set(storage, timers);
    return storage;
  }

  async kill(storage: Storage): Promise<void> {
    this.#timers.get(storage)?.holdBack();
    this.#timers.delete(storage);
    await this.#time.pass(2 * leaseMs);
  }

  async sleep(storage: Storage): Promise<void> {
    this.#timers.get(storage)?.holdBack();
    await this.#time.pass(leaseMs);
  }

  async wake(storage: Storage): Promise<void> {
    this.#timers.get(storage)?.goOn();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#timers.keys()].map((storage) => storage.close()));
  }
}
