import { test } from "node:test";
import { testContract } from "../../../testing/contract.ts";
import { documentStoreContract } from "../../../testing/document-store-contract.ts";
import { openMemoryStorage } from "./memory-storage.ts";

testContract(documentStoreContract, {
  test,
  open: async () => openMemoryStorage(),
});
