import type { Contract } from "../../../src/testing/contract.ts";
import {
  documentStoreContract,
  fileStoreContract,
  leaseContract,
  logStoreContract,
} from "../../../src/testing/testing.ts";
import { searchContract } from "./search.ts";

/** What holds on every driver of ours. */
export const everyContract: readonly Contract[] = [
  ...[logStoreContract, searchContract, documentStoreContract, fileStoreContract, leaseContract],
];
