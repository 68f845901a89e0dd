import assert from "node:assert/strict";
import { test } from "node:test";
import { MemorySharedPlace } from "../../../../test/support/memory-shared-place.ts";
import { sharedStorageContract, testSharedContract } from "../../../testing/testing.ts";
import { MemoryPlace } from "./memory-place.ts";
import { openMemoryStorage } from "./memory-storage.ts";

const interrupting = sharedStorageContract.clauses.filter((clause) => clause.interrupts);

testSharedContract(sharedStorageContract, {
  test,
  openPlace: async () => new MemorySharedPlace(),
  except: Object.fromEntries(
    interrupting.map(({ id }) => [id, "nothing that is told in memory can be missed"]),
  ),
});

test("a memory storage without a place has no fleet, one with a place has one", async () => {
  await using alone = openMemoryStorage();
  await using shared = openMemoryStorage({ place: new MemoryPlace() });
  assert.equal(alone.fleet, undefined);
  assert.ok(shared.fleet.processId.length > 0);
});

test("whoever listens for gaps in memory is called for none, and may end it", async () => {
  const place = new MemoryPlace();
  await using teller = openMemoryStorage({ place });
  await using listener = openMemoryStorage({ place });
  let gaps = 0;
  const stop = listener.fleet.onGap(() => gaps++);
  const heard = new Promise((resolve) => listener.fleet.onTold(resolve));
  teller.fleet.tell({ n: 1 });
  await heard;
  stop();
  assert.equal(gaps, 0);
});

for (const leaseMs of [0, -1, Number.NaN]) {
  test(`a place in memory whose leases last ${leaseMs} ms is refused`, () => {
    assert.throws(() => new MemoryPlace({ leaseMs }), TypeError);
  });
}
