import type { Contract } from "../../../src/testing/contract.ts";
import { sharedAppendClauses } from "./shared-appends.ts";
import { sharedDocumentClauses } from "./shared-documents.ts";
import { fencingClauses } from "./shared-fencing.ts";
import { sharedForgettingClauses } from "./shared-forgetting.ts";
import { leaseClauses } from "./shared-leases.ts";
import type { OpenPlace, SharedClause } from "./shared-place.ts";
import { publishingClauses } from "./shared-publishing.ts";
import { sharedReadingClauses } from "./shared-reading.ts";

/** What every storage promises whose place several processes write at the same time. */
export const sharedStorageContract: {
  readonly name: string;
  readonly clauses: readonly SharedClause[];
} = {
  name: "shared storage",
  clauses: [
    ...sharedAppendClauses,
    ...sharedReadingClauses,
    ...sharedForgettingClauses,
    ...sharedDocumentClauses,
    ...leaseClauses,
    ...fencingClauses,
    ...publishingClauses,
  ],
};

/** Makes a contract like any other of these clauses: each opens its own place. */
export function onPlaces(clauses: readonly SharedClause[], openPlace: OpenPlace): Contract {
  const { name } = sharedStorageContract;
  return {
    name,
    clauses: clauses.map(({ says, proof }) => ({ says, proof: () => proof(openPlace) })),
  };
}

/** Stands for the `open` that other contracts need. */
export function opensNothing(): Promise<never> {
  return Promise.reject(new TypeError("these clauses open places"));
}
