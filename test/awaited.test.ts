// What somebody awaits keeps a program alive until it settles, whatever timer or thread settles it.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { randomInt } from "node:crypto";
import { join } from "node:path";
import { test } from "node:test";
import { temporaryDirectory } from "./support/command-line.ts";

const seed = randomInt(2 ** 31);
const load = (path: string) => `await import(${JSON.stringify(import.meta.resolve(path))})`;

/** Programs that only await, with nothing else that keeps them alive. */
const programs = {
  "2 appends of 5 MB at level process": `
    const { openThroughline } = ${load("../src/core/throughline.ts")};
    const { seededRandom } = ${load("../src/testing/random.ts")};
    const random = seededRandom(${seed});
    const word = () => random(2 ** 31).toString(36);
    const words = Array.from({ length: 150_000 }, word).join(" ").slice(0, 1_000_000);
    const throughline = await openThroughline({ home: process.argv[1], durability: "process" });
    for (let n = 0; n < 2; n++) {
      const message = (_, i) => ({ id: "m" + n + "-" + i, role: "user", content: i + words });
      await throughline.chats.append("a", Array.from({ length: 5 }, message));
    }
    await throughline.close();`,
  "a moment that is saved at the second try": `
    const { Receipt } = ${load("../src/moments/record/receipt.ts")};
    const { SaveQueue } = ${load("../src/moments/record/save-queue.ts")};
    const { systemTimers } = ${load("../src/core/timers.ts")};
    let failures = 1;
    const save = async () => {
      if (failures-- > 0) throw new Error("the disk is full");
      return { name: "a" };
    };
    const logger = { warn: () => undefined };
    const told = () => undefined;
    const seal = async () => ({});
    const queue = new SaveQueue({ sink: { save }, timers: systemTimers, logger, seal, told });
    const receipt = new Receipt({ id: "a", name: "a", accepted: true });
    queue.add({ receipt });
    await receipt.whenDurable();`,
};

for (const [awaited, code] of Object.entries(programs)) {
  test(`a program that awaits ${awaited} gets there, and ends by itself`, (t) => {
    t.diagnostic(`seed ${seed}`);
    const home = join(temporaryDirectory(t), "home");
    const args = ["--input-type=module", "-e", `${code}\nconsole.log("done");`, home];
    const ended = spawnSync(process.execPath, args, { encoding: "utf8" });
    assert.equal(ended.status, 0, ended.stderr);
    assert.equal(ended.stdout, "done\n");
  });
}
