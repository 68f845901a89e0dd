import { errorName, ThroughlineError } from "../core/errors.ts";
import type { JsonObject } from "../core/json.ts";
import type { Logger } from "../core/logger.ts";
import { companionLease, type Lease } from "../core/storage/leases.ts";
import type { Storage } from "../core/storage/storage.ts";
import { systemTimers, type Timers } from "../core/timers.ts";
import type { CompanionPorts } from "./options.ts";

// Several processes have one companion. One of them leads: it has the lease, and writes the document and
// the history of moods. What they publish wakes, and says no more than this:
//
//   who       is the companion up?      up        yes
//   acts      there are acts to read

/** How long a process that starts waits for word of others, in milliseconds, when none has the lease. */
const answerMs = 250;
/** Until the storage is asked again after it failed, in milliseconds. */
const pauseMs = 1_000;

/** The companion in this process. */
interface Led {
  /** Leads from now on. */
  takeOver(): Promise<void>;
  /** There are acts to read, or there may be. */
  readOn(): void;
}

/**
 * Which process leads. One that ends, dies or sleeps too long is replaced by another; the companion was up
 * all the time.
 */
export class Leadership {
  readonly #storage: Pick<Storage, "leases" | "cluster">;
  readonly #timers: Timers;
  readonly #logger: Logger;
  readonly #closing = new AbortController();
  readonly #isUp = Promise.withResolvers<true>();
  readonly #ends: readonly (() => void)[];
  #led: Led | undefined;
  #acquiring: Promise<Lease>;
  #lease: Lease | undefined;
  #isLeader = false;
  #leading: Promise<void> = Promise.resolve();
  #stepDown = Promise.withResolvers<void>();

  constructor({ storage, timers = systemTimers, logger }: CompanionPorts) {
    const { cluster } = storage;
    this.#storage = storage;
    this.#timers = timers;
    this.#logger = logger;
    const missed = () => this.#led?.readOn();
    this.#ends = [cluster.subscribe((message) => this.#receive(message)), cluster.onMissed(missed)];
    this.publish("who");
    this.#acquiring = this.#acquire();
  }

  get isLeader(): boolean {
    return this.#isLeader && this.#lease?.lost.aborted === false;
  }

  /** Waits until it is known whether the companion is up somewhere. If not, this process has the lease. */
  async isUp(): Promise<boolean> {
    const timers = this.#timers;
    const isUp = this.#isUp.promise;
    if (await Promise.race([isUp, this.#acquiring.then(() => false)])) return true;
    // The companion may be up all the same, between one leader and the next.
    const { promise: waited, resolve } = Promise.withResolvers<false>();
    const cancel = timers.after(answerMs, () => resolve(false), { holdsProcess: true });
    try {
      return await Promise.race([isUp, waited]);
    } finally {
      cancel();
    }
  }

  /** @param isBegun this process began the run, and leads. */
  begin(led: Led, isBegun: boolean): void {
    this.#led = led;
    this.publish("up");
    this.#leading = this.#lead(led, isBegun);
  }

  publish(say: "who" | "up" | "acts"): void {
    try {
      this.#storage.cluster.publish({ about: "companion", say });
    } catch (error) {
      this.#logger.warn({ error: errorName(error) }, "the other processes were not woken");
    }
  }

  /** Another process leads: what this one has of the document is not the newest. */
  stepDown(): void {
    this.#isLeader = false;
    this.#stepDown.resolve();
  }

  /** Begins to leave: this process answers no more, and takes nothing over. */
  retire(): void {
    this.#closing.abort(new ThroughlineError("this run has ended", { code: "THROUGHLINE_CLOSED" }));
  }

  async leave(): Promise<void> {
    this.retire();
    for (const end of this.#ends) end();
    await this.#leading;
    const lease = await this.#acquiring.catch(() => undefined); // it never came
    await lease?.release();
  }

  #acquire(): Promise<Lease> {
    const { signal } = this.#closing;
    const acquiring = this.#storage.leases.acquire(companionLease, { signal });
    const acquired = acquiring.then((lease) => {
      this.#lease = lease;
      return lease;
    });
    acquired.catch(() => undefined); // awaited elsewhere
    return acquired;
  }

  async #lead(led: Led, isBegun: boolean): Promise<void> {
    const { signal } = this.#closing;
    const isClosing = new Promise<void>((resolve) => {
      signal.addEventListener("abort", () => resolve(), { once: true });
    });
    for (let isFirst = isBegun; !signal.aborted; isFirst = false) {
      this.#stepDown = Promise.withResolvers<void>();
      try {
        const lease = await this.#acquiring;
        if (!isFirst) await led.takeOver();
        if (signal.aborted && !isFirst) return;
        this.#isLeader = true;
        const lost = new Promise((resolve) => lease.lost.addEventListener("abort", resolve));
        if (!lease.lost.aborted) await Promise.race([lost, this.#stepDown.promise, isClosing]);
        if (signal.aborted) return;
        this.#logger.warn({}, "another process leads the companion now");
      } catch (error) {
        if (signal.aborted) return;
        this.#logger.warn({ error: errorName(error) }, "the companion was not taken over");
        await this.#pause(isClosing);
      }
      this.#isLeader = false;
      const lease = this.#lease;
      this.#lease = undefined;
      await lease?.release();
      this.#acquiring = this.#acquire();
      led.readOn();
    }
  }

  async #pause(isClosing: Promise<void>): Promise<void> {
    const { promise: passed, resolve } = Promise.withResolvers<void>();
    const timers = this.#timers;
    const cancel = timers.after(pauseMs, resolve);
    await Promise.race([passed, isClosing]);
    cancel();
  }

  #receive({ about, say }: JsonObject): void {
    if (about !== "companion" || this.#closing.signal.aborted) return;
    if (say === "up") this.#isUp.resolve(true);
    else if (say === "who" && this.#led !== undefined) this.publish("up");
    else if (say === "acts") this.#led?.readOn();
  }
}
