// F1: whichever statement of a call is lost on its way, or its answer, the call ends as if nothing had
// happened, and nothing is stored twice.
import { test } from "node:test";
import type pg from "pg";
import { ensureSchema } from "../../src/postgres/schema.ts";
import { endsAsWithoutLoss, storeCalls } from "../support/lost-replies.ts";
import { databaseOf } from "../support/test-database.ts";
import { noPostgres, withPostgres } from "../support/test-postgres.ts";

const skip = noPostgres();
const server = skip === undefined ? await withPostgres() : undefined;
const pool = server?.pool(await server.newDatabase()) as pg.Pool;
if (skip === undefined) await ensureSchema(databaseOf(pool));

for (const [name, call] of Object.entries(storeCalls)) {
  for (const loss of ["request", "reply"] as const) {
    test(
      `${name} whose ${loss} is lost at any statement ends as it does without a loss`,
      {
        skip,
      },
      () => endsAsWithoutLoss(pool, call, loss),
    );
  }
}
