import assert from "node:assert/strict";
import { test } from "node:test";
import { crc32 } from "node:zlib";
import type { Disk } from "../../src/core/storage/disk/disk.ts";
import { processDeathImage } from "./crash-images.ts";
import { type CrashRun, forEveryCrashPoint, type PromiseStored } from "./crash-points.ts";
import { imageDigest } from "./image-digest.ts";

// Method: a toy store, sound as long as it has all its safeguards. It must survive every image, and with one
// safeguard taken out it must be caught. What is tested is the disk: an image too many would fail a sound store,
// an image too few pass a broken one.

async function write(disk: Disk, path: string, text: string, sync: boolean): Promise<void> {
  const file = await disk.open(path, "create");
  await file.write(Buffer.from(text), 0);
  if (sync) await file.sync();
  await file.close();
}

async function textOf(disk: Disk, path: string): Promise<string> {
  const file = await disk.open(path, "read");
  const into = Buffer.alloc(await file.size());
  const count = await file.read(into, 0);
  await file.close();
  return into.toString("latin1", 0, count);
}

async function namesIn(disk: Disk, path: string): Promise<readonly string[]> {
  return (await disk.list(path)).map(({ name }) => name);
}

const logBugs = [
  "an append is not synced",
  "an append is promised before it is synced",
  "a line has no checksum",
  "the tail is not cut before the next append",
  "a last line without its newline is taken",
] as const;
const recoveryBugs = [
  "recovery rewrites the file from its start",
  "recovery replaces the file by an unsynced copy",
] as const;
type LogBug = (typeof logBugs)[number] | (typeof recoveryBugs)[number] | "none";

/** Lines with a checksum. Opening cuts whatever follows the last good line. */
class ToyLog {
  readonly #disk: Disk;
  readonly #bug: LogBug;
  #end = 0;

  constructor(disk: Disk, bug: LogBug) {
    this.#disk = disk;
    this.#bug = bug;
  }

  async open(): Promise<readonly string[]> {
    const disk = this.#disk;
    const names = await namesIn(disk, "/");
    if (names.includes("log.copy")) await disk.unlink("/log.copy");
    if (!names.includes("log")) await (await disk.open("/log", "create")).close();
    await disk.syncDirectory("/");
    const text = await textOf(disk, "/log");
    const lines = this.#read(text);
    if (this.#bug === "the tail is not cut before the next append") this.#end = text.length;
    else if (this.#end < text.length) await this.#cut(text.slice(0, this.#end));
    return lines;
  }

  async append(value: string, promised: () => void): Promise<void> {
    const checksum = this.#bug === "a line has no checksum" ? "" : `${checksumOf(value)} `;
    const line = `${checksum}${value}\n`;
    const file = await this.#disk.open("/log", "write");
    await file.write(Buffer.from(line), this.#end);
    if (this.#bug === "an append is promised before it is synced") promised();
    if (this.#bug !== "an append is not synced") await file.sync();
    await file.close();
    this.#end += line.length;
    promised();
  }

  async #cut(good: string): Promise<void> {
    const disk = this.#disk;
    if (this.#bug === "recovery replaces the file by an unsynced copy") {
      await write(disk, "/log.copy", good, false);
      await disk.rename("/log.copy", "/log");
      await disk.syncDirectory("/");
      return;
    }
    const file = await disk.open("/log", "write");
    if (this.#bug === "recovery rewrites the file from its start") {
      await file.truncate(0);
      await file.write(Buffer.from(good), 0);
    } else {
      await file.truncate(good.length);
    }
    await file.sync();
    await file.close();
  }

  #read(text: string): readonly string[] {
    const values: string[] = [];
    const parts = text.split("\n");
    const whole =
      this.#bug === "a last line without its newline is taken" ? parts : parts.slice(0, -1);
    for (const line of whole) {
      const space = line.indexOf(" ");
      const value = line.slice(space + 1);
      const isGood =
        this.#bug === "a line has no checksum" || checksumOf(value) === line.slice(0, space);
      if (!isGood) break;
      this.#end += line.length + 1;
      values.push(value);
    }
    return values;
  }
}

function checksumOf(value: string): string {
  return crc32(value).toString(16).padStart(8, "0");
}

// The first line is 2 * 64 + 1 bytes, so that a torn write can lack its newline and nothing more.
const said = [
  "good morning ".repeat(10).slice(0, 119),
  "how are you? ".repeat(9),
  "well. ".repeat(20),
];

function logRun(bug: LogBug): CrashRun<string> {
  const append = async (log: ToyLog, value: string, promise: PromiseStored<string>) =>
    await log.append(value, () => promise(value));
  return {
    scenario: async (disk, promise) => {
      const log = new ToyLog(disk, bug);
      await log.open();
      for (const value of said) await append(log, value, promise);
    },
    check: async (image, promised, promise) => {
      const log = new ToyLog(image, bug);
      const lines = await log.open();
      let next = 0; // of the promised lines: what was not promised may stand between them
      for (const line of lines) if (line === promised[next]) next++;
      assert.equal(next, promised.length, `${promised} are all in ${lines}`);
      for (const line of lines) assert.equal([...said, "after"].includes(line), true, line);
      await append(log, "after", promise);
      const again = await new ToyLog(processDeathImage(image), bug).open();
      assert.deepEqual(again, [...lines, "after"]);
    },
  };
}

test("a log that is appended soundly survives every image, 1, 2 and 3 cuts deep", async (t) => {
  const once = await forEveryCrashPoint(logRun("none"));
  const twice = await forEveryCrashPoint({ ...logRun("none"), depth: 2 });
  const thrice = await forEveryCrashPoint({
    ...logRun("none"),
    images: { maxImages: 6 },
    laterImages: { maxImages: 3 },
    depth: 3,
  });
  assert.equal(once.points === 12 && once.images > 60, true, JSON.stringify(once));
  assert.equal(twice.images > 10 * once.images, true, JSON.stringify(twice));
  t.diagnostic(`1 cut ${JSON.stringify(once)}, 2 ${JSON.stringify(twice)}`);
  t.diagnostic(`3 cuts ${JSON.stringify(thrice)}`);
});

for (const bug of logBugs) {
  test(`a log in which ${bug} is caught`, async () => {
    await assert.rejects(forEveryCrashPoint(logRun(bug)));
  });
}

for (const bug of recoveryBugs) {
  test(`a log whose ${bug} is caught by a second cut, and only by that`, async () => {
    await forEveryCrashPoint(logRun(bug));
    await assert.rejects(forEveryCrashPoint({ ...logRun(bug), depth: 2 }));
  });
}

test("a scenario that runs once leaves the disks that one leaves which runs for every point", async () => {
  for (const depth of [1, 2]) {
    const run = { ...logRun("none"), depth, laterImages: { maxImages: 4 } };
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
