// Preallocated space at the end of a log, which makes appends in a burst cheaper: when it is made and cut off, and that
// neither takes a byte that was stored.
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { crashImages, processDeathImage } from "../../../../test/support/crash-images.ts";
import { faultyDisk } from "../../../../test/support/faulty-disk.ts";
import { openMemoryIndex } from "../../../../test/support/memory-index.ts";
import { type DiskOperation, SimulatedDisk } from "../../../../test/support/simulated-disk.ts";
import { openOn, projection } from "../../../../test/support/storage-workload.ts";
import type { Disk } from "../disk/disk.ts";
import { fileNameOf } from "./file-name.ts";
import { openFileStorage } from "./open-file-storage.ts";

const pathOf = (key: string) => `/home/chats/${fileNameOf(key)}.jsonl`;
const path = pathOf("a");
const blockBytes = 4096;

async function bytesOf(disk: SimulatedDisk, at = path): Promise<Buffer> {
  const file = await disk.open(at, "read");
  const bytes = Buffer.alloc(await file.size());
  await file.read(bytes, 0);
  await file.close();
  return bytes;
}

/** Where the text of a log ends; what follows is NUL. */
function textEnd(bytes: Buffer): number {
  const end = bytes.lastIndexOf("\n") + 1;
  assert.ok(
    bytes.subarray(end).every((byte) => byte === 0),
    "nothing but NUL after the text",
  );
  return end;
}

type Logs = Awaited<ReturnType<typeof openOn>>["logs"];
const append = (logs: Logs, id: string, key = "a") =>
  logs.append(key, [{ id, content: `text of ${id}` }]);
async function appendMany(logs: Logs, count: number, key = "a"): Promise<readonly string[]> {
  const ids = Array.from({ length: count }, (_, i) => `m${i + 1}`);
  for (const id of ids) await append(logs, id, key);
  return ids;
}
async function idsOf(logs: Logs, key = "a"): Promise<readonly string[]> {
  return (await Array.fromAsync(logs.read(key))).map(({ id }) => id);
}
const calls = (disk: SimulatedDisk, call: DiskOperation["call"]) =>
  disk.operations.filter((each) => each.call === call && each.path.startsWith("/home/chats"));

/** A disk on which the process died in a burst of so many appends. */
async function diedInBurst(count = 3): Promise<SimulatedDisk> {
  const disk = new SimulatedDisk();
  await appendMany((await openOn(disk)).logs, count);
  return processDeathImage(disk);
}

async function changeFile(disk: SimulatedDisk, change: (bytes: Buffer) => Buffer): Promise<Buffer> {
  const bytes = change(await bytesOf(disk));
  const file = await disk.open(path, "write");
  await file.truncate(0);
  await file.write(bytes, 0);
  await file.sync();
  await file.close();
  return bytes;
}

test("the second append in a row preallocates 64 KiB, and later ones are written into it", async () => {
  const disk = new SimulatedDisk();
  const { storage, logs } = await openOn(disk);
  await append(logs, "m1");
  assert.equal((await bytesOf(disk)).length, textEnd(await bytesOf(disk)), "one alone makes none");
  await append(logs, "m2");
  const { length } = await bytesOf(disk);
  assert.equal(length % blockBytes, 0);
  assert.equal(length, 17 * blockBytes);
  for (let i = 3; i <= 100; i++) await append(logs, `m${i}`);
  assert.equal((await bytesOf(disk)).length, length);
  assert.equal(calls(disk, "extend").length, 1);
  await storage.close();
});

test("an append that does not fit preallocates again, after itself", async () => {
  const disk = new SimulatedDisk();
  const { storage, logs } = await openOn(disk);
  await appendMany(logs, 2);
  await logs.append("a", [{ id: "long", content: "x".repeat(100_000) }]);
  const bytes = await bytesOf(disk);
  assert.equal(bytes.length, Math.ceil(textEnd(bytes) / blockBytes) * blockBytes + 16 * blockBytes);
  await append(logs, "after");
  assert.deepEqual(await idsOf(logs), ["m1", "m2", "long", "after"]);
  await storage.close();
});

test("one sync makes preallocated space and an append durable", async () => {
  const disk = new SimulatedDisk();
  const { logs } = await openOn(disk);
  await append(logs, "m1");
  const before = calls(disk, "sync").length;
  await append(logs, "m2");
  assert.equal(calls(disk, "sync").length, before + 1);
  for (const image of crashImages(disk)) {
    assert.equal((await bytesOf(image)).length, (await bytesOf(disk)).length);
  }
});

test("nothing is preallocated where nothing is synced", async () => {
  const disk = new SimulatedDisk();
  const { storage, logs } = await openOn(disk, "process");
  await appendMany(logs, 5);
  assert.deepEqual(calls(disk, "extend"), []);
  await storage.close();
});

test("preallocated space is cut off after two quiet seconds, and made again in the next burst", async () => {
  const disk = new SimulatedDisk();
  const { storage, logs, timers } = await openOn(disk);
  await appendMany(logs, 3);
  await timers.pass(1_999);
  assert.notEqual((await bytesOf(disk)).length, textEnd(await bytesOf(disk)));
  await timers.pass(1);
  assert.equal((await bytesOf(disk)).length, textEnd(await bytesOf(disk)));
  await append(logs, "m4");
  await append(logs, "m5");
  assert.equal((await bytesOf(disk)).length, 17 * blockBytes);
  assert.deepEqual(await idsOf(logs), ["m1", "m2", "m3", "m4", "m5"]);
  await storage.close();
});

test("preallocated space is cut off when the storage is closed", async () => {
  const disk = new SimulatedDisk();
  const { storage, logs, timers } = await openOn(disk);
  for (const key of ["a", "b"]) await appendMany(logs, 3, key);
  await storage.close();
  for (const key of ["a", "b"]) {
    const bytes = await bytesOf(disk, pathOf(key));
    assert.equal(bytes.length, textEnd(bytes));
  }
  assert.equal(timers.count, 0);
});

test("a log without preallocated space is not cut when it is closed", async () => {
  const disk = new SimulatedDisk();
  const { storage, logs } = await openOn(disk);
  await append(logs, "m1");
  await storage.close();
  assert.deepEqual(calls(disk, "truncate"), []);
});

test("a process that may no longer write leaves preallocated space alone", async () => {
  const disk = new SimulatedDisk();
  const guard = { lost: false };
  const { storage, logs, timers } = await openOn(disk, "power-cut", undefined, 256, () => {
    if (guard.lost) throw new Error("somebody else has the home");
  });
  await appendMany(logs, 3);
  guard.lost = true;
  const before = await bytesOf(disk);
  await timers.pass(60_000);
  assert.ok(before.equals(await bytesOf(disk)));
  await storage.close();
  assert.ok(before.equals(await bytesOf(disk)));
});

test("preallocated space of a process that died is cut off without a report, and nothing else is", async () => {
  const disk = await diedInBurst();
  assert.equal((await bytesOf(disk)).length, 17 * blockBytes);
  const { storage, logs } = await openOn(disk);
  await logs.list({ limit: 1 });
  assert.equal((await bytesOf(disk)).length, textEnd(await bytesOf(disk)));
  assert.deepEqual(storage.repairs(), []);
  assert.deepEqual(await idsOf(logs), ["m1", "m2", "m3"]);
  await append(logs, "m4");
  await storage.close();
});

test("a torn append in preallocated space is set aside, without that space", async () => {
  const disk = await diedInBurst();
  const end = textEnd(await bytesOf(disk));
  const torn = Buffer.from('{"id":"m4","seq":4,"content":"half');
  await changeFile(disk, (bytes) => Buffer.from(bytes.fill(torn, end, end + torn.length)));
  const { storage, logs } = await openOn(disk);
  assert.deepEqual(await idsOf(logs), ["m1", "m2", "m3"]);
  const [report, ...others] = storage.repairs();
  assert.deepEqual(others, []);
  assert.deepEqual([report?.kind, report?.bytes], ["torn_tail", torn.length]);
  assert.deepEqual(await bytesOf(disk, `/home/${report?.quarantined}`), torn);
  assert.equal((await bytesOf(disk)).length, end);
  await storage.close();
});

for (const [name, change] of [
  ["that end within a block", (bytes: Buffer) => bytes.subarray(0, -1)],
  [
    "of more than is ever preallocated",
    (bytes: Buffer) => Buffer.concat([bytes, Buffer.alloc(2 * 4096)]),
  ],
] as const) {
  test(`NUL bytes ${name} are not preallocated space: they are set aside and reported`, async () => {
    const disk = await diedInBurst();
    const end = textEnd(await bytesOf(disk));
    await changeFile(disk, change);
    const { storage, logs } = await openOn(disk);
    assert.deepEqual(await idsOf(logs), ["m1", "m2", "m3"]);
    const [report] = storage.repairs();
    assert.equal(report?.kind, "torn_tail");
    assert.ok((report?.bytes ?? 0) > 0);
    assert.equal((await bytesOf(disk)).length, end);
    await storage.close();
  });
}

test("a flipped bit in the last batch or in the space after it loses nothing before it, and is reported", async () => {
  const whole = await bytesOf(await diedInBurst());
  const end = textEnd(whole);
  const two = textEnd(await bytesOf(await diedInBurst(2)));
  for (let at = two; at < end + 100; at++) {
    const disk = await diedInBurst();
    await changeFile(disk, (bytes) => {
      bytes[at] = (bytes[at] ?? 0) ^ (1 << (at % 8));
      return bytes;
    });
    const { storage, logs } = await openOn(disk);
    const ids = await idsOf(logs);
    assert.deepEqual(ids, at < end ? ["m1", "m2"] : ["m1", "m2", "m3"], `byte ${at}`);
    assert.equal(storage.repairs()[0]?.kind, "torn_tail", `byte ${at}`);
    await append(logs, "m9");
    assert.deepEqual(await idsOf(logs), [...ids, "m9"]);
    await storage.close();
  }
});

for (const does of ["nothing", "half", "all"] as const) {
  test(`a disk that is too full to preallocate (it does ${does}) takes the appends, and gets back what it gave`, async () => {
    const disk = new SimulatedDisk();
    const faulty = faultyDisk(disk, {
      fault: "ENOSPC",
      at: 1,
      call: "extend",
      repeat: "forever",
      does,
    });
    const { storage, logs } = await openOn(faulty);
    await appendMany(logs, 4);
    assert.equal((await bytesOf(disk)).length, textEnd(await bytesOf(disk)));
    assert.deepEqual(await idsOf(logs), ["m1", "m2", "m3", "m4"]);
    assert.ok(faulty.failures > 0);
    await storage.close();
  });
}

test("preallocated space that cannot be cut off stays, and is harmless", async () => {
  const disk = new SimulatedDisk();
  const faulty = faultyDisk(disk, {
    fault: "EIO",
    at: 1,
    call: "truncate",
    repeat: "forever",
  });
  const { storage, logs, timers } = await openOn(faulty);
  await appendMany(logs, 3);
  await timers.pass(5_000);
  await append(logs, "m4");
  await storage.close();
  assert.notEqual((await bytesOf(disk)).length, textEnd(await bytesOf(disk)));
  const { storage: again, logs: same } = await openOn(disk);
  assert.deepEqual(await idsOf(same), ["m1", "m2", "m3", "m4"]);
  assert.deepEqual(again.repairs(), []);
  await again.close();
});

test("a failed append in preallocated space leaves nothing of itself, and the burst continues", async () => {
  const disk = new SimulatedDisk();
  const faulty = faultyDisk(disk, {
    fault: "EIO",
    at: 4,
    call: "write",
    path: /a\.jsonl/,
    does: "half",
  });
  const { storage, logs } = await openOn(faulty);
  await appendMany(logs, 3);
  await assert.rejects(append(logs, "m4"), { code: "THROUGHLINE_UNAVAILABLE" });
  for (const id of ["m5", "m6"]) await append(logs, id);
  assert.equal((await bytesOf(disk)).length, 17 * blockBytes);
  assert.deepEqual(await idsOf(logs), ["m1", "m2", "m3", "m5", "m6"]);
  await storage.close();
  assert.deepEqual(storage.repairs(), []);
});

/** A disk whose truncates take their time, each second one a long time: other calls overtake them. */
function slowToCut(disk: Disk, pending = { now: 0 }): Disk {
  let truncates = 0;
  return {
    mkdir: (at) => disk.mkdir(at),
    list: (at) => disk.list(at),
    size: (at) => disk.size(at),
    rename: (from, to) => disk.rename(from, to),
    link: (from, to) => disk.link(from, to),
    unlink: (at) => disk.unlink(at),
    rmdir: (at) => disk.rmdir(at),
    syncDirectory: (at) => disk.syncDirectory(at),
    async open(at, how) {
      const file = await disk.open(at, how);
      return {
        read: (into, from) => file.read(into, from),
        size: () => file.size(),
        write: (bytes, to) => file.write(bytes, to),
        sync: () => file.sync(),
        extend: (from, size) => file.extend(from, size),
        close: () => file.close(),
        placeAt: (where) => file.placeAt(where),
        async truncate(size) {
          pending.now++;
          for (let i = truncates++ % 2 === 0 ? 60 : 2; i > 0; i--) await nextTurn();
          await file.truncate(size);
          pending.now--;
        },
      };
    },
  };
}

test("a log that is closed to make place for others is not cut under an append that opens it again", async () => {
  const disk = new SimulatedDisk();
  const { storage, logs } = await openOn(slowToCut(disk), "power-cut", openMemoryIndex(), 1);
  const expected = new Map<string, string[]>();
  for (let round = 0; round < 12; round++) {
    for (const key of ["a", "b", "a", "c"]) {
      const id = `m${round}-${expected.get(key)?.length ?? 0}`;
      expected.set(key, [...(expected.get(key) ?? []), id]);
      await append(logs, id, key);
      await append(logs, `${id}x`, key);
      expected.get(key)?.push(`${id}x`);
    }
  }
  for (const [key, ids] of expected) assert.deepEqual(await idsOf(logs, key), ids);
  await storage.close();
  assert.deepEqual(storage.repairs(), []);
});

test("a log is not cut under an append that comes when it was just called quiet", async () => {
  const disk = new SimulatedDisk();
  const { storage, logs, timers } = await openOn(slowToCut(disk));
  const ids = [...(await appendMany(logs, 3))];
  for (let round = 0; round < 5; round++) {
    await timers.pass(2_000);
    for (const id of [`x${round}`, `y${round}`]) {
      await append(logs, id);
      ids.push(id);
    }
  }
  assert.deepEqual(await idsOf(logs), ids);
  await storage.close();
  assert.deepEqual((await bytesOf(disk)).length, textEnd(await bytesOf(disk)));
});

test("a process that may no longer write puts no new file in the place of one in doubt when it reads", async () => {
  const disk = new SimulatedDisk();
  const faulty = faultyDisk(disk, [
    { fault: "EIO", at: 3, call: "sync", path: /a\.jsonl/ },
    { fault: "EIO", at: 1, call: "open", path: /a\.jsonl\.tmp-(?!new)/ },
  ]);
  const guard = { lost: false };
  const { storage, logs } = await openOn(faulty, "power-cut", undefined, 256, () => {
    if (guard.lost) throw new Error("somebody else has the home");
  });
  await logs.list({ limit: 1 });
  await appendMany(logs, 2);
  await assert.rejects(append(logs, "m3"));
  guard.lost = true;
  const { length } = disk.operations;
  await assert.rejects(logs.tail("a", 5), /somebody else/);
  const names = disk.operations.slice(length).filter(({ changes }) => changes);
  assert.deepEqual(names, []);
  await storage.close();
});

test("nothing is left to do when a closed storage says so, also of a log that was closed to make place", async () => {
  const disk = new SimulatedDisk();
  const pending = { now: 0 };
  const { storage, logs } = await openOn(slowToCut(disk, pending), "power-cut", undefined, 1);
  await append(logs, "m1", "b");
  await appendMany(logs, 4, "a");
  const late = append(logs, "m2", "b");
  await storage.close();
  await late;
  assert.equal(pending.now, 0);
  for (const key of ["a", "b"]) {
    const bytes = await bytesOf(disk, pathOf(key));
    assert.equal(bytes.length, textEnd(bytes), key);
  }
});

test("no file is used once it is closed: not by a timer, not after a deletion that failed", async () => {
  const disk = new SimulatedDisk();
  const faulty = faultyDisk(disk, { fault: "EIO", at: 1, call: "close", path: /a\.jsonl/ });
  const { storage, logs, timers } = await openOn(faulty);
  await logs.list({ limit: 1 });
  await appendMany(logs, 3);
  const closed = calls(disk, "close").length;
  await logs.delete("a").catch(() => undefined);
  await logs.delete("a");
  const { length } = disk.operations;
  await timers.pass(10_000);
  assert.ok(calls(disk, "close").length > closed);
  assert.deepEqual(disk.operations.slice(length), []);
  assert.deepEqual(await appendMany(logs, 2), await idsOf(logs));
  await storage.close();
});

test("a log that was closed as the least used begins a new burst", async () => {
  const disk = new SimulatedDisk();
  const { storage, logs } = await openOn(disk, "power-cut", undefined, 1);
  for (let i = 0; i < 6; i++) {
    for (const key of ["a", "b"]) await append(logs, `m${i}`, key);
  }
  assert.deepEqual(calls(disk, "extend"), [], "nothing was preallocated only to be cut off");
  await storage.close();
});

test("a log that is nothing but NUL bytes is set aside and reported, however long it is", async () => {
  const disk = await diedInBurst();
  await changeFile(disk, (bytes) => Buffer.alloc(bytes.length));
  const { storage, logs } = await openOn(disk);
  assert.deepEqual(await idsOf(logs), []);
  assert.deepEqual(
    storage.repairs().map(({ kind, bytes }) => [kind, bytes]),
    [["torn_tail", 17 * blockBytes]],
  );
  await storage.close();
});

for (const [name, change] of [
  ["preallocated space", (bytes: Buffer) => bytes],
  [
    "a torn append",
    (bytes: Buffer) => Buffer.concat([bytes.subarray(0, textEnd(bytes)), Buffer.from("{")]),
  ],
] as const) {
  test(`a process that may no longer write leaves ${name} of the next one as it is when it reads`, async () => {
    const disk = await diedInBurst();
    const before = await changeFile(disk, change);
    const { storage, logs } = await openOn(disk, "power-cut", undefined, 256, () => {
      throw new Error("somebody else has the home");
    });
    await logs.tail("a", 5).catch(() => undefined);
    await logs.list({ limit: 5 }).catch(() => undefined);
    await storage.close();
    assert.ok(before.equals(await bytesOf(disk)));
    assert.ok(!disk.operations.some(({ path: at }) => at.includes("quarantine")));
  });
}

test("on the disk of this machine a burst preallocates, and a closed log is text alone", async (t) => {
  const home = mkdtempSync(join(tmpdir(), "throughline-preallocated-"));
  t.after(() => rmSync(home, { recursive: true }));
  const storage = await openFileStorage({ home });
  t.after(() => storage.close());
  const logs = storage.logs("chats", projection);
  await appendMany(logs, 40);
  const file = join(home, "chats", "a.jsonl");
  const during = readFileSync(file);
  assert.equal(during.length, textEnd(during) + (17 * blockBytes - textEnd(during)));
  await storage.close();
  const closed = readFileSync(file);
  assert.ok(closed.equals(during.subarray(0, textEnd(during))));
});
