// A real process on a real disk, killed at random while it saves: what it said was durable is whole
// at the next start, and nothing looks whole that is not. F1, case 10.
import assert from "node:assert/strict";
import fs from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import type { RepairReport } from "../src/core/storage/storage.ts";
import { PackageDirectory } from "../src/moments/directory/package-directory.ts";
import { seededRandom } from "../src/testing/random.ts";
import { killed } from "./support/killed.ts";

const rounds = process.env["THROUGHLINE_FULL"] === "1" ? 25 : 3;
const home = fs.mkdtempSync(join(tmpdir(), "package-kill-"));
const path = join(home, "feedback");
after(() => fs.rmSync(home, { recursive: true }));

/** Every package, page by page: the faster the machine, the more there are. */
async function namesIn(packages: PackageDirectory): Promise<ReadonlySet<string>> {
  const names = new Set<string>();
  let before: string | null | undefined;
  do {
    const page = await packages.list({ limit: 500, ...(before ? { before } : {}) });
    for (const { name } of page.packages) names.add(name);
    before = page.next;
  } while (before !== null);
  return names;
}

test(`whatever was durable is whole after each of ${rounds} kills at random, and the rest is finished or set aside`, async (t) => {
  const random = seededRandom(7);
  const durable: string[] = [];
  const verified = new Set<string>();
  let reported = 0;
  for (let round = 0; round < rounds; round++) {
    const noted = { once: new RegExp(`(?:.+\n){${1 + random(6)}}`), delayMs: random(40) };
    durable.push(...(await killed("moments", [path, String(round * 1_000)], noted)));
    const reports: RepairReport[] = [];
    const packages = await PackageDirectory.open({
      path,
      report: (report) => reports.push(report),
    });
    reported += reports.length;
    const names = await namesIn(packages);
    for (const name of durable) assert.ok(names.has(name), `round ${round}: ${name}`);
    // Each when it is new; and all of them once more in the end, after every recovery.
    for (const name of names) {
      if (verified.has(name) && round < rounds - 1) continue;
      assert.equal((await packages.verify(name)).state, "whole", name);
      verified.add(name);
    }
    const half = fs.readdirSync(path).filter((name) => /partial|deleting|tmp-/.test(name));
    assert.deepEqual(half, []);
    await packages.close();
  }
  t.diagnostic(`${durable.length} durable, ${reported} finished or set aside`);
});
