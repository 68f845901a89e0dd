import { errorName, ThroughlineError } from "../errors.ts";
import { KeyedMutex } from "../mutex.ts";
import { type KeptLease, type LeasePlace, LeaseRenewer, type LeaseTimes } from "./lease-renewer.ts";
import {
  checkedName,
  type Lease,
  type LeaseName,
  type LeaseOptions,
  type Leases,
  nameText,
} from "./leases.ts";

/**
 * The epochs under which this process writes: one for every name whose lease it took and has not
 * released, whether or not it was lost since. Every append, erasure and deletion asks for that of its
 * log once, when it is called.
 */
export class LeaseRegistry {
  readonly #epochs = new Map<string, number>();

  /** The epoch to write this log under; `undefined` when this process does not hold its lease. */
  epochOf(collection: string, key: string): number | undefined {
    return this.#epochs.get(nameText({ collection, key }));
  }

  hold(name: LeaseName, epoch: number): void {
    this.#epochs.set(nameText(name), epoch);
  }

  /** Nothing happens when the name was taken again since, under another epoch. */
  drop(name: LeaseName, epoch: number): void {
    const text = nameText(name);
    if (this.#epochs.get(text) === epoch) this.#epochs.delete(text);
  }
}

/**
 * The leases of one process of several. Within the process the first to ask is the first to hold: one at a time
 * asks the place for a name until it gets it.
 */
export class ClusterLeases implements Leases {
  readonly #place: LeasePlace;
  readonly #times: LeaseTimes;
  readonly #registry: LeaseRegistry;
  readonly #renewer: LeaseRenewer;
  readonly #names = new KeyedMutex();
  readonly #wakes = new Map<string, () => void>();
  readonly #leases = new Map<Lease, KeptLease>();
  readonly #asking = new Set<Promise<unknown>>();
  readonly #closing = new AbortController();

  constructor(place: LeasePlace, registry: LeaseRegistry, times: LeaseTimes) {
    this.#place = place;
    this.#registry = registry;
    this.#times = times;
    this.#renewer = new LeaseRenewer(place, times);
  }

  acquire(name: LeaseName, { signal }: LeaseOptions = {}): Promise<Lease> {
    const closing = this.#closing.signal;
    const ends = signal === undefined ? closing : AbortSignal.any([closing, signal]);
    return this.#settled(this.#acquire(name, ends));
  }

  tryAcquire(name: LeaseName): Promise<Lease | undefined> {
    return this.#settled(this.#tryAcquire(name));
  }

  /** This name was released: those who wait for it here ask again. Without a name: all ask. */
  wake(name?: LeaseName): void {
    if (name !== undefined) this.#wakes.get(nameText(name))?.();
    else for (const wake of [...this.#wakes.values()]) wake();
  }

  /** Ends the waiting, and frees what this process holds. Calls afterwards reject. */
  async close(): Promise<void> {
    this.#closing.abort(closedError());
    await Promise.allSettled(this.#asking);
    const frees = [...this.#leases].map(([lease, kept]) => {
      kept.lost.abort(closedError());
      return lease.release();
    });
    await Promise.all(frees);
  }

  async #acquire(asked: LeaseName, ends: AbortSignal): Promise<Lease> {
    const name = checkedName(asked);
    const text = nameText(name);
    await this.#names.lock(text, ends);
    let lease: Lease | undefined;
    try {
      while (lease === undefined) {
        ends.throwIfAborted();
        lease = await this.#askAndWait(name, ends);
      }
    } catch (error) {
      this.#names.unlock(text);
      throw error;
    }
    if (ends.aborted) await lease.release();
    ends.throwIfAborted();
    return lease;
  }

  /** @returns nothing when it is worth asking again. */
  async #askAndWait(name: LeaseName, ends: AbortSignal): Promise<Lease | undefined> {
    const text = nameText(name);
    const woken = Promise.withResolvers<void>();
    const wake = () => woken.resolve();
    this.#wakes.set(text, wake); // before asking, so that a release in between is not missed
    try {
      const answer = await this.#ask(name, true);
      if (typeof answer !== "number") return answer;
      const cancel = this.#times.timers.after(answer, wake, { holdsProcess: true });
      ends.addEventListener("abort", wake, { once: true });
      if (!ends.aborted) await woken.promise;
      ends.removeEventListener("abort", wake);
      cancel();
      return undefined;
    } finally {
      this.#wakes.delete(text);
    }
  }

  async #tryAcquire(asked: LeaseName): Promise<Lease | undefined> {
    const name = checkedName(asked);
    this.#closing.signal.throwIfAborted();
    const text = nameText(name);
    if (!this.#names.tryLock(text)) return undefined;
    let answer: Lease | number = 0;
    try {
      answer = await this.#ask(name, false);
    } finally {
      if (typeof answer === "number") this.#names.unlock(text);
    }
    const lease = typeof answer === "number" ? undefined : answer;
    if (this.#closing.signal.aborted) await lease?.release();
    this.#closing.signal.throwIfAborted();
    return lease;
  }

  /** @returns the lease, or in how many milliseconds to ask again. */
  async #ask(name: LeaseName, waits: boolean): Promise<Lease | number> {
    const askedAt = this.#times.clock.monotonic();
    const answer = await this.#place.take(name, waits);
    if ("epoch" in answer) return this.#hold(name, answer.epoch, askedAt);
    // A millisecond more, so that it has lapsed then; never longer than one lease lasts.
    return Math.min(Math.max(answer.lapsesInMs, 0), this.#times.leaseMs) + 1;
  }

  #hold(name: LeaseName, epoch: number, askedAt: number): Lease {
    const kept: KeptLease = { ...name, epoch, lost: new AbortController() };
    this.#registry.hold(name, epoch);
    this.#renewer.add(kept, askedAt);
    let released: Promise<void> | undefined;
    const lease: Lease = {
      epoch,
      lost: kept.lost.signal,
      release: () => {
        released ??= this.#release(kept, lease);
        return released;
      },
    };
    this.#leases.set(lease, kept);
    return lease;
  }

  async #release(kept: KeptLease, lease: Lease): Promise<void> {
    this.#leases.delete(lease);
    this.#registry.drop(kept, kept.epoch);
    if (this.#renewer.remove(kept)) await this.#free(kept);
    this.#names.unlock(nameText(kept));
  }

  /** What cannot be freed lapses by itself. */
  async #free(kept: KeptLease): Promise<void> {
    try {
      await this.#place.free([kept]);
    } catch (error) {
      this.#times.logger.warn({ error: errorName(error) }, "a lease could not be freed");
    }
  }

  /** Closing waits for what asks now, so that nothing is taken after it. */
  #settled<T>(asking: Promise<T>): Promise<T> {
    this.#asking.add(asking);
    const forget = () => this.#asking.delete(asking);
    asking.then(forget, forget);
    return asking;
  }
}

function closedError(): ThroughlineError {
  return new ThroughlineError("the storage is closed", { code: "THROUGHLINE_CLOSED" });
}
