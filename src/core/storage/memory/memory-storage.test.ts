import assert from "node:assert/strict";
import { test } from "node:test";
import { column } from "../../../../test/support/columns.ts";
import { everyContract } from "../../../../test/support/contracts/every.ts";
import { saidProjection } from "../../../../test/support/projections.ts";
import { testContract } from "../../../testing/testing.ts";
import { openMemoryStorage } from "./memory-storage.ts";

for (const contract of everyContract) {
  testContract(contract, { test, open: async () => openMemoryStorage() });
}

test("instants of lone surrogates are sorted as the other storages sort them", async () => {
  const logs = openMemoryStorage().logs("chats", saidProjection);
  for (const [key, at] of [
    ["older", "\ud800"],
    ["newer", "\ufffe"],
  ] as const) {
    await logs.append(key, [{ id: "m1" }], { head: { at } });
  }
  const { rows } = await logs.list({ limit: 2 });
  assert.deepEqual(column(rows, "key"), ["newer", "older"]);
});
