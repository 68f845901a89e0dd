import type { Clock } from "../clock.ts";
import { type ErrorCode, errorName, ThroughlineError } from "../errors.ts";
import type { Logger } from "../logger.ts";
import type { Timers } from "../timers.ts";
import type { LeaseName } from "./leases.ts";

/** A name and the epoch under which somebody holds it. */
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

export interface LeaseTimes {
  readonly clock: Clock;
  readonly timers: Timers;
  /** How long a lease lasts without being renewed, in milliseconds. */
  readonly leaseMs: number;
  readonly logger: Logger;
}

/** A lease that this process has, until it is removed or lost. */
export interface KeptLease extends HeldName {
  readonly lost: AbortController;
}

/** Renewals of one lease within its time: the first may fail. */
const renewalsPerLease = 3;

/**
 * And so many of those whose renewal did not come about: a row that its holder writes all the time is
 * passed over again and again.
 */
const repeatsPerLease = 30;

/** Most names in one call: a call with many more can run into its deadline, and all would be lost. */
const namesPerCall = 500;

/** The part of its time after which a holder takes its lease for lost, before anybody can take it. */
const trustedPart = 0.9;

/**
 * Keeps the leases of this process alive: all of them are renewed three times within their time. One that
 * could not be renewed in time by the monotonic clock is lost before it lapses.
 */
export class LeaseRenewer {
  /** Each with the monotonic time until which no other process can hold it. */
  readonly #until = new Map<KeptLease, number>();
  readonly #place: LeasePlace;
  readonly #times: LeaseTimes;
  #cancelRenewal: (() => void) | undefined;
  #cancelExpiry: (() => void) | undefined;
  #renewing = false;
  /** Whether the last renewal renewed all. */
  #isRenewed = true;

  constructor(place: LeasePlace, times: LeaseTimes) {
    this.#place = place;
    this.#times = times;
  }

  /** @param askedAt the monotonic time before the place was asked for it. */
  add(lease: KeptLease, askedAt: number): void {
    this.#until.set(lease, this.#trustedUntil(askedAt));
    this.#schedule();
  }

  /** @returns whether it was still held: no other process can have taken it. */
  remove(lease: KeptLease): boolean {
    const held = this.#until.delete(lease);
    if (this.#until.size === 0) this.#stop();
    return held;
  }

  /** Tells the holder, and renews it no more. */
  lose(lease: KeptLease, code: ErrorCode): void {
    if (!this.remove(lease)) return;
    lease.lost.abort(new ThroughlineError("the lease was lost", { code }));
  }

  #trustedUntil(askedAt: number): number {
    return askedAt + this.#times.leaseMs * trustedPart;
  }

  #schedule(): void {
    const { timers, leaseMs } = this.#times;
    if (this.#until.size === 0) return;
    if (this.#cancelRenewal === undefined && !this.#renewing) {
      const delayMs = leaseMs / (this.#isRenewed ? renewalsPerLease : repeatsPerLease);
      this.#cancelRenewal = timers.after(delayMs, () => void this.#renew());
    }
    this.#cancelExpiry ??= timers.after(this.#msToFirstExpiry(), () => this.#expire());
  }

  #msToFirstExpiry(): number {
    let first = Number.POSITIVE_INFINITY;
    for (const until of this.#until.values()) first = Math.min(first, until);
    return Math.max(first - this.#times.clock.monotonic(), 1);
  }

  #expire(): void {
    this.#cancelExpiry = undefined;
    this.#loseLate();
    this.#schedule();
  }

  #loseLate(): void {
    const now = this.#times.clock.monotonic();
    for (const [lease, until] of [...this.#until]) {
      if (until > now) continue;
      this.#times.logger.warn({ epoch: lease.epoch }, "a lease could not be renewed in time");
      this.lose(lease, "THROUGHLINE_FENCED");
    }
  }

  async #renew(): Promise<void> {
    this.#cancelRenewal = undefined;
    this.#loseLate(); // after a sleep, leases that are no longer trusted are not renewed
    if (this.#until.size === 0) return;
    this.#renewing = true;
    const askedAt = this.#times.clock.monotonic();
    const asked = [...this.#until.keys()];
    this.#isRenewed = true;
    const calls: Promise<void>[] = [];
    for (let at = 0; at < asked.length; at += namesPerCall) {
      calls.push(this.#renewSome(asked.slice(at, at + namesPerCall), askedAt));
    }
    await Promise.all(calls);
    this.#renewing = false;
    this.#schedule();
  }

  async #renewSome(asked: readonly KeptLease[], askedAt: number): Promise<void> {
    try {
      const { renewed, gone } = await this.#place.renew(asked);
      const [renewedOnes, goneOnes] = [new Set(renewed), new Set(gone)];
      for (const lease of asked) {
        if (goneOnes.has(lease)) this.lose(lease, "THROUGHLINE_FENCED");
        const isRenewed = renewedOnes.has(lease) && this.#until.has(lease);
        if (isRenewed) this.#until.set(lease, this.#trustedUntil(askedAt));
      }
      this.#isRenewed &&= asked.every((lease) => renewedOnes.has(lease) || !this.#until.has(lease));
    } catch (error) {
      this.#isRenewed = false;
      this.#times.logger.warn({ error: errorName(error) }, "leases could not be renewed");
    }
  }

  #stop(): void {
    this.#cancelRenewal?.();
    this.#cancelExpiry?.();
    this.#cancelRenewal = undefined;
    this.#cancelExpiry = undefined;
  }
}
