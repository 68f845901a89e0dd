import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { inOrder } from "./in-order.ts";

async function* numbers(count: number) {
  for (let number = 1; number <= count; number++) yield number;
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
