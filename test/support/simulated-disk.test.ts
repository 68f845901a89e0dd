import assert from "node:assert/strict";
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
  | readonly ["truncate", number, number]
  | readonly ["extend", number, number, number]
  | readonly ["placeAt", number, string]
  | readonly ["sync" | "close" | "fileSize", number]
  | readonly ["mkdir" | "list" | "size" | "unlink" | "rmdir" | "syncDirectory", string]
  | readonly ["rename" | "link", string, string];

const linuxOnly = {
  skip: process.platform === "linux" ? false : "the simulation answers as Linux does",
};

const long = "n".repeat(256);

const behaviours: readonly (readonly [string, ...(readonly [Step, unknown])[]])[] = [
  [
    "a file that does not exist cannot be opened, only created",
    [["open", "read", "a"], "ENOENT"],
    [["open", "write", "a"], "ENOENT"],
    [["open", "create", "a"], "ok"],
    [["open", "create", "a"], "EEXIST"],
    [["open", "read", "a"], "ok"],
    [["size", "a"], 0],
  ],
  [
    "nothing can be made where the directory does not exist",
    [["open", "create", "d/a"], "ENOENT"],
    [["mkdir", "d/e"], "ENOENT"],
    [["list", "d"], "ENOENT"],
    [["size", "d"], "ENOENT"],
    [["syncDirectory", "d"], "ENOENT"],
    [["unlink", "d/a"], "ENOENT"],
    [["rmdir", "d"], "ENOENT"],
    [["rename", "d", "e"], "ENOENT"],
    [["link", "d", "e"], "ENOENT"],
  ],
  [
    "a file is not a directory",
    [["open", "create", "a"], "ok"],
    [["open", "read", "a/b"], "ENOTDIR"],
    [["open", "create", "a/b"], "ENOTDIR"],
    [["mkdir", "a/b"], "ENOTDIR"],
    [["mkdir", "a"], "EEXIST"],
    [["list", "a"], "ENOTDIR"],
    [["rmdir", "a"], "ENOTDIR"],
    [["syncDirectory", "a"], "ENOTDIR"],
    [["size", "a/b"], "ENOTDIR"],
    [["unlink", "a/b"], "ENOTDIR"],
    [["rename", "a", "a/b"], "ENOTDIR"],
    [["link", "a", "a/b"], "ENOTDIR"],
  ],
  [
    "a directory is not a file",
    [["mkdir", "d"], "ok"],
    [["open", "write", "d"], "EISDIR"],
    [["open", "create", "d"], "EEXIST"],
    [["unlink", "d"], "EISDIR"],
    [["link", "d", "e"], "EPERM"],
    [["open", "read", "d"], "EISDIR"],
  ],
  [
    "names are listed with their kind",
    [["list", ""], []],
    [["mkdir", "d"], "ok"],
    [["open", "create", "a"], "ok"],
    [["open", "create", "d/b"], "ok"],
    [
      ["list", ""],
      ["a file", "d directory"],
    ],
    [["list", "d"], ["b file"]],
    [["syncDirectory", ""], "ok"],
  ],
  [
    "bytes are read where they were written, and a gap reads as zeros",
    [["open", "create", "a"], "ok"],
    [["write", 0, 3, "abc"], 3],
    [["fileSize", 0], 6],
    [["read", 0, 0, 10], "\0\0\0abc"],
    [["read", 0, 4, 1], "b"],
    [["read", 0, 6, 10], ""],
    [["read", 0, 60, 10], ""],
    [["read", 0, 0, 0], ""],
    [["write", 0, 4, "XYZ"], 3],
    [["read", 0, 0, 10], "\0\0\0aXYZ"],
    [["sync", 0], "ok"],
    [["write", 0, 0, "S"], 1],
    [["read", 0, 0, 10], "S\0\0aXYZ"],
  ],
  [
    "an empty write makes no file longer",
    [["open", "create", "a"], "ok"],
    [["write", 0, 5, ""], 0],
    [["fileSize", 0], 0],
  ],
  [
    "a truncate cuts and extends, and what was cut does not come back",
    [["open", "create", "a"], "ok"],
    [["write", 0, 0, "abcdef"], 6],
    [["sync", 0], "ok"],
    [["truncate", 0, 2], "ok"],
    [["size", "a"], 2],
    [["truncate", 0, 4], "ok"],
    [["read", 0, 0, 10], "ab\0\0"],
    [["truncate", 0, 1], "ok"],
    [["write", 0, 3, "x"], 1],
    [["read", 0, 0, 10], "a\0\0x"],
  ],
  [
    "an extended file has NUL bytes up to a whole block, and what was there stays",
    [["open", "create", "a"], "ok"],
    [["write", 0, 0, "abc"], 3],
    [["extend", 0, 3, 8192], "ok"],
    [["size", "a"], 8192],
    [["read", 0, 0, 5], "abc\0\0"],
    [["read", 0, 8190, 9], "\0\0"],
    [["write", 0, 3, "def"], 3],
    [["extend", 0, 6, 4096], "ok"],
    [["size", "a"], 8192],
    [["truncate", 0, 6], "ok"],
    [["extend", 0, 6, 8192], "ok"],
    [["read", 0, 0, 8], "abcdef\0\0"],
  ],
  [
    "a file opened for reading is not written",
    [["open", "create", "a"], "ok"],
    [["open", "read", "a"], "ok"],
    [["write", 1, 0, "x"], "EBADF"],
    [["truncate", 1, 3], "EINVAL"],
    [["extend", 1, 0, 8192], "EBADF"],
    [["sync", 1], "ok"],
    [["fileSize", 1], 0],
  ],
  [
    "a closed file does nothing",
    [["open", "create", "a"], "ok"],
    [["close", 0], "ok"],
    [["read", 0, 0, 1], "EBADF"],
    [["write", 0, 0, "x"], "EBADF"],
    [["fileSize", 0], "EBADF"],
    [["truncate", 0, 0], "EBADF"],
    [["extend", 0, 0, 8192], "EBADF"],
    [["sync", 0], "EBADF"],
    [["close", 0], "EBADF"],
  ],
  [
    "an open file lives on when its name is gone, renamed or given to another",
    [["open", "create", "a"], "ok"],
    [["write", 0, 0, "one"], 3],
    [["unlink", "a"], "ok"],
    [["write", 0, 3, "!"], 1],
    [["read", 0, 0, 10], "one!"],
    [["open", "create", "a"], "ok"],
    [["size", "a"], 0],
    [["write", 1, 0, "two"], 3],
    [["rename", "a", "b"], "ok"],
    [["write", 1, 3, "?"], 1],
    [["open", "read", "b"], "ok"],
    [["read", 2, 0, 10], "two?"],
    [["open", "create", "c"], "ok"],
    [["rename", "c", "b"], "ok"],
    [["read", 2, 0, 10], "two?"],
    [["size", "b"], 0],
  ],
  [
    "two names of one file share its data until the last is gone",
    [["open", "create", "a"], "ok"],
    [["link", "a", "b"], "ok"],
    [["link", "a", "b"], "EEXIST"],
    [["link", "c", "b"], "ENOENT"],
    [["write", 0, 0, "both"], 4],
    [["placeAt", 0, "b"], "linked"],
    [["size", "b"], 4],
    [["rename", "a", "b"], "ok"],
    [
      ["list", ""],
      ["a file", "b file"],
    ],
    [["unlink", "a"], "ok"],
    [["placeAt", 0, "a"], "nothing"],
    [["placeAt", 0, "a/b"], "nothing"],
    [["placeAt", 0, "b"], "own"],
    [["open", "create", "a"], "ok"],
    [["placeAt", 0, "a"], "other"],
    [["placeAt", 0, "a/b"], "ENOTDIR"],
    [["open", "read", "b"], "ok"],
    [["read", 2, 0, 10], "both"],
    [["unlink", "b"], "ok"],
    [["unlink", "b"], "ENOENT"],
  ],
  [
    "a rename replaces a file by a file, and an empty directory by a directory",
    [["open", "create", "a"], "ok"],
    [["write", 0, 0, "a"], 1],
    [["open", "create", "b"], "ok"],
    [["mkdir", "d"], "ok"],
    [["mkdir", "e"], "ok"],
    [["rename", "a", "b"], "ok"],
    [["size", "b"], 1],
    [["size", "a"], "ENOENT"],
    [["rename", "b", "d"], "EISDIR"],
    [["rename", "d", "b"], "ENOTDIR"],
    [["rename", "b", "d/b"], "ok"],
    [["rename", "e", "d"], "ENOTEMPTY"],
    [["rename", "d", "e"], "ok"],
    [["list", "e"], ["b file"]],
    [["rename", "e", "e/f"], "EINVAL"],
    [["rename", "e", "e"], "ok"],
    [["rename", "e/b", "e"], "ENOTEMPTY"],
    [["rename", "e", "f/g"], "ENOENT"],
    [["rename", "x", "y"], "ENOENT"],
  ],
  [
    "only an empty directory is removed",
    [["mkdir", "d"], "ok"],
    [["mkdir", "d"], "EEXIST"],
    [["open", "create", "d/a"], "ok"],
    [["rmdir", "d"], "ENOTEMPTY"],
    [["unlink", "d/a"], "ok"],
    [["rmdir", "d"], "ok"],
    [["open", "create", "d/a"], "ENOENT"],
  ],
  [
    "a name has at most 255 bytes",
    [["open", "create", long], "ENAMETOOLONG"],
    [["open", "create", long.slice(1)], "ok"],
    [["mkdir", `${"é".repeat(127)}xy`], "ENAMETOOLONG"],
    [["rename", long.slice(1), long], "ENAMETOOLONG"],
  ],
];

for (const [says, ...rows] of behaviours) {
  test(`on the simulated disk as on the real one: ${says}`, linuxOnly, async () => {
    const steps = rows.map(([step]) => step);
    const simulated = await onSimulatedDisk(steps);
    assert.deepEqual(
      simulated.map(({ answer }) => answer),
      rows.map(([, answer]) => answer),
    );
    assert.deepEqual(simulated, await onRealDisk(steps));
  });
}

test(
  "25 random calls answer the same on the simulated disk and the real one",
  linuxOnly,
  async () => {
    const path = fc.constantFrom("a", "b", "a/a", "a/b", "b/a", "a/a/a", "b/a/a");
    const file = fc.nat(3);
    const at = fc.constantFrom(0, 1, 3, 5, 9);
    const text = fc.constantFrom("", "x", "long", "longer text");
    const step: fc.Arbitrary<Step> = fc.oneof(
      { weight: 3, arbitrary: fc.tuple(fc.constant("open"), fc.constantFrom("create"), path) },
      fc.tuple(fc.constant("open"), fc.constantFrom("read", "write"), path),
      fc.tuple(fc.constant("read"), file, at, fc.constant(20)),
      { weight: 3, arbitrary: fc.tuple(fc.constant("write"), file, at, text) },
      fc.tuple(fc.constant("truncate"), file, at),
      fc.tuple(fc.constant("fileSize"), file),
      fc.tuple(fc.constant("placeAt"), file, path),
      { weight: 2, arbitrary: fc.tuple(fc.constant("mkdir"), path) },
      { weight: 4, arbitrary: fc.tuple(fc.constantFrom("rename", "link"), path, path) },
      fc.tuple(fc.constantFrom("list", "size", "unlink", "rmdir"), path),
      fc.constant(["list", ""] as const),
    );
    const runs = fc.array(step, { minLength: 25, maxLength: 25 });
    await fc.assert(
      fc.asyncProperty(runs, async (steps) => {
        assert.deepEqual(await onSimulatedDisk(steps), await onRealDisk(steps));
      }),
      { numRuns: 60, seed: 1 },
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

for (const [half, left] of [
  [false, "1"],
  [true, "1ab"],
] as const) {
  const what = half ? "half of it" : "nothing of it";
  test(`when the process dies at a write, ${what} happens and no call settles any more`, async () => {
    const disk = new SimulatedDisk({ stopAt: 3, half });
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
    assert.deepEqual(answer, { answer: left });
  });
}

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
    return await onDisk(realDisk, home, steps);
  } finally {
    await remove(home);
  }
}

/** What each step answered: a value, `"ok"`, or the error with its code in front. */
async function onDisk(disk: Disk, home: string, steps: readonly Step[]) {
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
  disk: Disk,
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
      return await file.extend(step[2], step[3]);
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
