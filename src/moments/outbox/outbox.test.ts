import assert from "node:assert/strict";
import { test } from "node:test";
import { forEveryCrashPoint } from "../../../test/support/crash-points.ts";
import { SimulatedDisk } from "../../../test/support/simulated-disk.ts";
import type { Disk } from "../../core/storage/disk/disk.ts";
import { type NewReport, writeAll } from "../../core/storage/files/file-ports.ts";
import { idOf, kindOfId, nameOfId, Outbox } from "./outbox.ts";
import { encodeEntry, type OwedEntry, readEntry } from "./owed-entry.ts";
import { searchId } from "./owed-search.ts";

const name = "2026-02-19T15-30-00_positive_fb_a1b2c3d4e5f6";
const entry: OwedEntry = {
  ...{ v: 1, kind: "package", name, state: "pending", attempts: 0, first_at: 1, next_at: 1 },
  target: { bucket: "moments", region: "us-east-1", endpoint: null },
  ...{ prefix: `feedback/a1b2c3d4/${name}/`, sent_through: 0, keep_local: true, last_error: null },
};

async function newDisk(): Promise<SimulatedDisk> {
  const disk = new SimulatedDisk();
  await disk.mkdir("/home");
  return disk;
}

function open(disk: Disk) {
  const reports: NewReport[] = [];
  let ids = 0;
  const report = (what: NewReport) => reports.push(what);
  const newId = () => `x${++ids}`;
  const outbox = new Outbox({ disk, newId, unsyncedNames: new Set(), report }, "/home");
  return { outbox, reports };
}

async function put(disk: Disk, path: string, bytes: Buffer): Promise<void> {
  const file = await disk.open(path, "create");
  await writeAll(file, bytes, 0);
  await file.sync();
  await file.close();
}

test("an entry comes back as it was written, and is gone when it was removed", async () => {
  const { outbox } = open(await newDisk());
  await outbox.write(name, entry);
  await outbox.write(name, { ...entry, attempts: 3 });
  assert.deepEqual(await outbox.list(), [name]);
  assert.deepEqual(await outbox.read(name), { ...entry, attempts: 3 });
  await outbox.remove(name);
  await outbox.remove(name);
  assert.equal(await outbox.read(name), undefined);
  assert.deepEqual(await outbox.list(), []);
});

test("entries are listed oldest first, by name alone, and temporary files are swept", async () => {
  const disk = await newDisk();
  const { outbox } = open(disk);
  const names = ["2026-03-01T00-00-00", "2025-12-31T23-59-59", "2026-02-19T15-30-01"];
  for (const stamp of names) {
    const other = `${stamp}_negative_fb_a1b2c3d4e5f6`;
    const prefix = `feedback/s/${other}/`;
    await outbox.write(other, { ...entry, name: other, prefix });
  }
  await put(disk, `/home/outbox/${name}.json.tmp-abc`, Buffer.from("half"));
  await put(disk, "/home/outbox/notes.txt", Buffer.from("a person's"));
  const before = disk.operations.filter(({ call }) => call === "read").length;
  const ids = await outbox.list();
  assert.deepEqual(
    ids.map((id) => id.slice(0, 19)),
    names.toSorted(),
  );
  assert.equal(disk.operations.filter(({ call }) => call === "read").length, before);
  const left = (await disk.list("/home/outbox")).map((file) => file.name);
  assert.equal(left.includes(`${name}.json.tmp-abc`), false);
  assert.ok(left.includes("notes.txt"));
});

const bad: readonly (readonly [says: string, bytes: Buffer])[] = [
  ["no byte", Buffer.alloc(0)],
  ["half of an entry", encodeEntry(entry).subarray(0, 80)],
  ["bytes that are no UTF-8", Buffer.from([0xff, 0xfe, 0x7b])],
  ["an array", Buffer.from("[]")],
  ["the entry of another package", encodeEntry({ ...entry, name: name.replace("a1b2", "ffff") })],
  ["a prefix elsewhere", encodeEntry({ ...entry, prefix: "feedback/x/" })],
  ["a prefix with a way up", encodeEntry({ ...entry, prefix: `feedback/../../${name}/` })],
  ["a package without a prefix", encodeEntry({ ...entry, prefix: "" })],
  ["a search of nobody", encodeEntry({ ...entry, kind: "search", prefix: "" })],
  ["an unknown state", encodeEntry({ ...entry, state: "done" as "pending" })],
  ["an unknown kind", encodeEntry({ ...entry, kind: "copy" as "package" })],
  ["a time that is none", encodeEntry({ ...entry, next_at: -1 })],
  [
    "a target that is text",
    encodeEntry({ ...entry, target: "b" as unknown as OwedEntry["target"] }),
  ],
  ["a retraction without its words", encodeEntry({ ...entry, kind: "retraction" })],
];
for (const [says, bytes] of bad) {
  test(`of an entry of ${says} a copy is set aside, with one report, it stays until it is written anew, and the others are served`, async () => {
    const disk = await newDisk();
    const { outbox, reports } = open(disk);
    const other = name.replace("positive", "negative");
    await outbox.write(other, { ...entry, name: other, prefix: `feedback/s/${other}/` });
    await put(disk, `/home/outbox/${name}.json`, bytes);
    for (let reads = 0; reads < 2; reads++) assert.equal(await outbox.read(name), undefined);
    assert.ok(outbox.wasSetAside(name));
    assert.deepEqual(await outbox.list(), [other, name]);
    assert.ok(await outbox.read(other));
    assert.equal(reports.length, 1);
    const [report] = reports;
    assert.equal(report?.key, `outbox/${name}`);
    const path = `/home/${report?.quarantined}`;
    assert.equal(await disk.size(path), bytes.length);
    await outbox.write(name, entry);
    assert.deepEqual([outbox.wasSetAside(name), await outbox.read(name)], [false, entry]);
  });
}

test("an entry of a later version is left where it is, and not an entry for us", async () => {
  const disk = await newDisk();
  const { outbox, reports } = open(disk);
  await outbox.list();
  await put(disk, `/home/outbox/${name}.json`, Buffer.from('{"v":2,"what":"else"}'));
  assert.equal(await outbox.read(name), undefined);
  assert.deepEqual(await outbox.list(), [name]);
  assert.deepEqual(reports, []);
});

test("each kind has an id of its own, and every entry reads back under it", async () => {
  const { outbox } = open(await newDisk());
  const retraction = { at: 1.5, by: null, reason: "a mistake", superseded_by: null };
  const search = searchId({ by: "chat", sha256: "a".repeat(64), at: 1_772_615_700 });
  const kinds = [
    [idOf("package", name), entry],
    [idOf("sending", name), { ...entry, kind: "sending", state: "saving" }],
    [idOf("search", search), { ...entry, kind: "search", name: search, prefix: "" }],
    [idOf("delete", name, 3), { ...entry, kind: "delete", prefix: "" }],
    [idOf("retraction", name), { ...entry, kind: "retraction", retraction }],
    [idOf("delete", name), { ...entry, kind: "delete", paths: ["messages.json"] }],
    [idOf("delete", name, 2), { ...entry, kind: "delete", paths: [] }],
  ] as const;
  for (const [id, owed] of kinds) await outbox.write(id, owed);
  assert.equal((await outbox.list()).length, kinds.length);
  for (const [id, owed] of kinds) {
    assert.deepEqual(await outbox.read(id), owed);
    assert.deepEqual([kindOfId(id), nameOfId(id)], [owed.kind, owed.name]);
  }
});

test("a power cut or kill at any disk call of a replaced entry leaves the old one or the new one", async () => {
  const counts = await forEveryCrashPoint<number>({
    scenario: async (disk, promise) => {
      await disk.mkdir("/home");
      await disk.syncDirectory("/");
      const { outbox } = open(disk);
      for (let attempts = 0; attempts < 3; attempts++) {
        await outbox.write(name, { ...entry, attempts });
        promise(attempts);
      }
    },
    check: async (disk, promised) => {
      const { outbox, reports } = open(disk);
      const last = promised.at(-1);
      if (last === undefined) return; // perhaps there is not even a home
      await outbox.list();
      const found = await outbox.read(name);
      assert.deepEqual(reports, []);
      assert.ok(found !== undefined && found.attempts >= last, `${found?.attempts} of ${last}`);
    },
  });
  assert.ok(counts.points > 20 && counts.images > 40, JSON.stringify(counts));
});

test("whatever bit of an entry flips, reading it never throws", () => {
  const bytes = encodeEntry(entry);
  for (let at = 0; at < bytes.length; at++) {
    for (const bit of [1, 32, 128]) {
      const flipped = Buffer.from(bytes);
      flipped[at] = (flipped[at] ?? 0) ^ bit;
      const reading = readEntry(flipped);
      assert.ok(reading.entry !== undefined || reading.problem !== undefined);
    }
  }
});
