import { test } from "node:test";
import { searchContract } from "../../../../test/support/contracts/search.ts";
import {
  documentStoreContract,
  fileStoreContract,
  leaseContract,
  logStoreContract,
  testContract,
} from "../../../testing/testing.ts";
import { openMemoryStorage } from "./memory-storage.ts";

const contracts = [
  logStoreContract,
  searchContract,
  documentStoreContract,
  fileStoreContract,
  leaseContract,
];
for (const contract of contracts) {
  testContract(contract, { test, open: async () => openMemoryStorage() });
}
