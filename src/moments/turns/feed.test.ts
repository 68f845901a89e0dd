import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { process, until } from "../../../test/support/cluster-world.ts";
import { MemoryPlace, openMemoryProcess } from "../../../test/support/memory-place.ts";
import { MomentsWorld } from "../../../test/support/moments-world.ts";
import { scriptedResponder } from "../../../test/support/scripted-responder.ts";
import { feedTurn } from "./feed.ts";

test("a chat that is forgotten while it is answered leaves no word in the buffers", async () => {
  const gate = Promise.withResolvers<void>();
  const model = scriptedResponder([
    ["Once ", { type: "wait", until: gate.promise }, "upon a time"],
  ]);
  const storage = openMemoryProcess({ place: new MemoryPlace() });
  const { turns, chats } = await process(storage, { model });
  const { recorder } = await MomentsWorld.open();
  turns.onTurn((turn) => feedTurn(turn, recorder));
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

test("what is said before a call of a tool has the id in a package that it has in the chat", async () => {
  const call = { id: "c1", type: "function", function: { name: "look", arguments: "{}" } } as const;
  const result = { toolCallId: "c1", toolName: "look", content: "seen", isError: false } as const;
  const model = scriptedResponder([
    ["I look. ", { type: "tool-call", call }, { type: "tool-result", ...result }, "Glad."],
  ]);
  const storage = openMemoryProcess({ place: new MemoryPlace() });
  const { turns, chats } = await process(storage, { model });
  const world = await MomentsWorld.open();
  const { recorder } = world;
  turns.onTurn((turn) => feedTurn(turn, recorder));
  await turns.submit("chat-1", { content: "What is it?", name: "Ann" }).done;
  await setImmediate();
  const { messages: stored } = await chats.messages("chat-1");
  const said = stored.filter(({ role }) => role !== "tool");
  const { messages: kept } = await world.packages.read(await world.react());
  assert.deepEqual(
    kept.map(({ id, text, name }) => [id, text, name]),
    said.map(({ id, content, name }) => [id, content, name]),
  );
});
