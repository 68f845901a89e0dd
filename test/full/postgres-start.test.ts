// F7 with real processes.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { test } from "node:test";
import { promisify } from "node:util";
import { killChild } from "../support/killed.ts";
import { noPostgres, withPostgres } from "../support/test-postgres.ts";

const skip = noPostgres();
const server = skip === undefined ? await withPostgres() : undefined;

test("20 processes started at once on an empty database all open it, write and end well", {
  skip,
}, async () => {
  const url = (await server?.newDatabase()) ?? "";
  const start = (_: unknown, index: number) =>
    promisify(execFile)(process.execPath, [killChild, "postgres", url, `companion-${index}`]);
  await Promise.all(Array.from({ length: 20 }, start));
  const rows = await server?.pool(url).query("select companion from throughline.records");
  assert.equal(new Set(rows?.rows.map((row) => row.companion)).size, 20);
});
