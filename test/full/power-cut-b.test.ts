// Half of the power cuts, so that two can run side by side: 50,000 different disks together.
import { testPowerCuts } from "../support/power-cut-tests.ts";

testPowerCuts({
  once: { from: 19, count: 11, maxImages: 66 },
  twice: { from: 3, count: 1 },
  kills: { from: 26, count: 25 },
  least: { points: 1_000, images: 29_000 },
});
