import type { Contract } from "./contract.ts";
import { appendClauses } from "./log-store-contract-append.ts";
import { concurrencyClauses } from "./log-store-contract-concurrency.ts";
import { expectedSeqClauses } from "./log-store-contract-expected-seq.ts";
import { forgettingClauses } from "./log-store-contract-forgetting.ts";
import { headClauses } from "./log-store-contract-heads.ts";
import { lifecycleClauses } from "./log-store-contract-lifecycle.ts";
import { listClauses } from "./log-store-contract-list.ts";
import { modelClauses } from "./log-store-contract-model.ts";
import { readingClauses } from "./log-store-contract-reading.ts";
import { reopeningClauses } from "./log-store-contract-reopening.ts";
import { retryClauses } from "./log-store-contract-retries.ts";
import { textClauses } from "./log-store-contract-text.ts";

/** What every log store promises. */
export const logStoreContract: Contract = {
  name: "log store",
  clauses: [
    ...appendClauses,
    ...retryClauses,
    ...expectedSeqClauses,
    ...headClauses,
    ...readingClauses,
    ...listClauses,
    ...forgettingClauses,
    ...textClauses,
    ...concurrencyClauses,
    ...modelClauses,
    ...lifecycleClauses,
    ...reopeningClauses,
  ],
};
