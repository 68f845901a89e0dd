import type { Storage } from "../../src/core/storage/storage.ts";
import { changed } from "./changed.ts";
import { kept } from "./kept-storage.ts";

/** What a process ends with that is killed at a write. */
export class Stopped extends Error {
  override readonly name = "Stopped";
}

/** Counts writes, and stops before or after one of them. */
export interface StopAt {
  /** From 1; 0 never stops. */
  readonly write: number;
  readonly when: "before" | "after";
}

/** A storage whose user is killed at one of its writes. For tests. */
export function stoppingStorage(storage: Storage, { write, when }: StopAt): Storage {
  let writes = 0;
  const watched = <T extends object>(store: T, names: readonly (keyof T)[]): T =>
    changed(store, (name) => {
      if (!names.includes(name as keyof T)) return undefined;
      const call = Reflect.get(store, name) as (...args: readonly unknown[]) => Promise<unknown>;
      return async (...args: readonly unknown[]) => {
        writes++;
        if (write > 0 && (writes > write || (writes === write && when === "before"))) {
          throw new Stopped();
        }
        const result = await Reflect.apply(call, store, args);
        if (writes === write) throw new Stopped();
        return result;
      };
    });
  return changed(kept(storage), {
    logs: (...args) => watched(storage.logs(...args), ["append", "erase", "delete"]),
    documents: (collection) => watched(storage.documents(collection), ["write", "delete"]),
    files: (collection) => watched(storage.files(collection), ["put", "delete"]),
  });
}
