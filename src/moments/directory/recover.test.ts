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

test("a half is set aside as it is, with a report, nothing is listed, and the moment can be saved", async () => {
  const disk = await beforeTheManifest();
  const before = await filesOf(disk);
  const opened = await openPackages(disk);
  assert.deepEqual(await wholePackages(disk, opened), []);
  assert.deepEqual(
    opened.reports.map(({ at: _, bytes: __, ...rest }) => rest),
    [
      {
        key: `feedback/${name}`,
        kind: "unfinished_package",
        after_seq: 0,
        quarantined: `quarantine/feedback-${name}.partial`,
        reason: "a package was begun and not finished; what was written is set aside",
      },
    ],
  );
  const after = await filesOf(disk);
  for (const [file, bytes] of before) {
    const moved = file.replace(path, "/home/quarantine").replace(name, `feedback-${name}`);
    assert.deepEqual(after.get(moved), bytes, file);
  }
  assert.ok(after.has(`/home/quarantine/feedback-${name}.partial.json`), "the report beside it");
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

test("a second recovery of the same folder sets aside beside the first, not over it", async () => {
  const disk = new SimulatedDisk();
  for (let times = 1; times <= 2; times++) {
    await openPackages(disk);
    await disk.mkdir(partial);
    const file = await disk.open(`${partial}/messages.json`, "create");
    await file.write(Buffer.from(`torn ${times}`), 0);
    await file.close();
    const { reports } = await openPackages(disk);
    const ending = times === 1 ? "" : ".2";
    assert.equal(reports[0]?.quarantined, `quarantine/feedback-${name}.partial${ending}`);
  }
});
