import assert from "node:assert/strict";
import { test } from "node:test";
import { LeaseLanes } from "./lease-lanes.ts";

const { signal } = new AbortController();

test("the second to enter a lane goes in when the first has left, the third after the second", async () => {
  const lanes = new LeaseLanes();
  const order: string[] = [];
  await lanes.enter("a", signal);
  const others = ["second", "third"].map(async (name) => {
    await lanes.enter("a", signal);
    order.push(name);
    lanes.leave("a");
  });
  assert.equal(lanes.tryEnter("a"), false);
  assert.deepEqual(order, []);
  lanes.leave("a");
  await Promise.all(others);
  assert.deepEqual(order, ["second", "third"]);
  assert.equal(lanes.tryEnter("a"), true);
});

test("lanes of two names do not wait for each other", async () => {
  const lanes = new LeaseLanes();
  await lanes.enter("a", signal);
  await lanes.enter("b", signal);
  assert.deepEqual([lanes.tryEnter("a"), lanes.tryEnter("b")], [false, false]);
});

test("whoever stops waiting is not in, and its turn is the next one's", async () => {
  const lanes = new LeaseLanes();
  const stop = new AbortController();
  const reason = new Error("nobody waits");
  await lanes.enter("a", signal);
  const stopped = lanes.enter("a", stop.signal);
  const next = lanes.enter("a", signal);
  stop.abort(reason);
  await assert.rejects(stopped, reason);
  lanes.leave("a");
  await next;
  assert.equal(lanes.tryEnter("a"), false);
  lanes.leave("a");
  assert.equal(lanes.tryEnter("a"), true);
});

test("a signal that was aborted before enters no lane, also an empty one", async () => {
  const lanes = new LeaseLanes();
  const reason = new Error("nobody waits");
  await assert.rejects(lanes.enter("a", AbortSignal.abort(reason)), reason);
  assert.equal(lanes.tryEnter("a"), true);
});

test("a signal that is aborted after the turn came changes nothing", async () => {
  const lanes = new LeaseLanes();
  const stop = new AbortController();
  await lanes.enter("a", signal);
  const next = lanes.enter("a", stop.signal);
  lanes.leave("a");
  await next;
  stop.abort(new Error("too late"));
  assert.equal(lanes.tryEnter("a"), false);
});
