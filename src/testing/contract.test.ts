import assert from "node:assert/strict";
import { test } from "node:test";
import { openMemoryStorage } from "../core/storage/memory/memory-storage.ts";
import { type Contract, type TestRunner, testContract } from "./contract.ts";
import { documentStoreContract } from "./document-store-contract.ts";
import { fileStoreContract } from "./file-store-contract.ts";
import { leaseContract } from "./lease-contract.ts";
import { logStoreContract } from "./log-store-contract.ts";

const open = async () => openMemoryStorage();

const contract: Contract = {
  name: "example",
  clauses: [
    { says: "this is kept", proof: async () => undefined },
    { says: "this is broken", proof: () => Promise.reject(new Error("not so")) },
    {
      says: "this reopens",
      reopens: true,
      async proof(open, reopen) {
        await using storage = await open();
        await using again = await reopen(storage);
        assert.notEqual(again, storage);
      },
    },
  ],
};

/** A runner that notes what it is given, and runs nothing. */
function notingRunner() {
  const tests: { readonly name: string; readonly proof: () => Promise<void> }[] = [];
  const skipped: string[] = [];
  const runner: TestRunner = (name, proof) => tests.push({ name, proof });
  runner.skip = (name) => skipped.push(name);
  return { test: runner, tests, skipped };
}

test("every clause becomes a test whose name is its sentence", async () => {
  const { test: runner, tests, skipped } = notingRunner();
  testContract(contract, { test: runner, open, reopen: open });
  assert.deepEqual(
    tests.map(({ name }) => name),
    ["this is kept", "this is broken", "this reopens"],
  );
  assert.deepEqual(skipped, []);
  await tests[0]?.proof();
  await assert.rejects(async () => tests[1]?.proof(), /not so/);
  await tests[2]?.proof();
});

test("without `reopen` a clause that reopens becomes a skipped test", () => {
  const { test: runner, tests, skipped } = notingRunner();
  testContract(contract, { test: runner, open });
  assert.equal(tests.length, 2);
  assert.deepEqual(skipped, ["this reopens: nothing to reopen"]);
});

for (const each of [logStoreContract, documentStoreContract, fileStoreContract, leaseContract]) {
  test(`every clause of the ${each.name} contract has a sentence of its own`, () => {
    const sentences = each.clauses.map((clause) => clause.says);
    assert.equal(new Set(sentences).size, sentences.length);
    for (const says of sentences) assert.doesNotMatch(says, /^[A-Z]|\.$/, says);
  });
}
