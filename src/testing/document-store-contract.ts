import type { Contract } from "./contract.ts";
import { documentConcurrencyClauses } from "./document-store-contract-concurrency.ts";
import { documentLifecycleClauses } from "./document-store-contract-lifecycle.ts";
import { documentValueClauses } from "./document-store-contract-values.ts";
import { documentWritingClauses } from "./document-store-contract-writing.ts";

/** What every document store promises. */
export const documentStoreContract: Contract = {
  name: "document store",
  clauses: [
    ...documentWritingClauses,
    ...documentValueClauses,
    ...documentConcurrencyClauses,
    ...documentLifecycleClauses,
  ],
};
