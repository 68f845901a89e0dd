// Pages of messages that are as large as a message can be.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { MessageInput } from "../src/core/chat/message-input.ts";
import { openThroughline } from "../src/core/throughline.ts";
import { transcriptUpTo } from "../src/moments/turns/transcript.ts";
import { temporaryDirectory } from "./support/command-line.ts";
import { companion, me } from "./support/server-fixture.ts";

const chat = "local:me";
const large = "x".repeat(1_000_000);
const count = 40;
/** What one answer may hold: the bound of a page, and one message. */
const mostBytes = 4 * 1024 * 1024 + large.length + 4_096;

for (const [where, batch] of [
  ["in memory", 1],
  ["in files", 1],
  ["in files, many in one batch", 8],
] as const) {
  test(`a page of messages is bounded in bytes ${where}, and the next one continues`, async (t) => {
    const options = where === "in memory" ? { storage: "memory" } : { home: temporaryDirectory(t) };
    const throughline = await openThroughline(options as { home: string });
    t.after(() => throughline.close());
    const messages = Array.from({ length: count }, (_, n): MessageInput => {
      return { id: `m${n}`, role: "user", content: large };
    });
    for (let n = 0; n < count; n += batch) {
      await throughline.chats.append(chat, messages.slice(n, n + batch));
    }
    const c = await companion([], { throughline });
    const seen: string[] = [];
    let before: number | undefined;
    for (let pages = 0; pages === 0 || before !== undefined; pages++) {
      assert.ok(pages < count, "it does not end");
      const at = before === undefined ? "" : `&before=${before}`;
      const response = await c.ask(`${me}/messages?limit=1000${at}`);
      const text = await response.text();
      assert.equal(response.status, 200);
      assert.ok(text.length < mostBytes, `${text.length} bytes`);
      const page = JSON.parse(text) as { messages: { id: string }[]; before?: number };
      assert.ok(page.messages.length >= 3);
      seen.unshift(...page.messages.map(({ id }) => id));
      before = page.before;
    }
    assert.deepEqual(
      seen,
      messages.map(({ id }) => id),
    );
  });
}

test("a reaction to a message is about that message, whatever was said after it", async (t) => {
  const throughline = await openThroughline({ storage: "memory" });
  t.after(() => throughline.close());
  const { chats } = throughline;
  await chats.append(chat, [{ id: "first", role: "user", content: "Hello" }]);
  for (let n = 0; n < 8; n++) await chats.append(chat, [{ role: "user", content: large }]);
  const said = await transcriptUpTo(chats, chat, "first");
  assert.deepEqual(
    said.map(({ text }) => text),
    ["Hello"],
  );
});
