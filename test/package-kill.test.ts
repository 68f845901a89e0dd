// A real process on a real disk, killed at random while it saves: what it said was durable is whole
// at the next start, and nothing looks whole that is not. F1, case 10.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, test } from "node:test";
import type { RepairReport } from "../src/core/storage/storage.ts";
import { openPackageDirectory } from "../src/moments/directory/open-package-directory.ts";
import type { PackageDirectory } from "../src/moments/directory/package-directory.ts";
import { seededRandom } from "../src/testing/random.ts";

const rounds = process.env["THROUGHLINE_FULL"] === "1" ? 25 : 3;
const path = fs.mkdtempSync(join(tmpdir(), "package-kill-"));
after(() => fs.rmSync(path, { recursive: true }));

/** Lets a process save, and kills it so many lines and calls after it began. */
async function saveAndDie(first: number, lines: number, turns: number): Promise<readonly string[]> {
  const child = spawn(
    process.execPath,
    [join(import.meta.dirname, "support/package-kill-child.ts"), path, String(first)],
    { stdio: ["ignore", "pipe", "inherit"] },
  );
  const durable: string[] = [];
  let left = turns;
  const kill = () => {
    if (left-- > 0) setImmediate(kill);
    else child.kill("SIGKILL");
  };
  const exited = once(child, "exit");
  const said = createInterface({ input: child.stdout });
  said.on("line", (line) => {
    if (line !== "ready") durable.push(line);
    if (durable.length === lines) kill();
  });
  await Promise.all([exited, once(said, "close")]);
  assert.equal(child.signalCode, "SIGKILL");
  return durable;
}

/** Every package, page by page: the faster the machine, the more there are. */
async function namesIn(packages: PackageDirectory): Promise<ReadonlySet<string>> {
  const names = new Set<string>();
  let before: string | null | undefined;
  do {
    const page = await packages.list({ limit: 500, ...(before ? { before } : {}) });
    assert.deepEqual(page.foreign, []);
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
    durable.push(...(await saveAndDie(round * 1_000, random(6), random(30_000))));
    const reports: RepairReport[] = [];
    const { packages, close } = await openPackageDirectory({
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
    await close();
  }
  t.diagnostic(`${durable.length} durable, ${reported} finished or set aside`);
});
