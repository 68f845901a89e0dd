// Half of the power cuts, so that two can run side by side.
import assert from "node:assert/strict";
import { test } from "node:test";
import { apart } from "../apart.ts";

const run = apart<typeof import("../power-cut.ts")>("power-cut.ts");

test("nothing stored is lost, none half, none invented: power cut at every disk operation of workloads 1 to 150", async (t) => {
  const { points, images } = await run("cutEverywhere", { from: 1, count: 150, maxImages: 120 });
  t.diagnostic(`${images} crash images from ${points} crash points`);
  assert.ok(points >= 4_000, `${points} points`);
  assert.ok(images >= 50_000, `${images} images`);
});

test("nothing stored is lost when the recovery is cut too: two cuts in a row, of 12 workloads", async (t) => {
  const { images } = await run("cutTwice", { from: 1, count: 12 });
  t.diagnostic(`${images} crash images`);
});

test("kill -9 at every disk operation of 40 workloads leaves everything stored", async (t) => {
  const { points } = await run("killEverywhere", { from: 1, count: 40 });
  t.diagnostic(`${points} kill points`);
});
