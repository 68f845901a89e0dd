import assert from "node:assert/strict";
import { test } from "node:test";
import { silentLogger } from "../logger.ts";
import { Subscribers } from "./cluster.ts";

test("a message that is no JSON, or nested too deep, is logged and harms nothing", () => {
  const errors: unknown[] = [];
  const error = (fields: unknown) => void errors.push(fields);
  const subscribers = new Subscribers({ ...silentLogger, error });
  const received: object[] = [];
  subscribers.subscribe((message) => received.push(message));
  const depth = 100_000;
  for (const text of ["{", "[".repeat(depth) + "]".repeat(depth)]) subscribers.receive(text, "p1");
  subscribers.receive('{"n":1}', "p1");
  assert.deepEqual(errors, [{ error: "SyntaxError" }, { error: "RangeError" }]);
  assert.deepEqual(received, [{ n: 1 }]);
});
