import assert from "node:assert/strict";
import { test } from "node:test";
import { openMemoryStorage } from "../../src/core/storage/memory/memory-storage.ts";
import { testContract } from "../../src/testing/testing.ts";
import { onPlaces, opensNothing, sharedStorageContract } from "./contracts/shared-storage.ts";
import { MemoryPlace, openMemoryProcess } from "./memory-place.ts";
import { MemorySharedPlace } from "./memory-shared-place.ts";

// Nothing that is published in memory can be missed.
const clauses = sharedStorageContract.clauses.filter((clause) => !clause.interrupts);
const openPlace = async () => new MemorySharedPlace();
testContract(onPlaces(clauses, openPlace), { test, open: opensNothing });

test("a memory storage is alone, and a process of a place is not", async () => {
  await using alone = openMemoryStorage();
  await using shared = openMemoryProcess({ place: new MemoryPlace() });
  assert.equal(alone.cluster.isShared, false);
  assert.equal(shared.cluster.isShared, true);
  assert.ok(shared.cluster.processId.length > 0);
});

test("whoever listens for gaps in memory is called for none, and may end it", async () => {
  const place = new MemoryPlace();
  await using publisher = openMemoryProcess({ place });
  await using listener = openMemoryProcess({ place });
  let gaps = 0;
  const stop = listener.cluster.onMissed(() => gaps++);
  const received = new Promise((resolve) => listener.cluster.subscribe(resolve));
  publisher.cluster.publish({ n: 1 });
  await received;
  stop();
  assert.equal(gaps, 0);
});

for (const leaseMs of [0, -1, Number.NaN]) {
  test(`a place in memory whose leases last ${leaseMs} ms is refused`, () => {
    assert.throws(() => new MemoryPlace({ leaseMs }), TypeError);
  });
}
