import assert from "node:assert/strict";
import { test } from "node:test";
import { hookedDisk } from "../../../test/support/hooked-disk.ts";
import { randomText } from "../../../test/support/random-text.ts";
import { SimulatedDisk } from "../../../test/support/simulated-disk.ts";
import { openOn } from "../../../test/support/storage-workload.ts";
import type { Responder } from "../models/responder.ts";
import { openThroughline } from "../throughline.ts";

test("a turn of a chat that is in use reads nothing from the disk, and gives the model all that fits", async () => {
  let reads = 0;
  const disk = hookedDisk(new SimulatedDisk(), (call) => {
    if (call === "read") reads++;
  });
  const { storage } = await openOn(disk);
  const throughline = await openThroughline({ storage });
  let asked: readonly { readonly content: string }[] = [];
  const model: Responder = {
    provider: "echo",
    model: "echo",
    window: undefined,
    async *respond({ messages }) {
      asked = messages;
      yield { type: "text", text: randomText(300) };
      yield { type: "end", finish: "stop", usage: {} as never };
    },
  };
  const turns = await throughline.turns({ model });
  const said: string[] = [];
  for (let turn = 0; turn < 70; turn++) {
    if (turn === 1) reads = 0;
    const content = randomText(100);
    const { assistant } = await turns.submit("a", { content }).done;
    said.push(content, assistant?.content ?? "");
  }
  assert.equal(reads, 0);
  const shown = asked.map(({ content }) => content);
  assert.ok(shown.length > 100, `${shown.length}`);
  assert.deepEqual(shown, said.slice(0, -1).slice(-shown.length));
  const { messages, before } = await throughline.chats.messages("a", { limit: 20 });
  assert.deepEqual(
    messages.map(({ content }) => content),
    said.slice(-20),
  );
  assert.equal(typeof before, "number");
  await throughline.close();
});
