import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { openThroughline } from "./throughline.ts";

test("what was asked for before a close is finished; what comes after is refused", async (t) => {
  const home = mkdtempSync(join(tmpdir(), "throughline-close-"));
  t.after(() => rmSync(home, { recursive: true }));
  const first = await openThroughline({ home });
  await first.chats.append("a", [{ role: "user", content: "before" }]);
  const pending = [
    first.chats.append("a", [{ role: "user", content: "Hello" }]),
    first.chats.append("b", [{ role: "user", content: "Hello" }]),
    first.chats.append("a", [{ role: "user", content: "again" }]),
    first.sessions.reset("c"),
  ];
  const closing = first.close();
  assert.equal(first.close(), closing, "closing twice is closing once");
  await closing;
  await Promise.all(pending);
  await assert.rejects(first.chats.append("a", [{ role: "user", content: "late" }]), {
    code: "THROUGHLINE_CLOSED",
  });
  await using next = await openThroughline({ home });
  const { messages } = await next.chats.messages("a", { limit: 10 });
  assert.deepEqual(
    messages.map(({ content }) => content),
    ["before", "Hello", "again"],
  );
  assert.equal((await next.sessions.active("c"))?.generation, 1);
});

test("an extension is refused once it is closed, and not opened", async (t) => {
  const throughline = await openThroughline({ storage: "memory" });
  await throughline.close();
  const open = t.mock.fn(() => Promise.reject(new Error("opened")));
  await assert.rejects(throughline.extend("any", open), { code: "THROUGHLINE_CLOSED" });
  assert.equal(open.mock.callCount(), 0);
});
