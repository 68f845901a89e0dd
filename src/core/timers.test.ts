import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { systemTimers } from "./timers.ts";

const delays: readonly [delayMs: number, waitsMs: number][] = [
  [1, 1],
  [99.2, 100],
  [3_000_000_000, 2_147_483_647],
];
for (const [delayMs, waitsMs] of delays) {
  test(`a timer of ${delayMs} ms is called once, after ${waitsMs} ms`, (t) => {
    t.mock.timers.enable({ apis: ["setTimeout"] });
    let calls = 0;
    systemTimers.after(delayMs, () => calls++);
    t.mock.timers.tick(waitsMs - 1);
    assert.equal(calls, 0);
    t.mock.timers.tick(1);
    t.mock.timers.tick(10_000);
    assert.equal(calls, 1);
  });
}

test("a timer that was cancelled is not called", (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const cancel = systemTimers.after(10, () => assert.fail("called"));
  cancel();
  t.mock.timers.tick(10);
  cancel();
});

for (const [options, told] of [
  ["{ holdsProcess: true }", "called"],
  ["undefined", ""],
] as const) {
  test(`with ${options} a process that has nothing else to do ${told ? "waits for a timer" : "ends before a timer"}`, () => {
    const url = JSON.stringify(pathToFileURL(join(import.meta.dirname, "timers.ts")));
    const script = `
      const { systemTimers } = await import(${url});
      systemTimers.after(20, () => process.stdout.write("called"), ${options});`;
    const args = ["--input-type=module", "--eval", script];
    const { status, stdout } = spawnSync(process.execPath, args, { timeout: 60_000 });
    assert.deepEqual([status, stdout.toString()], [0, told]);
  });
}
