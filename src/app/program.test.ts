import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { test } from "node:test";
import { promisify } from "node:util";
import { isYoungHeapSized } from "../cli/env.ts";

const run = promisify(execFile);
const MiB = 1024 * 1024;

/** What V8's space for new objects grows to in a process that keeps many of them, a while each. */
async function grownTo(options: { readonly isBounded: boolean }): Promise<number> {
  const script = `
    import { setImmediate } from "node:timers/promises";
    import { getHeapSpaceStatistics } from "node:v8";
    const { boundYoungHeap } = await import(${JSON.stringify(import.meta.resolve("./program.ts"))});
    boundYoungHeap(${!options.isBounded});
    let most = 0;
    let kept = [];
    for (let n = 0; n < 3_000_000; n++) {
      kept.push({ n, text: "x" + n });
      if (kept.length > 200_000) kept = [];
      if (n % 5_000 > 0) continue;
      await setImmediate();
      const young = getHeapSpaceStatistics().find((space) => space.space_name === "new_space");
      most = Math.max(most, young.space_size);
    }
    console.log(most);`;
  const args = ["--max-old-space-size=128", "--input-type=module", "--eval", script];
  const { stdout } = await run(process.execPath, args);
  return Number(stdout);
}

test("the space for new objects stays small, where V8 alone gives it more than the limit of the heap", async () => {
  const bounded = await grownTo({ isBounded: true });
  assert.ok(bounded <= 64 * MiB, `${bounded / MiB} MiB`);
  if (process.env["THROUGHLINE_FULL"] !== "1") return;
  const alone = await grownTo({ isBounded: false });
  assert.ok(alone >= 128 * MiB, `${alone / MiB} MiB: V8 does it by itself now`);
});

test("what the person who starts the process says of that space holds", () => {
  assert.equal(isYoungHeapSized({}), false);
  assert.equal(isYoungHeapSized({ NODE_OPTIONS: "--max-semi-space-size=64" }), true);
  assert.equal(isYoungHeapSized({ NODE_OPTIONS: "--max_old_space_size=64" }), false);
});
