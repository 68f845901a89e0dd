// Several processes that write one place, all in memory: a place, and a storage of it for each of them.
import { type Clock, systemClock } from "../../src/core/clock.ts";
import { ThroughlineError } from "../../src/core/errors.ts";
import { randomId } from "../../src/core/ids.ts";
import type { JsonObject } from "../../src/core/json.ts";
import { silentLogger } from "../../src/core/logger.ts";
import { type Cluster, prepareMessage, Subscribers } from "../../src/core/storage/cluster.ts";
import {
  ClusterLeases,
  type Epochs,
  type HeldName,
  type LeasePlace,
} from "../../src/core/storage/cluster-leases.ts";
import { type LeaseName, nameText } from "../../src/core/storage/leases.ts";
import { openMemoryStorage } from "../../src/core/storage/memory/memory-storage.ts";
import type { Storage } from "../../src/core/storage/storage.ts";
import { systemTimers, type Timers } from "../../src/core/timers.ts";

/** How long a process is known to live without a heartbeat, in milliseconds. */
export const leaseMs = 5_000;

/** One storage that writes a place, as the others know it. */
interface MemoryMember {
  /** This name was released. */
  freed(name: LeaseName): void;
  receive(text: string, processId: string): void;
}

interface MemoryLease {
  readonly epoch: number;
  /** A life of a process. */
  readonly owner: string;
}

/**
 * What several storages in memory write at the same time, as several processes write one database. It lives as
 * long as it is referred to.
 */
export class MemoryPlace {
  readonly clock: Clock;
  /** What all of them write. */
  readonly stored = openMemoryStorage();
  readonly #leases = new Map<string, MemoryLease>();
  readonly #members = new Map<string, MemoryMember>();
  /** By their lives, until when they are known to go on. */
  readonly #alive = new Map<string, number>();
  /** That of the newest holder of any name, so that none returns when a name is forgotten. */
  #epoch = 0;

  /** @param clock what processes are taken for dead by. */
  constructor(clock: Clock = systemClock) {
    this.clock = clock;
  }

  /** @returns the leases of this process, until the function that ends it is called. */
  join(processId: string, member: MemoryMember): { leases: LeasePlace; leave: () => void } {
    this.#members.set(processId, member);
    const leases: LeasePlace = {
      take: async (name, life) => this.#take(`${processId}.${life}`, name),
      beat: async (life) => this.#beat(`${processId}.${life}`),
      free: async (held) => {
        for (const name of held) this.#free(name);
      },
      leave: async (life) => {
        this.#alive.delete(`${processId}.${life}`);
      },
    };
    return { leases, leave: () => this.#members.delete(processId) };
  }

  /** Whether the name was not acquired again since the holder of that epoch acquired it. */
  isNewest({ epoch, ...name }: HeldName): boolean {
    return this.#leases.get(nameText(name))?.epoch === epoch;
  }

  /** Every member but the one that publishes gets it, a moment later. */
  publish(text: string, processId: string): void {
    for (const [id, member] of this.#members) {
      if (id !== processId) queueMicrotask(() => member.receive(text, processId));
    }
  }

  #take(owner: string, name: LeaseName) {
    const lease = this.#leases.get(nameText(name));
    const lapsesInMs = this.#livesFor(lease?.owner);
    if (lease !== undefined && lease.owner !== owner && lapsesInMs > 0) {
      return { lapsesInMs };
    }
    const epoch = ++this.#epoch;
    this.#leases.set(nameText(name), { epoch, owner });
    return { epoch };
  }

  #beat(owner: string): boolean {
    const wasAlive = this.#livesFor(owner) > 0;
    this.#alive.set(owner, this.clock.monotonic() + leaseMs);
    return wasAlive;
  }

  #livesFor(owner = ""): number {
    return (this.#alive.get(owner) ?? 0) - this.clock.monotonic();
  }

  #free({ collection, key, epoch }: HeldName): void {
    const text = nameText({ collection, key });
    if (this.#leases.get(text)?.epoch !== epoch) return;
    this.#leases.delete(text);
    for (const member of this.#members.values()) member.freed({ collection, key });
  }
}

interface ProcessOptions {
  readonly place: MemoryPlace;
  /** What beats. Held back, it is a process that sleeps. @default systemTimers */
  readonly timers?: Timers;
}

class MemoryCluster implements Cluster {
  readonly processId: string;
  readonly isShared = true;
  readonly leases: ClusterLeases;
  readonly #place: MemoryPlace;
  readonly #epochs: Epochs = new Map();
  readonly #subscribers: Subscribers;
  readonly #leave: () => void;
  #closed = false;

  constructor(options: ProcessOptions) {
    const { place, timers = systemTimers } = options;
    const logger = silentLogger;
    this.processId = randomId();
    this.#place = place;
    this.#subscribers = new Subscribers(logger);
    const { leases, leave } = place.join(this.processId, {
      freed: (name) => this.leases.wake(name),
      receive: (text, processId) => this.#subscribers.receive(text, processId),
    });
    this.#leave = leave;
    const { clock } = place;
    this.leases = new ClusterLeases(leases, this.#epochs, { clock, timers, leaseMs, logger });
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
    const epoch = this.#epochs.get(nameText({ collection, key }));
    return epoch === undefined || this.#place.isNewest({ collection, key, epoch });
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#subscribers.close();
    await this.leases.close();
    this.#leave();
  }
}

/** Opens the storage of one more process that writes a place. */
export function openMemoryProcess(options: ProcessOptions): Storage {
  const { stored } = options.place;
  const cluster = new MemoryCluster(options);
  const known = new Map<string, object>();
  let isClosed = false;
  /** The same with the checks of this process before every call. */
  const checked = <Store extends object>(kind: string, collection: string, store: Store): Store => {
    const own = new Proxy(store, {
      get(target, name) {
        const call = Reflect.get(target, name) as unknown;
        if (typeof call !== "function") return call;
        return (...args: unknown[]) => {
          const isWrite = kind !== "documents" && /^(append|erase|put|delete)$/.test(String(name));
          const isFenced = isWrite && !cluster.mayWrite(collection, String(args[0]));
          const code = isClosed ? "CLOSED" : isFenced ? "FENCED" : undefined;
          if (code === undefined) return Reflect.apply(call, target, args);
          const error = new ThroughlineError("not by this process", {
            code: `THROUGHLINE_${code}`,
          });
          return failing(error);
        };
      },
    });
    const text = JSON.stringify([kind, collection]);
    const made = (known.get(text) as Store | undefined) ?? own;
    known.set(text, made);
    return made;
  };
  const close = async () => {
    isClosed = true;
    await cluster.close();
  };
  return {
    cluster,
    leases: cluster.leases,
    logs: (name, projection) => checked("logs", name, stored.logs(name, projection)),
    documents: (name) => checked("documents", name, stored.documents(name)),
    files: (name) => checked("files", name, stored.files(name)),
    ready: () => checked("storage", "", stored).ready(),
    repairs: () => [],
    onRepair: () => () => undefined,
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** Fails when it is awaited or iterated. */
function failing(error: ThroughlineError) {
  const rejected = Promise.reject<never>(error);
  rejected.catch(() => undefined); // the one who iterates hears of it
  return Object.assign(rejected, { [Symbol.asyncIterator]: () => ({ next: () => rejected }) });
}
