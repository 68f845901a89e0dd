import assert from "node:assert/strict";
import { link } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import fc from "fast-check";
import { randomId } from "../../src/core/ids.ts";
import { type Disk, type DiskFile, realDisk } from "../../src/core/storage/disk/disk.ts";
import { crashImages, processDeathImage } from "./crash-images.ts";
import { describeOperation, SimulatedDisk } from "./simulated-disk.ts";

/** One call, with paths below the home and open files by their number. */
type Step =
  | readonly ["open", "read" | "write" | "create", string]
  | readonly ["read", number, number, number]
  | readonly ["write", number, number, string]
  | readonly ["truncate" | "extend", number, number]
  | readonly ["placeAt", number, string]
  | readonly ["sync" | "close" | "fileSize", number]
  | readonly ["mkdir" | "list" | "size" | "unlink" | "rmdir" | "syncDirectory", string]
  | readonly ["rename" | "link", string, string];

/** People who copy a home make links. */
type LinkingDisk = Disk & Pick<SimulatedDisk, "link">;

const linuxOnly = {
  skip: process.platform === "linux" ? false : "the simulation answers as Linux does",
};

const long = "n".repeat(255);

test(
  "25 random calls answer the same on the simulated disk and the real one",
  linuxOnly,
  async () => {
    const short = fc.constantFrom("a", "b", "a/a", "a/b", "b/a", "a/a/a", "b/a/a");
    const tooLong = fc.constantFrom(`${long}x`, `${"é".repeat(127)}xy`);
    const path = fc.oneof({ weight: 20, arbitrary: short }, fc.constant(long), tooLong);
    const file = fc.nat(3);
    const at = fc.constantFrom(0, 1, 3, 5, 9);
    const text = fc.constantFrom("", "x", "long", "longer text");
    const step: fc.Arbitrary<Step> = fc.oneof(
      { weight: 3, arbitrary: fc.tuple(fc.constant("open"), fc.constantFrom("create"), path) },
      fc.tuple(fc.constant("open"), fc.constantFrom("read", "write"), path),
      fc.tuple(fc.constant("read"), file, at, fc.constant(20)),
      { weight: 3, arbitrary: fc.tuple(fc.constant("write"), file, at, text) },
      fc.tuple(fc.constant("truncate"), file, at),
      fc.tuple(fc.constant("extend"), file, fc.constantFrom(8192, 16_384)),
      fc.tuple(fc.constantFrom("fileSize", "sync", "close"), file),
      fc.tuple(fc.constant("placeAt"), file, path),
      { weight: 2, arbitrary: fc.tuple(fc.constant("mkdir"), path) },
      { weight: 4, arbitrary: fc.tuple(fc.constantFrom("rename", "link"), short, short) },
      fc.tuple(fc.constantFrom("list", "size", "unlink", "rmdir", "syncDirectory"), path),
      fc.constant(["list", ""] as const),
    );
    const runs = fc.array(step, { minLength: 25, maxLength: 25 });
    await fc.assert(
      fc.asyncProperty(runs, async (steps) => {
        assert.deepEqual(await onSimulatedDisk(steps), await onRealDisk(steps));
      }),
      { numRuns: 150, seed: 1 },
    );
  },
);

test("every call is recorded in order with what it was given", async () => {
  const disk = new SimulatedDisk();
  const file = await disk.open("/a", "create");
  await file.write(Buffer.from("abc"), 2);
  await file.sync();
  await disk.rename("/a", "/b");
  await assert.rejects(disk.size("/gone"), { code: "ENOENT" });
  await file.read(new Uint8Array(9), 0);
  assert.deepEqual(disk.operations.map(describeOperation), [
    "open /a",
    "write 3 bytes at 2 /a",
    "sync /a",
    "rename /a to /b",
    "size /gone",
    "read 9 bytes at 0 /a",
  ]);
  const changing = disk.operations.filter(({ changes }) => changes).map(({ call }) => call);
  assert.deepEqual(changing, ["open", "write", "sync", "rename"]);
});

test("when the process dies at a write, nothing of it happens and no call settles any more", async () => {
  const disk = new SimulatedDisk({ stopAt: 3 });
  const settled: string[] = [];
  const ended = await disk.run(async () => {
    const file = await disk.open("/a", "create");
    await file.write(Buffer.from("1"), 0);
    const note = (call: string) => () => settled.push(call);
    file.write(Buffer.from("abcde"), 1).then(note("write"), note("write"));
    disk.size("/a").then(note("size"), note("size"));
    disk.unlink("/a").then(note("unlink"), note("unlink"));
  });
  await new Promise(setImmediate);
  assert.equal(ended, false);
  assert.deepEqual(settled, []);
  assert.equal(disk.stoppedBefore?.call, "write");
  assert.equal(disk.operations.length, 2);
  const [, answer] = await onDisk(processDeathImage(disk), "/", [
    ["open", "read", "a"],
    ["read", 0, 0, 9],
  ]);
  assert.deepEqual(answer, { answer: "1" });
});

test("a buffer can be used again once its write has settled", async () => {
  const disk = new SimulatedDisk();
  const file = await disk.open("/a", "create");
  const buffer = Buffer.from("first ");
  await file.write(buffer, 0);
  await file.write(Buffer.from("second"), 6);
  buffer.fill("X");
  const [image] = crashImages(disk, { maxImages: 1 });
  const opened = await image?.open("/a", "read");
  const into = Buffer.alloc(12);
  await opened?.read(into, 0);
  assert.equal(into.toString(), "first second");
});

test("a run that ends before its process dies says so, and rejects as its work does", async () => {
  const disk = new SimulatedDisk({ stopAt: 3 });
  assert.equal(await disk.run(() => disk.mkdir("/a")), true);
  await assert.rejects(
    disk.run(() => disk.mkdir("/a")),
    { code: "EEXIST" },
  );
});

async function onSimulatedDisk(steps: readonly Step[]) {
  const disk = new SimulatedDisk();
  await disk.mkdir("/home");
  return await onDisk(disk, "/home", steps);
}

async function onRealDisk(steps: readonly Step[]) {
  const home = join(tmpdir(), `throughline-${randomId()}`);
  await realDisk.mkdir(home);
  try {
    return await onDisk({ ...realDisk, link }, home, steps);
  } finally {
    await remove(home);
  }
}

/** What each step answered: a value, `"ok"`, or the error with its code in front. */
async function onDisk(disk: LinkingDisk, home: string, steps: readonly Step[]) {
  const files: { file: DiskFile; closed: boolean }[] = [];
  const outcomes: { answer: unknown; message?: string; errno?: number; syscall?: string }[] = [];
  for (const step of steps) {
    try {
      outcomes.push({ answer: (await take(disk, home, step, files)) ?? "ok" });
    } catch (error) {
      const { code, errno, syscall, message, path, dest } = error as NodeJS.ErrnoException & {
        dest?: string;
      };
      const where = [path, dest].map((name) => name?.replace(home, "<home>"));
      const told = { message: message.replaceAll(home, "<home>"), where };
      outcomes.push({ answer: code, errno: errno ?? 0, syscall: syscall ?? "", ...told });
    }
  }
  for (const { file, closed } of files) if (!closed) await file.close();
  return outcomes;
}

async function take(
  disk: LinkingDisk,
  home: string,
  step: Step,
  files: { file: DiskFile; closed: boolean }[],
): Promise<unknown> {
  const path = (name: string) => join(home, name);
  const isDirectory = (name: string) =>
    disk.list(path(name)).then(
      () => true,
      () => false,
    );
  switch (step[0]) {
    case "open": {
      files.push({ file: await disk.open(path(step[2]), step[1]), closed: false });
      return undefined;
    }
    case "mkdir":
    case "unlink":
    case "rmdir":
    case "syncDirectory":
      return await disk[step[0]](path(step[1]));
    case "list": {
      const entries = await disk.list(path(step[1]));
      return entries.map(({ name, kind }) => `${name} ${kind}`).sort();
    }
    case "size": {
      const size = await disk.size(path(step[1]));
      return (await isDirectory(step[1])) ? "a directory's size" : size;
    }
    case "rename":
    case "link":
      return await disk[step[0]](path(step[1]), path(step[2]));
  }
  const open = files[step[1]];
  if (open === undefined) return "no such file is open";
  const { file } = open;
  switch (step[0]) {
    case "read": {
      const into = Buffer.alloc(step[3]);
      return into.toString("latin1", 0, await file.read(into, step[2]));
    }
    case "write":
      return await file.write(Buffer.from(step[3]), step[2]);
    case "truncate":
      return await file.truncate(step[2]);
    case "extend":
      return await file.extend(await file.size(), step[2]);
    case "sync":
      return await file.sync();
    case "close":
      open.closed = true;
      return await file.close();
    case "fileSize":
      return await file.size();
    case "placeAt":
      return open.closed ? "it is closed" : file.placeAt(path(step[2]));
  }
}

async function remove(directory: string): Promise<void> {
  for (const { name, kind } of await realDisk.list(directory)) {
    const path = join(directory, name);
    await (kind === "directory" ? remove(path) : realDisk.unlink(path));
  }
  await realDisk.rmdir(directory);
}
