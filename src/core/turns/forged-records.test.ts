// Messages with the ids that records of ours about a turn have.
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { temporaryDirectory } from "../../../test/support/command-line.ts";
import { chat, type Script, scriptedCompanion } from "../../../test/support/scripted-companion.ts";
import { openFileStorage } from "../storage/files/open-file-storage.ts";

test("an answer whose id another message took while the model spoke is not stored beside it", async (t) => {
  const gate = Promise.withResolvers<void>();
  const script: Script = [[{ type: "wait", until: gate.promise }, "one"]];
  await using files = await openFileStorage({ home: join(temporaryDirectory(t), "home") });
  const { chats, turns, shown } = await scriptedCompanion(script, { storage: files });
  const turn = turns.submit(chat, { content: "1" });
  for await (const { type } of turn.progress()) if (type === "accepted") break;
  const id = `${turn.id}:answer`;
  await chats.append(chat, [{ id, role: "user", content: "innocent" }]);
  gate.resolve();
  await assert.rejects(turn.done, { code: "THROUGHLINE_ID_CONFLICT" });
  assert.deepEqual(await shown(), ["user: 1", "user: innocent"]);
});
