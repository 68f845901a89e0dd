import {
  type ClauseResult,
  type Contract,
  runContract,
  type TestRunner,
  testContract,
} from "./contract.ts";
import { sharedAppendClauses } from "./shared-storage-contract-appends.ts";
import { sharedDocumentClauses } from "./shared-storage-contract-documents.ts";
import { fencingClauses } from "./shared-storage-contract-fencing.ts";
import { sharedForgettingClauses } from "./shared-storage-contract-forgetting.ts";
import { leaseClauses } from "./shared-storage-contract-leases.ts";
import type { OpenPlace, SharedClause } from "./shared-storage-contract-place.ts";
import { publishingClauses } from "./shared-storage-contract-publishing.ts";
import { sharedReadingClauses } from "./shared-storage-contract-reading.ts";

export interface SharedContract {
  readonly name: string;
  readonly clauses: readonly SharedClause[];
}

export interface SharedDriverUnderTest {
  readonly openPlace: OpenPlace;
  /** What this driver lacks: the reason, by the id of the clause. */
  readonly except?: Readonly<Record<string, string>>;
}

/** What every storage promises whose place several processes write at the same time. */
export const sharedStorageContract: SharedContract = {
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

/**
 * Registers one test per clause with a runner; a clause in `except` as a skipped one, reason in its
 * name.
 *
 * @throws TypeError `except` names no clause of this contract, or gives no reason.
 */
export function testSharedContract(
  contract: SharedContract,
  driver: SharedDriverUnderTest & { readonly test: TestRunner },
): void {
  const { openPlace, ...rest } = driver;
  testContract(onPlaces(contract, openPlace), { open: opensNothing, ...rest });
}

/** Runs the clauses one after the other and tells of each; a failing one does not end the run. */
export function runSharedContract(
  contract: SharedContract,
  { openPlace, ...rest }: SharedDriverUnderTest,
): AsyncGenerator<ClauseResult, void, undefined> {
  return runContract(onPlaces(contract, openPlace), opensNothing, rest);
}

/** The clauses as those of any contract: each opens its own place. */
function onPlaces({ name, clauses }: SharedContract, openPlace: OpenPlace): Contract {
  return {
    name,
    clauses: clauses.map(({ id, says, proof }) => ({
      id,
      says,
      proof: () => proof(openPlace),
    })),
  };
}

function opensNothing(): Promise<never> {
  return Promise.reject(new TypeError("these clauses open places"));
}
