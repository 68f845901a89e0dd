import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { seededBugs } from "./support/seeded-bugs.ts";

const root = join(import.meta.dirname, "..");

test(`each of ${seededBugs.length} seeded bugs takes away something that is in its file once`, () => {
  assert.ok(seededBugs.length >= 24);
  assert.equal(new Set(seededBugs.map(({ id }) => id)).size, seededBugs.length);
  for (const { id, file, find, replace, test: path } of seededBugs) {
    const text = readFileSync(join(root, file), "utf8");
    assert.equal(text.split(find).length, 2, `${id}: ${file}`);
    assert.notEqual(find, replace, id);
    assert.match(readFileSync(join(root, path), "utf8"), /node:test|-tests\.ts"/, id);
  }
});
