// F1: whichever answer of the database is lost, the call ends as if nothing had happened, and nothing is
// stored twice. Every other call, and lost requests: test/full/postgres-lost-replies.test.ts.
import { test } from "node:test";
import type pg from "pg";
import { endsAsWithoutLoss, storeCalls } from "../../test/support/lost-replies.ts";
import { databaseOf } from "../../test/support/test-database.ts";
import { noPostgres, withPostgres } from "../../test/support/test-postgres.ts";
import { ensureSchema } from "./schema.ts";

const skip = noPostgres();
const server = skip === undefined ? await withPostgres() : undefined;
const pool = server?.pool(await server.newDatabase()) as pg.Pool;
if (skip === undefined) await ensureSchema(databaseOf(pool), true);

for (const name of [
  "an append",
  "an append that hides a message",
  "an erasure",
  "a write of a document",
]) {
  test(
    `${name} whose reply is lost at any statement ends as it does without a loss`,
    {
      skip,
    },
    () => endsAsWithoutLoss(pool, storeCalls[name]!, "reply"),
  );
}
