import assert from "node:assert/strict";
import { test } from "node:test";
import { crc32 } from "node:zlib";
import { processDeathImage } from "../../../../test/support/crash-images.ts";
import { faultyDisk } from "../../../../test/support/faulty-disk.ts";
import { hookedDisk } from "../../../../test/support/hooked-disk.ts";
import {
  bytesOf as bytesAt,
  logOf as fileOf,
  write,
} from "../../../../test/support/journal-world.ts";
import { SimulatedDisk } from "../../../../test/support/simulated-disk.ts";
import { openOn } from "../../../../test/support/storage-workload.ts";

const path = fileOf("a");
const bytesOf = (disk: SimulatedDisk, at = path) => bytesAt(disk, at);

/** A disk whose home has a chat `a` with this file. */
async function diskWith(bytes: Uint8Array): Promise<SimulatedDisk> {
  const disk = new SimulatedDisk();
  for (const directory of ["/home", "/home/chats"]) await disk.mkdir(directory);
  await write(disk, path, bytes);
  return processDeathImage(disk);
}

/** The bytes of a log with these appends. */
async function logOf(...batches: readonly (readonly string[])[]): Promise<Buffer> {
  const disk = new SimulatedDisk();
  const { storage, logs } = await openOn(disk);
  for (const ids of batches) {
    await logs.append(
      "a",
      ids.map((id) => ({ id, content: `text of ${id}` })),
      { head: { n: ids.length } },
    );
  }
  await storage.close();
  return bytesOf(disk);
}

test("a log is lines of JSON: a metadata line, records with id and seq, a commit after each append", async () => {
  const lines = (await logOf(["m1", "m2"], ["m3"])).toString().trimEnd().split("\n");
  assert.deepEqual(
    lines.map((line) => {
      const { _type, kind, seq, id } = JSON.parse(line);
      return [_type, kind, seq, id].filter((field) => field !== undefined);
    }),
    [
      ["metadata", "log"],
      [1, "m1"],
      [2, "m2"],
      ["metadata", "commit", 2],
      [3, "m3"],
      ["metadata", "commit", 3],
    ],
  );
  assert.match(lines[2] ?? "", /^\{"id":"m2","seq":2,"content"/);
});

test("a log of a later version is refused by its version and left byte for byte", async () => {
  const bytes = Buffer.from(
    (await logOf(["m1"])).toString().replaceAll('"format":1', '"format":2'),
  );
  const disk = await diskWith(bytes);
  const { storage, logs } = await openOn(disk);
  await assert.rejects(logs.tail("a", 1), {
    code: "THROUGHLINE_NEWER_FORMAT",
    message: /format 2/,
  });
  await assert.rejects(logs.append("a", [{ id: "x" }]), { code: "THROUGHLINE_NEWER_FORMAT" });
  await logs.append("b", [{ id: "y" }]);
  assert.deepEqual(
    (await logs.list({ limit: 10 })).rows.map(({ key }) => key),
    ["b"],
  );
  await storage.close();
  assert.deepEqual(await bytesOf(disk), bytes);
});

test("a batch of a later version, with fields that this one does not know, is refused and left byte for byte", async () => {
  const ours = await logOf(["m1"]);
  const { crc: prev } = JSON.parse(ours.toString().trimEnd().split("\n").at(-1) ?? "");
  const record = `{"id":"m2","seq":2}\n`;
  const commit =
    `{"_type":"metadata","kind":"commit","format":2,"seq":2,"count":1,"packed":true,` +
    `"bytes":${record.length},"key":"a","prev":"${prev}"`;
  const crc = crc32(record + commit)
    .toString(16)
    .padStart(8, "0");
  const bytes = Buffer.concat([ours, Buffer.from(`${record}${commit},"crc":"${crc}"}\n`)]);
  const disk = await diskWith(bytes);
  const { storage, logs } = await openOn(disk);
  await assert.rejects(logs.append("a", [{ id: "x" }]), { code: "THROUGHLINE_NEWER_FORMAT" });
  await storage.close();
  assert.deepEqual(await bytesOf(disk), bytes);
});

const nanobot =
  '{"_type": "metadata", "created_at": "2026-01-01T00:00:00"}\n{"role": "user", "content": "Hello"}\n';
const foreign: readonly (readonly [name: string, bytes: string | Buffer])[] = [
  ["JSON lines", nanobot],
  ["a byte order mark before them", `\ufeff${nanobot}`],
  ["a blank line first", `\n${nanobot}`],
  ["a first line of 2 MB", `{"text":"${"x".repeat(2_000_000)}"}\n{"text":"y"}\n`],
  ["UTF-16", Buffer.from(`\ufeff${nanobot}`, "utf16le")],
  ["NUL bytes before JSON lines", `${"\0".repeat(4_096)}${nanobot}`],
  ["11 MB of NUL bytes before JSON lines", `${"\0".repeat(11_000_000)}${nanobot}`],
  ["bytes without any text", Buffer.alloc(5_000, 0x9f)],
  ["one line without a line break", "Hello"],
];
for (const [name, content] of foreign) {
  test(`a file that another program wrote, ${name}, is reported and left byte for byte, not taken for torn`, async () => {
    const bytes = Buffer.from(content);
    const disk = await diskWith(bytes);
    const { storage, logs } = await openOn(disk);
    await assert.rejects(logs.append("a", [{ id: "x" }]), {
      code: "THROUGHLINE_CORRUPT",
      message: /import/,
    });
    await assert.rejects(logs.tail("a", 1), { code: "THROUGHLINE_CORRUPT" });
    assert.deepEqual((await logs.list({ limit: 9 })).rows, []);
    assert.deepEqual(
      storage.repairs().map(({ kind, bytes: size }) => [kind, size]),
      [["foreign_lines", bytes.length]],
    );
    await storage.close();
    assert.ok((await bytesOf(disk)).equals(bytes));
  });
}

const firstBatch = await logOf(["m1", "m2"]);
const ofFirstSector = (bytes: Buffer) => Buffer.concat([Buffer.alloc(64), bytes.subarray(64)]);
const tornStarts: readonly (readonly [name: string, bytes: Buffer])[] = [
  ["its header", firstBatch.subarray(0, firstBatch.indexOf("\n") + 1)],
  ["all but its last byte", firstBatch.subarray(0, -1)],
  ["nothing but NUL", Buffer.alloc(5_000)],
  ["9 MB of NUL", Buffer.alloc(9_000_000)],
  ["its first sector, then NUL", Buffer.concat([firstBatch.subarray(0, 64), Buffer.alloc(448)])],
  ["all but its first sector", ofFirstSector(firstBatch)],
  [
    "records behind its first sector",
    ofFirstSector(firstBatch.subarray(0, firstBatch.indexOf('{"_type', 1))),
  ],
  [
    "all of it, with a bit of its header flipped",
    Buffer.from(firstBatch.toString().replace("l", "m")),
  ],
];
for (const [name, bytes] of tornStarts) {
  test(`a first append of which a power cut left ${name} is set aside, and the chat can be written`, async () => {
    const disk = await diskWith(bytes);
    const { storage, logs } = await openOn(disk);
    assert.equal(await logs.tail("a", 1), undefined);
    const [repair] = storage.repairs();
    assert.deepEqual([repair?.kind, repair?.bytes], ["torn_tail", bytes.length]);
    assert.ok((await bytesOf(disk, `/home/${repair?.quarantined}`)).equals(bytes));
    assert.equal(await logs.append("a", [{ id: "x" }]), 1);
    await storage.close();
  });
}

test("what a creation that failed left behind is in the way of no later one", async () => {
  const inner = new SimulatedDisk();
  const disk = faultyDisk(inner, [
    { fault: "ENOSPC", at: 1, call: "write", path: /a\.jsonl$/ },
    { fault: "EIO", at: 1, call: "unlink", path: /a\.jsonl$/ },
  ]);
  const { storage, logs } = await openOn(disk);
  await assert.rejects(logs.append("a", [{ id: "m1" }]), { code: "THROUGHLINE_UNAVAILABLE" });
  assert.equal(disk.failures, 2);
  assert.equal(await logs.append("a", [{ id: "m1" }]), 1);
  await storage.close();
  assert.deepEqual(
    (await inner.list("/home/chats")).map(({ name }) => name),
    ["a.jsonl"],
  );
});

test("a file that comes to lie where a creation failed is not emptied", async () => {
  const inner = new SimulatedDisk();
  const disk = faultyDisk(inner, { fault: "EIO", at: 1, call: "sync", path: /journal$/ });
  const { storage, logs } = await openOn(disk);
  await assert.rejects(logs.append("a", [{ id: "m1" }]), { code: "THROUGHLINE_UNAVAILABLE" });
  await (await inner.open(path, "create")).write(Buffer.from(nanobot), 0);
  await assert.rejects(logs.append("a", [{ id: "m1" }]), { code: "THROUGHLINE_CORRUPT" });
  await storage.close();
  assert.equal((await bytesOf(inner)).toString(), nanobot);
});

test("a file that comes to lie in the place of a new log is not replaced by it", async () => {
  const inner = new SimulatedDisk();
  const late = hookedDisk(inner, async (call, at, { of: how }) => {
    if (call !== "open" || at !== path || how !== "create") return;
    await (await inner.open(path, "create")).write(Buffer.from(nanobot), 0);
  });
  const { storage, logs } = await openOn(late);
  await assert.rejects(logs.append("a", [{ id: "m1" }]), { code: "THROUGHLINE_UNAVAILABLE" });
  await storage.close();
  assert.equal((await bytesOf(inner)).toString(), nanobot);
});

test("only what was to replace a file of ours is swept, nothing that is merely called temporary", async () => {
  const disk = await diskWith(new Uint8Array());
  const kept = ["report.tmp-abc", "a.csv.tmp-1", "b.json"];
  for (const name of [...kept, "a.jsonl.tmp-new", "s.json.tmp-1x2", "s.json.bak.tmp-1x3"]) {
    await disk.open(`/home/${name}`, "create");
  }
  const { storage } = await openOn(disk);
  await storage.close();
  const files = (await disk.list("/home")).filter(({ kind }) => kind === "file");
  assert.deepEqual(files.map(({ name }) => name).sort(), kept.toSorted());
});

test("the file of another chat under this name is refused and left as it is", async () => {
  const bytes = Buffer.from((await logOf(["m1"])).toString());
  const disk = await diskWith(bytes);
  await disk.rename(path, fileOf("b"));
  const { storage, logs } = await openOn(disk);
  await assert.rejects(logs.tail("b", 1), { code: "THROUGHLINE_CORRUPT" });
  await storage.close();
});

test("a zero-byte file is an empty chat that can be written", async () => {
  const disk = await diskWith(new Uint8Array());
  const { storage, logs } = await openOn(disk);
  assert.equal(await logs.tail("a", 1), undefined);
  assert.equal(await logs.append("a", [{ id: "x" }]), 1);
  await storage.close();
});

const tails: readonly (readonly [name: string, tail: Buffer])[] = [
  ["a whole record without its commit", Buffer.from('{"id":"m9","seq":4,"content":"x"}\n')],
  ["582 bytes of NUL", Buffer.alloc(582)],
  ["a line break", Buffer.from("\n")],
  ["200 KB without a line break", Buffer.alloc(200_000, 97)],
];
for (const [name, tail] of tails) {
  test(`a tail of ${name} is cut, kept in quarantine and reported; what was stored is there`, async () => {
    const whole = await logOf(["m1", "m2"], ["m3"]);
    const disk = await diskWith(Buffer.concat([whole, tail]));
    const { storage, logs } = await openOn(disk);
    assert.equal((await logs.tail("a", 10))?.records.length, 3);
    const [repair, ...more] = storage.repairs();
    assert.deepEqual(more, []);
    assert.equal(repair?.kind, "torn_tail");
    assert.equal(repair?.bytes, tail.length);
    assert.equal(repair?.after_seq, 3);
    assert.deepEqual(await bytesOf(disk, `/home/${repair?.quarantined}`), tail);
    assert.equal(await logs.append("a", [{ id: "m4", content: "text of m4" }]), 4);
    await storage.close();
    assert.deepEqual((await bytesOf(disk)).subarray(0, whole.length), whole);
  });
}

test("a log in which damage was met is damaged from then on, in its tail and in lists", async () => {
  const bytes = await logOf(["m1"], ["m2"], ["m3"]);
  const at = bytes.indexOf("text of m2");
  bytes.writeUInt8(bytes.readUInt8(at) ^ 1, at);
  const { storage, logs } = await openOn(await diskWith(bytes));
  assert.equal((await Array.fromAsync(logs.read("a"))).length, 2);
  assert.equal((await logs.tail("a", 10))?.damaged, true);
  assert.equal((await logs.list({ limit: 1 })).rows[0]?.damaged, true);
  await storage.close();
});

test("content that looks like commit lines and control records stays content", async () => {
  const bytes = (await logOf(["m1"])).toString();
  const disk = new SimulatedDisk();
  const { storage, logs } = await openOn(disk);
  for (let cut = 0; cut <= bytes.length; cut += 7) {
    await logs.append("a", [
      { id: `p${cut}`, content: bytes.slice(0, cut) },
      { id: `s${cut}`, content: `\n${bytes.slice(cut)}` },
    ]);
  }
  await storage.close();
  const again = await openOn(disk);
  const records = await Array.fromAsync(again.logs.read("a"));
  assert.equal(records.length, 2 * (Math.floor(bytes.length / 7) + 1));
  assert.deepEqual(again.storage.repairs(), []);
  await again.storage.close();
});

test("at level process nothing is synced by an append, and everything by closing", async () => {
  const disk = new SimulatedDisk();
  const { storage, logs } = await openOn(disk, { durability: "process" });
  await logs.append("a", [{ id: "m1" }]);
  const syncs = () =>
    disk.operations.filter(({ call, path: at }) => call === "sync" && at === path).length;
  await logs.append("a", [{ id: "m2" }]);
  assert.equal(syncs(), 0);
  await storage.close();
  assert.equal(syncs(), 1);
});

test("a search reads what its hits share once, however many they are", async () => {
  const home = new SimulatedDisk();
  // The read that is one too many fails.
  const disk = faultyDisk(home, { fault: "EIO", at: 9, call: "read", path: /\/chats\// });
  const { storage, logs } = await openOn(disk);
  const ids = Array.from({ length: 1_000 }, (_, i) => `m${i + 1}`);
  const teas = ids.map((id) => ({ id, content: "tea" }));
  for (const key of ["a", "b"]) {
    await logs.append(key, teas.slice(0, 500));
    await logs.append(key, teas.slice(500));
  }
  const hits = await logs.search("tea", { limit: 1_000, key: "a" });
  assert.deepEqual(
    hits.map(({ record }) => record.id),
    ids.toReversed(),
  );
  assert.equal(disk.failures, 0);
  await storage.close();
});
