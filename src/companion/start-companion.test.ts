import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { HeldClock } from "../../test/support/held-clock.ts";
import { HeldTimers } from "../../test/support/held-timers.ts";
import { openThroughline } from "../core/throughline.ts";
import { startCompanion } from "./start-companion.ts";

test("a companion is refused once its memories are closed", async () => {
  const throughline = await openThroughline({ storage: "memory" });
  await throughline.close();
  await assert.rejects(startCompanion(throughline), { code: "THROUGHLINE_CLOSED" });
});

test("a process that has nothing else to do waits until its companion has begun", () => {
  const url = (path: string) => JSON.stringify(pathToFileURL(join(import.meta.dirname, path)));
  const script = `
    const { openThroughline } = await import(${url("../core/throughline.ts")});
    const { startCompanion } = await import(${url("start-companion.ts")});
    const { MemoryPlace, openMemoryProcess } = await import(${url("../../test/support/memory-place.ts")});
    const storage = openMemoryProcess({ place: new MemoryPlace() });
    const throughline = await openThroughline({ storage });
    await startCompanion(throughline);
    if (process.argv.includes("closes")) await throughline.close();
    process.stdout.write("closed");`;
  // Its own timer holds no process.
  for (const more of [["closes"], []]) {
    const args = ["--input-type=module", "--eval", script, ...more];
    const { status, stdout } = spawnSync(process.execPath, args, { timeout: 20_000 });
    assert.deepEqual([status, String(stdout)], [0, "closed"]);
  }
});

test("a companion saves itself when something is due, and no more once its memories are closed", async () => {
  const clock = new HeldClock();
  const timers = new HeldTimers(clock);
  const throughline = await openThroughline({ storage: "memory", clock, timers });
  const documents = throughline.storage.documents("session");
  const companion = await startCompanion(throughline, { saveEveryMs: 1_000 });
  companion.emotions.event("pat_level2");
  const { revision = 0 } = (await documents.read("session")) ?? {};
  await timers.pass(1_200);
  assert.ok(((await documents.read("session"))?.revision ?? 0) > revision);
  await throughline.close();
  assert.equal(timers.count, 0);
});
