import { test } from "node:test";
import { noPostgres, withPostgres } from "../../../test/test-postgres.ts";
import { documentStoreContract, logStoreContract, testContract } from "../../testing/testing.ts";
import type { Storage } from "../storage.ts";
import { openPostgresStorage } from "./postgres.ts";

const reason = noPostgres();

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
  for (const contract of [logStoreContract, documentStoreContract]) {
    testContract(contract, {
      test,
      open: () => openAs(`companion-${++count}`),
      async reopen(storage) {
        await storage.close();
        return openAs(companions.get(storage) ?? "");
      },
    });
  }
}
