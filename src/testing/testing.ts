/**
 * For authors of storage drivers: what a driver promises, as data that any test runner runs.
 */
export { documentLimits } from "../core/storage/document-store.ts";
export { fileLimits } from "../core/storage/file-store.ts";
export { logLimits } from "../core/storage/log-store.ts";
export {
  type Clause,
  type Contract,
  type DriverUnderTest,
  type Open,
  type Reopen,
  type TestRunner,
  testContract,
} from "./contract.ts";
export {
  type CorpusText,
  keyCorpus,
  type RefusedValue,
  refusedValues,
  textCorpus,
  valueCorpus,
} from "./corpus.ts";
export { documentStoreContract } from "./document-store-contract.ts";
export { fileStoreContract } from "./file-store-contract.ts";
export { leaseContract } from "./lease-contract.ts";
export { logStoreContract } from "./log-store-contract.ts";
