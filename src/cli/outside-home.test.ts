import assert from "node:assert/strict";
import fs from "node:fs";
import { join, relative } from "node:path";
import { type TestContext, test } from "node:test";
import { runCli, temporaryDirectory } from "../../test/support/command-line.ts";
import { openThroughline } from "../core/throughline.ts";
import { placeToHome } from "./outside-home.ts";

/** A home with a chat, a link to it from elsewhere, and its chats also on another disk. */
async function places(t: TestContext) {
  const folder = temporaryDirectory(t);
  const home = join(folder, "home");
  await using throughline = await openThroughline({ home });
  await throughline.chats.append("work", [{ role: "user", content: "hello" }]);
  fs.mkdirSync(join(folder, "disk", "moved"), { recursive: true });
  fs.symlinkSync(join(folder, "disk", "moved"), join(home, "moved"));
  fs.symlinkSync(home, join(folder, "link"));
  fs.symlinkSync(join(home, "chats"), join(folder, "chats"));
  fs.mkdirSync(join(home, "chats", "deep"));
  fs.symlinkSync(join(home, "chats", "deep"), join(folder, "deep"));
  return { folder, home };
}

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
    const { folder, home } = await places(t);
    assert.equal(await placeToHome(`${folder}/${path}`, home), place);
    assert.equal(await placeToHome(relative(".", `${folder}/${path}`), home), place);
  });
}

test("where there is no home all is outside of it", async (t) => {
  const home = join(temporaryDirectory(t), "home");
  assert.equal(await placeToHome(join(home, "chats"), home), "outside");
});

const outside =
  /is inside the home .*\. Choose a place outside of it \[THROUGHLINE_INVALID\]\nsee: /;
for (const [args, says] of [
  [["export", "--format", "nanobot", "--force", "--out", "home/chats"], outside],
  [["export", "--format", "nanobot", "--out", "home"], outside],
  [["export", "--format", "throughline", "--force", "--out", "chats"], outside],
  [["sessions", "export", "work", "--out", "home/chats/work.md"], outside],
  [["sessions", "export", "work", "--out", "link/work.md"], outside],
  [["feedback", "export", "--format", "kto", "--out", "home/data"], outside],
  [["feedback", "export", "--format", "kto", "--replace", "--out", "."], /--replace would remove/],
  [["export", "--to", "link"], /the source and the target are the same store/],
  [["export", "--to", "home/chats"], /is inside the home .*\. Choose another place/],
  [["export", "--to", "chats/copy"], /is inside the home .*\. Choose another place/],
] as const) {
  test(`${args.join(" ")} is refused with 2, and changes nothing`, async (t) => {
    const { folder, home } = await places(t);
    const before = photograph(folder);
    const path = join(folder, args.at(-1) ?? "");
    const { code, out, err } = await runCli([...args.slice(0, -1), path], { home });
    assert.deepEqual({ code, out }, { code: 2, out: "" }, err);
    assert.match(err, says);
    assert.deepEqual(photograph(folder), before);
  });
}

/** The names of all, and what the logs hold. */
function photograph(folder: string): unknown {
  const names = fs.readdirSync(folder, { recursive: true, encoding: "utf8" }).sort();
  return names
    .filter((name) => !/index\.db-|lock\.json/.test(name))
    .map((name) => [name, name.endsWith(".jsonl") && fs.readFileSync(join(folder, name), "utf8")]);
}
