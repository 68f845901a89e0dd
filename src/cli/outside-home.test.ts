import assert from "node:assert/strict";
import fs from "node:fs";
import { join, relative } from "node:path";
import { test } from "node:test";
import { temporaryDirectory } from "../../test/support/command-line.ts";
import { homeWithLinks } from "../../test/support/home-with-links.ts";
import { placeToHome } from "./outside-home.ts";

for (const [path, place] of [
  ["home", "same"],
  ["link", "same"],
  ["none/../home", "same"],
  ["home/chats", "inside"],
  ["home/none/deep", "inside"],
  ["link/none", "inside"],
  ["chats", "inside"],
  ["chats/none", "inside"],
  ["deep/none", "inside"],
  ["home/lock.db/none", "inside"],
  ["disk/moved/none", "inside"],
  [".", "outside"],
  ["home2", "outside"],
  ["disk/none/deep", "outside"],
  ["home/../out", "outside"],
] as const) {
  test(`${path} is ${place === "same" ? "the home" : `${place} of it`}`, async (t) => {
    const { folder, home } = await homeWithLinks(t);
    // What leads to a folder in which the home lies makes nothing a part of the home.
    for (const above of ["/", folder]) fs.symlinkSync(above, join(home, `above${above.length}`));
    assert.equal(await placeToHome(`${folder}/${path}`, home), place);
    assert.equal(await placeToHome(relative(".", `${folder}/${path}`), home), place);
  });
}

test("where there is no home all is outside of it", async (t) => {
  const home = join(temporaryDirectory(t), "home");
  assert.equal(await placeToHome(join(home, "chats"), home), "outside");
});
