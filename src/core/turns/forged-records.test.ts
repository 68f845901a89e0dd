// Messages with the ids that records of ours about a turn have.
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { temporaryDirectory } from "../../../test/support/command-line.ts";
import { chat, type Script, scriptedCompanion } from "../../../test/support/scripted-companion.ts";
import { openFileStorage } from "../storage/files/open-file-storage.ts";

test("a turn whose id only a record of ours may have is refused", async () => {
  const { chats, turns } = await scriptedCompanion([]);
  const wrong = { content: "innocent", id: "removal:m" };
  assert.throws(() => turns.submit(chat, wrong), { code: "THROUGHLINE_INVALID" });
  assert.deepEqual((await chats.list()).chats, []);
});

test("an answer whose id another message took while the model spoke is not stored beside it", async (t) => {
  const gate = Promise.withResolvers<void>();
  const script: Script = [[{ type: "wait", until: gate.promise }, "one"]];
  await using files = await openFileStorage({ home: join(temporaryDirectory(t), "home") });
  const { chats, turns } = await scriptedCompanion(script, { storage: files });
  const turn = turns.submit(chat, { content: "1" });
  for await (const { type } of turn.progress()) if (type === "accepted") break;
  const id = `${turn.id}:answer`;
  await chats.append(chat, [{ id, role: "user", content: "innocent" }]);
  gate.resolve();
  await assert.rejects(turn.done, { code: "THROUGHLINE_ID_CONFLICT" });
  const { messages } = await chats.messages(chat);
  assert.deepEqual(
    messages.map(({ content }) => content),
    ["1", "innocent"],
  );
});
