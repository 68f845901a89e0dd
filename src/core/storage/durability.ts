import { misconfigured } from "../options.ts";
import type { Durability } from "./storage.ts";

/** @throws ThroughlineError `THROUGHLINE_CONFIGURATION`: a word that would be taken for no syncing. */
export function checkDurability(value: unknown): asserts value is Durability {
  if (value === "power-cut" || value === "process") return;
  throw misconfigured('durability must be "power-cut" or "process"');
}
