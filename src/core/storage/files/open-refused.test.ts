// What a home or a log that cannot be opened is refused with.
import assert from "node:assert/strict";
import { test } from "node:test";
import { crashImages } from "../../../../test/support/crash-images.ts";
import { faultyDisk } from "../../../../test/support/faulty-disk.ts";
import { SimulatedDisk } from "../../../../test/support/simulated-disk.ts";
import { openOn } from "../../../../test/support/storage-workload.ts";
import { isThroughlineError } from "../../errors.ts";

const notAllowed = ["EACCES", "EPERM", "EROFS"] as const;

for (const fault of notAllowed) {
  for (const call of ["mkdir", "list", "syncDirectory"] as const) {
    test(`a home where ${call} gives ${fault} is refused as a setting, and permissions are spoken of`, async () => {
      const disk = faultyDisk(new SimulatedDisk(), {
        fault,
        at: 1,
        repeat: "forever",
        call,
        path: call === "mkdir" ? /./ : /^\/home/,
      });
      await assert.rejects(openOn(disk), {
        code: "THROUGHLINE_CONFIGURATION",
        message: new RegExp(`${fault}.*permissions`),
      });
    });
  }

  test(`a log whose file gives ${fault} is refused alone, and permissions are spoken of`, async () => {
    const inner = new SimulatedDisk();
    const disk = faultyDisk(inner, {
      fault,
      at: 1,
      repeat: "forever",
      call: "open",
      path: /\/a\.jsonl/,
    });
    const { storage, logs } = await openOn(disk);
    await assert.rejects(logs.append("a", [{ id: "m1" }]), {
      code: "THROUGHLINE_UNAVAILABLE",
      message: new RegExp(`${fault}.*permissions`),
    });
    assert.equal(await logs.append("b", [{ id: "m1" }]), 1);
    await storage.close();
  });
}

test("a first append that was not synced is taken for ours whatever a power cut left, garbage aside, which is left as it is", async () => {
  const disk = new SimulatedDisk();
  const { logs } = await openOn(disk, { durability: "process" });
  await logs.append("a", [{ id: "m1", content: "text ".repeat(300) }, { id: "m2" }]);
  await disk.syncDirectory("/home/chats");
  let refused = 0;
  let written = 0;
  for (const image of crashImages(disk, { maxImages: 200 })) {
    const opened = await openOn(image);
    try {
      await opened.logs.append("a", [{ id: "m3" }]);
      written++;
    } catch (error) {
      assert.ok(isThroughlineError(error, "THROUGHLINE_CORRUPT"), image.label);
      assert.match(image.label, /garbage|mixed/);
      assert.deepEqual(
        opened.storage.repairs().map(({ kind }) => kind),
        ["foreign_lines"],
      );
      refused++;
    }
    await opened.storage.close();
  }
  assert.ok(written > 30 && refused > 0, `${written} written, ${refused} refused`);
});
