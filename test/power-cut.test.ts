// Power cuts and kills of a few workloads; test/full has those of dozens, test/nightly a million disks.
import { testPowerCuts } from "./support/power-cut-tests.ts";

testPowerCuts({
  once: { from: 7, count: 2, maxImages: 12 },
  twice: { from: 1, count: 1 },
  kills: { from: 1, count: 2 },
  least: { points: 100, images: 1_000 },
});
