import assert from "node:assert/strict";
import { test } from "node:test";
import type { Disk, DiskFile } from "../../src/core/storage/disk/disk.ts";
import { crashImages } from "./crash-images.ts";
import { type DiskFault, diskErrors, faultyDisk } from "./faulty-disk.ts";
import { SimulatedDisk } from "./simulated-disk.ts";

/** Every call of a disk and its files once, each answer noted by the name of its call. */
async function everyCall(disk: Disk): Promise<Record<string, string>> {
  const answers: Record<string, string> = {};
  const note = async <T>(name: string, call: Promise<T> | undefined): Promise<T | undefined> => {
    try {
      const result = await call;
      answers[name] = call === undefined ? "not called" : "ok";
      return result;
    } catch (error) {
      answers[name] = String((error as NodeJS.ErrnoException).code);
      return undefined;
    }
  };
  const file = await note("open", disk.open("/a", "create"));
  await note("write", file?.write(Buffer.from("text"), 0));
  await note("read", file?.read(new Uint8Array(4), 0));
  await note("truncate", file?.truncate(2));
  await note("extend", file?.extend(2, 8192));
  await note("fileSize", file?.size());
  await note("sync", file?.sync());
  await note("close", file?.close());
  await note("mkdir", disk.mkdir("/d"));
  await note("list", disk.list("/"));
  await note("size", disk.size("/a"));
  await note("rename", disk.rename("/a", "/c"));
  await note("unlink", disk.unlink("/c"));
  await note("rmdir", disk.rmdir("/d"));
  await note("syncDirectory", disk.syncDirectory("/"));
  return answers;
}

async function textOf(file: DiskFile): Promise<string> {
  const into = Buffer.alloc(100);
  return into.toString("latin1", 0, await file.read(into, 0));
}

/** The texts of `/a` in the images that a power cut leaves. */
async function textsLeft(disk: SimulatedDisk) {
  const texts = new Set<string>();
  for (const image of crashImages(disk)) texts.add(await textOf(await image.open("/a", "read")));
  return texts;
}

async function emptyFile(faults: DiskFault | readonly DiskFault[]) {
  const inner = new SimulatedDisk();
  await inner.open("/a", "create");
  await inner.syncDirectory("/");
  const disk = faultyDisk(inner, faults);
  return { inner, disk, file: await disk.open("/a", "write") };
}

const calls = Object.keys(await everyCall(new SimulatedDisk()));

test("a fault at call n fails that call alone, for every n until none is reached", async () => {
  let n = 1;
  for (; ; n++) {
    const disk = faultyDisk(new SimulatedDisk(), { fault: "EIO", at: n });
    const answers = await everyCall(disk);
    const failed = Object.keys(answers).filter((name) => answers[name] === "EIO");
    assert.deepEqual(failed, calls.slice(n - 1, n));
    assert.equal(disk.failures, disk.broke ? 1 : 0);
    if (!disk.broke) break;
  }
  assert.equal(n, calls.length + 1);
});

const numbers = {
  EIO: ["EIO", -5],
  ENOSPC: ["ENOSPC", -28],
  EDQUOT: ["Unknown system error -122", -122],
  EMFILE: ["EMFILE", -24],
  ENFILE: ["ENFILE", -23],
  EACCES: ["EACCES", -13],
  EPERM: ["EPERM", -1],
  EROFS: ["EROFS", -30],
  EBUSY: ["EBUSY", -16],
  EINTR: ["EINTR", -4],
  EAGAIN: ["EAGAIN", -11],
  ENOENT: ["ENOENT", -2],
  ESTALE: ["Unknown system error -116", -116],
  EFBIG: ["EFBIG", -27],
} as const satisfies Record<(typeof diskErrors)[number], readonly [string, number]>;

for (const fault of diskErrors) {
  const [code, errno] = numbers[fault];
  const skip = process.platform === "linux" ? false : "error numbers are those of Linux";
  test(`${fault} comes as code ${code} and errno ${errno}, as from Node`, { skip }, async () => {
    const disk = faultyDisk(new SimulatedDisk(), { fault, at: 1 });
    await assert.rejects(disk.rename("/a", "/b"), {
      code,
      errno,
      syscall: "rename",
      path: "/a",
      dest: "/b",
    });
  });
}

test("a call that fails has done as much of it as was asked for", async () => {
  for (const [does, left] of [
    ["nothing", ""],
    ["half", "te"],
    ["all", "text"],
  ] as const) {
    const { file } = await emptyFile({ fault: "EIO", at: 1, call: "write", does });
    await assert.rejects(file.write(Buffer.from("text"), 0), { code: "EIO" });
    assert.equal(await textOf(file), left);
    const disk = faultyDisk(new SimulatedDisk(), { fault: "EIO", at: 1, call: "mkdir", does });
    await assert.rejects(disk.mkdir("/a"), { code: "EIO" });
    assert.equal((await disk.list("/")).length, does === "all" ? 1 : 0);
  }
});

test("a failed sync loses what it should have synced, unseen until the power is cut", async () => {
  const { inner, file } = await emptyFile({ fault: "EIO", at: 1, call: "sync" });
  await file.write(Buffer.from("lost"), 0);
  await assert.rejects(file.sync(), { code: "EIO" });
  await file.sync();
  assert.equal(await textOf(file), "lost");
  assert.deepEqual(await textsLeft(inner), new Set([""]));
});
