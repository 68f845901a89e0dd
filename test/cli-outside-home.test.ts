// Nothing that a command writes goes into a home, by whatever path it is named.
import assert from "node:assert/strict";
import fs from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { runCli } from "./support/command-line.ts";
import { homeWithLinks } from "./support/home-with-links.ts";

const outside =
  /is inside the home .*\. Choose a place outside of it \[THROUGHLINE_INVALID\]\nsee: /;
test("what would be written into a home is refused with 2, and nothing is changed", async (t) => {
  const { folder, home } = await homeWithLinks(t);
  const before = photograph(folder);
  for (const [args, says] of [
    [["export", "--format", "nanobot", "--force", "--out", "home/chats"], outside],
    [["export", "--format", "nanobot", "--out", "home"], outside],
    [["export", "--format", "throughline", "--force", "--out", "chats"], outside],
    [["export", "--format", "nanobot", "--out", "none/../home"], outside],
    [["sessions", "export", "work", "--out", "home/chats/work.md"], outside],
    [["sessions", "export", "work", "--out", "deep/none"], outside],
    [["sessions", "export", "work", "--out", "disk/moved/none"], outside],
    [["sessions", "export", "work", "--out", "link/work.md"], outside],
    [["feedback", "export", "--format", "kto", "--out", "home/data"], outside],
    [
      ["feedback", "export", "--format", "kto", "--replace", "--out", "."],
      /--replace would remove/,
    ],
    [["export", "--to", "link"], /the source and the target are the same store/],
    [["export", "--to", "home/chats"], /is inside the home .*\. Choose another place/],
    [["export", "--to", "chats/copy"], /is inside the home .*\. Choose another place/],
  ] as const) {
    const path = join(folder, args.at(-1) ?? "");
    const { code, out, err } = await runCli([...args.slice(0, -1), path], { home });
    assert.deepEqual({ code, out }, { code: 2, out: "" }, `${args.join(" ")}: ${err}`);
    assert.match(err, says);
    assert.deepEqual(photograph(folder), before);
  }
});

/** The names of all, and what the logs hold. */
function photograph(folder: string): unknown {
  const names = fs.readdirSync(folder, { recursive: true, encoding: "utf8" }).sort();
  return names
    .filter((name) => !/index\.db-|lock\.json/.test(name))
    .map((name) => [name, name.endsWith(".jsonl") && fs.readFileSync(join(folder, name), "utf8")]);
}
