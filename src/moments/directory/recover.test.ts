import assert from "node:assert/strict";
import { test } from "node:test";
import { processDeathImage } from "../../../test/support/crash-images.ts";
import {
  assertIsWholly,
  filesOf,
  momentOf,
  openPackages,
  path,
  wholePackages,
} from "../../../test/support/package-workload.ts";
import { SimulatedDisk } from "../../../test/support/simulated-disk.ts";

const moment = momentOf(1, { frames: 4, samples: 50_000 });
const { name } = moment.record;
const partial = `${path}/${name}.partial`;

/** A disk whose process died just before the manifest was written. */
async function beforeTheManifest(): Promise<SimulatedDisk> {
  const whole = new SimulatedDisk();
  await (await openPackages(whole)).packages.save(moment);
  const stopAt = 1 + whole.operations.findIndex(({ path: at }) => at.endsWith("feedback.json"));
  const disk = new SimulatedDisk({ stopAt });
  await disk.run(async () => (await openPackages(disk)).packages.save(moment));
  return processDeathImage(disk);
}

test("a half is removed, with a report, nothing is listed, and the moment can be saved", async () => {
  const disk = await beforeTheManifest();
  const opened = await openPackages(disk);
  assert.deepEqual(await wholePackages(disk, opened), []);
  const [{ at: _, bytes = 0, ...report } = {}, ...more] = opened.reports;
  const reason = "a package was begun and not finished; it is removed";
  const key = `feedback/${name}`;
  assert.deepEqual(report, { key, kind: "unfinished_package", after_seq: 0, reason });
  assert.deepEqual([bytes > 50_000, more], [true, []]);
  assert.equal((await filesOf(disk)).size, 0);
  await opened.packages.save(moment);
  assert.deepEqual(await wholePackages(disk, opened), [name]);
});

test("a package that is whole but for its name gets it, with a report", async () => {
  const disk = new SimulatedDisk();
  await (await openPackages(disk)).packages.save(moment);
  await disk.rename(`${path}/${name}`, partial);
  const opened = await openPackages(disk);
  assert.deepEqual(await wholePackages(disk, opened), [name]);
  await assertIsWholly(opened, moment);
  assert.match(opened.reports[0]?.reason ?? "", /^a package was whole but for its name/);
});
