import assert from "node:assert/strict";
import { test } from "node:test";
import { column } from "../../../test/support/columns.ts";
import { faultyDisk } from "../../../test/support/faulty-disk.ts";
import { hookedDisk } from "../../../test/support/hooked-disk.ts";
import {
  filesOf,
  momentOf,
  openPackages,
  path,
  wholePackages,
} from "../../../test/support/package-workload.ts";
import { SimulatedDisk } from "../../../test/support/simulated-disk.ts";
import type { PackageDirectory } from "./package-directory.ts";
import type { RetentionLimits } from "./retention.ts";

const moments = [1, 2, 3, 4].map((number) => {
  const people = number < 3 ? ["Ori", "Ana"] : ["Bo"];
  return momentOf(number, { frames: 1, samples: 0, record: { people } });
});
const names = moments.map(({ record }) => record.name);

const upload = { target: { bucket: "b", region: null, endpoint: null }, keepLocal: true };

async function saved(options: Parameters<typeof openPackages>[1] = {}) {
  const disk = new SimulatedDisk();
  const opened = await openPackages(disk, options);
  for (const moment of moments) await opened.packages.save(moment);
  return { disk, ...opened };
}

const pick = (...numbers: readonly number[]) => numbers.map((number) => names[number - 1]!);

for (const [selection, gone] of [
  [{ name: names[1]! }, pick(2)],
  [{ chatId: "chat:1" }, pick(1, 3)],
  [{ message: { chatId: "chat:1", id: "m1" } }, pick(1, 3)],
  [{ message: { chatId: "chat:1", id: "m2" } }, []],
  [{ person: " oRI " }, pick(1, 2)],
  [{ person: "Or" }, []],
  [{ all: true }, names],
] as const) {
  test(`deleting ${JSON.stringify(selection)} deletes ${gone.length} of 4, and the receipt says which`, async () => {
    const { disk, packages, ...opened } = await saved();
    const receipt = await packages.delete(selection);
    assert.deepEqual(receipt.deleted, gone);
    assert.equal(receipt.packages, gone.length);
    assert.ok(gone.length === 0 || receipt.bytes > 300 * gone.length);
    assert.deepEqual([receipt.failed, receipt.unreadable], [[], []]);
    const kept = names.filter((name) => !gone.some((one) => one === name));
    assert.deepEqual(await wholePackages(disk, { packages, ...opened }), kept);
  });
}

// Case 18, S-25.
test("a deletion reaches the folder, the status and the half, and counts each", async () => {
  const { disk, packages } = await saved();
  const [moment] = moments as [(typeof moments)[number]];
  const { name, what } = moment.record;
  await packages.preserve(name, { by: what, reason: "kept" });
  await disk.mkdir(`${path}/${name}.partial`);
  const half = await disk.open(`${path}/${name}.partial/messages.json`, "create");
  await half.write(Buffer.from(what), 0);
  const receipt = await packages.delete({ name });
  const { packages: folders, unfinished, statuses } = receipt;
  assert.deepEqual([folders, unfinished, statuses], [1, 1, 1]);
  for (const [file, bytes] of await filesOf(disk)) {
    assert.ok(!bytes.includes(what) && !file.includes(name), file);
  }
});

for (const selection of [
  { chatId: "chat:9" },
  { person: "Zoe" },
  { message: { chatId: "chat:9", id: "m9" } },
]) {
  test(`what was never finished goes with ${JSON.stringify(selection)}: it may be theirs`, async () => {
    const { disk, packages } = await saved();
    const half = momentOf(9).record.name;
    await disk.mkdir(`${path}/${half}.partial`);
    const file = `${path}/${half}.partial/messages.json`;
    await (await disk.open(file, "create")).write(Buffer.from("[]"), 0);
    const { deleted, unfinished } = await packages.delete(selection);
    assert.deepEqual([deleted, unfinished], [[half], 1]);
    assert.equal((await packages.list()).packages.length, 4);
  });
}

test("a package whose manifest only lost its checksum is deleted with its chat; one past reading is named", async () => {
  const { disk, packages } = await saved();
  const [first, second] = names as [string, string];
  const damaged = await disk.open(`${path}/${first}/feedback.json`, "write");
  const text = (await packages.part(first, "feedback.json")).toString();
  await damaged.write(Buffer.from(text.replace("a joke 1", "a joke 9")), 0);
  await (await disk.open(`${path}/${second}/feedback.json`, "write")).truncate(50);
  const { deleted, unreadable } = await packages.delete({ chatId: "chat:1" });
  assert.deepEqual([deleted, unreadable], [pick(1, 3), pick(2)]);
  assert.deepEqual((await packages.delete({ name: second })).deleted, [second]);
});

test("a package whose words cannot be read is named, where one message is to go", async () => {
  const { disk, packages } = await saved();
  for (const name of pick(1, 2)) {
    await (await disk.open(`${path}/${name}/messages.json`, "write")).truncate(20);
  }
  const selection = { message: { chatId: "chat:1", id: "m1" } };
  const { deleted, unreadable } = await packages.delete(selection);
  assert.deepEqual([deleted, unreadable], [pick(3), pick(1)]);
});

test("a package that only the bucket has, and whose status is damaged, is named where a chat is to go", async () => {
  const { disk, packages } = await saved({ upload });
  const [name] = pick(1) as [string];
  await packages.sent(name);
  await packages.release(name);
  await (await disk.open(`${path}/${name}.status.json`, "write")).truncate(20);
  const { deleted, unreadable } = await packages.delete({ chatId: "chat:1" });
  assert.deepEqual([deleted, unreadable], [pick(3), [name]]);
});

test("a package that leaves for a bucket while it is read is there, or gone, and never damaged", async () => {
  const answers = new Set<unknown>();
  const ways: readonly ((from: PackageDirectory, name: string) => Promise<unknown>)[] = [
    async (from, name) => (await from.list()).packages.find((one) => one.name === name)?.state,
    async (from, name) =>
      (await Array.fromAsync(from.owned())).find((one) => one.name === name)?.chatIds[0],
    async (from, name) => (await from.read(name)).incomplete.length,
    async (from, name) => (await from.verify(name)).state,
    async (from, name) => (await from.file(name, "messages.json")).path,
  ];
  for (const read of ways) {
    let calls = 0;
    for (let at = 1; calls >= at - 1; at++) {
      const { disk, packages } = await saved({ upload });
      const [name] = pick(1) as [string];
      await packages.sent(name);
      calls = Number.NEGATIVE_INFINITY;
      const whileRead = hookedDisk(disk, async () => {
        if (++calls === at) await packages.release(name);
      });
      const { packages: from } = await openPackages(whileRead);
      calls = 0;
      answers.add(await read(from, name).catch(({ code }) => code));
    }
  }
  const right = ["bucket", "sealed", "chat:1", 0, "whole", "messages.json"];
  assert.deepEqual(answers, new Set([...right, "THROUGHLINE_NOT_FOUND"]));
});

test("a deletion that broke off is finished by the next start, also where the status cannot be read", async () => {
  const { disk } = await saved({ upload });
  const [name] = pick(1) as [string];
  await (await disk.open(`${path}/${name}.status.json`, "write")).truncate(20);
  const fault = { fault: "EIO", at: 1, call: "unlink", path: /status/ } as const;
  const { packages } = await openPackages(faultyDisk(disk, fault));
  assert.equal((await packages.delete({ name })).failed.length, 1);
  await openPackages(disk);
  const left = (await disk.list(path)).filter((entry) => entry.name.startsWith(name));
  assert.deepEqual(left, []);
});

test("when the tombstone cannot be written, the package stays and the receipt says so", async () => {
  const { disk, packages: before } = await saved({ upload });
  await before.sent(names[0]!);
  const { packages } = await openPackages(
    faultyDisk(disk, { fault: "ENOSPC", at: 1, call: "open", path: /tombstone/ }),
  );
  const { deleted, failed } = await packages.delete({ name: names[0]! });
  assert.deepEqual([deleted, failed], [[], [{ name: names[0], error: "ENOSPC" }]]);
  assert.equal((await packages.verify(names[0]!)).state, "whole");
});

test("a deletion during a save of that chat waits for it, and deletes it", async () => {
  const disk = new SimulatedDisk();
  const { packages } = await openPackages(disk);
  const saving = packages.save(moments[0]!);
  const { deleted } = await packages.delete({ chatId: "chat:1" });
  await saving;
  assert.deepEqual(deleted, pick(1));
  assert.equal((await filesOf(disk)).size, 0);
});

test("a deletion that the disk stops midway is told of, finished by the next start, and stops no other", async () => {
  const { disk } = await saved();
  const where = { call: "unlink", path: new RegExp(names[1]!) } as const;
  const broken = faultyDisk(disk, { fault: "EIO", at: 1, repeat: "forever", ...where });
  const { packages } = await openPackages(broken);
  const { deleted, failed } = await packages.delete({ all: true });
  assert.deepEqual(deleted, pick(1, 3, 4));
  assert.deepEqual(failed, [{ name: names[1], error: "EIO" }]);
  assert.deepEqual((await packages.list()).packages, [], "it is no package any more");
  await openPackages(disk);
  assert.equal((await filesOf(disk)).size, 0);
});

const aged = [1, 2, 3, 4].map((number) => momentOf(number, { frames: 1, samples: 0 }));
const agedNames = aged.map(({ record }) => record.name);

/** Four packages, a second apart: the second is preserved, the upload of the third pending. */
async function savedOnce(options: Parameters<typeof openPackages>[1] = {}) {
  const disk = new SimulatedDisk();
  const opened = await openPackages(disk, options);
  const { packages, clock } = opened;
  const uploading = await openPackages(disk, { upload });
  for (const [index, moment] of aged.entries()) {
    await (index === 2 ? uploading.packages : packages).save(moment);
  }
  await packages.preserve(agedNames[1]!, { by: null, reason: null });
  clock.set("2026-02-19T15:30:10.000Z");
  const { bytes } = (await packages.list()).packages[0]!;
  return { disk, bytes, opened, ...opened };
}

/** Which of the four these are. */
const numbersOf = (purged: readonly { readonly name: string }[]) =>
  purged.map(({ name }) => agedNames.indexOf(name) + 1);

type Limits = (bytes: number) => RetentionLimits;
const rows: readonly [what: string, limits: Limits, gone: readonly number[]][] = [
  ["no limit", () => ({}), []],
  ["an age that the oldest is over", () => ({ maxAgeMs: 8_500 }), [1]],
  ["an age of 0", () => ({ maxAgeMs: 0 }), [1, 4]],
  ["bytes for three", (bytes) => ({ maxBytes: bytes * 3 + 9 }), [1]],
  ["no bytes at all", () => ({ maxBytes: 0 }), [1, 4]],
  ["an age and bytes", (bytes) => ({ maxAgeMs: 8_500, maxBytes: bytes * 3 + 9 }), [1]],
];
for (const [what, limits, gone] of rows) {
  test(`with ${what}, of four packages whose second is preserved and third still to be uploaded, ${gone.length} are removed: ${gone}`, async () => {
    const { disk, packages, bytes, opened } = await savedOnce();
    const { purged, clockIsBehind } = await packages.purge(limits(bytes));
    assert.deepEqual(numbersOf(purged), gone);
    assert.equal(clockIsBehind, false);
    const kept = agedNames.filter((_, index) => !gone.includes(index + 1));
    assert.deepEqual(await wholePackages(disk, opened), kept);
  });
}

test("nothing is removed while the clock is behind the newest package", async () => {
  const { packages, clock } = await savedOnce();
  clock.set("2026-02-19T15:30:03.000Z");
  const { purged, clockIsBehind } = await packages.purge({ maxAgeMs: 0, maxBytes: 0 });
  assert.deepEqual([purged, clockIsBehind], [[], true]);
});

const dayMs = 24 * 3_600_000;
/** Of the newest of the four; the clock is set to `pastMs` after it. */
const newestAt = Date.parse(
  `${agedNames[3]!.slice(0, 10)}T${agedNames[3]!.slice(11, 19).replaceAll("-", ":")}Z`,
);
for (const [pastMs, limits, gone, isAhead] of [
  [365 * dayMs, { maxAgeMs: 30 * dayMs }, [1, 4], false],
  [365 * dayMs + 1, { maxAgeMs: 30 * dayMs }, [], true],
  [365 * dayMs + 1, { maxAgeMs: 30 * dayMs, maxBytes: 0 }, [1, 4], true],
  [365 * dayMs + 1, { maxBytes: 0 }, [1, 4], false],
  [20 * 365 * dayMs, { maxAgeMs: 0 }, [], true],
] as const) {
  test(`with a clock ${pastMs} ms past the newest package, ${JSON.stringify(limits)} removes ${gone.length}`, async () => {
    const { packages, clock, bytes } = await savedOnce();
    clock.set(new Date(newestAt + pastMs).toISOString());
    const report = await packages.purge(limits);
    assert.deepEqual(numbersOf(report.purged), gone);
    const { clockIsAhead, clockIsBehind } = report;
    assert.deepEqual([clockIsAhead, clockIsBehind], [isAhead, false]);
    assert.equal(report.bytes, bytes * (4 - gone.length));
    assert.ok(report.purged.every(({ because }) => !isAhead || because === "max_bytes"));
  });
}

test("once a package was saved by the clock that was far ahead, ages count again", async () => {
  const { packages, clock } = await savedOnce();
  clock.set("2028-02-19T15:30:00.000Z");
  assert.deepEqual((await packages.purge({ maxAgeMs: dayMs })).purged, []);
  await packages.save(momentOf((2 * 365 * dayMs) / 1_000));
  clock.pass(60_000);
  const { purged } = await packages.purge({ maxAgeMs: dayMs });
  assert.deepEqual(column(purged, "name"), [agedNames[0], agedNames[3]]);
});

test("only a package that a bucket has is released, and one that is preserved stays", async () => {
  const { packages, disk, opened } = await savedOnce({ upload });
  await assert.rejects(packages.release(agedNames[0]!), { code: "THROUGHLINE_INVALID" });
  for (const name of agedNames) await packages.sent(name);
  await packages.release(agedNames[0]!);
  await packages.release(agedNames[0]!);
  await packages.release(agedNames[1]!);
  assert.deepEqual(await wholePackages(disk, opened), agedNames.slice(1));
});

test("what is purged here and a bucket has stays known by its status, and is forgotten with its chat", async () => {
  const { packages, disk } = await savedOnce({ upload });
  const [name] = agedNames as [string];
  await packages.sent(name);
  const { purged } = await packages.purge({ maxAgeMs: 8_500 });
  assert.deepEqual(column(purged, "name"), [name]);
  const again = await openPackages(disk);
  assert.equal(await again.packages.has(name), false);
  assert.deepEqual((await again.packages.status(name))?.of?.messages, ["m0", "m1"]);
  const { remote } = await again.packages.delete({ chatId: "chat:1" });
  assert.deepEqual(column(remote, "name"), [name]);
});

test("a package that is preserved while packages are purged stays, whenever that comes", async () => {
  const lost: number[] = [];
  const stride = process.env["THROUGHLINE_FULL"] === "1" ? 1 : 4;
  for (let steps = 0; steps < 60; steps += stride) {
    const { packages } = await openPackages(new SimulatedDisk());
    const moment = momentOf(1, { frames: 0, samples: 0 });
    await packages.save(moment);
    const { name } = moment.record;
    const purging = packages.purge({ maxBytes: 0 });
    for (let step = 0; step < steps; step++) await Promise.resolve();
    const preserved = packages.preserve(name, { by: null, reason: null });
    const [isPreserved] = await Promise.all([preserved.then(Boolean, () => false), purging]);
    if (isPreserved && !(await packages.has(name))) lost.push(steps);
  }
  assert.deepEqual(lost, []);
});
