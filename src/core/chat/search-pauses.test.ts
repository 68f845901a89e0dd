// A search looks through many chats. Others get their turn between: counted in passes of the event loop.
import assert from "node:assert/strict";
import { test } from "node:test";
import { openThroughline } from "../throughline.ts";

async function companion(others: number) {
  const { chats } = await openThroughline({ storage: "memory" });
  const say = async (chatId: string, content: string, count = 1) => {
    const message = { role: "user", content } as const;
    for (let at = 0; at < count; at += 500) {
      await chats.append(chatId, Array(Math.min(500, count - at)).fill(message));
    }
  };
  for (let n = 0; n < others; n++) await say(`other ${n}`, "milk");
  return { chats, say };
}

/** How many passes the event loop made while this ran. */
async function passesOf(work: Promise<unknown>): Promise<number> {
  let passes = 0;
  let isOver = false;
  const pass = () => {
    if (isOver) return;
    passes++;
    setImmediate(pass);
  };
  setImmediate(pass);
  await work;
  isOver = true;
  return passes;
}

for (const [what, options] of [
  ["the titles of 2,000 chats", {}],
  ["2,000 chats for damaged ones", { damaged: true }],
] as const) {
  test(`who looks through ${what} lets others work between every 100`, async () => {
    const { chats } = await companion(2_000);
    const passes = await passesOf(chats.findChats("nothing", options));
    assert.ok(passes >= 20, `${passes} passes`);
  });
}
