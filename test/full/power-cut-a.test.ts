// Half of the power cuts, so that two can run side by side.
import { testPowerCuts } from "../support/power-cut-tests.ts";

testPowerCuts({
  once: { from: 1, count: 132, maxImages: 120 },
  twice: { from: 1, count: 12 },
  kills: { from: 1, count: 40 },
  least: { points: 4_000, images: 50_000 },
});
