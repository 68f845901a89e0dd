import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { KeyedMutex } from "./mutex.ts";

// Method: the same calls on a queue for each key, whose first one holds the key.

interface Asked {
  readonly n: number;
  readonly stop: AbortController;
}

const key = fc.constantFrom("a", "b");
const call = fc.oneof(
  { weight: 4, arbitrary: fc.tuple(fc.constant("lock" as const), key) },
  { weight: 2, arbitrary: fc.tuple(fc.constant("tryLock" as const), key) },
  { weight: 4, arbitrary: fc.tuple(fc.constant("unlock" as const), key) },
  { weight: 2, arbitrary: fc.tuple(fc.constant("give up" as const), key, fc.nat(3)) },
);

test("a key is held by those who ask for it one after the other, in the order of asking", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(call, { maxLength: 40 }), async (calls) => {
      const mutex = new KeyedMutex();
      const queues = new Map<string, Asked[]>([
        ["a", []],
        ["b", []],
      ]);
      const held: number[] = [];
      const expected: number[] = [];
      const gone: number[] = [];
      const givenUp: number[] = [];
      let asked = 0;
      for (const [name, of, which = 0] of calls) {
        const queue = queues.get(of) ?? [];
        if (name === "unlock") {
          if (queue.length === 0) continue;
          mutex.unlock(of);
          queue.shift();
          if (queue[0] !== undefined) expected.push(queue[0].n);
        } else if (name === "give up") {
          const [waiter] = queue.splice(1 + which, 1);
          waiter?.stop.abort(new Error("given up"));
          if (waiter !== undefined) givenUp.push(waiter.n);
        } else if (name === "tryLock") {
          assert.equal(mutex.tryLock(of), queue.length === 0);
          if (queue.length === 0) queue.push({ n: -1, stop: new AbortController() });
        } else {
          const own = { n: ++asked, stop: new AbortController() };
          if (queue.length === 0) expected.push(own.n);
          queue.push(own);
          mutex.lock(of, own.stop.signal).then(
            () => held.push(own.n),
            ({ message }) => gone.push(message === "given up" ? own.n : -1),
          );
        }
        await new Promise((resolve) => setImmediate(resolve));
        assert.deepEqual([held, gone], [expected, givenUp]);
        for (const [each, { length }] of queues) {
          assert.equal(mutex.isLocked(each), length > 0);
          assert.equal(mutex.count(each), length);
        }
        assert.equal(mutex.size, [...queues.values()].flat().length);
      }
    }),
    { numRuns: 50 },
  );
});

test("work on a free key begins at once, and on another key beside it", async () => {
  const mutex = new KeyedMutex();
  const order: string[] = [];
  const work = (name: string) => async () => {
    order.push(`${name} begins`);
    await new Promise((resolve) => setImmediate(resolve));
    order.push(`${name} ends`);
  };
  const all = [mutex.run("a", work("1")), mutex.run("a", work("2")), mutex.run("b", work("3"))];
  assert.deepEqual(order, ["1 begins", "3 begins"]);
  await Promise.all(all);
  assert.deepEqual(order, ["1 begins", "3 begins", "1 ends", "2 begins", "3 ends", "2 ends"]);
});

test("work that throws or rejects frees its key, and only its caller hears of it", async () => {
  const mutex = new KeyedMutex();
  const threw = mutex.run("a", () => assert.fail("failed"));
  const rejected = mutex.run("a", () => Promise.reject(new Error("no")));
  const next = mutex.run("a", async () => "next");
  await Promise.all([assert.rejects(threw, /failed/), assert.rejects(rejected, /no/)]);
  assert.equal(await next, "next");
  assert.equal(mutex.size, 0);
});

test("a signal that was aborted before locks no key, also a free one", async () => {
  const mutex = new KeyedMutex();
  await assert.rejects(mutex.lock("a", AbortSignal.abort(new Error("given up"))), /given up/);
  assert.equal(mutex.isLocked("a"), false);
});

test("a mutex is idle once what runs has ended, and what came in the meantime", async () => {
  const mutex = new KeyedMutex();
  await mutex.idle();
  const ends = [Promise.withResolvers<void>(), Promise.withResolvers<void>()] as const;
  const running = mutex.run("a", () => ends[0].promise);
  let isIdle = false;
  const idle = mutex.idle().then(() => {
    isIdle = true;
  });
  const later = mutex.run("b", () => ends[1].promise);
  ends[0].resolve();
  await running;
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(isIdle, false);
  ends[1].resolve();
  await Promise.all([later, idle]);
});
