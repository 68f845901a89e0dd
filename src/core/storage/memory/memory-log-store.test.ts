import { test } from "node:test";
import { searchContract } from "../../../../test/support/contracts/search.ts";
import { testContract } from "../../../testing/contract.ts";
import { logStoreContract } from "../../../testing/log-store-contract.ts";
import { openMemoryStorage } from "./memory-storage.ts";

testContract(searchContract, { test, open: async () => openMemoryStorage() });
testContract(logStoreContract, {
  test,
  open: async () => openMemoryStorage(),
});
