import assert from "node:assert/strict";
import { test } from "node:test";
import { MomentsWorld } from "../../test/support/moments-world.ts";
import { silentLogger } from "../core/logger.ts";
import { feedMoments } from "./feed-moments.ts";

test("a start goes on when what was said before it cannot be read", async (t) => {
  const { recorder } = await MomentsWorld.open();
  const warn = t.mock.fn();
  const onTurn = t.mock.fn(() => () => undefined);
  const list = () => Promise.reject(new Error("away"));
  await feedMoments({ recorder, happened: () => undefined } as never, {
    chats: { list } as never,
    turns: { onTurn } as never,
    persona: "You are kind.",
    companion: { onChange: () => () => undefined } as never,
    logger: { ...silentLogger, warn },
  });
  assert.deepEqual(warn.mock.calls[0]?.arguments[0], { error: "Error" });
  assert.equal(onTurn.mock.callCount(), 1);
});
