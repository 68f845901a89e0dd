// Method: run a workload again and again; make the first, then the second, then the third disk call
// fail, with every errno, once and for ever, until a run ends with nothing failing.
import assert from "node:assert/strict";
import { test } from "node:test";
import { checkFault, countFailures, scenes } from "./support/disk-faults.ts";
import { type DiskFault, diskErrors } from "./support/faulty-disk.ts";

const isFull = process.env["THROUGHLINE_FULL"] === "1";

const shorts = [{ fault: "short" as const }];
const faults: readonly Omit<DiskFault, "at">[] = [
  ...diskErrors.map((fault) => ({ fault })),
  ...shorts,
];
const extents = isFull ? (["nothing", "half", "all"] as const) : (["nothing", "half"] as const);
const repeats = isFull ? (["once", "forever"] as const) : (["once"] as const);
/** Not every call of every scene is failed with every error: they take turns. */
const planned = [
  { scene: scenes.plain, stride: isFull ? 5 : 37 },
  { scene: scenes.small, stride: isFull ? 17 : 127 },
  { scene: scenes.races, stride: isFull ? 17 : 127 },
  { scene: scenes.bursts, stride: isFull ? 19 : 61 },
  { scene: scenes.unsynced, stride: isFull ? 31 : 61 },
  { scene: scenes.cut, stride: isFull ? 7 : 37 },
] as const;

let cases = 0;
for (const [nth, fault] of faults.entries()) {
  for (const repeat of repeats) {
    // A file that is there and is for ever said not to be: the home is gone. The guard of the lease stops
    // such a process (lease.test.ts); nothing here could tell it from a home that is empty.
    if (fault.fault === "ENOENT" && repeat === "forever") continue;
    for (const [extent, does] of extents.entries()) {
      for (const [turn, { scene, stride }] of planned.entries()) {
        // Each error in two of the scenes, each scene with all kinds of them.
        if (!isFull && (nth + 3 * extent + turn) % planned.length !== 0) continue;
        test(`nothing stored is lost when disk call n fails with ${fault.fault}, ${repeat}, ${does} of it done${scene.says}`, async () => {
          for (let at = 1 + (nth % stride); ; at += stride) {
            cases++;
            const plan = [{ ...fault, at, repeat, does }];
            const what = `call ${at}: ${JSON.stringify(plan)}`;
            if (!(await checkFault(plan, what, scene)).broke) break;
          }
        });
      }
    }
  }
}

const journal = /journal\/\d+\.journal$/;
const log = /chats\/\w\.jsonl$/;

test("an append needs no preallocated space", async () => {
  for (const fault of isFull ? (["ENOSPC", "EDQUOT", "EFBIG", "EIO"] as const) : ["EIO" as const]) {
    for (const does of ["nothing", "half"] as const) {
      const plan = [{ fault, at: 1, call: "extend" as const, repeat: "forever" as const, does }];
      for (const scene of Object.values(scenes)) {
        const { broke, refusals } = await checkFault(plan, JSON.stringify(plan), scene);
        // Where nothing is synced none is preallocated.
        assert.deepEqual([broke, refusals], [scene !== scenes.unsynced, 0], fault);
      }
    }
  }
});

for (const [where, path] of [
  ["the journal and not the logs", journal],
  ["the logs and not the journal", log],
] as const) {
  test(`a disk that is full for ${where} refuses appends, and none of them is there later`, async () => {
    for (const fault of isFull ? (["ENOSPC", "EDQUOT"] as const) : ["ENOSPC" as const]) {
      for (const scene of Object.values(scenes)) {
        for (let at = 1; ; at += isFull ? 7 : 13) {
          cases++;
          const full = { fault, at, call: ["write", "extend"] as const, path };
          const plan: readonly DiskFault[] = [{ ...full, repeat: "forever", does: "half" }];
          const what = `${where}, from write ${at} on${scene.says}`;
          const { broke, refusals } = await checkFault(plan, what, scene);
          if (!broke) break;
          if (at === 1) assert.ok(refusals > 0, what);
        }
      }
    }
  });
}

test("what a log's failed write left in its file is no record", async () => {
  for (const does of ["half", "all"] as const) {
    for (let at = 1; ; at++) {
      cases++;
      const fault = { fault: "EIO" as const, at, call: "write" as const, path: log, does };
      if (!(await checkFault([fault], `write ${at}, ${does} of it done`)).broke) break;
    }
  }
});

test("nothing stored is lost when the disk fills up: a short write, then ENOSPC on the rest and the cut", async () => {
  for (let at = 1; ; at++) {
    cases++;
    const plan: readonly DiskFault[] = [
      { fault: "short", at, call: "write" },
      { fault: "ENOSPC", at: at + 1, call: "write", repeat: "forever" },
    ];
    if (!(await checkFault(plan, `write ${at}`)).broke) break;
  }
});

test("nothing stored is lost when a sync fails and the new file cannot be made either", async () => {
  let reached = 0;
  for (let at = 1; at <= 30; at++) {
    cases++;
    const plan: readonly DiskFault[] = [
      { fault: "EIO", at, call: "sync" },
      { fault: "EIO", at: 1, call: ["truncate", "open"], path: /jsonl\.tmp-(?!new)/ },
    ];
    if ((await countFailures(plan)) === 2) reached++;
  }
  assert.ok(reached >= 5, `${reached}`);
});

test("the cases were many enough", (t) => {
  t.diagnostic(`${cases} cases`);
  assert.ok(cases >= (isFull ? 1_200 : 120), `${cases}`);
});
