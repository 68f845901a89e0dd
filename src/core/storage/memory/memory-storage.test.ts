import { test } from "node:test";
import { everyContract } from "../../../../test/support/contracts/every.ts";
import { testContract } from "../../../testing/testing.ts";
import { openMemoryStorage } from "./memory-storage.ts";

for (const contract of everyContract) {
  testContract(contract, { test, open: async () => openMemoryStorage() });
}
