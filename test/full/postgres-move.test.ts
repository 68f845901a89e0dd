// The same history in files and in PostgreSQL is the same bytes; and any history is moved between them,
// by copies that are killed at one write after the other, without a byte that is other.
import assert from "node:assert/strict";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import fc from "fast-check";
import { openFileStorage } from "../../src/core/storage/files/open-file-storage.ts";
import { copyCompanion } from "../../src/postgres/move/copy-companion.ts";
import { openPostgresStorage } from "../../src/postgres/postgres.ts";
import { temporaryDirectory } from "../support/command-line.ts";
import { copyKilled, everything, live, type Step, step } from "../support/lived-history.ts";
import { noPostgres, withPostgres } from "../support/test-postgres.ts";

const skip = noPostgres() ?? false;
const server = skip === false ? await withPostgres() : undefined;
const pool = server?.pool(await server.newDatabase());
const at = "2026-03-01T12:00:00.000Z";
let count = 0;

/** A home and a companion in the database, both new. */
async function bothStorages(t: TestContext) {
  assert.ok(pool);
  const home = join(temporaryDirectory(t), "home");
  const files = await openFileStorage({ home, durability: "process" });
  const companion = `companion-${++count}`;
  const database = await openPostgresStorage({ pool, companion, durability: "process" });
  const close = () => Promise.all([files.close(), database.close()]).then(() => undefined);
  return { files, database, [Symbol.asyncDispose]: close };
}

const steps = fc.array(step, { maxLength: 12 });

test("any history is the same in files and in PostgreSQL, to the byte that an export writes", {
  skip,
}, async (t) => {
  const check = async (history: readonly Step[]) => {
    await using both = await bothStorages(t);
    await live(both.files, history, at);
    await live(both.database, history, at);
    assert.deepEqual(await everything(both.database), await everything(both.files));
  };
  await fc.assert(fc.asyncProperty(steps, check), { numRuns: 4 });
});

test("any history moved from files to PostgreSQL, and back, killed after each write, is the same", {
  skip,
}, async (t) => {
  const check = async (history: readonly Step[]) => {
    await using first = await bothStorages(t);
    await using second = await bothStorages(t);
    await live(first.files, history, at);
    await copyKilled(first.files, first.database, "after");
    assert.deepEqual(await everything(first.database), await everything(first.files));
    await copyCompanion(first.database, second.files);
    assert.deepEqual(await everything(second.files), await everything(first.files));
  };
  await fc.assert(fc.asyncProperty(steps, check), { numRuns: 3 });
});
