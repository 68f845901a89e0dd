// The journal through the storage that writes it, on a disk in memory. Power cuts and kills at every disk
// operation are in test/power-cut.test.ts, every error of every call in test/disk-faults.test.ts.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import { setImmediate as nextPass } from "node:timers/promises";
import { crc32 } from "node:zlib";
import { crashImages, processDeathImage } from "../../../../test/support/crash-images.ts";
import { forEveryCrashPoint } from "../../../../test/support/crash-points.ts";
import { type DiskFault, faultyDisk } from "../../../../test/support/faulty-disk.ts";
import { hookedDisk } from "../../../../test/support/hooked-disk.ts";
import {
  bytesOf,
  callsOn,
  first,
  folder,
  idsOn,
  logOf,
  openLarge,
  record,
  refused,
  segmentsOn,
  unknown,
  write,
} from "../../../../test/support/journal-world.ts";
import { secondLater } from "../../../../test/support/second-later.ts";
import { SimulatedDisk } from "../../../../test/support/simulated-disk.ts";
import { openOn } from "../../../../test/support/storage-workload.ts";
import { systemError } from "../../../../test/support/system-error.ts";
import type { Disk } from "../disk/disk.ts";
import type { FileIndex } from "./index.ts";
import { readSegment } from "./journal-frame.ts";

const now = Promise.resolve();

/** A disk that does what `before` does before each sync, or each write. */
const withSync = (
  disk: SimulatedDisk,
  before: (path: string, position?: unknown) => Promise<void>,
  call: "sync" | "write" = "sync",
): Disk =>
  hookedDisk(disk, (each, path, { of: position }) =>
    each === call ? before(path, position) : undefined,
  );

test("one sync makes the appends of fifty logs durable that wait for it", async () => {
  const disk = new SimulatedDisk();
  const { storage, logs } = await openLarge(disk);
  await logs.append("k0", [record("m")]);
  const before = disk.operations.length;
  await Promise.all(Array.from({ length: 50 }, (_, i) => logs.append(`k${i}`, [record("n")])));
  const syncs = callsOn(disk, before).filter((call) => call.startsWith("sync "));
  assert.ok(syncs.length <= 3, syncs.join());
  assert.ok(syncs.every((call) => call.includes(folder)));
  for (const image of crashImages(disk, { maxImages: 16 })) {
    const [k49] = await idsOn(image, ["k49"]);
    assert.deepEqual(k49, ["n"]);
  }
  await storage.close();
});

test("a log that is written slowly gets its own bytes, whatever is appended to others meanwhile", async () => {
  const held = Promise.withResolvers<void>();
  const disk = new SimulatedDisk();
  const slow = withSync(disk, (path) => (path.endsWith("a.jsonl") ? held.promise : now), "write");
  const { storage, logs } = await openLarge(slow);
  const said = (id: string) => ({ ...record(id), words: randomUUID().repeat(3) });
  const first = said("m1");
  const stored = logs.append("a", [first]);
  for (let i = 0; i < 20; i++) await logs.append("b", [said(`n${i}`)]);
  held.resolve();
  await stored;
  assert.deepEqual((await logs.tail("a", 1))?.records, [{ ...first, seq: 1 }]);
  assert.equal((await logs.tail("b", 99))?.records.length, 20);
  await storage.close();
});

test("a segment that is full is freed and used again, and a clean close leaves none", async () => {
  const disk = new SimulatedDisk();
  const { storage, logs } = await openOn(disk);
  for (let i = 0; i < 100; i++) {
    await logs.append(`k${i % 7}`, [record(`m${i}`)]);
    assert.ok((await segmentsOn(disk)).length <= 5);
    for (const name of await segmentsOn(disk)) {
      assert.ok((await disk.size(`${folder}/${name}`)) <= 8_192);
    }
  }
  const made = callsOn(disk).filter((call) => call.startsWith(`open ${folder}`));
  assert.ok(made.length <= 5, `${made.length} segments were made`);
  await storage.close();
  assert.deepEqual(await segmentsOn(disk), []);
});

test("a segment that another process wrote is not used again, because a copy of the home may share it", async () => {
  const disk = new SimulatedDisk();
  await (await openOn(disk)).logs.append("a", [record("m1")]);
  const image = processDeathImage(disk);
  const { storage, logs } = await openOn(image);
  for (let i = 0; i < 50; i++) await logs.append("a", [record(`n${i}`)]);
  await storage.close();
  const onOld = image.operations.filter(({ path, changes }) => path === first && changes);
  assert.deepEqual([...new Set(onOld.map(({ call }) => call))], ["unlink"]);
});

/** What fails under the second append of a log, how that ends, and what can be appended next. */
const failures: readonly (readonly [
  says: string,
  faults: readonly DiskFault[],
  outcome: typeof refused,
  next: string,
])[] = [
  [
    "after a failed write of the journal nothing was stored, also not after a restart",
    [{ fault: "EIO", at: 3, call: "write", path: /journal$/ }],
    refused,
    "m3",
  ],
  [
    "after a failed sync of the journal nothing was stored, also not after a restart",
    [{ fault: "EIO", at: 2, call: "sync", path: /journal$/ }],
    refused,
    "m3",
  ],
  ...(["nothing", "half", "all"] as const).map(
    (does) =>
      [
        `a change of which ${does} can be written to its log is taken back, in the journal too`,
        [{ fault: "ENOSPC", at: 2, does, call: "write", path: /a\.jsonl$/ }],
        refused,
        "m3",
      ] as const,
  ),
  [
    "where it cannot be taken back the outcome is unknown until the log is opened again",
    [
      { fault: "short", at: 2, call: "write", path: /a\.jsonl$/ },
      { fault: "ENOSPC", at: 3, call: "write", path: /a\.jsonl$/ },
      { fault: "EIO", at: 1, call: "truncate", path: /a\.jsonl$/ },
    ],
    unknown,
    "m2",
  ],
];
for (const [says, faults, outcome, next] of failures) {
  test(says, async () => {
    const inner = new SimulatedDisk();
    const disk = faultyDisk(inner, faults);
    const { storage, logs } = await openOn(disk);
    await logs.append("a", [record("m1")]);
    await assert.rejects(logs.append("a", [record("m2")]), outcome);
    assert.ok(disk.broke);
    const read = await Array.fromAsync(logs.read("a"));
    assert.deepEqual([read.length, read[0]?.id], [1, "m1"]);
    const left = [...crashImages(inner)];
    if (outcome === refused) left.push(processDeathImage(inner));
    for (const image of left) assert.deepEqual(await idsOn(image), [["m1"]], image.label);
    assert.equal(await logs.append("a", [record(next)]), 2);
    for (const image of crashImages(inner)) assert.deepEqual(await idsOn(image), [["m1", next]]);
    assert.deepEqual(storage.repairs(), []);
    await storage.close();
  });
}

for (const [says, second] of [
  ["made", { fault: "ENOSPC", at: 2, call: "open", path: /journal$/ }],
  ["synced", { fault: "EIO", at: 3, call: "sync", path: /journal$/ }],
] as const) {
  test(`where no new segment can be ${says} the outcome is unknown, and the next append settles it`, async () => {
    const inner = new SimulatedDisk();
    const first = { fault: "EIO", at: 2, call: "sync", path: /journal$/, does: "all" } as const;
    // The segment of the failed group stays, because its log cannot be synced.
    const third = {
      fault: "EIO",
      at: 1,
      call: "sync",
      path: /a\.jsonl$/,
      repeat: "forever",
    } as const;
    const disk = faultyDisk(inner, [first, second, third]);
    const { storage, logs } = await openOn(disk);
    await logs.append("a", [record("m1")]);
    await assert.rejects(logs.append("a", [record("m2")]), unknown);
    await logs.append("b", [record("n1")]);
    for (const image of [processDeathImage(inner), ...crashImages(inner)]) {
      assert.deepEqual(await idsOn(image, ["a", "b"]), [["m1"], ["n1"]], image.label);
    }
    assert.ok(disk.failures >= 2 && (await segmentsOn(inner)).length >= 2);
    disk.heal();
    assert.equal(await logs.append("a", [record("m2")]), 2);
    for (const image of crashImages(inner)) assert.deepEqual(await idsOn(image), [["m1", "m2"]]);
    await storage.close();
  });
}

test("what was perhaps stored does not come back once erase has found nothing of it", async () => {
  const inner = new SimulatedDisk();
  const disk = faultyDisk(inner, [
    { fault: "EIO", at: 1, call: "sync", path: /journal$/, does: "all" },
    { fault: "ENOSPC", at: 2, call: "open", path: /journal$/ },
  ]);
  const { storage, logs } = await openOn(disk);
  await assert.rejects(logs.append("a", [record("m1")]), unknown);
  assert.equal(await logs.erase("a", ["m1"]), 0);
  for (const image of [processDeathImage(inner), ...crashImages(inner)]) {
    assert.deepEqual(await idsOn(image), [[]], image.label);
  }
  await storage.close();
});

for (const [call, path] of [
  ["sync", /journal$/],
  ["write", /a\.jsonl$/],
] as const) {
  test(`a new log has its file once its first append is durable, and none where a ${call} of ${path} fails`, async () => {
    const inner = new SimulatedDisk();
    const disk = faultyDisk(inner, { fault: "EIO", at: 1, call, path });
    const { storage, logs } = await openOn(disk);
    await assert.rejects(logs.append("a", [record("m1")]), refused);
    assert.deepEqual(await inner.list("/home/chats"), []);
    const from = inner.operations.length;
    await logs.append("a", [record("m2")]);
    const calls = callsOn(inner, from);
    const synced = calls.findLastIndex((each) => each.startsWith(`sync ${folder}`));
    assert.ok(synced >= 0 && synced < calls.indexOf(`write ${logOf("a")}`), calls.join());
    for (const image of [processDeathImage(inner), ...crashImages(inner)]) {
      assert.deepEqual(await idsOn(image), [["m2"]], image.label);
    }
    await storage.close();
  });
}

for (const [says, faults, outcome] of [
  ["", [], refused],
  [
    ", and the journal fails then",
    [{ fault: "EIO", at: 3, call: "write", path: /journal$/ }],
    unknown,
  ],
] as const) {
  test(`a file that another program puts in the place of a new log${says} is left as it is, also after a kill`, async () => {
    const inner = new SimulatedDisk();
    const foreign = Buffer.from("a list of things to buy\n");
    let isThere = false;
    const hooked = withSync(inner, async (path) => {
      if (isThere || !path.endsWith("journal")) return;
      isThere = true;
      await write(inner, logOf("a"), foreign);
    });
    const { logs } = await openOn(faultyDisk(hooked, faults));
    const corrupt = { code: "THROUGHLINE_CORRUPT" };
    await assert.rejects(logs.append("a", [record("m1")]), outcome);
    await assert.rejects(logs.append("a", [record("m1")]), corrupt);
    assert.ok((await bytesOf(inner, logOf("a"))).equals(foreign));
    const image = processDeathImage(inner);
    const opened = await openOn(image);
    await assert.rejects(opened.logs.tail("a", 1), corrupt);
    await opened.storage.close();
    assert.ok((await bytesOf(image, logOf("a"))).equals(foreign));
  });
}

test("a new log whose refused first append stayed in the journal keeps what comes after it", async () => {
  const inner = new SimulatedDisk();
  const disk = faultyDisk(inner, [
    { fault: "EMFILE", at: 2, call: "open", path: /a\.jsonl$/ },
    { fault: "EIO", at: 3, call: "write", path: /journal$/ },
  ]);
  const { storage, logs } = await openOn(disk, { maxOpen: 1 });
  await assert.rejects(logs.append("a", [record("m1")]), unknown);
  assert.equal(disk.failures, 2);
  assert.equal(await logs.append("a", [record("m2")]), 1);
  for (const key of ["b", "c"]) await logs.append(key, [record("n")]); // which close it
  assert.equal((await logs.tail("a", 1))?.records[0]?.id, "m2");
  for (const image of [processDeathImage(inner), ...crashImages(inner, { maxImages: 64 })]) {
    assert.deepEqual(await idsOn(image), [["m2"]], image.label);
  }
  await storage.close();
});

test("a log whose sync fails is written again from the journal", async () => {
  const inner = new SimulatedDisk();
  const disk = faultyDisk(inner, { fault: "EIO", at: 1, call: "sync", path: /a\.jsonl$/ });
  const { storage, logs } = await openOn(disk);
  for (const id of ["m1", "m2", "m3"]) await logs.append("a", [record(id)]);
  await storage.close();
  assert.equal(disk.failures, 1);
  assert.deepEqual(await segmentsOn(inner), []);
  for (const image of crashImages(inner)) {
    assert.deepEqual(await idsOn(image), [["m1", "m2", "m3"]], image.label);
  }
});

test("an append that the journal refuses while it frees segments does not wait for itself", async () => {
  const inner = new SimulatedDisk();
  const gate = Promise.withResolvers<void>();
  let isBroken = false;
  const disk = withSync(inner, async (path) => {
    if (path === logOf("a")) await gate.promise;
    if (!isBroken || !path.endsWith("journal")) return;
    isBroken = false;
    throw systemError("EIO", { name: "fdatasync", path });
  });
  const { storage, logs } = await openOn(disk);
  await logs.append("a", [record("m")]);
  for (let i = 0; (await segmentsOn(inner)).length < 4; i++)
    await logs.append("b", [record(`n${i}`)]);
  isBroken = true;
  const refusal = assert.rejects(logs.append("b", [record("refused")]), refused);
  gate.resolve();
  let isOver = false;
  void refusal.then(() => {
    isOver = true;
  });
  for (let i = 0; i < 200 && !isOver; i++) await nextPass();
  assert.ok(isOver, "it waits for itself");
  await storage.close();
});

for (const [where, path] of [
  ["the journal cannot be synced", /journal$/],
  ["its log cannot be written", /a\.jsonl$/],
] as const) {
  test(`where ${where} each append of a chat is refused that was made on top, and no other one is`, async () => {
    const inner = new SimulatedDisk();
    const gate = Promise.withResolvers<void>();
    let isBroken = false;
    const call = where.includes("synced") ? "sync" : "write";
    const disk = withSync(
      inner,
      async (at) => {
        if (!isBroken || !path.test(at)) return;
        isBroken = false;
        await gate.promise;
        throw systemError("EIO", { name: call, path: at });
      },
      call,
    );
    const { storage, logs } = await openLarge(disk);
    await logs.append("a", [record("m1")]);
    await logs.append("b", [record("n1")]);
    isBroken = true;
    const first = logs.append("a", [record("m2")]);
    for (let i = 0; i < 20; i++) await nextPass(); // it is on its way
    const others = ["m3", "m4", "m5"].map((id) => logs.append("a", [record(id)]));
    const refusals = Promise.all(
      [first, ...others].map((appending) => assert.rejects(appending, refused)),
    );
    const beside = logs.append("b", [record("n2")]);
    for (let i = 0; i < 20; i++) await nextPass();
    gate.resolve();
    await refusals;
    assert.equal(await beside, 2);
    for (const image of [processDeathImage(inner), ...crashImages(inner, { maxImages: 64 })]) {
      assert.deepEqual(await idsOn(image, ["a", "b"]), [["m1"], ["n1", "n2"]], image.label);
    }
    assert.equal(await logs.append("a", [record("m6")]), 2);
    for (const image of crashImages(inner, { maxImages: 64 })) {
      assert.deepEqual(await idsOn(image, ["a"]), [["m1", "m6"]], image.label);
    }
    await storage.close();
  });
}

test("appends of one chat that do not wait for each other are stored in order over many segments", async () => {
  const disk = new SimulatedDisk();
  const { storage, logs } = await openOn(disk);
  const ids = Array.from({ length: 200 }, (_, i) => `m${i}`);
  const seqs = await Promise.all(ids.map((id) => logs.append("a", [record(id)])));
  assert.deepEqual(
    seqs,
    ids.map((_, i) => i + 1),
  );
  const header = (call: string, position?: number) => call === "write" && position === 0;
  const begun = disk.operations.filter(
    ({ call, path, position }) => path.endsWith("journal") && header(call, position),
  );
  assert.ok(begun.length > 10, `${begun.length} segments`);
  for (const image of [processDeathImage(disk), ...crashImages(disk, { maxImages: 16 })]) {
    assert.deepEqual(await idsOn(image), [ids], image.label);
  }
  await storage.close();
  assert.deepEqual(await idsOn(disk), [ids]);
});

test("an append that waits for the one before it finds its line in the file, and segments are freed, though no other work gets a turn", async (t) => {
  t.mock.method(performance, "now", () => 0); // no sync takes long
  const disk = new SimulatedDisk();
  const { storage, logs } = await openOn(disk);
  let turns = 0;
  const counting = setImmediate(() => turns++);
  for (let i = 0; i < 100; i++) {
    await logs.append("a", [record(`m${i}`)]);
    assert.ok((await bytesOf(disk, logOf("a"))).includes(`the words of m${i}`));
  }
  assert.equal(turns, 0, "the disk in memory answers within the pass");
  clearImmediate(counting);
  assert.ok((await segmentsOn(disk)).length <= 5);
  await storage.close();
  assert.equal((await idsOn(disk))[0]?.length, 100);
});

/** The same object, but for one of its methods. */
function withCall<T extends object, Name extends keyof T>(of: T, name: Name, call: T[Name]): T {
  return new Proxy(of, {
    get(_, each) {
      const own = of[each as keyof T];
      if (each === name) return call;
      return typeof own === "function" ? own.bind(of) : own;
    },
  });
}

test("where a log cannot be written while others wait for a free segment, all others go on", async () => {
  const inner = new SimulatedDisk();
  let isBroken = false;
  // Only this file is another one: each call of the others takes as long as ever.
  const open: Disk["open"] = async (path, mode) => {
    const file = await inner.open(path, mode);
    if (!path.endsWith("a.jsonl")) return file;
    const write: typeof file.write = async (bytes, position) => {
      if (isBroken) throw systemError("EIO", { name: "write", path });
      return file.write(bytes, position);
    };
    return withCall(file, "write", write);
  };
  const disk = withCall<Disk, "open">(inner, "open", open);
  const held = Promise.withResolvers<void>();
  const slow = (index: FileIndex) => {
    const sync = index.sync.bind(index);
    index.sync = (position) => held.promise.then(() => sync(position));
  };
  const { storage, logs } = await openOn(disk, { prepare: slow });
  await logs.append("a", [record("a")]);
  isBroken = true;
  const counts = { stored: 0, refused: 0 };
  const words = (id: string) => ({ ...record(id), words: "x".repeat(500) });
  const feed = async (key: string) => {
    for (let i = 0; i < 20; i++) {
      await logs.append(key, [words(`${key}${i}`)]).then(
        () => counts.stored++,
        () => counts.refused++,
      );
    }
  };
  const feeding = ["a", "b", "c", "d"].map(feed);
  for (let i = 0; i < 2_000; i++) await nextPass();
  held.resolve();
  for (let i = 0; i < 10_000 && counts.stored + counts.refused < 80; i++) await nextPass();
  assert.deepEqual(counts, { stored: 60, refused: 20 });
  await Promise.all(feeding);
  isBroken = false;
  await logs.append("a", [record("a again")]);
  await storage.close();
});

for (const on of ["a disk", "a full disk"] as const) {
  test(`what a start on ${on} believed of a killed process is there after a power cut, and after the next append`, async () => {
    const inner = new SimulatedDisk();
    let isDead = false;
    const dying = withSync(inner, () => (isDead ? new Promise<void>(() => {}) : Promise.resolve()));
    const dead = await openOn(dying);
    await dead.logs.append("a", [record("m1")]);
    isDead = true;
    void dead.logs.append("a", [record("m2")]);
    for (let i = 0; i < 20; i++) await nextPass();
    const fault = { fault: "ENOSPC", at: 1, call: "write", path: /journal$/ } as const;
    const disk = faultyDisk(inner, on === "a disk" ? [] : { ...fault, repeat: "forever" });
    const { logs } = await openOn(disk);
    assert.equal((await logs.tail("a", 9))?.seq, 2);
    if (on === "a full disk") {
      const full = { ...refused, message: /the disk is full/ };
      await assert.rejects(logs.append("a", [record("m3")]), full);
    }
    for (const image of crashImages(inner)) {
      assert.deepEqual(await idsOn(image), [["m1", "m2"]], image.label);
    }
    disk.heal();
    assert.equal(await logs.append("a", [record("m3")]), 3);
    for (const image of crashImages(inner)) {
      assert.deepEqual(await idsOn(image), [["m1", "m2", "m3"]], image.label);
    }
  });
}

test("a log that could not be written again after a failed sync is not believed later", async () => {
  const inner = new SimulatedDisk();
  const disk = faultyDisk(inner, [
    { fault: "EIO", at: 1, call: "sync", path: /a\.jsonl$/ },
    { fault: "EIO", at: 1, call: "read", path: /journal$/ },
  ]);
  const { storage, logs } = await openOn(disk);
  await logs.append("a", [record("m1")]);
  await assert.rejects(logs.delete("b"), refused);
  assert.equal(disk.failures, 2);
  await logs.delete("b"); // which empties the journal
  for (const image of crashImages(inner)) {
    assert.deepEqual(await idsOn(image), [["m1"]], image.label);
  }
  await storage.close();
});

test("a log that is appended to after a rename without an answer has its new file", async () => {
  const inner = new SimulatedDisk();
  const rename = { call: "rename", path: /a\.jsonl/ } as const;
  const disk = faultyDisk(inner, { fault: "EIO", at: 1, does: "all", ...rename });
  const { storage, logs } = await openOn(disk);
  await logs.append("a", [record("m1"), record("m2")]);
  await assert.rejects(logs.erase("a", ["m1"]), unknown);
  await logs.append("a", [record("m3")]);
  for (const image of crashImages(inner)) {
    assert.deepEqual(await idsOn(image), [["m1", "m2", "m3"]], image.label);
  }
  await storage.close();
});

test("a segment that was perhaps removed is not used again", async () => {
  const inner = new SimulatedDisk();
  const call = { call: "syncDirectory", path: /journal$/ } as const;
  const disk = faultyDisk(inner, { fault: "EIO", at: 2, ...call });
  const { storage, logs } = await openOn(disk);
  await logs.append("a", [record("m1")]);
  await assert.rejects(logs.delete("b"), refused);
  assert.equal(disk.failures, 1);
  await logs.append("a", [record("m2")]);
  for (const image of crashImages(inner)) {
    assert.deepEqual(await idsOn(image), [["m1", "m2"]], image.label);
  }
  await logs.delete("b");
  await storage.close();
  assert.deepEqual(await segmentsOn(inner), []);
});

test("an append that was refused stays refused once the segment is gone that took it back", async () => {
  const inner = new SimulatedDisk();
  const disk = faultyDisk(inner, [
    { fault: "EIO", at: 2, call: "write", path: /a\.jsonl$/ },
    { fault: "EIO", at: 4, call: "sync", path: /journal$/ },
  ]);
  const { storage, logs, timers } = await openOn(disk, { segmentBytes: 600 });
  await logs.append("a", [record("m1")]);
  // It fills the second segment: what takes it back is in the third, of which the sync fails then.
  await assert.rejects(logs.append("a", [record(`m2${"x".repeat(200)}`)]), refused);
  await assert.rejects(logs.append("b", [record("n1")]), refused);
  assert.equal(disk.failures, 2);
  const third = "00000003.journal";
  assert.ok((await segmentsOn(inner)).includes(third));
  await timers.pass(10_000); // nothing was written for a while
  for (let pass = 0; (await segmentsOn(inner)).includes(third) && pass < 100; pass++)
    await nextPass();
  assert.ok(!(await segmentsOn(inner)).includes(third));
  for (const image of [processDeathImage(inner), ...crashImages(inner)]) {
    assert.deepEqual(await idsOn(image, ["a", "b"]), [["m1"], []], image.label);
  }
  await storage.close();
});

test("as long as a log cannot be synced its segment stays, and nothing is forgotten by half", async () => {
  const inner = new SimulatedDisk();
  const disk = faultyDisk(inner, {
    ...{ fault: "EIO", at: 1, call: "sync", path: /a\.jsonl$/, repeat: "forever" },
  });
  const { storage, logs } = await openOn(disk);
  await logs.append("a", [record("m1")]);
  for (let i = 0; i < 40; i++) await logs.append("b", [record(`n${i}`)]);
  await assert.rejects(logs.delete("b"), refused);
  await storage.close();
  for (const image of crashImages(inner)) {
    const [a, b] = await idsOn(image, ["a", "b"]);
    assert.deepEqual([a, b?.length], [["m1"], 40], image.label);
  }
});

test("a journal of a later version is refused and left as it is", async () => {
  const disk = new SimulatedDisk();
  await (await openOn(disk)).logs.append("a", [record("m1")]);
  const image = processDeathImage(disk);
  const bytes = await bytesOf(image, first);
  const { header } = readSegment(bytes) ?? assert.fail();
  assert.equal(header.position, 0);
  // The CRC counts too, so that no flipped bit makes a later version.
  const later = Buffer.from(bytes.toString("latin1").replace('"format":1', '"format":2'), "latin1");
  later.writeUInt32LE(crc32(later.subarray(8, later.readUInt32LE(0))), 4);
  await write(image, first, later);
  await assert.rejects(openOn(image), { code: "THROUGHLINE_NEWER_FORMAT" });
  assert.ok((await bytesOf(image, first)).equals(later));
});

/** The files of a disk that hold this text. */
async function filesWith(disk: SimulatedDisk, text: string, at = "/home"): Promise<string[]> {
  const found: string[] = [];
  for (const { name, kind } of await disk.list(at)) {
    const path = `${at}/${name}`;
    if (kind === "directory") found.push(...(await filesWith(disk, text, path)));
    else if ((await bytesOf(disk, path)).includes(text)) found.push(path);
  }
  return found;
}

for (const act of ["erase", "delete"] as const) {
  test(`no word is left in a segment that was about to be used again when ${act} was called`, async () => {
    const inner = new SimulatedDisk();
    const gate = Promise.withResolvers<void>();
    const reached = Promise.withResolvers<void>();
    const begun = new Set<string>();
    const disk = withSync(
      inner,
      async (path, position) => {
        if (!path.startsWith(folder) || position !== 0) return;
        if (begun.has(path)) {
          reached.resolve();
          await gate.promise;
        }
        begun.add(path);
      },
      "write",
    );
    const { storage, logs } = await openOn(disk);
    await logs.append("b", [{ id: "n", content: "y".repeat(1_000) }]);
    await logs.append("a", [record("m1"), { id: "m2", content: "a secret" }]);
    let appending = Promise.resolve(0);
    let isReached = false;
    void reached.promise.then(() => {
      isReached = true;
    });
    for (let i = 0; i < 100 && !isReached; i++) {
      appending = logs.append("b", [record(`n${i}`)]);
      await Promise.race([appending, reached.promise]);
    }
    assert.ok(isReached, "no segment is used again");
    const forgetting: Promise<unknown> =
      act === "erase" ? logs.erase("a", ["m2"]) : logs.delete("a");
    for (let i = 0; i < 20; i++) await nextPass();
    gate.resolve();
    await Promise.all([appending, forgetting]);
    assert.deepEqual(await filesWith(inner, "a secret"), []);
    await storage.close();
  });

  test(`no word is left anywhere once ${act} resolved, whenever the power is cut`, async () => {
    await forEveryCrashPoint<string>({
      async scenario(disk, promise) {
        const { storage, logs } = await openOn(disk);
        for (let i = 0; i < 5; i++) await logs.append("b", [record(`n${i}`)]);
        await logs.append("a", [record("m1"), { id: "m2", content: "a secret" }]);
        await logs.append("b", [record("n9")]);
        if (act === "erase") await logs.erase("a", ["m2"]);
        else await logs.delete("a");
        promise("forgotten");
        await logs.append("b", [record("n10")]);
        await storage.close();
      },
      async check(image, promised) {
        if (!promised.includes("forgotten")) return;
        assert.deepEqual(await filesWith(image, "a secret"), []);
        const [a, b] = await idsOn(image, ["a", "b"]);
        assert.deepEqual(a, act === "erase" ? ["m1", "m2"] : []);
        assert.ok(b !== undefined && b.length >= 6);
        assert.deepEqual(await filesWith(image, "a secret"), []);
      },
      images: { maxImages: 8 },
    });
  });
}

test("refused appends on a full disk leave no files and no open ones, and a later one is stored", async () => {
  let isFull = false;
  const inner = new SimulatedDisk();
  const disk = faultyDisk(inner, {
    ...{ fault: "ENOSPC", call: "write", repeat: "forever" },
    get at() {
      return isFull ? 1 : Number.POSITIVE_INFINITY;
    },
  });
  const { storage, logs } = await openOn(disk);
  const opened = () => callsOn(inner).filter((call) => call.startsWith("open")).length;
  await logs.append("a", [record("m0")]);
  const before = await segmentsOn(inner);
  isFull = true;
  for (let n = 1; n <= 50; n++) await assert.rejects(logs.append("a", [record(`m${n}`)]), refused);
  assert.deepEqual(await segmentsOn(inner), before);
  const openedSoFar = opened();
  isFull = false;
  await logs.append("a", [record("last")]);
  assert.ok(opened() <= openedSoFar + 1);
  for (const image of [...crashImages(inner, { maxImages: 16 }), processDeathImage(inner)]) {
    assert.deepEqual(await idsOn(image), [["m0", "last"]]);
  }
  await storage.close();
});

test("after the folder of the journal is removed an append goes to a new one a second later, and outlives a power cut", async (t) => {
  const disk = new SimulatedDisk();
  const { storage, logs } = await openLarge(disk);
  await logs.append("a", [record("m1")]);
  for (const name of await segmentsOn(disk)) await disk.unlink(`${folder}/${name}`);
  await disk.rmdir(folder);
  secondLater(t);
  await logs.append("a", [record("m2")]);
  for (let pass = 0; pass < 9; pass++) await nextPass();
  for (const image of crashImages(disk, { maxImages: 16 })) {
    assert.deepEqual(await idsOn(image), [["m1", "m2"]]);
  }
  for (const name of await segmentsOn(disk)) await disk.unlink(`${folder}/${name}`);
  await disk.rmdir(folder);
  assert.equal(await logs.erase("a", ["m1"]), 1);
  await storage.close();
});
