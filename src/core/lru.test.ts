import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { Lru } from "./lru.ts";

// Method: the same calls on a list of pairs, the least recently used first, that is cut at the front.

const key = fc.constantFrom("a", "b", "c", "d", "e", "f");
const call = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.tuple(fc.constant("set" as const), key, fc.integer({ min: 1, max: 4 })),
  },
  { weight: 3, arbitrary: fc.tuple(fc.constant("get" as const), key) },
  { weight: 1, arbitrary: fc.tuple(fc.constant("peek" as const), key) },
  { weight: 1, arbitrary: fc.tuple(fc.constant("delete" as const), key) },
  { weight: 1, arbitrary: fc.tuple(fc.constant("clear" as const)) },
);

test("an LRU holds what was used last, whatever is done to it", () => {
  fc.assert(
    fc.property(fc.nat(6), fc.array(call, { maxLength: 60 }), (max, calls) => {
      const lru = new Lru<string, number>(max);
      let model: (readonly [string, number])[] = [];
      for (const [name, of = "", value = 0] of calls) {
        const found = model.find(([each]) => each === of);
        if (name === "clear") {
          lru.clear();
          model = [];
        } else if (name === "peek") {
          assert.equal(lru.peek(of), found?.[1]);
        } else if (name === "delete") {
          assert.equal(lru.delete(of), found !== undefined);
          model = model.filter(([each]) => each !== of);
        } else if (name === "get") {
          assert.equal(lru.get(of), found?.[1]);
          if (found) model = [...model.filter(([each]) => each !== of), found];
        } else {
          lru.set(of, value);
          model = [...model.filter(([each]) => each !== of), [of, value]];
          if (model.length > max) model.shift();
        }
        assert.deepEqual([...lru], model);
      }
      assert.deepEqual(
        Array.from(lru.keys(), (each) => [each, lru.peek(each)]),
        model,
      );
      assert.deepEqual(
        Array.from(lru.values()),
        Array.from(model, ([, value]) => value),
      );
    }),
  );
});

test("an LRU has no bound below 0", () => {
  for (const max of [-1, Number.NaN]) assert.throws(() => new Lru(max), TypeError);
});
