// F7 with real processes.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { test } from "node:test";
import { promisify } from "node:util";
import { noPostgres, withPostgres } from "../support/test-postgres.ts";

const skip = noPostgres();
const server = skip === undefined ? await withPostgres() : undefined;
const child = new URL("../support/postgres-start-child.ts", import.meta.url).pathname;

test("20 processes started at once on an empty database all open it, write and end well", {
  skip,
}, async () => {
  const url = (await server?.newDatabase()) ?? "";
  const start = (_: unknown, index: number) =>
    promisify(execFile)(process.execPath, [child, url, `companion-${index}`]);
  await Promise.all(Array.from({ length: 20 }, start));
  const rows = await server?.pool(url).query("select companion from throughline.records");
  assert.equal(new Set(rows?.rows.map((row) => row.companion)).size, 20);
});
