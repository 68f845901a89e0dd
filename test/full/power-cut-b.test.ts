// Half of the power cuts, so that two can run side by side.
import { testPowerCuts } from "../support/power-cut-tests.ts";

testPowerCuts({
  once: { from: 19, count: 18, maxImages: 80 },
  twice: { from: 3, count: 2 },
  kills: { from: 26, count: 25 },
  least: { points: 1_500, images: 50_000 },
});
