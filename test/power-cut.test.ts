// Power cuts and kills of a few workloads; test/full has those of dozens, test/nightly a million disks.
import { testPowerCuts } from "./support/power-cut-tests.ts";

const isFull = process.env["THROUGHLINE_FULL"] === "1";

testPowerCuts({
  once: { from: 7, count: 2, maxImages: isFull ? 12 : 2 },
  twice: { from: 1, count: 1, maxImages: isFull ? 12 : 2 },
  kills: { from: 1, count: isFull ? 2 : 1 },
  least: { points: 100, images: isFull ? 1_000 : 200 },
});
