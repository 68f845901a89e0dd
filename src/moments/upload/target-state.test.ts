import assert from "node:assert/strict";
import { test } from "node:test";
import { effectiveMode, type StorageSettings } from "./mode.ts";
import { backoffMs, systemJitter } from "./target-state.ts";

const rows: readonly (readonly [failures: number, mostMs: number])[] = [
  [1, 1_000],
  [2, 2_000],
  [3, 4_000],
  [9, 256_000],
  [10, 300_000],
  [33, 300_000],
];
for (const [failures, mostMs] of rows) {
  test(`after ${failures} failures the wait is any time up to ${mostMs} ms`, () => {
    assert.equal(
      backoffMs(failures, () => 0),
      0,
    );
    assert.equal(
      backoffMs(failures, () => 0.5),
      mostMs / 2,
    );
    assert.ok(backoffMs(failures, () => 0.999_999) <= mostMs);
  });
}

test("after 24 failures at the ceiling, an hour on average, it is asked hourly for ever", () => {
  for (const failures of [34, 35, 1_000, 1_000_000]) {
    assert.equal(
      backoffMs(failures, () => 0),
      3_600_000,
    );
    assert.ok(backoffMs(failures, () => 0.999) >= 3_240_000);
  }
});

test("the system's jitter is a number from 0 up to 1, and not always the same", () => {
  const drawn = Array.from({ length: 20 }, systemJitter);
  assert.ok(drawn.every((number) => number >= 0 && number < 1));
  assert.ok(new Set(drawn).size > 1);
});

// F4, F5: the mode that holds, why, and whether packages are owed.
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
  [{ mode: "s3", bucket, credentials: "missing" }, "local", "no_credentials", true],
  [{ bucket, credentials: "found", client: "found" }, "local+s3", null, true],
  [{ bucket, client: "missing" }, "local", "no_client", true],
  [{ bucket, client: "missing", credentials: "missing" }, "local", "no_client", true],
  [{ mode: "local", bucket, client: "missing" }, "local", null, false],
];
for (const [settings, mode, reason, mayUpload] of modes) {
  test(`${JSON.stringify(settings)} is mode ${mode} for ${reason ?? "no other reason"}, ${mayUpload ? "" : "nothing "}owed`, () => {
    assert.deepEqual(effectiveMode(settings), { mode, reason, mayUpload });
  });
}
