import { type Clock, systemClock } from "../../clock.ts";
import type { HeldName, LeasePlace } from "../lease-renewer.ts";
import { type LeaseName, nameText } from "../leases.ts";
import type { MemoryDocument } from "./memory-document-store.ts";
import type { MemoryFiles } from "./memory-file-store.ts";
import type { MemoryLog } from "./memory-log-store.ts";

interface MemoryPlaceOptions {
  /** What leases lapse by. @default systemClock */
  readonly clock?: Clock;
  /** How long a lease lasts without being renewed, in milliseconds. @default 10_000 */
  readonly leaseMs?: number;
}

/** One storage that writes a place, as the others know it. */
interface MemoryMember {
  /** This name was released. */
  freed(name: LeaseName): void;
  receive(text: string, processId: string): void;
}

interface MemoryLease {
  readonly epoch: number;
  readonly processId: string;
  until: number;
}

/**
 * What several memory storages write at the same time, as several processes write one database: for
 * tests, and for programs that try out a cluster within one process. Lives as long as it is referred to.
 */
export class MemoryPlace {
  readonly clock: Clock;
  readonly leaseMs: number;
  /** By collection, then by key. */
  readonly #logs = new Map<string, Map<string, MemoryLog>>();
  readonly #documents = new Map<string, Map<string, MemoryDocument>>();
  readonly #files = new Map<string, MemoryFiles>();
  readonly #leases = new Map<string, MemoryLease>();
  readonly #members = new Map<string, MemoryMember>();
  /** That of the newest holder of any name, so that none returns when a name is forgotten. */
  #epoch = 0;

  constructor({ clock = systemClock, leaseMs = 10_000 }: MemoryPlaceOptions = {}) {
    if (!(leaseMs > 0)) throw new TypeError("leaseMs must be greater than 0");
    this.clock = clock;
    this.leaseMs = leaseMs;
  }

  logs(collection: string): Map<string, MemoryLog> {
    return madeOnce(this.#logs, collection);
  }

  documents(collection: string): Map<string, MemoryDocument> {
    return madeOnce(this.#documents, collection);
  }

  files(collection: string): MemoryFiles {
    return madeOnce(this.#files, collection);
  }

  /** @returns the leases of this process, until the function that ends it is called. */
  join(processId: string, member: MemoryMember): { leases: LeasePlace; leave: () => void } {
    this.#members.set(processId, member);
    const leases: LeasePlace = {
      take: async (name) => this.#take(processId, name),
      renew: async (held) => {
        const renewed = held.filter((name) => this.#renew(processId, name));
        return { renewed, gone: held.filter((name) => !renewed.includes(name)) };
      },
      free: async (held) => {
        for (const name of held) this.#free(processId, name);
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

  #take(processId: string, name: LeaseName) {
    const now = this.clock.monotonic();
    const lease = this.#leases.get(nameText(name));
    if (lease !== undefined && lease.processId !== processId && lease.until > now) {
      return { lapsesInMs: lease.until - now };
    }
    const epoch = ++this.#epoch;
    this.#leases.set(nameText(name), { epoch, processId, until: now + this.leaseMs });
    return { epoch };
  }

  #renew(processId: string, name: HeldName): boolean {
    const lease = this.#leases.get(nameText(name));
    if (lease?.processId !== processId || lease.epoch !== name.epoch) return false;
    lease.until = this.clock.monotonic() + this.leaseMs;
    return true;
  }

  #free(processId: string, { collection, key, epoch }: HeldName): void {
    const text = nameText({ collection, key });
    const lease = this.#leases.get(text);
    if (lease?.processId !== processId || lease.epoch !== epoch) return;
    this.#leases.delete(text);
    for (const member of this.#members.values()) member.freed({ collection, key });
  }
}

function madeOnce<T>(maps: Map<string, Map<string, T>>, name: string): Map<string, T> {
  const map = maps.get(name) ?? new Map<string, T>();
  maps.set(name, map);
  return map;
}
