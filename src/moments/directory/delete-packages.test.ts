import assert from "node:assert/strict";
import { test } from "node:test";
import { faultyDisk } from "../../../test/support/faulty-disk.ts";
import {
  filesOf,
  momentOf,
  openPackages,
  path,
  wholePackages,
} from "../../../test/support/package-workload.ts";
import { SimulatedDisk } from "../../../test/support/simulated-disk.ts";

const moments = [1, 2, 3, 4].map((number) =>
  momentOf(number, {
    frames: 1,
    samples: 0,
    record: { people: number < 3 ? ["Ori", "Ana"] : ["Bo"] },
  }),
);
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
  [{ chatId: "chat" }, []],
  [{ message: { chatId: "chat:1", id: "m1" } }, pick(1, 3)],
  [{ message: { chatId: "chat:1", id: "m2" } }, []],
  [{ message: { chatId: "chat", id: "m1" } }, []],
  [{ person: "Ori" }, pick(1, 2)],
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
    const left = await wholePackages(disk, { packages, ...opened });
    assert.deepEqual(
      left,
      names.filter((name) => !gone.some((one) => one === name)),
    );
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
  { chatId: "chat:1" },
  { person: "Ori" },
  { message: { chatId: "chat:1", id: "m1" } },
]) {
  test(`what is half done goes with ${JSON.stringify(selection)} by its record, and with no other`, async () => {
    const disk = new SimulatedDisk();
    const { packages } = await openPackages(disk);
    const [name] = pick(1) as [string];
    await packages.save(moments[0]!);
    await disk.rename(`${path}/${name}`, `${path}/${name}.partial`);
    for (const other of [{ person: "Zoe" }, { message: { chatId: "chat:1", id: "m9" } }]) {
      assert.deepEqual((await packages.delete(other)).deleted, []);
    }
    assert.deepEqual((await packages.delete(selection)).deleted, [name]);
    assert.equal((await filesOf(disk)).size, 0);
  });
}

for (const selection of [
  { chatId: "chat:9" },
  { person: "Zoe" },
  { message: { chatId: "chat:9", id: "m9" } },
]) {
  test(`a half whose record was never written goes with ${JSON.stringify(selection)}: it may be theirs`, async () => {
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
  const broken = faultyDisk(disk, {
    fault: "EIO",
    at: 1,
    repeat: "forever",
    call: "unlink",
    path: new RegExp(names[1]!),
  });
  const { packages } = await openPackages(broken);
  const { deleted, failed } = await packages.delete({ all: true });
  assert.deepEqual(deleted, pick(1, 3, 4));
  assert.deepEqual(failed, [{ name: names[1], error: "EIO" }]);
  assert.deepEqual((await packages.list()).packages, [], "it is no package any more");
  await openPackages(disk);
  assert.equal((await filesOf(disk)).size, 0);
});
