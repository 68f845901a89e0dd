import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { changed } from "../../../test/support/changed.ts";
import { heldPlace, process } from "../../../test/support/cluster-world.ts";
import { scriptedResponder } from "../../../test/support/scripted-responder.ts";
import { ThroughlineError } from "../errors.ts";

const chat = "chat-1";

test("a message that could not be kept while another one is answered fails alone, in its turn", async () => {
  const { storage } = heldPlace().open();
  let isAway = false;
  const away = () =>
    Promise.reject(new ThroughlineError("away", { code: "THROUGHLINE_UNAVAILABLE" }));
  const failing = changed(storage, {
    logs: (...args) =>
      changed(storage.logs(...args), (name) => (isAway && name === "append" ? away : undefined)),
  });
  const gate = Promise.withResolvers<void>();
  const model = scriptedResponder([[{ type: "wait", until: gate.promise }, "One"], ["Two"]]);
  const { turns } = await process(failing, { model });
  const first = turns.submit(chat, { content: "1" });
  for await (const { type } of first.progress()) if (type === "accepted") break;
  isAway = true;
  const second = turns.submit(chat, { content: "2" });
  // Long enough for its failure to be unhandled, which would end this process.
  for (let i = 0; i < 20; i++) await setImmediate();
  isAway = false;
  gate.resolve();
  assert.equal((await first.done).assistant?.content, "One");
  await assert.rejects(second.done, { code: "THROUGHLINE_UNAVAILABLE" });
});

test("a message that another process answered while it waited is not answered again", async () => {
  const { open } = heldPlace();
  const model = scriptedResponder([["One"], ["again"]]);
  const a = await process(open().storage, { model });
  const b = await process(open().storage, { model });
  await a.turns.submit(chat, { content: "1" }).done;
  const lease = await b.chats.lease(chat);
  const turn = a.turns.submit(chat, { content: "2" });
  for await (const { type } of turn.progress()) if (type === "queued") break;
  while (!(await b.chats.state(chat)).head?.pending?.includes(turn.id)) await setImmediate();
  await b.chats.append(chat, [
    { id: turn.id, role: "user", content: "2", turn: turn.id },
    { id: `${turn.id}:answer`, role: "assistant", content: "Two", turn: turn.id },
  ]);
  await lease.release();
  assert.equal((await turn.done).assistant?.content, "Two");
  assert.equal(model.requests.length, 1);
});
