import type { Clock } from "../clock.ts";
import { closed, errorName, ThroughlineError } from "../errors.ts";
import type { Logger } from "../logger.ts";
import { KeyedMutex } from "../mutex.ts";
import type { Timers } from "../timers.ts";
import {
  checkedName,
  type Lease,
  type LeaseName,
  type LeaseOptions,
  type Leases,
  type LogState,
  nameText,
} from "./leases.ts";

/** A name and the epoch under which a process holds it. */
export interface HeldName extends LeaseName {
  readonly epoch: number;
}

/** A name that was taken, and what its log held then. */
interface TakenName {
  readonly epoch: number;
  readonly log?: LogState | undefined;
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
  ): Promise<TakenName | { readonly lapsesInMs: number }>;
  /** Notes that this life goes on, for the whole time again. @returns whether it was known to live until now. */
  beat(life: number): Promise<boolean>;
  /** Frees those of them that were not taken since, and wakes who waits. */
  free(held: readonly HeldName[]): Promise<void>;
  /** Lists what this life holds there. */
  held(life: number): Promise<readonly HeldName[]>;
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

/** Heartbeats within that time while none is answered, and where each fails at once. */
const unansweredPerLease = 6;
const failedPerLease = 30;

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
  /** The place may take this process for the holder of more than it holds. */
  #isUnsure = false;
  readonly #asking = new Set<Promise<unknown>>();
  readonly #closing = new AbortController();
  #cancelLook: (() => void) | undefined;
  #life = 1;
  /** The monotonic time until which no other process takes this life for dead. */
  #until = never;
  /** The monotonic time of the next heartbeat. */
  #beatAt = 0;
  /** The newest heartbeat that is not answered. */
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

  /** Releases were missed, and some of this process undone if the place crashed: all ask again. */
  missed(): void {
    for (const wake of [...this.#wakes.values()]) wake();
    this.#isUnsure = true;
    void this.#settled(this.#freeOthers());
  }

  /** Ends the waiting, and frees what this process holds. Calls afterwards reject. */
  async close(): Promise<void> {
    this.#closing.abort(closed());
    await Promise.allSettled(this.#asking);
    for (const { lost } of this.#own) lost.abort(closed());
    await Promise.all(Array.from(this.#own, ({ release }) => release()));
    await Promise.allSettled(this.#asking);
    this.#cancelLook?.();
    await this.#beating?.catch(() => undefined);
    // What could not be freed is free then, too.
    if (this.#until === never) return;
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
      await (this.#beating ?? this.#beat());
    const life = this.#life;
    const answer = await this.#place.take(name, life, waits).catch((error: unknown) => {
      this.#isUnsure = true; // it may be taken all the same
      throw error;
    });
    if ("epoch" in answer && life === this.#life) return this.#hold(name, answer);
    if ("epoch" in answer) {
      void this.#settled(this.#free({ ...name, epoch: answer.epoch })); // it is of a life that is over
      return 1;
    }
    // A millisecond more, so that it has lapsed then; never longer than one lease lasts.
    return Math.min(Math.max(answer.lapsesInMs, 0), this.#times.leaseMs) + 1;
  }

  #hold(name: LeaseName, { epoch, log }: TakenName): Lease {
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
    return { epoch, log, lost: lease.lost.signal, release: lease.release };
  }

  async #release(lease: OwnLease): Promise<void> {
    const text = nameText(lease);
    this.#own.delete(lease);
    // It may have been taken again since, under another epoch.
    if (this.#epochs.get(text) === lease.epoch) this.#epochs.delete(text);
    const freed = this.#settled(this.#free(lease));
    // Of a lease that was lost nothing here waits for the place, which may be away.
    if (!lease.lost.signal.aborted || this.#closing.signal.aborted) await freed;
    this.#names.unlock(text);
  }

  async #free(...names: readonly HeldName[]): Promise<void> {
    try {
      await this.#place.free(names);
    } catch (error) {
      this.#isUnsure = true;
      this.#warn(error, "a lease could not be freed");
    }
  }

  /** Frees what the place takes this process for the holder of, and what it neither holds nor asks for. */
  async #freeOthers(): Promise<void> {
    if (!this.#isUnsure || this.#until === never) return;
    this.#isUnsure = false;
    try {
      const held = await this.#place.held(this.#life);
      const others = held.filter((name) => !this.#names.isLocked(nameText(name)));
      if (others.length > 0) await this.#free(...others);
    } catch (error) {
      this.#isUnsure = true;
      this.#warn(error, "leases could not be compared with the place");
    }
  }

  /** Looks again when the next heartbeat is due or the time of the leases is over. */
  #lookLater(): void {
    const { timers, clock } = this.#times;
    const now = clock.monotonic();
    const at = this.#until > now ? Math.min(this.#beatAt, this.#until) : this.#beatAt;
    this.#cancelLook?.();
    if (this.#closing.signal.aborted) return;
    this.#cancelLook = timers.after(Math.max(1, at - now), () => {
      const then = clock.monotonic();
      if (this.#until !== never && then >= this.#until)
        this.#loseAll("the leases could not be renewed in time");
      if (then >= this.#beatAt) void this.#beat().catch(() => undefined); // it was logged
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

  /** Another heartbeat, whether or not those before it were answered. @throws the place did not take it. */
  #beat(): Promise<void> {
    const beating = this.#beatOnce().finally(() => {
      if (this.#beating === beating) this.#beating = undefined;
    });
    this.#beating = beating;
    return beating;
  }

  async #beatOnce(): Promise<void> {
    const { clock, leaseMs } = this.#times;
    const askedAt = clock.monotonic();
    const life = this.#life;
    const isFirst = this.#until === never;
    this.#beatAt = askedAt + leaseMs / unansweredPerLease;
    try {
      const wasAlive = await this.#place.beat(life);
      if (life !== this.#life) return;
      if (!wasAlive && !isFirst) return this.#loseAll("others may hold what this process held");
      this.#until = Math.max(this.#until, askedAt + leaseMs * trustedPart);
      this.#beatAt = Math.max(this.#beatAt, askedAt + leaseMs / beatsPerLease);
    } catch (error) {
      this.#beatAt = Math.min(this.#beatAt, clock.monotonic() + leaseMs / failedPerLease);
      this.#warn(error, "leases could not be renewed");
      throw error;
    } finally {
      this.#lookLater();
    }
    void this.#settled(this.#freeOthers());
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
