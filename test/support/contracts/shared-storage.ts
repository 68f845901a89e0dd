import { sharedAppendClauses } from "./shared-appends.ts";
import { sharedDocumentClauses } from "./shared-documents.ts";
import { fencingClauses } from "./shared-fencing.ts";
import { sharedForgettingClauses } from "./shared-forgetting.ts";
import { leaseClauses } from "./shared-leases.ts";
import type { SharedClause } from "./shared-place.ts";
import { publishingClauses } from "./shared-publishing.ts";
import { sharedReadingClauses } from "./shared-reading.ts";

/** What every storage promises whose place several processes write at the same time. */
export const sharedStorageClauses: readonly SharedClause[] = [
  ...sharedAppendClauses,
  ...sharedReadingClauses,
  ...sharedForgettingClauses,
  ...sharedDocumentClauses,
  ...leaseClauses,
  ...fencingClauses,
  ...publishingClauses,
];
