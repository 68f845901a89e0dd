// Power cuts and kills of a few workloads; test/full has those of hundreds.
import assert from "node:assert/strict";
import { test } from "node:test";
import { apart } from "./apart.ts";

const run = apart<typeof import("./power-cut.ts")>("power-cut.ts");

test("nothing stored is lost, none half, none invented: power cut at every disk operation of 7 workloads", async (t) => {
  const { points, images } = await run("cutEverywhere", { from: 1, count: 7, maxImages: 60 });
  t.diagnostic(`${images} crash images from ${points} crash points`);
  assert.ok(points >= 150, `${points} points`);
  assert.ok(images >= 1_000, `${images} images`);
});

test("nothing stored is lost when the recovery is cut too: two cuts in a row, of 2 workloads", async (t) => {
  const { images } = await run("cutTwice", { from: 1, count: 2 });
  t.diagnostic(`${images} crash images`);
});

test("kill -9 at every disk operation of 8 workloads leaves everything stored", async (t) => {
  const { points } = await run("killEverywhere", { from: 1, count: 8 });
  t.diagnostic(`${points} kill points`);
});
