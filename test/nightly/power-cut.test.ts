// A million disks that a power cut could leave, each with other bytes than all others.
import assert from "node:assert/strict";
import { once } from "node:events";
import { availableParallelism } from "node:os";
import { test } from "node:test";
import { Worker } from "node:worker_threads";
import type { Answer, Asked } from "../support/power-cut-worker.ts";

const wanted = Number(process.env["THROUGHLINE_IMAGES"] ?? 1_000_000);
const firstSeed = Number(process.env["THROUGHLINE_SEED"] ?? 10_000);
/** A workload leaves a hundred different disks at the very least. */
const mostWorkloads = Math.ceil(wanted / 100);

test(`nothing stored is lost, none half, none invented, nothing forgotten comes back: ${wanted} different disks after power cuts, from workload ${firstSeed} on`, async (t) => {
  const digests = new Set<string>();
  const sums: Record<string, number> = { workloads: 0, twice: 0 };
  const failures: string[] = [];
  let asked = 0;
  const work = async () => {
    const worker = new Worker(new URL("../support/power-cut-worker.ts", import.meta.url));
    try {
      while (digests.size < wanted && asked < mostWorkloads && failures.length < 5) {
        const nth = asked++;
        const question: Asked = { seed: firstSeed + nth, isTwice: nth % 8 === 7 };
        worker.postMessage(question);
        const [answer] = (await once(worker, "message")) as [Answer];
        const hundreds = Math.floor(digests.size / 100_000);
        for (const digest of answer.digests) digests.add(digest);
        if (Math.floor(digests.size / 100_000) > hundreds) t.diagnostic(`${digests.size} disks`);
        sums["workloads"] = (sums["workloads"] ?? 0) + 1;
        if (question.isTwice) sums["twice"] = (sums["twice"] ?? 0) + 1;
        for (const [what, count] of Object.entries(answer.counts ?? {})) {
          sums[what] = (sums[what] ?? 0) + count;
        }
        if (answer.failure !== undefined) failures.push(answer.failure);
      }
    } finally {
      await worker.terminate();
    }
  };
  await Promise.all(Array.from({ length: availableParallelism() }, work));
  t.diagnostic(`${digests.size} different disks: ${JSON.stringify(sums)}`);
  assert.deepEqual(failures, []);
  assert.ok(digests.size >= wanted, `${digests.size} different disks`);
  for (const what of ["races", "reused", "failures"]) {
    assert.ok((sums[what] ?? 0) > 0, JSON.stringify(sums));
  }
});
