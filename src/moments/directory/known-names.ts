import { idOf, placeOf } from "./names.ts";
import type { PackagePorts } from "./ports.ts";
import { entriesOf } from "./remove-tree.ts";

/** The packages that are here, or noted to be in a bucket alone, by their ids. */
export class KnownNames {
  readonly #here = new Map<string, string>();
  /** Those of which only a status is here. */
  readonly #remote = new Map<string, string>();

  /** Starts over with what a directory has, without what may never arrive in a bucket. */
  async read({ disk, path }: PackagePorts, inFlight: ReadonlySet<string>): Promise<void> {
    const entries = (await entriesOf(disk, path)) ?? [];
    this.#here.clear();
    this.#remote.clear();
    for (const { name } of entries) {
      const place = placeOf(name);
      if (place?.as === "package") this.#here.set(idOf(name), name);
      if (place?.as === "status" && !inFlight.has(place.name))
        this.#remote.set(idOf(place.name), place.name);
    }
  }

  here(name: string): void {
    this.#here.set(idOf(name), name);
  }
  /** A status of it is here; the package itself may be, too. */
  remote(name: string): void {
    this.#remote.set(idOf(name), name);
  }
  /** The package is gone from here, and a status of it is left. */
  released(name: string): void {
    this.#here.delete(idOf(name));
    this.remote(name);
  }
  /** Nothing of it is here any more. */
  forget(name: string): void {
    this.#here.delete(idOf(name));
    this.#remote.delete(idOf(name));
  }

  nameOf(id: string): string | undefined {
    return this.#here.get(id) ?? this.#remote.get(id);
  }
  /** Whether the package with this id is known to be in a bucket alone. */
  isRemote(id: string): boolean {
    return !this.#here.has(id) && this.#remote.has(id);
  }
}
