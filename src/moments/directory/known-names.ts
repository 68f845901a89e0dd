import { idOf, placeOf } from "./names.ts";
import type { PackagePorts } from "./ports.ts";
import { entriesOf } from "./remove-tree.ts";

/** Names of packages that are here, or noted to be in a bucket alone, by their ids. */
export class KnownNames {
  readonly #names = new Map<string, { readonly name: string; readonly isHere: boolean }>();

  /** Starts over with what a directory has, without what may never arrive in a bucket. */
  async read({ disk, path }: PackagePorts, inFlight: ReadonlySet<string>): Promise<void> {
    const places = ((await entriesOf(disk, path)) ?? []).flatMap(({ name }) => placeOf(name) ?? []);
    this.#names.clear();
    for (const { name, as } of places) {
      if (as === "status" && !inFlight.has(name)) this.add(name, this.#isHere(idOf(name)));
      if (as === "package") this.add(name, true);
    }
  }

  add(name: string, isHere: boolean): void {
    this.#names.set(idOf(name), { name, isHere });
  }

  forget(name: string): void {
    this.#names.delete(idOf(name));
  }

  nameOf(id: string): string | undefined {
    return this.#names.get(id)?.name;
  }

  /** Whether the package with this id is known to be in a bucket alone. */
  isRemote(id: string): boolean {
    return this.#names.has(id) && !this.#isHere(id);
  }

  #isHere(id: string): boolean {
    return this.#names.get(id)?.isHere === true;
  }
}
