import type { Clock } from "../clock.ts";
import { errorName, ThroughlineError } from "../errors.ts";
import type { Logger } from "../logger.ts";
import { KeyedMutex } from "../mutex.ts";
import type { Timers } from "../timers.ts";
import {
  checkedName,
  type Lease,
  type LeaseName,
  type LeaseOptions,
  type Leases,
  nameText,
} from "./leases.ts";

/** A name and the epoch under which a process holds it. */
export interface HeldName extends LeaseName {
  readonly epoch: number;
}

/** The leases as the place of a storage knows them, for one process of it. */
export interface LeasePlace {
  /**
   * Takes the name if it is free, if its lease lapsed, or if this process took it before without
   * an answer. Otherwise tells how long the holder's lease still lasts.
   *
   * @param waits whether this process wants to be woken when the name is released.
   */
  take(
    name: LeaseName,
    waits: boolean,
  ): Promise<{ readonly epoch: number } | { readonly lapsesInMs: number }>;
  /** Lets these last for the whole time again. What is in neither list stays as it is. */
  renew(held: readonly HeldName[]): Promise<Renewal>;
  /** Frees those of them that this process still holds, and wakes who waits. */
  free(held: readonly HeldName[]): Promise<void>;
}

export interface Renewal {
  readonly renewed: readonly HeldName[];
  /** Those that this process does not hold any more. */
  readonly gone: readonly HeldName[];
}

/**
 * The epochs under which this process writes, by `nameText`: one for every name whose lease it took and has not
 * released, whether or not it was lost since. Every append, erasure and deletion looks for that of its log once,
 * when it is called.
 */
export type Epochs = Map<string, number>;

interface LeaseTimes {
  readonly clock: Clock;
  readonly timers: Timers;
  /** How long a lease lasts without being renewed, in milliseconds. */
  readonly leaseMs: number;
  readonly logger: Logger;
}

/** A lease of this process that was not released. */
interface OwnLease extends HeldName {
  readonly lost: AbortController;
  readonly release: () => Promise<void>;
  /** The monotonic time until which no other process can hold it. */
  until: number;
}

/** Renewals of one lease within its time: the first may fail. */
const renewalsPerLease = 3;

/**
 * Looks at the leases within the time of one. A renewal that failed is tried again at the next look: a row that its
 * holder writes all the time is passed over again and again.
 */
const looksPerLease = 30;

/** Most names in one call: a call with many more can run into its deadline, and all would be lost. */
const namesPerCall = 500;

/** The part of its time after which a holder takes its lease for lost, before anybody can take it. */
const trustedPart = 0.9;

/**
 * The leases of one process of several. Within the process the first to ask is the first to hold: one at a time
 * asks the place for a name until it gets it. What is held is renewed, all of it together. A lease that could not be
 * renewed in time by the monotonic clock is lost before it lapses.
 */
export class ClusterLeases implements Leases {
  readonly #place: LeasePlace;
  readonly #times: LeaseTimes;
  readonly #epochs: Epochs;
  readonly #names = new KeyedMutex();
  readonly #wakes = new Map<string, () => void>();
  /** Not released. */
  readonly #own = new Set<OwnLease>();
  /** Those of them that were not lost: they are renewed. */
  readonly #held = new Set<OwnLease>();
  readonly #asking = new Set<Promise<unknown>>();
  readonly #closing = new AbortController();
  #cancelLook: (() => void) | undefined;
  /** The monotonic time of the next renewal. */
  #renewAt = 0;
  #isRenewing = false;

  constructor(place: LeasePlace, epochs: Epochs, times: LeaseTimes) {
    this.#place = place;
    this.#epochs = epochs;
    this.#times = times;
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
    for (const { lost } of this.#own) lost.abort(closedError());
    await Promise.all(Array.from(this.#own, ({ release }) => release()));
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
    let released: Promise<void> | undefined;
    const lease: OwnLease = {
      ...name,
      epoch,
      lost: new AbortController(),
      release: () => {
        released ??= this.#release(lease);
        return released;
      },
      until: this.#trustedUntil(askedAt),
    };
    this.#epochs.set(nameText(name), epoch);
    this.#own.add(lease);
    this.#held.add(lease);
    this.#lookWhileHeld();
    return { epoch, lost: lease.lost.signal, release: lease.release };
  }

  async #release(lease: OwnLease): Promise<void> {
    const text = nameText(lease);
    const isHeld = this.#held.delete(lease);
    this.#own.delete(lease);
    // It may have been taken again since, under another epoch.
    if (this.#epochs.get(text) === lease.epoch) this.#epochs.delete(text);
    this.#lookWhileHeld();
    if (isHeld) await this.#free(lease);
    this.#names.unlock(text);
  }

  /** What cannot be freed lapses by itself. */
  async #free(lease: OwnLease): Promise<void> {
    try {
      await this.#place.free([lease]);
    } catch (error) {
      this.#times.logger.warn({ error: errorName(error) }, "a lease could not be freed");
    }
  }

  #trustedUntil(askedAt: number): number {
    return askedAt + this.#times.leaseMs * trustedPart;
  }

  /** Looks again and again at the leases while any is held. */
  #lookWhileHeld(): void {
    const { clock, leaseMs } = this.#times;
    if (this.#held.size === 0) {
      this.#cancelLook?.();
      this.#cancelLook = undefined;
    } else if (this.#cancelLook === undefined) {
      this.#renewAt = clock.monotonic() + leaseMs / renewalsPerLease;
      this.#lookLater();
    }
  }

  #lookLater(): void {
    const { timers, leaseMs } = this.#times;
    this.#cancelLook = timers.after(leaseMs / looksPerLease, () => this.#look());
  }

  #look(): void {
    this.#lookLater();
    const now = this.#times.clock.monotonic();
    for (const lease of this.#held) {
      if (lease.until > now) continue;
      this.#lose(lease);
      this.#times.logger.warn({ epoch: lease.epoch }, "a lease could not be renewed in time");
    }
    this.#lookWhileHeld();
    if (now >= this.#renewAt && !this.#isRenewing) void this.#renew(now);
  }

  #lose(lease: OwnLease): void {
    if (!this.#held.delete(lease)) return;
    const code = "THROUGHLINE_FENCED";
    lease.lost.abort(new ThroughlineError("the lease was lost", { code }));
  }

  async #renew(askedAt: number): Promise<void> {
    const asked = [...this.#held];
    this.#isRenewing = true;
    this.#renewAt = askedAt + this.#times.leaseMs / renewalsPerLease;
    const calls: Promise<void>[] = [];
    for (let at = 0; at < asked.length; at += namesPerCall) {
      calls.push(this.#renewSome(asked.slice(at, at + namesPerCall), askedAt));
    }
    await Promise.all(calls);
    this.#isRenewing = false;
  }

  async #renewSome(asked: readonly OwnLease[], askedAt: number): Promise<void> {
    try {
      const { renewed, gone } = await this.#place.renew(asked);
      const [renewedOnes, goneOnes] = [new Set(renewed), new Set(gone)];
      for (const lease of asked) {
        if (goneOnes.has(lease)) this.#lose(lease);
        else if (renewedOnes.has(lease)) lease.until = this.#trustedUntil(askedAt);
        else if (this.#held.has(lease)) this.#renewAt = askedAt; // passed over
      }
    } catch (error) {
      this.#renewAt = askedAt;
      this.#times.logger.warn({ error: errorName(error) }, "leases could not be renewed");
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
