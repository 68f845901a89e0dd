// Case 11: a file system of 6 MB that is really full, and a free space that lies.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { freeSpace } from "../../src/core/storage/disk/disk.ts";
import { PackageDirectory } from "../../src/moments/directory/package-directory.ts";
import type { SaveError } from "../../src/moments/package/package-sink.ts";
import { momentOf } from "../support/package-workload.ts";

const place = fs.mkdtempSync(join(tmpdir(), "throughline-small-"));
const mounted = spawnSync("mount", ["-t", "tmpfs", "-o", "size=6m", "tmpfs", place]).status === 0;
after(() => {
  if (mounted) spawnSync("umount", [place]);
  fs.rmdirSync(place);
});
const skip = mounted ? false : "this user may not mount a file system";

for (const lies of [false, true]) {
  test(`of moments of 2 MB 2 fit on 6 MB, a third is refused as disk_full and is saved when there is space, with a free space that ${lies ? "lies" : "is right"}`, {
    skip,
  }, async () => {
    const path = join(place, lies ? "lies" : "right");
    const packages = await PackageDirectory.open({
      path,
      freeSpace: lies ? async () => Number.MAX_SAFE_INTEGER : freeSpace,
    });
    const [first, second, third] = [1, 2, 3].map((number) =>
      momentOf(number, { frames: 40, frameBytes: 50_000 }),
    );
    await packages.save(first!);
    await packages.save(second!);
    await assert.rejects(packages.save(third!), (error: SaveError) => error.reason === "disk_full");
    assert.deepEqual(
      fs.readdirSync(path).filter((entry) => entry.endsWith(".partial")),
      [],
      "what was begun is removed",
    );
    await packages.delete({ name: first!.record.name });
    await packages.save(third!);
    for (const { record } of [second!, third!]) {
      assert.equal((await packages.verify(record.name)).state, "whole");
    }
    await packages.close();
    fs.rmSync(path, { recursive: true });
  });
}
