import assert from "node:assert/strict";
import { test } from "node:test";
import { heldPlace, type Process, process, until } from "../../test/support/cluster-world.ts";
import { scriptedResponder } from "../../test/support/scripted-responder.ts";
import type { JsonObject } from "../core/json.ts";

/** What a server whose model answers with this text publishes to the others of its messages. */
async function publishedOf(text: string) {
  const { open, clock } = heldPlace();
  const others = open().storage;
  const published: JsonObject[] = [];
  others.cluster.subscribe((message) => {
    if (message["name"] === "message") published.push(message["event"] as JsonObject);
  });
  const model = scriptedResponder([[text]]);
  const server: Process = await process(open().storage, { clock, model });
  const { assistant } = await server.turns.submit("chat-1", { content: "Hi" }).done;
  await until(() => published.length === 2);
  await server.throughline.close();
  return { published: published.at(-1)?.["message"] as JsonObject, assistant };
}

for (const [what, text, isWhole] of [
  ["1,000 letters", "x".repeat(1_000), true],
  ["1,000 Chinese characters", "密".repeat(1_000), true],
  ["5,000 letters", "x".repeat(5_000), false],
  ["2,000 Chinese characters", "密".repeat(2_000), false],
  ["3,999 Chinese characters", "密".repeat(3_999), false],
] as const) {
  test(`a message of ${what} is published ${isWhole ? "whole" : "by its id alone"}`, async () => {
    const { published, assistant } = await publishedOf(text);
    assert.equal(published["id"], assistant?.id);
    if (isWhole) assert.equal(published["content"], text);
    else assert.deepEqual(Object.keys(published), ["id"]);
  });
}
