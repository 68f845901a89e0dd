// A file system of 4 MB that is really full: what a person wants gone goes all the same.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { openThroughline } from "../../src/core/throughline.ts";

const place = fs.mkdtempSync(join(tmpdir(), "throughline-full-"));
const mounted = spawnSync("mount", ["-t", "tmpfs", "-o", "size=4m", "tmpfs", place]).status === 0;
after(() => {
  if (mounted) spawnSync("umount", [place]);
  fs.rmdirSync(place);
});
const skip = mounted ? false : "this user may not mount a file system";

let fillings = 0;
function fill(): void {
  assert.throws(() => fs.writeFileSync(join(place, `fill-${++fillings}`), Buffer.alloc(8e6)), {
    code: "ENOSPC",
  });
}

test("on a full disk a chat is forgotten, and a message is erased once there is room", {
  skip,
}, async () => {
  const home = join(place, "home");
  await using throughline = await openThroughline({ home });
  const { chats } = throughline;
  for (const [chatId, times] of [
    ["a", 2_000],
    ["b", 8_000],
  ] as const) {
    for (let n = 0; n < 20; n++) {
      const content = `secret ${n} ${"x y z ".repeat(times)}`;
      await chats.append(chatId, [{ id: `m${n}`, role: "user", content }]);
    }
  }
  await chats.search("secret", { limit: 1 });
  fill();
  const { removed, unreachable } = await chats.forget("b");
  assert.deepEqual(removed[0], { place: "transcript", count: 20 });
  assert.deepEqual(unreachable, []);
  assert.notEqual(await chats.forgottenAt("b"), undefined);
  assert.equal(fs.existsSync(join(home, "chats", "b.jsonl")), false);
  for (let n = 1; n <= fillings; n++) fs.rmSync(join(place, `fill-${n}`));
  assert.equal((await chats.erase("a", "m3")).erased, true);
  assert.doesNotMatch(fs.readFileSync(join(home, "chats", "a.jsonl"), "latin1"), /secret 3 /);
});
