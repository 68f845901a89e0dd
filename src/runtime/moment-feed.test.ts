import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { process, until } from "../../test/fleet-world.ts";
import { MomentsWorld } from "../../test/moments-world.ts";
import { MemoryPlace } from "../storage/memory/memory-place.ts";
import { openMemoryStorage } from "../storage/memory/memory-storage.ts";
import { scriptedResponder } from "../testing/scripted-responder.ts";
import { feedTurns } from "./moment-feed.ts";

test("a chat that is forgotten while it is answered leaves no word in the buffers", async () => {
  const gate = Promise.withResolvers<void>();
  const model = scriptedResponder([
    ["Once ", { type: "wait", until: gate.promise }, "upon a time"],
  ]);
  const storage = openMemoryStorage({ place: new MemoryPlace() });
  const { turns, chats } = await process(storage, { model });
  const { recorder } = await MomentsWorld.open();
  feedTurns(turns, recorder, "You are kind.");
  const turn = turns.submit("chat-1", { content: "Tell me" });
  const heard = () => recorder.lastAnswer("chat-1")?.text;
  await until(() => heard() === "Once ");
  await chats.forget("chat-1"); // by the library: it ends no turns
  await recorder.forgetChat("chat-1");
  assert.equal(recorder.stats.messages, 0);
  gate.resolve();
  await assert.rejects(turn.done, { code: "THROUGHLINE_NOT_FOUND" });
  await setImmediate();
  assert.equal(recorder.stats.messages, 0);
});
