import { test } from "node:test";
import { testContract } from "../../../testing/contract.ts";
import { fileStoreContract } from "../../../testing/file-store-contract.ts";
import { openMemoryStorage } from "./memory-storage.ts";

testContract(fileStoreContract, {
  test,
  open: async () => openMemoryStorage(),
});
