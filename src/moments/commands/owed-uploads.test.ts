import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { checkUploads } from "../checks/moments.ts";
import { encodeEntry, type OwedEntry } from "../outbox/owed-entry.ts";
import { owedByPackage, readOwed } from "./owed-uploads.ts";

const name = "2026-02-19T15-30-00_positive_fb_a1b2c3d4e5f6";

function entry(kind: OwedEntry["kind"], state: OwedEntry["state"], why?: string): OwedEntry {
  const last_error = why === undefined ? null : { class: why, code: null, status: null, at: 1 };
  const retraction = { at: 1, by: null, reason: null, superseded_by: null };
  return {
    ...{ v: 1, kind, name, state, attempts: 1, first_at: 1, next_at: 1, sent_through: 0 },
    ...{ target: { bucket: "moments", region: "us-east-1", endpoint: null } },
    ...{ prefix: `feedback/a1b2c3d4/${name}/`, keep_local: true, last_error },
    ...(kind === "retraction" ? { retraction } : {}),
  };
}

function homeWith(t: TestContext, files: Record<string, Uint8Array | string>): string {
  const home = mkdtempSync(join(tmpdir(), "throughline-owed-"));
  t.after(() => rmSync(home, { recursive: true, force: true }));
  mkdirSync(join(home, "outbox"));
  for (const [file, bytes] of Object.entries(files)) {
    writeFileSync(join(home, "outbox", file), bytes);
  }
  return home;
}

for (const [what, entries, state, error] of [
  ["an upload that was not tried yet", [entry("package", "pending")], "owed", null],
  ["an upload that is begun", [entry("package", "saving")], "owed", null],
  ["an upload that waits", [entry("package", "pending", "retry")], "owed", "retry"],
  ["a refused upload", [entry("package", "parked", "conflict")], "parked", "conflict"],
  [
    "a refused upload and a mark that waits for it",
    [entry("package", "parked", "conflict"), entry("retraction", "pending")],
    ...(["parked", "conflict"] as const),
  ],
  [
    "a mark of which one copy is refused",
    [entry("retraction", "pending"), entry("retraction", "parked", "other_target")],
    ...(["parked", "other_target"] as const),
  ],
] as const) {
  test(`${what} is ${state}, with the error ${error}`, () => {
    assert.deepEqual([...owedByPackage(entries)], [[name, { state, error }]]);
  });
}

test("a deletion is of no package that is here", () => {
  assert.equal(owedByPackage([entry("delete", "parked", "other_target")]).size, 0);
});

test("what is owed is read without a change to the outbox; what cannot be read is left out", async (t) => {
  const parked = encodeEntry(entry("package", "parked", "conflict"));
  const files = { [`${name}.json`]: parked, "torn.json": "{", "x.json.tmp-1": parked };
  const home = homeWith(t, files);
  mkdirSync(join(home, "outbox", "folder.json"));
  assert.deepEqual(await readOwed(home), [entry("package", "parked", "conflict")]);
  const left = [...Object.keys(files), "folder.json"].sort();
  assert.deepEqual(readdirSync(join(home, "outbox")).sort(), left);
  assert.deepEqual(readdirSync(home), ["outbox"]);
});

test("doctor counts what is parked, each reason once, and nothing of what goes by itself", async (t) => {
  const home = homeWith(t, {
    [`${name}.json`]: encodeEntry(entry("package", "parked", "rejected")),
    [`${name}.retraction.json`]: encodeEntry(entry("retraction", "parked", "other_target")),
    [`${name}.delete.json`]: encodeEntry(entry("delete", "parked", "other_target")),
    [`${name}.delete-2.json`]: encodeEntry(entry("delete", "pending", "retry")),
  });
  assert.deepEqual(await checkUploads(home), {
    ...{ id: "uploads", status: "note" },
    says: "3 uploads failed (other_target, rejected). Retry with `throughline feedback upload`",
  });
});

test("where nothing was ever owed doctor says that nothing is parked, and makes no folder", async (t) => {
  const home = join(homeWith(t, {}), "none");
  const says = "no upload has failed";
  assert.deepEqual(await checkUploads(home), { id: "uploads", status: "ok", says });
});
