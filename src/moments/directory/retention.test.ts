import assert from "node:assert/strict";
import { test } from "node:test";
import { momentOf, openPackages, wholePackages } from "../../../test/support/package-workload.ts";
import { SimulatedDisk } from "../../../test/support/simulated-disk.ts";
import { isThroughlineError } from "../../core/errors.ts";
import type { RetentionLimits } from "./retention.ts";

const moments = [1, 2, 3, 4].map((number) => momentOf(number, { frames: 1, samples: 0 }));
const names = moments.map(({ record }) => record.name);

const target = { bucket: "b", region: null, endpoint: null };
const upload = { target, keepLocal: true };

/** Four packages, a second apart: the second is preserved, the upload of the third pending. */
async function saved(options: Parameters<typeof openPackages>[1] = {}) {
  const disk = new SimulatedDisk();
  const opened = await openPackages(disk, options);
  const { packages, clock } = opened;
  const uploading = await openPackages(disk, { upload });
  for (const [index, moment] of moments.entries()) {
    await (index === 2 ? uploading.packages : packages).save(moment);
  }
  await packages.preserve(names[1]!, { by: null, reason: null });
  clock.set("2026-02-19T15:30:10.000Z");
  const { bytes } = (await packages.list()).packages[0]!;
  return { disk, bytes, opened, ...opened };
}

const rows: readonly [
  what: string,
  limits: (bytes: number) => RetentionLimits,
  gone: readonly number[],
][] = [
  ["no limit", () => ({}), []],
  ["an age that all are under", () => ({ maxAgeMs: 9_000 }), []],
  ["an age that the oldest is over", () => ({ maxAgeMs: 8_500 }), [1]],
  ["an age of 0", () => ({ maxAgeMs: 0 }), [1, 4]],
  ["bytes for all", (bytes) => ({ maxBytes: bytes * 4 + 9 }), []],
  ["bytes for three", (bytes) => ({ maxBytes: bytes * 3 + 9 }), [1]],
  ["no bytes at all", () => ({ maxBytes: 0 }), [1, 4]],
  ["an age and bytes", (bytes) => ({ maxAgeMs: 8_500, maxBytes: bytes * 3 + 9 }), [1]],
];
for (const [what, limits, gone] of rows) {
  test(`with ${what}, of four packages whose second is preserved and third still to be uploaded, ${gone.length} are removed: ${gone}`, async () => {
    const { disk, packages, bytes, opened } = await saved();
    const { purged, clockIsBehind } = await packages.purge(limits(bytes));
    assert.deepEqual(
      purged.map(({ name }) => names.indexOf(name) + 1),
      gone,
    );
    assert.equal(clockIsBehind, false);
    const left = await wholePackages(disk, opened);
    assert.deepEqual(
      left,
      names.filter((_, index) => !gone.includes(index + 1)),
    );
  });
}

test("nothing is removed while the clock is behind the newest package", async () => {
  const { packages, clock } = await saved();
  clock.set("2026-02-19T15:30:03.000Z");
  const { purged, clockIsBehind } = await packages.purge({ maxAgeMs: 0, maxBytes: 0 });
  assert.deepEqual([purged, clockIsBehind], [[], true]);
});

const dayMs = 24 * 3_600_000;
/** Of the newest of the four; the clock is set to `pastMs` after it. */
const newestAt = Date.parse(
  `${names[3]!.slice(0, 10)}T${names[3]!.slice(11, 19).replaceAll("-", ":")}Z`,
);
for (const [pastMs, limits, gone, isAhead] of [
  [365 * dayMs, { maxAgeMs: 30 * dayMs }, [1, 4], false],
  [365 * dayMs + 1, { maxAgeMs: 30 * dayMs }, [], true],
  [365 * dayMs + 1, { maxAgeMs: 30 * dayMs, maxBytes: 0 }, [1, 4], true],
  [365 * dayMs + 1, { maxBytes: 0 }, [1, 4], false],
  [20 * 365 * dayMs, { maxAgeMs: 0 }, [], true],
] as const) {
  test(`with a clock ${pastMs} ms past the newest package, ${JSON.stringify(limits)} removes ${gone.length}`, async () => {
    const { packages, clock, bytes } = await saved();
    clock.set(new Date(newestAt + pastMs).toISOString());
    const report = await packages.purge(limits);
    assert.deepEqual(
      report.purged.map(({ name }) => names.indexOf(name) + 1),
      gone,
    );
    assert.deepEqual(
      [report.clockIsAhead, report.clockIsBehind, report.bytes],
      [isAhead, false, bytes * (4 - gone.length)],
    );
    assert.ok(report.purged.every(({ because }) => !isAhead || because === "max_bytes"));
  });
}

test("once a package was saved by the clock that was far ahead, ages count again", async () => {
  const { packages, clock } = await saved();
  clock.set("2028-02-19T15:30:00.000Z");
  assert.deepEqual((await packages.purge({ maxAgeMs: dayMs })).purged, []);
  await packages.save(momentOf((2 * 365 * dayMs) / 1_000));
  clock.pass(60_000);
  const { purged } = await packages.purge({ maxAgeMs: dayMs });
  assert.deepEqual(
    purged.map(({ name: gone }) => gone),
    [names[0], names[3]],
  );
});

test("only a package that a bucket has is released, and one that is preserved stays", async () => {
  const { packages, disk, opened } = await saved({ upload });
  await assert.rejects(packages.release(names[0]!), (error) =>
    isThroughlineError(error, "THROUGHLINE_INVALID"),
  );
  for (const name of names) await packages.sent(name);
  await packages.release(names[0]!);
  await packages.release(names[0]!);
  await packages.release(names[1]!);
  assert.deepEqual(await wholePackages(disk, opened), names.slice(1));
});

test("what is purged here and a bucket has stays known by its status, and is forgotten with its chat", async () => {
  const { packages, disk } = await saved({ upload });
  const [name] = names as [string];
  await packages.sent(name);
  const { purged } = await packages.purge({ maxAgeMs: 8_500 });
  assert.deepEqual(
    purged.map((one) => one.name),
    [name],
  );
  const again = await openPackages(disk);
  assert.equal(await again.packages.has(name), false);
  assert.deepEqual((await again.packages.status(name))?.of?.messages, ["m0", "m1"]);
  const { remote } = await again.packages.delete({ chatId: "chat:1" });
  assert.deepEqual(
    remote.map((one) => one.name),
    [name],
  );
});

test("a package that is preserved while packages are purged stays, whenever that comes", async () => {
  const lost: number[] = [];
  for (let steps = 0; steps < 60; steps++) {
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
