// Somebody asks for uploads in a process that has read no status yet, as a command does that has just
// begun. The process before it left them failed, or waiting for their turn.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { S3FaultKind } from "../../../test/support/s3/s3-fault.ts";
import { samplePackage } from "../../../test/support/s3/sample-package.ts";
import { UploadWorld } from "../../../test/support/s3/upload-world.ts";

const sample = samplePackage();
const refusals = {
  dead: { kind: "error", status: 400, code: "KeyTooLongError" },
  waiting: { kind: "error", status: 500, code: "InternalError" },
} as const satisfies Record<string, S3FaultKind>;

/** A package that was tried for ten minutes, and the process that tried it has ended. */
async function left(as: keyof typeof refusals): Promise<UploadWorld> {
  const world = await UploadWorld.open();
  await world.uploader.start();
  const key = new RegExp(sample.name);
  const times = Number.POSITIVE_INFINITY;
  world.server.fail({ operation: "PutObject", key, times, does: refusals[as] });
  await world.save(sample);
  await world.time.pass(600_000);
  const { dead, pending } = world.uploader.statistics();
  assert.deepEqual([dead, pending], as === "dead" ? [1, 0] : [0, 1]);
  await world.uploader.close();
  return world;
}

const next = ({ server, disk }: UploadWorld) => UploadWorld.open({ at: server, disk });

for (const as of ["dead", "waiting"] as const) {
  for (const order of ["before", "after"] as const) {
    test(`a package that was left ${as} goes up at once when uploads are asked for ${order} the names are known`, async () => {
      await using before = await left(as);
      before.server.faults.heal();
      await using world = await next(before);
      if (order === "before") world.uploader.probe();
      await world.uploader.start();
      if (order === "after") world.uploader.probe();
      await world.time.until(() => world.uploaded.length > 0, 1_000);
      assert.equal(world.uploaded.length, 1);
      assert.equal(world.clock.monotonic(), 0, "without a wait");
      assert.deepEqual(await world.left(), []);
    });
  }
}

test("a package that failed stays so when nobody asks, and one that waited is tried at once", async () => {
  for (const as of ["dead", "waiting"] as const) {
    await using before = await left(as);
    before.server.faults.heal();
    await using world = await next(before);
    await world.uploader.start();
    await world.uploader.idle();
    const { dead, pending } = world.uploader.statistics();
    assert.deepEqual([dead, pending], as === "dead" ? [1, 0] : [0, 0]);
    assert.equal(world.uploaded.length, as === "dead" ? 0 : 1);
  }
});
