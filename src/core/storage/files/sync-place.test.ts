import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as nextPass } from "node:timers/promises";
import { SyncPlace } from "./journal.ts";

/** After some fast syncs on another thread. */
function onFastDisk(): SyncPlace {
  const place = new SyncPlace();
  for (let i = 0; i < 7; i++) place.took(0.1, false);
  return place;
}

test("a sync of one append runs here on a fast disk, at most for a millisecond a pass", async () => {
  const place = onFastDisk();
  for (let pass = 0; pass < 3; pass++) {
    let here = 0;
    for (; here < 100 && place.choose(1) === "here"; here++) place.took(0.2, true);
    assert.equal(here, 5);
    assert.equal(place.choose(1), "next pass");
    await nextPass();
  }
});

for (const [when, made] of [
  ["the first", () => new SyncPlace()],
  ["one", onFastDisk],
] as const) {
  test(`after ${when} that was slow none runs here until some were fast again`, () => {
    const place = made();
    assert.equal(place.choose(1), "here");
    place.took(30, true);
    for (let i = 0; i < 5; i++) {
      assert.equal(place.choose(1), "another thread");
      place.took(0.1, false);
    }
  });
}

test("one sync that takes a little longer does not send the next ones to another thread", async () => {
  const place = onFastDisk();
  for (let i = 0; i < 9; i++) place.took(0.1, false);
  place.took(0.9, false);
  assert.equal(place.choose(1), "here");
});

test("while appends come together their syncs leave the event loop free to gather them", () => {
  const place = onFastDisk();
  assert.equal(place.choose(2), "another thread");
  for (let i = 0; i < 63; i++) assert.equal(place.choose(1), "another thread");
  assert.equal(place.choose(1), "here");
});
