// Chats are forgotten, which empties the journal, while others are searched in it.
import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { openThroughline } from "../src/core/throughline.ts";
import { temporaryDirectory } from "./support/command-line.ts";

const isFull = process.env["THROUGHLINE_FULL"] === "1";

for (let round = 0; round < (isFull ? 8 : 2); round++) {
  test(`six clients search and forget beside each other, and find what there is (${round})`, async (t) => {
    const home = temporaryDirectory(t);
    const target = { provider: "offline", model: "none" };
    await using throughline = await openThroughline({ home, ...target });
    const { chats } = throughline;
    const use = async (client: number) => {
      for (let n = 0; n < 6; n++) {
        const word = `lighthouse${client}x${n}`;
        for (let pass = 0; pass < (client * 7 + n * 11 + round * 5) % 30; pass++)
          await setImmediate();
        await chats.append(word, [{ role: "user", content: `The ${word}` }]);
        assert.equal((await chats.search(word)).length, 1);
        await chats.forget(word);
        assert.deepEqual(await chats.search(word), []);
      }
    };
    await Promise.all([0, 1, 2, 3, 4, 5].map(use));
  });
}
