import { type NewId, randomId } from "../../ids.ts";
import type { JsonObject } from "../../json.ts";
import { type Logger, silentLogger } from "../../logger.ts";
import { systemTimers, type Timers } from "../../timers.ts";
import { type Cluster, prepareMessage, Subscribers } from "../cluster.ts";
import { ClusterLeases, LeaseRegistry } from "../cluster-leases.ts";
import type { MemoryPlace } from "./memory-place.ts";

export interface MemoryClusterOptions {
  readonly place: MemoryPlace;
  /** What renews leases. Held back, the storage is a process that sleeps. @default systemTimers */
  readonly timers?: Timers;
  readonly newId?: NewId;
  readonly logger?: Logger;
}

/** One of several memory storages that write one place. */
export class MemoryCluster implements Cluster {
  readonly processId: string;
  readonly isShared = true;
  readonly leases: ClusterLeases;
  readonly #place: MemoryPlace;
  readonly #registry = new LeaseRegistry();
  readonly #subscribers: Subscribers;
  readonly #leave: () => void;
  #closed = false;

  constructor(options: MemoryClusterOptions) {
    const { place, timers = systemTimers, newId = randomId, logger = silentLogger } = options;
    this.processId = newId();
    this.#place = place;
    this.#subscribers = new Subscribers(logger);
    const { leases, leave } = place.join(this.processId, {
      freed: (name) => this.leases.wake(name),
      receive: (text, processId) => this.#subscribers.receive(text, processId),
    });
    this.#leave = leave;
    const { clock, leaseMs } = place;
    this.leases = new ClusterLeases(leases, this.#registry, { clock, timers, leaseMs, logger });
  }

  publish(message: JsonObject): void {
    const text = prepareMessage(message);
    if (!this.#closed) this.#place.publish(text, this.processId);
  }

  subscribe(listener: (message: JsonObject, processId: string) => void): () => void {
    return this.#subscribers.subscribe(listener);
  }

  /** Never called: nothing that is published in memory gets lost. */
  onMissed(listener: () => void): () => void {
    return this.#subscribers.onMissed(listener);
  }

  /** Whether this log may be written: not if its lease was lost and another process has it since. */
  mayWrite(collection: string, key: string): boolean {
    const epoch = this.#registry.epochOf(collection, key);
    return epoch === undefined || this.#place.isNewest({ collection, key, epoch });
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#subscribers.close();
    await this.leases.close();
    this.#leave();
  }
}
