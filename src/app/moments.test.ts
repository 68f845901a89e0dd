import assert from "node:assert/strict";
import { test } from "node:test";
import { MomentsWorld } from "../../test/support/moments-world.ts";
import { silentLogger } from "../core/logger.ts";
import { recall } from "./moments.ts";

test("a start continues when what was said before it cannot be read", async (t) => {
  const { recorder } = await MomentsWorld.open();
  const warn = t.mock.fn();
  const list = () => Promise.reject(new Error("away"));
  await recall(recorder, { list } as never, { ...silentLogger, warn });
  assert.deepEqual(warn.mock.calls[0]?.arguments[0], { error: "Error" });
});
