import assert from "node:assert/strict";
import { test } from "node:test";
import { MomentsWorld } from "../../test/support/moments-world.ts";
import { silentLogger } from "../core/logger.ts";
import { feedMoments } from "./feed-moments.ts";

test("a start goes on when what was said before it cannot be read", async (t) => {
  const { recorder } = await MomentsWorld.open();
  const warn = t.mock.fn();
  const onChange = t.mock.fn(() => () => undefined);
  const list = () => Promise.reject(new Error("away"));
  await feedMoments(recorder, {
    chats: { list } as never,
    companion: { onChange } as never,
    logger: { ...silentLogger, warn },
  });
  assert.deepEqual(warn.mock.calls[0]?.arguments[0], { error: "Error" });
  assert.equal(onChange.mock.callCount(), 1);
});
