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

/**
 * The leases as the place of a storage knows them, for one process of it. `life`: a process that was taken for dead goes
 * on as another, with the next number.
 */
export interface LeasePlace {
  /**
   * Takes the name if it is free, if its holder is dead, or if this life took it before without an answer.
   * Otherwise tells for how long its holder is known to live.
   *
   * @param waits whether this process wants to be woken when the name is released.
   */
  take(
    name: LeaseName,
    life: number,
    waits: boolean,
  ): Promise<{ readonly epoch: number } | { readonly lapsesInMs: number }>;
  /** Notes that this life goes on, for the whole time again. @returns whether it was known to live until now. */
  beat(life: number): Promise<boolean>;
  /** Frees those of them that were not taken since, and wakes who waits. */
  free(held: readonly HeldName[]): Promise<void>;
  /** Notes that this life has ended: it holds nothing. */
  leave(life: number): Promise<void>;
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
  /** How long a process is known to live without a heartbeat, in milliseconds. */
  readonly leaseMs: number;
  readonly logger: Logger;
}

/** A lease of this process that was not released. */
interface OwnLease extends HeldName {
  readonly lost: AbortController;
  readonly release: () => Promise<void>;
}

/** Heartbeats within the time of a lease: the first may fail. */
const beatsPerLease = 3;

/** A heartbeat that failed is repeated so often within that time. */
const triesPerLease = 30;

const never = Number.NEGATIVE_INFINITY;

/** The part of its time after which a process takes its leases for lost, before others can take them. */
const trustedPart = 0.9;

/**
 * The leases of one process of several. They last as long as the process is known to live: one heartbeat keeps all of
 * them. Within the process the first to ask is the first to hold: one at a time asks the place for a name until it
 * gets it. A process whose heartbeat fails for too long, by the monotonic clock, has lost its leases before others can
 * take them.
 */
export class ClusterLeases implements Leases {
  readonly #place: LeasePlace;
  readonly #times: LeaseTimes;
  readonly #epochs: Epochs;
  readonly #names = new KeyedMutex();
  readonly #wakes = new Map<string, () => void>();
  /** How often this process had to wait for another one. */
  waits = 0;
  /** Not released. */
  readonly #own = new Set<OwnLease>();
  /** Released, and not free: that failed, or may be undone. */
  readonly #unfreed = new Set<HeldName>();
  /** Freed since the last heartbeat: a database that crashes may forget that. */
  #freed = new Set<HeldName>();
  readonly #asking = new Set<Promise<unknown>>();
  readonly #closing = new AbortController();
  #cancelLook: (() => void) | undefined;
  #life = 1;
  /** The monotonic time until which no other process takes this life for dead. */
  #until = never;
  /** The monotonic time of the next heartbeat. */
  #beatAt = 0;
  #beating: Promise<void> | undefined;

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

  /** How many names this process holds. */
  get held(): number {
    return this.#own.size;
  }

  /** This name was released: those who wait for it here ask again. */
  wake(name: LeaseName): void {
    this.#wakes.get(nameText(name))?.();
  }

  /** Releases were missed, or undone by a crash of the place: all ask again. */
  missed(): void {
    for (const wake of [...this.#wakes.values()]) wake();
    for (const name of this.#freed) this.#unfreed.add(name);
    void this.#freeAgain();
  }

  /** Ends the waiting, and frees what this process holds. Calls afterwards reject. */
  async close(): Promise<void> {
    this.#closing.abort(closedError());
    await Promise.allSettled(this.#asking);
    for (const { lost } of this.#own) lost.abort(closedError());
    await Promise.all(Array.from(this.#own, ({ release }) => release()));
    await Promise.allSettled(this.#asking);
    this.#cancelLook?.();
    await this.#beating?.catch(() => undefined);
    // What could not be freed is free once the process is taken for dead.
    if (this.#until === never || this.#unfreed.size > 0) return;
    const left = this.#place.leave(this.#life);
    await left.catch((error) => this.#warn(error, "a process could not sign off"));
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
      this.waits++;
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
    // Twice: the first may find that this life is over.
    for (let tries = 0; tries < 2 && this.#times.clock.monotonic() >= this.#until; tries++)
      await this.#beat();
    const life = this.#life;
    const answer = await this.#place.take(name, life, waits);
    if ("epoch" in answer && life === this.#life) return this.#hold(name, answer.epoch);
    if ("epoch" in answer) {
      this.#unfreed.add({ ...name, epoch: answer.epoch }); // it is of a life that is over
      void this.#freeAgain();
      return 1;
    }
    // A millisecond more, so that it has lapsed then; never longer than one lease lasts.
    return Math.min(Math.max(answer.lapsesInMs, 0), this.#times.leaseMs) + 1;
  }

  #hold(name: LeaseName, epoch: number): Lease {
    let released: Promise<void> | undefined;
    const lease: OwnLease = {
      ...name,
      epoch,
      lost: new AbortController(),
      release: () => {
        released ??= this.#release(lease);
        return released;
      },
    };
    this.#epochs.set(nameText(name), epoch);
    this.#own.add(lease);
    return { epoch, lost: lease.lost.signal, release: lease.release };
  }

  async #release(lease: OwnLease): Promise<void> {
    const text = nameText(lease);
    this.#own.delete(lease);
    // It may have been taken again since, under another epoch.
    if (this.#epochs.get(text) === lease.epoch) this.#epochs.delete(text);
    const freed = this.#settled(this.#free([lease]));
    // Of a lease that was lost nothing here waits for the place, which may be away.
    if (!lease.lost.signal.aborted || this.#closing.signal.aborted) await freed;
    this.#names.unlock(text);
  }

  async #freeAgain(): Promise<void> {
    if (this.#unfreed.size > 0) await this.#settled(this.#free([...this.#unfreed]));
  }

  /** What could not be freed is tried again with every heartbeat. */
  async #free(names: readonly HeldName[]): Promise<void> {
    try {
      await this.#place.free(names);
      for (const name of names) {
        this.#unfreed.delete(name);
        this.#freed.add(name);
      }
    } catch (error) {
      for (const name of names) this.#unfreed.add(name);
      this.#warn(error, "a lease could not be freed");
    }
  }

  /** Looks again when the next heartbeat is due or the time of the leases is over. */
  #lookLater(): void {
    const { timers, clock, leaseMs } = this.#times;
    const now = clock.monotonic();
    const at = this.#until > now ? Math.min(this.#beatAt, this.#until) : this.#beatAt;
    this.#cancelLook?.();
    this.#cancelLook = timers.after(Math.max(1, at - now), () => {
      const then = clock.monotonic();
      if (this.#until !== never && then >= this.#until)
        this.#loseAll("the leases could not be renewed in time");
      if (then >= this.#beatAt) {
        this.#beatAt = then + leaseMs / triesPerLease; // should this one fail, or not be answered
        void this.#beat().catch(() => undefined); // it was logged
      }
      this.#lookLater();
    });
  }

  /** This life is over. */
  #loseAll(message: string): void {
    this.#life++;
    this.#until = never;
    const held = Array.from(this.#own).filter(({ lost }) => !lost.signal.aborted);
    if (held.length > 0) this.#times.logger.warn({ leases: held.length }, message);
    const code = "THROUGHLINE_FENCED";
    for (const { lost } of held) lost.abort(new ThroughlineError("the lease was lost", { code }));
  }

  /** One heartbeat at a time. @throws the place did not take it. */
  #beat(): Promise<void> {
    this.#beating ??= this.#beatOnce().finally(() => {
      this.#beating = undefined;
    });
    return this.#beating;
  }

  async #beatOnce(): Promise<void> {
    const { clock, leaseMs } = this.#times;
    const askedAt = clock.monotonic();
    const life = this.#life;
    const isFirst = this.#until === never;
    const freed = this.#freed;
    this.#freed = new Set();
    try {
      const wasAlive = await this.#place.beat(life);
      if (life !== this.#life) return;
      if (!wasAlive && !isFirst) return this.#loseAll("others may hold what this process held");
      this.#until = askedAt + leaseMs * trustedPart;
      this.#beatAt = askedAt + leaseMs / beatsPerLease;
    } catch (error) {
      for (const name of freed) this.#freed.add(name);
      this.#warn(error, "leases could not be renewed");
      throw error;
    }
    if (!this.#closing.signal.aborted) this.#lookLater();
    void this.#freeAgain();
  }

  #warn(error: unknown, message: string): void {
    this.#times.logger.warn({ error: errorName(error) }, message);
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
