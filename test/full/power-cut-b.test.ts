// Half of the power cuts, so that two can run side by side.
import { testPowerCuts } from "../support/power-cut-tests.ts";

testPowerCuts({
  once: { from: 133, count: 132, maxImages: 120 },
  twice: { from: 13, count: 12 },
  kills: { from: 41, count: 40 },
  least: { points: 4_000, images: 50_000 },
});
