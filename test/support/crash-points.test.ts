import assert from "node:assert/strict";
import { test } from "node:test";
import type { Disk } from "../../src/core/storage/disk/disk.ts";
import { type CrashRun, forEveryCrashPoint } from "./crash-points.ts";
import { imageDigest } from "./image-digest.ts";

// That the disks are enough to find a safeguard that is missing, the seeded bugs of the storage prove.

async function write(disk: Disk, path: string, text: string, sync: boolean): Promise<void> {
  const file = await disk.open(path, "create");
  await file.write(Buffer.from(text), 0);
  if (sync) await file.sync();
  await file.close();
}

async function namesIn(disk: Disk, path: string): Promise<readonly string[]> {
  return (await disk.list(path)).map(({ name }) => name);
}

/** Two files, one of them replaced; a recovery removes the copy that was to replace it. */
const replacing: CrashRun<string> = {
  scenario: async (disk, promise) => {
    for (const text of ["good morning", "how are you?"]) {
      await write(disk, "/copy", text, true);
      await disk.rename("/copy", "/file");
      await disk.syncDirectory("/");
      promise(text);
    }
    await write(disk, "/other", "x".repeat(200), false);
  },
  check: async (image, promised) => {
    const names = await namesIn(image, "/");
    assert.ok(promised.length === 0 || names.includes("file"));
    if (names.includes("copy")) await image.unlink("/copy");
    await image.syncDirectory("/");
  },
};

test("a scenario that runs once leaves the disks that one leaves which runs for every point", async () => {
  for (const depth of [1, 2]) {
    const run = { ...replacing, depth, laterImages: { maxImages: 4 } };
    const found = { again: new Set<string>(), once: new Set<string>() };
    const points: number[] = [];
    for (const way of ["again", "once"] as const) {
      const counts = await forEveryCrashPoint({
        ...run,
        check: async (image, promised, promise) => {
          found[way].add(imageDigest(image.tree));
          await run.check(image, promised, promise);
        },
        ...(way === "once" && { digests: new Set<string>() }),
      });
      points.push(counts.points);
    }
    assert.deepEqual([...found.once].sort(), [...found.again].sort());
    if (depth === 1) assert.equal(points[0], points[1]);
  }
});

test("half of a write is met by a process death alone, where a power cut is not asked for", async () => {
  const lengths = new Set<number>();
  const counts = await forEveryCrashPoint({
    cut: "process",
    scenario: async (disk) => await write(disk, "/a", "x".repeat(10), true),
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
