import assert from "node:assert/strict";
import { test } from "node:test";
import { cutEverywhere, cutTwice, killEverywhere, type Workloads } from "./power-cut.ts";

/** How much is cut, and how much that must at least have come to. */
interface PowerCuts {
  readonly once: Workloads & { readonly maxImages: number };
  readonly twice: Workloads & { readonly maxImages?: number };
  readonly kills: Workloads;
  /** `images`: disks with different bytes. */
  readonly least: { readonly points: number; readonly images: number };
}

const spanOf = ({ from, count }: Workloads) => `workloads ${from} to ${from + count - 1}`;

/** The tests of power cuts and kills, each for its workloads. */
export function testPowerCuts({ once, twice, kills, least }: PowerCuts): void {
  test(`nothing stored is lost, none half, none invented: power cut at every disk operation of ${spanOf(once)}`, async (t) => {
    const digests = new Set<string>();
    const counts = await cutEverywhere({ ...once, digests });
    t.diagnostic(`${digests.size} different disks: ${JSON.stringify(counts)}`);
    assert.ok(counts.points >= least.points, `${counts.points} points`);
    assert.ok(digests.size >= least.images, `${digests.size} images`);
    // The workloads do what they are for.
    const freed = counts.reused + counts.removed;
    assert.ok(freed >= once.count, `${freed} segments were freed`);
    const isSearched = counts.searched > least.images / 10;
    const isDone = counts.races > 0 && isSearched && counts.failures > 0;
    assert.ok(isDone, JSON.stringify(counts));
  });

  test(`nothing stored is lost when the recovery is cut too: two cuts in a row, of ${spanOf(twice)}`, async (t) => {
    const digests = new Set<string>();
    const counts = await cutTwice({ ...twice, digests });
    t.diagnostic(`${digests.size} different disks: ${JSON.stringify(counts)}`);
  });

  test(`kill -9 at every disk operation of ${spanOf(kills)} leaves everything stored`, async (t) => {
    const digests = new Set<string>();
    const counts = await killEverywhere({ ...kills, digests });
    t.diagnostic(`${digests.size} different disks: ${JSON.stringify(counts)}`);
  });
}
