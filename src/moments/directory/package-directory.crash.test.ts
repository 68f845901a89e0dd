// Method: let the process die, or the power fail, before every disk call and within every write of a
// workload, take every disk that could be left, open it, and compare with what was promised: each
// package is whole or not there, what was durable is there, what was deleted is not.
import assert from "node:assert/strict";
import { test } from "node:test";
import { processDeathImage } from "../../../test/support/crash-images.ts";
import { forEveryCrashPoint, type PromiseStored } from "../../../test/support/crash-points.ts";
import {
  assertIsWholly,
  filesOf,
  momentOf,
  openPackages,
  path,
  wholePackages,
} from "../../../test/support/package-workload.ts";
import { type DiskOperation, SimulatedDisk } from "../../../test/support/simulated-disk.ts";
import { placeOf } from "./names.ts";

const isFull = process.env["THROUGHLINE_FULL"] === "1";
Error.stackTraceLimit = 2;

const small = { frames: 2, frameBytes: 80, samples: 300, messages: 2 };
const first = momentOf(1, { ...small, withFile: true });
const second = momentOf(2, { ...small, frames: 1 });
const names = { first: first.record.name, second: second.record.name };

type Told = "first" | "second" | "deleted";

/** Names of which something is there. */
async function tracesOn(image: SimulatedDisk) {
  const traces = new Map<string, string>();
  for (const file of (await filesOf(image)).keys()) {
    const [entry = ""] = file.slice(path.length + 1).split("/");
    const place = placeOf(entry);
    if (place === undefined || place.as === "status") continue;
    traces.set(place.name, place.as);
  }
  return traces;
}

async function checkSaved(image: SimulatedDisk, promised: readonly Told[]) {
  const traces = await tracesOn(image);
  const opened = await openPackages(image);
  const there = await wholePackages(image, opened);
  for (const [told, moment] of [
    ["first", first],
    ["second", second],
  ] as const) {
    const name = names[told];
    if (promised.includes(told)) await assertIsWholly(opened, moment);
    // Whatever was begun and not finished is told of.
    const isHalf = traces.has(name) && traces.get(name) !== "package";
    if (isHalf)
      assert.ok(
        opened.reports.some(
          ({ key, kind }) => key === `feedback/${name}` && kind === "unfinished_package",
        ),
        name,
      );
  }
  return { opened, there };
}

const saving = {
  async scenario(disk: SimulatedDisk, promise: PromiseStored<Told>) {
    const { packages } = await openPackages(disk);
    await packages.save(first);
    promise("first");
    await packages.save(second);
    promise("second");
    await packages.close();
  },
  async check(image: SimulatedDisk, promised: readonly Told[], promise: PromiseStored<Told>) {
    const { opened, there } = await checkSaved(image, promised);
    for (const told of ["first", "second"] as const) {
      if (there.includes(names[told]) && promised.includes(told)) promise(told);
    }
    // The same moment again is the same package.
    assert.deepEqual(await opened.packages.save(first), { name: names.first });
    assert.ok((await wholePackages(image, opened)).includes(names.first));
    assert.equal((await opened.packages.list({ limit: 10 })).packages.length <= 2, true);
  },
};

// F1, and case 10.
test("a power cut at any disk call of two saves leaves each package whole or absent, and what was durable whole", async (t) => {
  const counts = await forEveryCrashPoint<Told>({
    ...saving,
    images: { maxImages: isFull ? 100 : 2 },
  });
  t.diagnostic(`${counts.images} images from ${counts.points} points`);
  assert.ok(counts.points >= 40, `${counts.points} points`);
  assert.ok(counts.images >= (isFull ? 1_000 : 60), `${counts.images} images`);
});

test("kill -9 at any disk call of two saves leaves each package whole or absent", async (t) => {
  const counts = await forEveryCrashPoint<Told>({ ...saving, cut: "process" });
  t.diagnostic(`${counts.images} images`);
  assert.ok(counts.images >= 40);
});

/** A disk on which a save, or what follows it, was killed just before a chosen call. */
async function killedBefore(
  wanted: (operation: DiskOperation) => boolean,
  work: (disk: SimulatedDisk) => Promise<unknown>,
): Promise<SimulatedDisk> {
  const whole = new SimulatedDisk();
  await whole.run(() => work(whole));
  const stopAt = 1 + whole.operations.findIndex(wanted);
  assert.ok(stopAt > 0, "there is no such operation");
  const disk = new SimulatedDisk({ stopAt });
  await disk.run(() => work(disk));
  return processDeathImage(disk);
}

async function saveFirst(disk: SimulatedDisk) {
  const { packages } = await openPackages(disk);
  await packages.save(first);
  return packages;
}

const halves: readonly [what: string, made: () => Promise<SimulatedDisk>][] = [
  [
    "a package without its pictures",
    () => killedBefore(({ call, path: at }) => call === "write" && at.endsWith("0.jpg"), saveFirst),
  ],
  [
    "a package without its name",
    () =>
      killedBefore(({ call, path: at }) => call === "rename" && at.endsWith(".partial"), saveFirst),
  ],
  [
    "a begun deletion",
    () =>
      killedBefore(
        ({ call, path: at }) => call === "unlink" && at.includes(".partial"),
        async (on) => (await saveFirst(on)).delete({ name: names.first }),
      ),
  ],
];

for (const [what, made] of halves) {
  test(`a power cut at any disk call of a recovery that finds ${what} removes all of it`, async (t) => {
    const start = await made();
    const counts = await forEveryCrashPoint({
      start,
      scenario: (disk) => openPackages(disk),
      async check(image) {
        const opened = await openPackages(image);
        assert.deepEqual(await wholePackages(image, opened), []);
        await assertNowhere(image, first.record.what);
      },
      images: { maxImages: isFull ? 15 : 2 },
    });
    t.diagnostic(`${counts.images} images from ${counts.points} points`);
    assert.ok(counts.points >= 4 && counts.images >= 6, JSON.stringify(counts));
  });
}

test("a power cut at any disk call of a deletion leaves no package that was taken back without saying so", async () => {
  const before = new SimulatedDisk();
  const packages = await saveFirst(before);
  await packages.retract(names.first, { reason: "not so", by: null });
  await packages.close();
  let there = 0;
  const counts = await forEveryCrashPoint({
    start: processDeathImage(before),
    scenario: async (disk) => (await openPackages(disk)).packages.delete({ name: names.first }),
    async check(image) {
      const opened = await openPackages(image);
      if (!(await opened.packages.has(names.first))) return;
      there++;
      assert.equal((await opened.packages.status(names.first))?.retracted?.reason, "not so");
    },
    images: { maxImages: 8 },
  });
  assert.ok(there > 0 && there < counts.images, `${there} of ${counts.images}`);
});

async function assertNowhere(image: SimulatedDisk, words: string): Promise<void> {
  for (const [file, bytes] of await filesOf(image)) {
    assert.ok(!bytes.includes(words), `${file} still has it`);
  }
}

// Case 18, S-25.
test("a power cut at any disk call of a deletion leaves the package whole, or nothing of it", async (t) => {
  const start = new SimulatedDisk();
  const { packages } = await openPackages(start);
  await packages.save(first);
  await packages.save(second);
  await packages.preserve(names.first, { by: "Ori", reason: "kept" });
  const counts = await forEveryCrashPoint<Told>({
    start,
    async scenario(disk, promise) {
      const opened = await openPackages(disk);
      const receipt = await opened.packages.delete({ chatId: "chat:1" });
      assert.deepEqual(receipt.deleted, [names.first]);
      promise("deleted");
    },
    async check(image, promised) {
      const opened = await openPackages(image);
      const there = await wholePackages(image, opened);
      assert.ok(there.includes(names.second), "the other one is there");
      if (promised.includes("deleted")) assert.deepEqual(there, [names.second]);
      if (there.includes(names.first)) await assertIsWholly(opened, first);
      else await assertNowhere(image, first.record.what);
    },
    images: { maxImages: isFull ? 100 : 2 },
  });
  t.diagnostic(`${counts.images} images from ${counts.points} points`);
  assert.ok(counts.images >= 20);
});

test("a power cut at any disk call of a retraction leaves the old status or the new one", async () => {
  const start = new SimulatedDisk();
  await saveFirst(start);
  await forEveryCrashPoint<Told>({
    start,
    async scenario(disk, promise) {
      const { packages } = await openPackages(disk);
      await packages.retract(names.first, { by: "Ori", reason: "a slip" });
      promise("deleted");
    },
    async check(image, promised) {
      const { packages } = await openPackages(image);
      const status = await packages.status(names.first);
      assert.ok(status, "a status that can be read");
      if (promised.length > 0) assert.equal(status.retracted?.reason, "a slip");
      else assert.ok([undefined, "a slip"].includes(status.retracted?.reason ?? undefined));
    },
    images: { maxImages: isFull ? 50 : 3 },
  });
});

test("a power cut within the recovery of a power cut loses nothing either", {
  skip: isFull ? false : "THROUGHLINE_FULL=1 runs it",
}, async (t) => {
  const counts = await forEveryCrashPoint<Told>({
    async scenario(disk, promise) {
      const { packages } = await openPackages(disk);
      await packages.save(second);
      promise("second");
    },
    async check(image, promised) {
      await checkSaved(image, promised);
    },
    images: { maxImages: 12 },
    laterImages: { maxImages: 5 },
    depth: 2,
  });
  t.diagnostic(`${counts.images} images`);
  assert.ok(counts.images >= 2_000, `${counts.images} images`);
});
