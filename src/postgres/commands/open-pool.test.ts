import assert from "node:assert/strict";
import fs from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { inspect } from "node:util";
import { temporaryDirectory } from "../../../test/support/command-line.ts";
import { testDatabase } from "../../../test/support/test-postgres.ts";
import { parsePostgresUrl } from "../../cli/store-location.ts";
import { loadPg, openPool } from "./open-pool.ts";

const { skip, url } = await testDatabase();

for (const parameter of ["sslrootcert", "sslcert", "sslkey"]) {
  test(`a file of ${parameter} that is not there is refused at once`, async (t) => {
    const path = join(temporaryDirectory(t), "missing.pem");
    const location = parsePostgresUrl(`postgres://me@db/x?${parameter}=${path}`, "--store");
    await assert.rejects(openPool(location), {
      code: "THROUGHLINE_CONFIGURATION",
      message: `the PostgreSQL client rejected ${location.says} (ENOENT)`,
    });
  });
}

test("a certificate that is away for a moment fails the connections of that moment, and ends nothing", {
  skip,
}, async (t) => {
  const path = join(temporaryDirectory(t), "ca.pem");
  fs.writeFileSync(path, "");
  const parameters = `sslrootcert=${encodeURIComponent(path)}&sslmode=disable&connections=2`;
  const { pool, end } = await openPool(parsePostgresUrl(`${url}?${parameters}`, "--store"));
  t.after(end);
  const taken = [await pool.connect(), await pool.connect()];
  const waiting = pool.connect();
  fs.renameSync(path, `${path}.old`);
  // Once it has closed one the pool makes another, where nobody waits for what that throws.
  for (const client of taken) client.release(true);
  await assert.rejects(waiting, { code: "ENOENT" });
  await assert.rejects(pool.connect(), { code: "ENOENT" });
  fs.renameSync(`${path}.old`, path);
  (await pool.connect()).release();
});

test("without the package pg a store says which one to install", async () => {
  const load = () => Promise.reject(new Error("Cannot find package 'pg'"));
  await assert.rejects(loadPg(load), {
    code: "THROUGHLINE_CONFIGURATION",
    message: /needs the package pg/,
    wayOut: /npm install pg/,
  });
});

test("a client that refuses the URL, and repeats it, is not repeated", async () => {
  const secret = "s3cr3t";
  const location = parsePostgresUrl(`postgres://me:${secret}@db/x`, "--store");
  const load = async () => ({
    Pool: assert.fail as never,
    Client: class {
      constructor() {
        throw new TypeError(`cannot use postgres://me:${secret}@db/x`);
      }
    } as never,
  });
  await assert.rejects(openPool(location, load), (error: Error) => {
    assert.doesNotMatch(inspect(error, { depth: 9 }), new RegExp(secret));
    return /rejected postgres:\/\/me@db\/x/.test(error.message);
  });
});
