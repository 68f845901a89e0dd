import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { runCli, temporaryDirectory } from "../../../test/support/command-line.ts";
import { testDatabase } from "../../../test/support/test-postgres.ts";

const { skip, url } = await testDatabase();

test("a command that a database without TLS ends tells that, and leads to no disk", {
  skip,
}, async (t) => {
  const home = join(temporaryDirectory(t), "home");
  const store = `${url}?sslmode=verify-full`;
  const { code, err } = await runCli(["sessions", "list", "--store", store], { home });
  assert.equal(code, 1);
  const says = "the database failed (TLS NOT_SUPPORTED) [THROUGHLINE_CONFIGURATION]";
  const wayOut =
    "Check the URL, the role with its rights, and TLS on both sides: docs/guides/postgresql.md.";
  assert.equal(err, `error: ${says}\n${wayOut}\n`);
});
