import assert from "node:assert/strict";
import { test } from "node:test";
import { effectiveMode, type StorageSettings } from "./mode.ts";
import { waitMs } from "./outbox.ts";

test("the wait after a failure is any time up to 1 s, doubled each time up to 300 s for ever", () => {
  for (const [failures, mostMs] of [
    [1, 1_000],
    [2, 2_000],
    [3, 4_000],
    [9, 256_000],
    [10, 300_000],
    [1_000_000, 300_000],
  ] as const) {
    const waits = [0, 0.5, 0.999_999].map((jitter) => waitMs(failures, () => jitter));
    assert.deepEqual(waits.slice(0, 2), [0, mostMs / 2]);
    assert.ok((waits[2] ?? 0) <= mostMs);
  }
  const drawn = Array.from({ length: 20 }, () => waitMs(10));
  assert.ok(drawn.every((ms) => ms >= 0 && ms <= 300_000));
  assert.ok(new Set(drawn).size > 1, "not always the same");
});

// F4, F5: the mode that holds, why, and whether packages are to be uploaded.
const bucket = "moments";
const modes: readonly (readonly [StorageSettings, string, string | null, boolean])[] = [
  [{}, "local", "no_bucket", false],
  [{ bucket: "" }, "local", "no_bucket", false],
  [{ bucket }, "local+s3", null, true],
  [{ mode: "", bucket }, "local+s3", null, true],
  [{ mode: "local", bucket }, "local", null, false],
  [{ mode: "local" }, "local", null, false],
  [{ mode: "s3", bucket }, "s3", null, true],
  [{ mode: "s3" }, "local", "no_bucket", false],
  [{ mode: "S3", bucket }, "local", "unknown_mode", false],
  [{ mode: "cloud", bucket }, "local", "unknown_mode", false],
  [{ mode: " s3", bucket }, "local", "unknown_mode", false],
  [{ mode: "s3", bucket, lacks: "no_credentials" }, "local", "no_credentials", true],
  [{ bucket, lacks: "no_client" }, "local", "no_client", true],
  [{ mode: "local", bucket, lacks: "no_client" }, "local", null, false],
];
for (const [settings, mode, reason, mayUpload] of modes) {
  test(`${JSON.stringify(settings)} is mode ${mode} for ${reason ?? "no other reason"}, ${mayUpload ? "" : "nothing "}to be uploaded`, () => {
    assert.deepEqual(effectiveMode(settings), { mode, reason, mayUpload });
  });
}
