// Cuts the power in the workloads that the parent names, one after the other.
import { parentPort } from "node:worker_threads";
import { type Counts, cutEverywhere, cutTwice } from "./power-cut.ts";

/** What the parent asks for. */
export interface Asked {
  readonly seed: number;
  /** Cuts the recovery too. */
  readonly isTwice: boolean;
}

/** What came of it. */
export interface Answer {
  readonly counts?: Counts;
  readonly digests: readonly string[];
  /** Why a check failed. */
  readonly failure?: string;
}

parentPort?.on("message", (asked: Asked) => {
  void answer(asked).then((answered) => parentPort?.postMessage(answered));
});

async function answer({ seed, isTwice }: Asked): Promise<Answer> {
  const digests = new Set<string>();
  const workload = { from: seed, count: 1, digests };
  try {
    const counts = isTwice
      ? await cutTwice({ ...workload, maxImages: 12 })
      : await cutEverywhere({ ...workload, maxImages: 120 });
    return { counts, digests: [...digests] };
  } catch (error) {
    return { digests: [], failure: causesOf(error) };
  }
}

function causesOf(error: unknown): string {
  const says = String(error);
  return error instanceof Error && error.cause ? `${says}\n${causesOf(error.cause)}` : says;
}
