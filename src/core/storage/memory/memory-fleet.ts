import { type NewId, randomId } from "../../ids.ts";
import type { JsonObject } from "../../json.ts";
import { type Logger, silentLogger } from "../../logger.ts";
import { systemTimers, type Timers } from "../../timers.ts";
import type { Fleet, Lease, LeaseName, LeaseOptions } from "../fleet.ts";
import { FleetLeases } from "../fleet-leases.ts";
import { FleetListeners, prepareMessage } from "../fleet-listeners.ts";
import { LeaseRegistry } from "../lease-registry.ts";
import type { MemoryPlace } from "./memory-place.ts";

export interface MemoryFleetOptions {
  readonly place: MemoryPlace;
  /** What renews leases. Held back, the storage is a process that sleeps. @default systemTimers */
  readonly timers?: Timers;
  readonly newId?: NewId;
  readonly logger?: Logger;
}

/** One of several memory storages that write one place. */
export class MemoryFleet implements Fleet {
  readonly processId: string;
  readonly #place: MemoryPlace;
  readonly #registry = new LeaseRegistry();
  readonly #leases: FleetLeases;
  readonly #listeners: FleetListeners;
  readonly #leave: () => void;
  #closed = false;

  constructor(options: MemoryFleetOptions) {
    const { place, timers = systemTimers, newId = randomId, logger = silentLogger } = options;
    this.processId = newId();
    this.#place = place;
    this.#listeners = new FleetListeners(logger);
    const { leases, leave } = place.join(this.processId, {
      freed: (name) => this.#leases.wake(name),
      told: (text, processId) => this.#listeners.tell(text, processId),
    });
    this.#leave = leave;
    const { clock, leaseMs } = place;
    this.#leases = new FleetLeases(leases, this.#registry, { clock, timers, leaseMs, logger });
  }

  acquire(name: LeaseName, options?: LeaseOptions): Promise<Lease> {
    return this.#leases.acquire(name, options);
  }

  tryAcquire(name: LeaseName): Promise<Lease | undefined> {
    return this.#leases.tryAcquire(name);
  }

  tell(message: JsonObject): void {
    const text = prepareMessage(message);
    if (!this.#closed) this.#place.tell(text, this.processId);
  }

  onTold(listener: (message: JsonObject, processId: string) => void): () => void {
    return this.#listeners.onTold(listener);
  }

  /** Never called: nothing that is told in memory gets lost. */
  onGap(listener: () => void): () => void {
    return this.#listeners.onGap(listener);
  }

  /** Whether this log may be written: not if its lease was lost and another process has it since. */
  mayWrite(collection: string, key: string): boolean {
    const epoch = this.#registry.epochOf(collection, key);
    return epoch === undefined || this.#place.isNewest({ collection, key, epoch });
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#listeners.close();
    await this.#leases.close();
    this.#leave();
  }
}
