// A real process on a real disk, killed at random while it saves: what it said was durable is whole
// at the next start, and nothing looks whole that is not. F1, case 10.
import assert from "node:assert/strict";
import fs from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { PackageDirectory } from "../src/moments/directory/package-directory.ts";
import { seededRandom } from "../src/testing/random.ts";
import { killed } from "./support/killed.ts";

const rounds = process.env["THROUGHLINE_FULL"] === "1" ? 25 : 3;
const home = fs.mkdtempSync(join(tmpdir(), "package-kill-"));
const path = join(home, "feedback");
after(() => fs.rmSync(home, { recursive: true }));

test(`whatever was durable is whole after each of ${rounds} kills at random, and nothing half is left`, async (t) => {
  const random = seededRandom(7);
  const durable: string[] = [];
  const verified = new Set<string>();
  for (let round = 0; round < rounds; round++) {
    const noted = { once: new RegExp(`(?:.+\n){${1 + random(6)}}`), delayMs: random(40) };
    durable.push(...(await killed("moments", [path, String(round * 1_000)], noted)));
    const packages = await PackageDirectory.open({ path });
    const entries = await Array.fromAsync(packages.entries());
    const names = new Set(entries.map(({ name }) => name));
    for (const name of durable) assert.ok(names.has(name), `round ${round}: ${name}`);
    // Each when it is new; and all of them once more in the end, after every recovery.
    for (const name of names) {
      if (verified.has(name) && round < rounds - 1) continue;
      assert.equal((await packages.verify(name)).state, "whole", name);
      verified.add(name);
    }
    const half = fs.readdirSync(path).filter((name) => /partial|tmp-/.test(name));
    assert.deepEqual(half, []);
    await packages.close();
  }
  t.diagnostic(`${durable.length} durable`);
});
