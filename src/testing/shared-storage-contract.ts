import { systemTimers } from "../core/timers.ts";
import {
  type ClauseResult,
  type Contract,
  runContract,
  type TestRunner,
  testContract,
} from "./contract.ts";
import { sharedAppendClauses } from "./shared-storage-contract-appends.ts";
import { sharedDocumentClauses } from "./shared-storage-contract-documents.ts";
import { sharedExpectationClauses } from "./shared-storage-contract-expectations.ts";
import { fencingClauses } from "./shared-storage-contract-fencing.ts";
import { sharedForgettingClauses } from "./shared-storage-contract-forgetting.ts";
import { leaseClauses } from "./shared-storage-contract-leases.ts";
import { sharedListClauses } from "./shared-storage-contract-lists.ts";
import type { OpenPlace, SharedClause } from "./shared-storage-contract-place.ts";
import { publishingClauses } from "./shared-storage-contract-publishing.ts";
import { sharedReadingClauses } from "./shared-storage-contract-reading.ts";
import { leaseWaitClauses } from "./shared-storage-contract-waiting.ts";

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
    ...sharedExpectationClauses,
    ...sharedReadingClauses,
    ...sharedListClauses,
    ...sharedForgettingClauses,
    ...sharedDocumentClauses,
    ...leaseClauses,
    ...leaseWaitClauses,
    ...fencingClauses,
    ...publishingClauses,
  ],
};

/** Longer than any proof takes: one that waits for what never comes fails. */
const proofMs = 60_000;

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
      async proof() {
        await using place = await openPlace();
        await inTime(proof(place));
      },
    })),
  };
}

async function inTime(proof: Promise<void>): Promise<void> {
  const late = Promise.withResolvers<never>();
  const cancel = systemTimers.after(proofMs, () => {
    late.reject(new Error(`the proof did not end within ${proofMs / 1_000} s`));
  });
  try {
    await Promise.race([proof, late.promise]);
  } finally {
    cancel();
  }
}

function opensNothing(): Promise<never> {
  return Promise.reject(new TypeError("these clauses open places"));
}
