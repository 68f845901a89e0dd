import assert from "node:assert/strict";
import { test } from "node:test";
import { forEveryCrashPoint } from "../../../test/support/crash-points.ts";
import { filesOf, momentOf, openPackages, path } from "../../../test/support/package-workload.ts";
import { SimulatedDisk } from "../../../test/support/simulated-disk.ts";
import type { Disk } from "../../core/storage/disk/disk.ts";

const outbox = "/home/outbox";
const [kept, gone] = [momentOf(1), momentOf(2)];
const name = kept.record.name;
const target = { bucket: "moments", region: "us-east-1", endpoint: null };
const prefix = `feedback/a1b2c3d4/${name}/`;

/** An entry as version 0.1 wrote it. */
const entryOf = (kind: string, more: object = {}) => ({
  v: 1,
  kind,
  name,
  target,
  prefix,
  state: "pending",
  attempts: 2,
  first_at: 7,
  next_at: 9,
  sent_through: 0,
  keep_local: true,
  last_error: null,
  bytes: 12,
  ...more,
});

async function put(disk: Disk, place: string, value: unknown): Promise<void> {
  const file = await disk.open(place, "create");
  await file.write(Buffer.from(typeof value === "string" ? value : JSON.stringify(value)), 0);
  await file.sync();
  await file.close();
}

/** A home of version 0.1 with two packages and these entries. */
async function homeWith(entries: Readonly<Record<string, unknown>>): Promise<SimulatedDisk> {
  const disk = new SimulatedDisk();
  const { packages } = await openPackages(disk);
  for (const moment of [kept, gone]) await packages.save(moment);
  await disk.mkdir(outbox);
  for (const [id, entry] of Object.entries(entries)) await put(disk, `${outbox}/${id}.json`, entry);
  for (const folder of ["/", "/home", outbox]) await disk.syncDirectory(folder);
  return disk;
}

const open = (disk: Disk) => openPackages(disk, { outbox });
const hasOutbox = async (disk: Disk) =>
  (await disk.list("/home")).some((entry) => entry.name === "outbox");

const refused = { class: "conflict", code: null, status: 412, at: 8 };
for (const [says, entry, state] of [
  ["waits", entryOf("package"), "pending"],
  ["was about to be", entryOf("package", { state: "saving" }), "pending"],
  ["was refused", entryOf("package", { state: "parked", last_error: refused }), "failed"],
] as const) {
  test(`an upload that ${says} is ${state} in the status, and the outbox is gone`, async () => {
    const disk = await homeWith({ [name]: entry });
    const { packages, reports } = await open(disk);
    const { upload } = (await packages.status(name)) ?? {};
    assert.deepEqual(
      [upload?.state, upload?.prefix, upload?.target, upload?.since, upload?.bytes],
      [state, prefix, target, 7, 12],
    );
    assert.equal(upload?.error?.class, state === "failed" ? "conflict" : undefined);
    assert.deepEqual([await hasOutbox(disk), reports], [false, []]);
  });
}

test("an upload whose package never came to be is dropped", async () => {
  const other = momentOf(9).record.name;
  const more = { name: other, prefix: `feedback/a1b2c3d4/${other}/`, state: "saving" };
  const disk = await homeWith({ [other]: entryOf("package", more) });
  const { packages } = await open(disk);
  assert.deepEqual([await packages.noted(), await hasOutbox(disk)], [[], false]);
});

test("a deletion is a tombstone with each of its places, and wins over an upload of the same package", async () => {
  const paths = ["messages.json"];
  const disk = await homeWith({
    [name]: entryOf("package"),
    [`${name}.delete`]: entryOf("delete", { paths }),
    [`${name}.delete-2`]: entryOf("delete", { target: { ...target, bucket: "old" } }),
  });
  const { packages } = await open(disk);
  const tombstone = await packages.tombstone(name);
  assert.deepEqual(
    tombstone?.places.map((place) => `${place.target.bucket}/${place.prefix}`).sort(),
    [`moments/${prefix}`, `old/${prefix}`],
  );
  assert.deepEqual(await packages.noted(), [{ name, as: "tombstone" }]);
  assert.deepEqual([await packages.has(name), await hasOutbox(disk)], [false, false]);
});

test("a retraction is pending beside its words, of a package that is here, and of one that is not", async () => {
  const words = { at: 1.5, by: "ori", reason: "a slip", superseded_by: null };
  const away = momentOf(9).record.name;
  const there = { name: away, prefix: `feedback/zz/${away}/` };
  const disk = await homeWith({
    [`${name}.retraction`]: entryOf("retraction", { retraction: words }),
    [`${away}.retraction`]: entryOf("retraction", { ...there, retraction: words }),
  });
  const { packages } = await open(disk);
  for (const [each, at] of [
    [name, prefix],
    [away, there.prefix],
  ] as const) {
    const { retracted, uploaded, upload } = (await packages.status(each)) ?? {};
    const { at: timestamp, ...rest } = words;
    assert.deepEqual(retracted, { timestamp, ...rest });
    assert.deepEqual(uploaded, [{ bucket: "moments", prefix: at, timestamp: 7 }]);
    assert.equal(upload?.state, "pending");
  }
});

test("a search, and an upload from memory that was cut off, are tombstones", async () => {
  const search = `search_chat_${"a".repeat(64)}_1772615700`;
  const away = momentOf(9).record.name;
  const there = { name: away, prefix: `feedback/zz/${away}/`, state: "saving" };
  const disk = await homeWith({
    [search]: entryOf("search", { name: search, prefix: "" }),
    [`${away}.sending`]: entryOf("sending", there),
    [`${name}.sending`]: entryOf("sending", { state: "saving" }),
  });
  const { packages } = await open(disk);
  assert.deepEqual(
    (await packages.tombstone(search))?.places.map((place) => place.prefix),
    [""],
  );
  assert.equal((await packages.tombstone(away))?.unless_whole, true);
  assert.equal(await packages.tombstone(name), undefined, "it is here");
  assert.equal(await hasOutbox(disk), false);
});

for (const [says, id, found] of [
  ["an upload", name, "status"],
  ["a deletion", `${name}.delete`, "tombstone"],
] as const) {
  test(`the damaged entry of ${says} is done by its name, and set aside with a report`, async () => {
    const disk = await homeWith({ [id]: '{"v":1,' });
    const { packages, reports } = await open(disk);
    assert.deepEqual(await packages.noted(), [{ name, as: found }]);
    assert.equal(reports[0]?.key, `outbox/${id}`);
    const isAside = (await filesOf(disk)).has(`/home/${reports[0]?.quarantined}`);
    assert.equal(isAside, found === "status", "what is deleted leaves nothing in quarantine");
  });
}

test("an entry of a later version, and a file that is none, are left where they are or set aside", async () => {
  const disk = await homeWith({ [name]: '{"v":2,"what":"else"}', "what-is-this": "?" });
  const { packages, reports } = await open(disk);
  assert.deepEqual(await packages.noted(), []);
  assert.deepEqual(
    (await disk.list(outbox)).map((entry) => entry.name),
    [`${name}.json`],
  );
  assert.equal(reports.length, 1);
});

test("a power cut at any disk call of a conversion comes to the same end", async () => {
  const start = await homeWith({
    [name]: entryOf("package"),
    [`${gone.record.name}.delete`]: entryOf("delete", {
      name: gone.record.name,
      prefix: `feedback/a1b2c3d4/${gone.record.name}/`,
    }),
  });
  await forEveryCrashPoint({
    start,
    scenario: (disk) => open(disk),
    async check(image) {
      const { packages } = await open(image);
      assert.equal((await packages.status(name))?.upload?.state, "pending");
      assert.equal((await packages.tombstone(gone.record.name))?.places.length, 1);
      assert.deepEqual(
        [await packages.has(name), await packages.has(gone.record.name)],
        [true, false],
      );
      assert.equal(await hasOutbox(image), false);
      assert.ok((await filesOf(image, path)).size > 0);
    },
    images: { maxImages: 3 },
  });
});
