import { test } from "node:test";
import { sharedStorageClauses } from "./contracts/shared-storage.ts";
import { MemorySharedPlace } from "./memory-shared-place.ts";

for (const { says, interrupts, proof } of sharedStorageClauses) {
  // Nothing that is published in memory can be missed.
  if (!interrupts) test(says, () => proof(async () => new MemorySharedPlace()));
}
