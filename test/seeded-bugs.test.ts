import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { chooseBugs } from "./support/chosen-bugs.ts";
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

test("a run tries the bugs of changed modules and tests, and within twenty days all of them", () => {
  const [first, last] = [seededBugs[0]!, seededBugs.at(-1)!];
  for (const changed of [first.file, last.test]) {
    const chosen = chooseBugs(seededBugs, new Set([changed]), 7);
    const concerned = seededBugs.filter(({ file, test }) => file === changed || test === changed);
    for (const bug of concerned) assert.ok(chosen.includes(bug), bug.id);
    assert.ok(chosen.length <= concerned.length + seededBugs.length / 20 + 1);
  }
  const days = Array.from({ length: 20 }, (_, day) => chooseBugs(seededBugs, new Set(), day));
  assert.deepEqual(new Set(days.flat()), new Set(seededBugs));
  assert.equal(days.flat().length, seededBugs.length);
});
