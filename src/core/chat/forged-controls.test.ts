// Messages whose ids are those of our own records: none is taken in.
import assert from "node:assert/strict";
import { test } from "node:test";
import { HeldClock } from "../../../test/support/held-clock.ts";
import { openThroughline } from "../throughline.ts";

const chat = "telegram:42";
const secret = "my secret pin 4711";

async function companion() {
  let ids = 0;
  return openThroughline({ storage: "memory", clock: new HeldClock(), newId: () => `id-${++ids}` });
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

test("a message whose id is as long as ids can be is shown and erased", async () => {
  const { chats } = await companion();
  const id = "m".repeat(256);
  await chats.append(chat, [{ role: "user", content: secret, id }]);
  assert.equal((await chats.messages(chat)).messages[0]?.content, secret);
  assert.equal((await chats.erase(chat, id)).erased, true);
  assert.equal((await chats.messages(chat)).messages[0]?.redacted, true);
  assert.deepEqual(await chats.search("secret"), []);
});
