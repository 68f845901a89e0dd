import assert from "node:assert/strict";
import { test } from "node:test";
import { openMemoryStorage } from "../core/storage/memory/memory-storage.ts";
import {
  type Clause,
  type Contract,
  runContract,
  type TestRunner,
  testContract,
} from "./contract.ts";

const open = async () => openMemoryStorage();

const contract: Contract = {
  name: "example",
  clauses: [
    { id: "example.kept", says: "this is kept", proof: async () => undefined },
    {
      id: "example.broken",
      says: "this is broken",
      proof: () => Promise.reject(new Error("not so")),
    },
    {
      id: "example.reopens",
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

test("every clause becomes a test whose name is its sentence and its id", async () => {
  const { test: runner, tests, skipped } = notingRunner();
  testContract(contract, { test: runner, open, reopen: open });
  assert.deepEqual(
    tests.map(({ name }) => name),
    [
      "this is kept (example.kept)",
      "this is broken (example.broken)",
      "this reopens (example.reopens)",
    ],
  );
  assert.deepEqual(skipped, []);
  await tests[0]?.proof();
  await assert.rejects(async () => tests[1]?.proof(), /not so/);
  await tests[2]?.proof();
});

test("a clause in `except` becomes a skipped test that gives the reason", () => {
  const { test: runner, tests, skipped } = notingRunner();
  testContract(contract, { test: runner, open, except: { "example.broken": "no disk here" } });
  assert.equal(tests.length, 2);
  assert.deepEqual(skipped, ["this is broken (example.broken): no disk here"]);
});

test("an exception that names no clause, or gives no reason, is refused", async () => {
  for (const [id, reason] of [
    ["example.none", "because"],
    ["example.kept", " "],
  ] as const) {
    const except = { [id]: reason };
    const { test: runner } = notingRunner();
    assert.throws(() => testContract(contract, { test: runner, open, except }), TypeError);
    await assert.rejects(runContract(contract, open, { except }).next(), TypeError);
  }
});

test("a clause that reopens fails when the driver gives no `reopen`, and says what to do", async () => {
  const results = await Array.fromAsync(runContract(contract, open));
  const { ok, error } = results.at(-1) ?? { ok: true };
  assert.equal(ok, false);
  assert.match(String(error), /reopen/);
});

test("a run tells of every clause, also after one that failed or was left out", async () => {
  const except = { "example.reopens": "nothing is kept" };
  const results = await Array.fromAsync(runContract(contract, open, { except }));
  assert.deepEqual(
    results.map(({ id, ok, skipped }) => [id, ok, skipped]),
    [
      ["example.kept", true, undefined],
      ["example.broken", false, undefined],
      ["example.reopens", true, "nothing is kept"],
    ],
  );
  assert.match(String(results[1]?.error), /not so/);
});

test("a run starts a clause only when the result of the one before was taken", async () => {
  const started: string[] = [];
  const clause = (id: string): Clause => ({
    id,
    says: id,
    proof: async () => void started.push(id),
  });
  const run = runContract({ name: "example", clauses: [clause("a"), clause("b")] }, open);
  await run.next();
  assert.deepEqual(started, ["a"]);
});
