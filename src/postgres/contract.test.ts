import { test } from "node:test";
import { everyContract } from "../../test/support/contracts/every.ts";
import { noPostgres, withPostgres } from "../../test/support/test-postgres.ts";
import type { Storage } from "../core/storage/storage.ts";
import { testContract } from "../testing/testing.ts";
import { openPostgresStorage } from "./postgres.ts";

const reason = noPostgres();
/** Every clause in `npm run verify`; otherwise one of four, of each group. */
const step = process.env["THROUGHLINE_FULL"] === "1" ? 1 : 4;

if (reason !== undefined) {
  test("the contracts hold on PostgreSQL", { skip: reason }, () => undefined);
} else {
  // One database for all clauses: each has a companion of its own, and sees nothing of the others.
  const server = await withPostgres();
  const pool = server.pool(await server.newDatabase());
  const companions = new WeakMap<Storage, string>();
  let count = 0;
  const openAs = async (companion: string) => {
    const storage = await openPostgresStorage({ pool, companion, durability: "process" });
    companions.set(storage, companion);
    return storage;
  };
  for (const { name, clauses } of everyContract) {
    const sample = clauses.filter((_clause, index) => index % step === 0);
    testContract(
      { name, clauses: sample },
      {
        test,
        open: () => openAs(`companion-${++count}`),
        async reopen(storage) {
          await storage.close();
          return openAs(companions.get(storage) ?? "");
        },
      },
    );
  }
}
