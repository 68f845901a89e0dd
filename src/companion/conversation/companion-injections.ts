import type { Companion } from "../companion.ts";
import { type PendingInjections, readPendingItems } from "./pending-injections.ts";

/** Keeps what an injector must still deliver in the companion's document: saved at once, each time. */
export function companionInjections({ injections }: Companion): PendingInjections {
  return {
    load: async () => readPendingItems(await injections.load()),
    save: (items) => injections.save(items.map((item) => ({ ...item }))),
  };
}
