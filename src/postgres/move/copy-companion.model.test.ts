// Random histories of a companion, copied from memory into files and back into memory, by copies that
// are killed at one write after the other: nothing is lost, nothing is doubled, not a byte is other.
import assert from "node:assert/strict";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import fc from "fast-check";
import { temporaryDirectory } from "../../../test/support/command-line.ts";
import {
  copyKilled,
  everything,
  live,
  onNewest,
  type Step,
  say,
  sayMany,
  sendFile,
  step,
} from "../../../test/support/lived-history.ts";
import { Stopped, stoppingStorage } from "../../../test/support/stopping-storage.ts";
import { moveUnderWay } from "../../core/chat/move-under-way.ts";
import { openFileStorage } from "../../core/storage/files/open-file-storage.ts";
import { openMemoryStorage } from "../../core/storage/memory/memory-storage.ts";
import { copyCompanion } from "./copy-companion.ts";

const fast = { durability: "process" } as const;

async function throughFiles(t: TestContext, steps: readonly Step[]) {
  await using first = openMemoryStorage();
  await live(first, steps, "2026-03-01T12:00:00.000Z");
  const home = join(temporaryDirectory(t), "home");
  await using files = await openFileStorage({ home, ...fast });
  const report = await copyCompanion(first, files);
  assert.deepEqual(await everything(files), await everything(first));

  await using second = openMemoryStorage();
  const back = await copyCompanion(files, second);
  assert.deepEqual(await everything(second), await everything(first));
  assert.equal(back.records, report.records);
}

test("any history copied from memory to files and back is the same to the byte", async (t) => {
  const steps = fc.array(step, { maxLength: 12 });
  await fc.assert(
    fc.asyncProperty(steps, (each) => throughFiles(t, each)),
    { numRuns: 3 },
  );
});

for (const when of ["before", "after"] as const) {
  test(`a copy that is killed ${when} write n = 1, 2, 3 …, and restarted each time, is whole`, async () => {
    const check = async (steps: readonly Step[]) => {
      await using source = openMemoryStorage();
      await live(source, steps, "2026-03-01T12:00:00.000Z");
      await using target = openMemoryStorage();
      const kills = await copyKilled(source, target, when);
      assert.ok(kills >= 4, `killed ${kills} times`);
      assert.deepEqual(await everything(target), await everything(source));
    };
    await fc.assert(fc.asyncProperty(fc.array(step, { maxLength: 15 }), check), { numRuns: 3 });
  });
}

test("a copy killed at write n = 1, 2, 3 …, whose source goes on, is whole once it ends", async () => {
  for (let n = 1, isDone = false; !isDone && n < 100; n++) {
    await using source = openMemoryStorage();
    const before = [say("local:me", "one"), sayMany(["telegram:42", 300]), say("__proto__", "x")];
    before.push(sendFile("local:me", "a"), sendFile("telegram:42", "b"));
    await live(source, before, "2026-03-01T12:00:00.000Z");
    await using target = openMemoryStorage();
    const stopped = stoppingStorage(target, { write: n, when: "after" });
    isDone = await copyCompanion(source, stopped).then(
      () => true,
      (error) => {
        if (error instanceof Stopped) return false;
        throw error;
      },
    );
    const wasCut = (await moveUnderWay(target)) !== undefined;
    const forget: Step = ({ chats }) => chats.forget("__proto__");
    const erase = onNewest("telegram:42", ({ chats }, id) => chats.erase("telegram:42", id));
    const more = [say("local:me", "two"), erase, ...(wasCut ? [forget] : [])];
    await live(source, more, "2026-04-01T12:00:00.000Z");
    if (!wasCut && !isDone) continue; // before its first write, or after its last
    if (isDone) return;
    await copyCompanion(source, target);
    assert.deepEqual(await everything(target), await everything(source), `write ${n}`);
  }
});
