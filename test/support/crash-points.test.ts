import assert from "node:assert/strict";
import { test } from "node:test";
import type { Disk } from "../../src/core/storage/disk/disk.ts";
import { forEveryCrashPoint } from "./crash-points.ts";

// That the disks are enough to find a safeguard that is missing, the seeded bugs of the storage prove.

async function namesIn(disk: Disk, path: string): Promise<readonly string[]> {
  return (await disk.list(path)).map(({ name }) => name);
}

test("half of a write is met by a process death alone, where a power cut is not asked for", async () => {
  const lengths = new Set<number>();
  const counts = await forEveryCrashPoint({
    cut: "process",
    scenario: async (disk) => {
      const file = await disk.open("/a", "create");
      await file.write(Buffer.from("x".repeat(10)), 0);
      await file.sync();
    },
    check: async (image) => {
      const names = await namesIn(image, "/");
      lengths.add(names.length === 0 ? -1 : await image.size("/a"));
    },
  });
  assert.deepEqual([...lengths].sort(), [-1, 0, 10, 5].sort());
  // Dies before the create, before the write, within it and before the sync; and the end.
  assert.deepEqual(counts, { points: 5, images: 5 });
});

test("a process that has died promises nothing any more", async () => {
  const atEachCheck: number[] = [];
  await forEveryCrashPoint<string>({
    cut: "process",
    scenario: async (disk, promise) => {
      const made = disk.mkdir("/a");
      promise("before its answer");
      await made;
      promise("after");
    },
    check: async (_image, promised) => {
      atEachCheck.push(promised.length);
    },
  });
  assert.deepEqual(atEachCheck, [2, 0]);
});

test("what a recovery stores and promises is expected after the second cut", async () => {
  const expected: string[] = [];
  await forEveryCrashPoint<string>({
    depth: 2,
    cut: "process",
    scenario: async (disk, promise) => {
      await disk.mkdir("/a");
      promise("a");
    },
    check: async (image, promised, promise) => {
      expected.push(promised.join(""));
      if ((await namesIn(image, "/")).includes("b")) return;
      await image.mkdir("/b");
      promise("b");
    },
  });
  assert.equal(expected.includes("ab"), true);
  assert.equal(expected.includes("b"), true);
});
