import type { LeaseName } from "./fleet.ts";

/**
 * The epochs under which this process writes: one for every name whose lease it took and has not
 * released, whether or not it lost it meanwhile. The fleet fills it; every append, erasure and
 * deletion asks it once, when it is called.
 */
export class LeaseRegistry {
  readonly #epochs = new Map<string, number>();

  /** The epoch to write this log under; `undefined` when this process does not hold its lease. */
  epochOf(collection: string, key: string): number | undefined {
    return this.#epochs.get(nameText({ collection, key }));
  }

  hold(name: LeaseName, epoch: number): void {
    this.#epochs.set(nameText(name), epoch);
  }

  /** Nothing happens when the name was taken again since, under another epoch. */
  drop(name: LeaseName, epoch: number): void {
    const text = nameText(name);
    if (this.#epochs.get(text) === epoch) this.#epochs.delete(text);
  }
}

/** Unique for every name: no collection can be taken for the beginning of a key. */
export function nameText({ collection, key }: LeaseName): string {
  return JSON.stringify([collection, key]);
}
