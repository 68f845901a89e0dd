import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { inOrder } from "./in-order.ts";

async function* numbers(count: number) {
  for (let number = 1; number <= count; number++) yield number;
}

for (const [limit, count] of [
  [1, 5],
  [3, 10],
  [8, 3],
  [8, 0],
] as const) {
  test(`${count} items, ${limit} at once: all results, in order, never more under way`, async () => {
    let underWay = 0;
    let most = 0;
    const work = async (number: number) => {
      most = Math.max(most, ++underWay);
      for (let turns = 20 - number; turns > 0; turns--) await setImmediate();
      underWay--;
      return number * 2;
    };
    const results = await Array.fromAsync(inOrder(numbers(count), limit, work));
    assert.deepEqual(
      results,
      Array.from({ length: count }, (_, index) => (index + 1) * 2),
    );
    assert.equal(most, Math.min(limit, count));
  });
}

test("a failure is thrown once nothing is under way any more, and nothing is begun after it", async () => {
  let underWay = 0;
  const begun: number[] = [];
  const work = async (number: number) => {
    begun.push(number);
    underWay++;
    for (let turns = number; turns > 0; turns--) await setImmediate();
    underWay--;
    if (number === 2) throw new Error("two");
  };
  await assert.rejects(Array.fromAsync(inOrder(numbers(9), 3, work)), { message: "two" });
  assert.equal(underWay, 0);
  assert.deepEqual(begun, [1, 2, 3, 4]);
});
