// Loads exports with the libraries that they are for: datasets and TRL. Each part is skipped,
// with the reason, where its library is not installed. PYTHON names another Python than `python3`.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { realDisk } from "../../src/core/storage/disk/disk.ts";
import { exportFeedback } from "../../src/moments/export/export-feedback.ts";
import type { FeedbackExportOptions } from "../../src/moments/export/selection.ts";
import { SamplePackages, samplePackage } from "../support/feedback-packages.ts";

const interpreter = process.env["PYTHON"] ?? "python3";
const script = join(import.meta.dirname, "feedback-conformance.py");

/** False: all of these modules import. A text: what the test is skipped for. */
function lacks(...modules: readonly string[]): string | false {
  const { status, error } = spawnSync(interpreter, ["-c", `import ${modules.join(", ")}`], {
    ...{ stdio: "ignore", timeout: 120_000 },
  });
  if (error !== undefined) return `${interpreter} is not installed`;
  return status === 0 ? false : `Python lacks one of: ${modules.join(", ")}`;
}

const correction = { text: "I would rather sing.", kind: "replacement" } as const;
/** The first one has neither picture nor sound: types are taken from the first rows. */
const packages = Array.from({ length: 8 }, (_, n) =>
  samplePackage(n, {
    ...(n === 0 ? {} : { frames: [-8_000, -4_000, -500], samples: 320 }),
    manifest: {
      sentiment: n % 2 === 0 ? "positive" : "negative",
      score: n === 7 ? -0.5 : n % 2 === 0 ? 1 : -1,
      ...(n % 2 === 0 ? {} : { correction }),
    },
  }),
);

describe("an export", () => {
  const place = mkdtempSync(join(tmpdir(), "throughline-exports-"));
  const folders = new Map<string, string>();
  const all: readonly (readonly [name: string, options: FeedbackExportOptions])[] = [
    ["kto", { format: "kto" }],
    ["dpo", { format: "dpo" }],
    ["imagefolder", { format: "imagefolder" }],
  ];
  before(async () => {
    for (const [name, options] of all) {
      const folder = join(place, name);
      await exportFeedback(new SamplePackages(packages), realDisk, folder, options);
      folders.set(name, folder);
    }
  });
  after(() => rmSync(place, { recursive: true, force: true }));

  function python(check: string, name: string): Record<string, unknown> {
    const args = [script, check, folders.get(name) ?? ""];
    const { status, stdout, stderr } = spawnSync(interpreter, args, {
      ...{ encoding: "utf8", timeout: 600_000, maxBuffer: 64 * 1024 * 1024 },
    });
    assert.equal(status, 0, stderr.slice(-4_000));
    return JSON.parse(stdout.trim().split("\n").at(-1) ?? "");
  }

  const noDatasets = lacks("datasets");
  const noPictures = lacks("datasets", "PIL");

  test("of kto loads, and its score is no integer", { skip: noDatasets }, () => {
    const columns = ["id", "prompt", "completion", "label", "score", "what", "trigger"];
    assert.deepEqual(python("kto", "kto"), {
      columns: [...columns, "session_id", "created_at"],
      ...{ rows: 8, score: "float64" },
    });
  });

  test("of dpo loads with its columns", { skip: noDatasets }, () => {
    const columns = ["id", "prompt", "chosen", "rejected"];
    assert.deepEqual(python("dpo", "dpo"), { columns, rows: 4 });
  });

  test("of imagefolder loads with its pictures, a place for each", { skip: noPictures }, () => {
    const { columns, rows, sizes, places } = python("images", "imagefolder");
    assert.deepEqual(
      new Set(columns as string[]),
      new Set(["id", "prompt", "completion", "label", "images"]),
    );
    assert.equal(rows, 8);
    assert.deepEqual(places, [0, 3, 3, 3, 3, 3, 3, 3]);
    assert.deepEqual((sizes as unknown[])[0], []);
    assert.deepEqual((sizes as unknown[])[7], Array(3).fill([16, 8]));
  });

  test("of kto trains two steps of KTO", { skip: lacks("datasets", "trl", "torch") }, () => {
    assert.deepEqual(python("train", "kto"), { steps: 2 });
  });
});
