import assert from "node:assert/strict";
import { test } from "node:test";
import { cutEverywhere, cutTwice, killEverywhere, type Workloads } from "./power-cut.ts";

/** How much is cut, and how much that must at least have come to. */
interface PowerCuts {
  readonly once: Workloads & { readonly maxImages: number };
  readonly twice: Workloads;
  readonly kills: Workloads;
  readonly least: { readonly points: number; readonly images: number };
}

const spanOf = ({ from, count }: Workloads) => `workloads ${from} to ${from + count - 1}`;

/** The tests of power cuts and kills, each for its workloads. */
export function testPowerCuts({ once, twice, kills, least }: PowerCuts): void {
  test(`nothing stored is lost, none half, none invented: power cut at every disk operation of ${spanOf(once)}`, async (t) => {
    const { points, images } = await cutEverywhere(once);
    t.diagnostic(`${images} crash images from ${points} crash points`);
    assert.ok(points >= least.points, `${points} points`);
    assert.ok(images >= least.images, `${images} images`);
  });

  test(`nothing stored is lost when the recovery is cut too: two cuts in a row, of ${spanOf(twice)}`, async (t) => {
    const { images } = await cutTwice(twice);
    t.diagnostic(`${images} crash images`);
  });

  test(`kill -9 at every disk operation of ${spanOf(kills)} leaves everything stored`, async (t) => {
    const { points } = await killEverywhere(kills);
    t.diagnostic(`${points} kill points`);
  });
}
