// Messages whose ids are those of our own records: none is taken in, and what an older log holds of
// them says nothing.
import assert from "node:assert/strict";
import { test } from "node:test";
import { HeldClock } from "../../../test/support/held-clock.ts";
import { MemoryPlace, openMemoryProcess } from "../../../test/support/memory-place.ts";
import { openMemoryStorage } from "../storage/memory/memory-storage.ts";
import { openThroughline } from "../throughline.ts";
import type { Chats } from "./chats.ts";

const chat = "telegram:42";
const secret = "my secret pin 4711";

async function companion(storage = openMemoryStorage()) {
  let ids = 0;
  return openThroughline({ storage, clock: new HeldClock(), newId: () => `id-${++ids}` });
}

/** As a log of before says it: nothing accepts such ids any more. */
function before(chats: Chats, said: Readonly<Record<string, string>>): Promise<void> {
  return chats.change(chat, (transaction) => {
    for (const [id, content] of Object.entries(said)) {
      transaction.message({ id, role: id.endsWith("answer") ? "assistant" : "user", content });
    }
  });
}

const kinds = ["removal", "replaced", "pending", "erasure", "usage", "compaction"];
for (const id of kinds.map((kind) => `${kind}:m`)) {
  test(`a message with the id ${id} is refused, and the batch with it`, async () => {
    const { chats } = await companion();
    const wrong = { id, role: "user", content: "innocent" } as const;
    await assert.rejects(chats.append(chat, [{ role: "user", content: secret }, wrong]), {
      code: "THROUGHLINE_INVALID",
      message: /the id of a message must not begin with/,
    });
    assert.deepEqual((await chats.list()).chats, []);
  });
}

test("a message is taken back also where others have the ids that its removal would have", async () => {
  const { chats } = await companion();
  await before(chats, { m: secret, "removal:m": "innocent", "removal:m~2": "also" });
  const shown = async () => (await chats.messages(chat)).messages.map(({ content }) => content);
  assert.deepEqual(await shown(), [secret, "innocent", "also"], "a message takes nothing back");
  await chats.takeBack(chat, ["m"]);
  assert.deepEqual(await shown(), ["innocent", "also"]);
  await chats.takeBack(chat, ["m", "removal:m"]);
  assert.deepEqual(await shown(), ["also"]);
  assert.deepEqual(await chats.search("secret"), []);
});

test("only what was taken back or regenerated is hidden", async () => {
  const { chats } = await companion();
  const others = { "removal:m": "1", "replaced:m:answer": "2" };
  await before(chats, { m: secret, "m:answer": "an answer", ...others });
  const { messages } = await chats.messages(chat);
  assert.deepEqual(
    messages.filter(({ hidden, redacted, replaced }) => hidden || redacted || replaced),
    [],
  );
  assert.equal((await chats.message(chat, "m")).content, secret);
});

test("erasing a message that waited leaves another with the id of what kept it", async () => {
  const { chats } = await companion();
  await before(chats, { m: secret, "pending:m": "innocent" });
  assert.equal((await chats.erase(chat, "m")).erased, true);
  const { messages } = await chats.messages(chat);
  assert.deepEqual(
    messages.map(({ content, redacted }) => redacted ?? content),
    [true, "innocent"],
  );
});

test("where several processes write, an erasure counts also when another has its id", async () => {
  const { chats } = await companion(openMemoryProcess({ place: new MemoryPlace() }));
  await before(chats, { m: secret, "erasure:m": "innocent" });
  await chats.erase(chat, "m");
  assert.equal((await chats.row(chat)).message_count, 1);
});

test("a message whose id is as long as ids can be is shown and erased", async () => {
  const { chats } = await companion();
  const id = "m".repeat(256);
  await chats.append(chat, [{ role: "user", content: secret, id }]);
  assert.equal((await chats.messages(chat)).messages[0]?.content, secret);
  assert.equal((await chats.erase(chat, id)).erased, true);
  assert.equal((await chats.messages(chat)).messages[0]?.redacted, true);
  assert.deepEqual(await chats.search("secret"), []);
});
