// Power cuts and kills of a few workloads; test/full has those of hundreds.
import { testPowerCuts } from "./support/power-cut-tests.ts";

testPowerCuts({
  once: { from: 1, count: 4, maxImages: 60 },
  twice: { from: 1, count: 1 },
  kills: { from: 1, count: 4 },
  least: { points: 150, images: 3_000 },
});
