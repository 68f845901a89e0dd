import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { faultyDisk } from "../../../test/support/faulty-disk.ts";
import { randomId } from "../../core/ids.ts";
import { silentLogger } from "../../core/logger.ts";
import { type Disk, realDisk } from "../../core/storage/disk/disk.ts";
import type { Consent } from "../package/record.ts";
import { initialConsent } from "../record/consent.ts";
import { KeptConsent } from "./consent-file.ts";

const everything: Consent = {
  messages: true,
  frames: true,
  audio: true,
  upload: true,
  export: true,
  wording: "the last two minutes",
  timestamp: 1,
  by: "ann",
};
const words: Consent = { ...everything, frames: false, audio: false, upload: false, export: false };

function home(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), "throughline-consent-"));
  t.after(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

function kept(path: string, disk: Disk = realDisk, guard = () => {}) {
  const ports = { disk, guard, newId: randomId, unsyncedNames: new Set<string>() };
  return new KeptConsent({ ...ports, logger: silentLogger }, path);
}

test("of changes at once the last one is kept, also when an earlier one takes longer", async (t) => {
  const path = home(t);
  let slow: Promise<void> | undefined = new Promise((resolve) => setTimeout(resolve, 50));
  const disk = new Proxy(realDisk, {
    get: (inner, name: keyof Disk) => {
      if (name !== "rename") return inner[name].bind(inner);
      return async (from: string, to: string) => {
        const wait = slow;
        slow = undefined;
        await wait;
        await inner.rename(from, to);
      };
    },
  });
  const consent = kept(path, disk);
  await Promise.all([consent.keep(everything), consent.keep(words)]);
  assert.deepEqual(await kept(path).read(), words);
});

const silence = { ...words, messages: false };

test("what is withdrawn and cannot be kept is not there any more, what is granted changes nothing", async (t) => {
  for (const [before, now, after] of [
    [everything, words, undefined],
    [words, everything, words],
    [words, silence, undefined],
    [silence, { ...everything, messages: false }, silence],
  ] as const) {
    const path = home(t);
    await kept(path).keep(before);
    const full = faultyDisk(realDisk, { fault: "ENOSPC", at: 1, repeat: "forever", call: "write" });
    const consent = kept(path, full);
    await consent.read();
    await assert.rejects(consent.keep(now), { code: "THROUGHLINE_UNAVAILABLE" });
    assert.deepEqual(await kept(path).read(), after);
  }
});

test("a folder, a link or a pipe in the place of the file agrees to nothing, and keeps nothing waiting", {
  timeout: 20_000,
}, async (t) => {
  const plant: readonly ((path: string) => void)[] = [
    (path) => mkdirSync(path),
    (path) => symlinkSync(path, path),
    (path) => void execFileSync("mkfifo", [path]),
  ];
  for (const make of plant) {
    const path = home(t);
    make(join(path, "consent.json"));
    assert.deepEqual(await kept(path).read(), initialConsent);
  }
});

test("a process that is not the writer any more keeps nothing", async (t) => {
  const path = home(t);
  const lost = kept(path, realDisk, () => {
    throw new Error("lost");
  });
  await assert.rejects(lost.keep(everything), /lost/);
  assert.equal(await kept(path).read(), undefined);
});

for (const [what, wording, megabytes] of [
  ["with a wording of 2,001 characters", "x".repeat(2_001), 0],
  ["of more than 64 MiB", "x", 65],
] as const) {
  test(`a file ${what} agrees to words alone, and is not absent`, async (t) => {
    const path = home(t);
    const file = join(path, "consent.json");
    writeFileSync(file, JSON.stringify({ ...everything, wording }));
    if (megabytes > 0) truncateSync(file, megabytes * 1024 * 1024);
    assert.deepEqual(await kept(path).read(), initialConsent);
  });
}
