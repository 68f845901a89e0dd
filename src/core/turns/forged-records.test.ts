// Messages with the ids that records of ours about a turn have.
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { temporaryDirectory } from "../../../test/support/command-line.ts";
import { chat, type Script, scriptedCompanion } from "../../../test/support/scripted-companion.ts";
import { openFileStorage } from "../storage/files/open-file-storage.ts";
import type { Storage } from "../storage/storage.ts";

async function companion(script: Script, storage: "memory" | Storage = "memory") {
  const c = await scriptedCompanion(script, { storage });
  /** As a log of before has it: nothing accepts such an id any more. */
  const before = (id: string, content: string, pending?: readonly string[]) =>
    c.chats.change(chat, (transaction) => {
      transaction.message({ id, role: "user", content });
      if (pending !== undefined) transaction.set({ pending });
    });
  return { ...c, before };
}

test("a turn whose id only a record of ours may have is refused, at once or where it waits", async () => {
  const gate = Promise.withResolvers<void>();
  const { chats, turns } = await companion([[{ type: "wait", until: gate.promise }, "one"]]);
  const refused = { code: "THROUGHLINE_INVALID" };
  const wrong = { content: "innocent", id: "removal:m" };
  await assert.rejects(turns.submit(chat, wrong).done, refused);
  assert.deepEqual((await chats.list()).chats, []);
  const first = turns.submit(chat, { content: "1", id: "m" });
  for await (const { type } of first.progress()) if (type === "accepted") break;
  await assert.rejects(turns.submit(chat, wrong).done, refused);
  assert.equal((await chats.existing(chat)).head.pending, undefined);
  gate.resolve();
  assert.equal((await first.done).assistant?.content, "one");
});

test("a regenerated answer hides the one before, also where a message has the id that says so", async () => {
  const { chats, turns, before } = await companion([["first"], ["second"]]);
  await before("replaced:m:answer", "innocent");
  await turns.submit(chat, { content: "Hello", id: "m" }).done;
  assert.equal((await chats.message(chat, "m:answer")).replaced, undefined);
  await (await turns.retry(chat)).done;
  assert.equal((await chats.message(chat, "m:answer")).replaced, true);
  assert.deepEqual(await chats.search("first"), []);
});

test("words that another message has are not answered as those of one that waits", async () => {
  const { turns, before } = await companion([["never"]]);
  await before("pending:m", "innocent", ["m"]);
  await assert.rejects(turns.answer(chat), { code: "THROUGHLINE_NOT_FOUND" });
});

test("a message that cannot be kept because another has the id of what keeps it fails, and says so", async () => {
  const gate = Promise.withResolvers<void>();
  const { chats, turns, before } = await companion([
    [{ type: "wait", until: gate.promise }, "one"],
    ["two"],
  ]);
  await before("pending:m2", "innocent");
  const first = turns.submit(chat, { content: "1", id: "m1" });
  for await (const { type } of first.progress()) if (type === "accepted") break;
  const second = turns.submit(chat, { content: "2", id: "m2" });
  await assert.rejects(second.done, { code: "THROUGHLINE_ID_CONFLICT" });
  gate.resolve();
  await first.done;
  assert.equal(await chats.find(chat, "m2"), undefined);
});

test("an answer whose id another message took while the model spoke is not stored beside it", async (t) => {
  const gate = Promise.withResolvers<void>();
  const script: Script = [[{ type: "wait", until: gate.promise }, "one"]];
  await using files = await openFileStorage({ home: join(temporaryDirectory(t), "home") });
  const { chats, turns, before } = await companion(script, files);
  const turn = turns.submit(chat, { content: "1" });
  for await (const { type } of turn.progress()) if (type === "accepted") break;
  await before(`${turn.id}:answer`, "innocent");
  gate.resolve();
  await assert.rejects(turn.done, { code: "THROUGHLINE_ID_CONFLICT" });
  const { messages } = await chats.messages(chat);
  assert.deepEqual(
    messages.map(({ content }) => content),
    ["1", "innocent"],
  );
});
