// Half of the power cuts, so that two can run side by side.
import { testPowerCuts } from "../support/power-cut-tests.ts";

testPowerCuts({
  once: { from: 46, count: 45, maxImages: 120 },
  twice: { from: 6, count: 5 },
  kills: { from: 26, count: 25 },
  least: { points: 2_500, images: 60_000 },
});
