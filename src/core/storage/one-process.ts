// What a storage offers that one process alone writes: a driver has one of each, and closes the leases.
import { closed } from "../errors.ts";
import { randomId } from "../ids.ts";
import { KeyedMutex } from "../mutex.ts";
import type { Cluster } from "./cluster.ts";
import {
  checkedName,
  type Lease,
  type LeaseName,
  type LeaseOptions,
  type Leases,
  nameText,
} from "./leases.ts";

/** A keyed mutex. No lease of it is lost before it is closed. */
export class LocalLeases implements Leases {
  readonly #names = new KeyedMutex();
  readonly #closing = new AbortController();
  #epoch = 0;

  async acquire(name: LeaseName, { signal }: LeaseOptions = {}): Promise<Lease> {
    const text = nameText(checkedName(name));
    const closing = this.#closing.signal;
    closing.throwIfAborted();
    signal?.throwIfAborted();
    if (!this.#names.tryLock(text)) {
      const ends = signal === undefined ? closing : AbortSignal.any([closing, signal]);
      await this.#names.lock(text, ends);
    }
    return this.#hold(text);
  }

  async tryAcquire(name: LeaseName): Promise<Lease | undefined> {
    const text = nameText(checkedName(name));
    this.#closing.signal.throwIfAborted();
    return this.#names.tryLock(text) ? this.#hold(text) : undefined;
  }

  /** Ends the waiting, and what is held counts as lost. Calls afterwards reject. */
  close(): void {
    if (!this.#closing.signal.aborted) this.#closing.abort(closed());
  }

  #hold(text: string): Lease {
    let isHeld = true;
    return {
      epoch: ++this.#epoch,
      lost: this.#closing.signal,
      release: async () => {
        if (isHeld) this.#names.unlock(text);
        isHeld = false;
      },
    };
  }
}

/** One process: there is no other to send messages to or to get them from. */
export class LocalCluster implements Cluster {
  readonly processId = randomId();
  readonly isShared = false;

  publish(): void {}

  subscribe(): () => void {
    return () => undefined;
  }

  onMissed(): () => void {
    return () => undefined;
  }
}
