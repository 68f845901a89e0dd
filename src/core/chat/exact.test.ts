// Messages whose exact form is of any size.
import assert from "node:assert/strict";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { changed } from "../../../test/support/changed.ts";
import { bytesUnder, temporaryDirectory } from "../../../test/support/command-line.ts";
import { openThroughline, type Throughline } from "../throughline.ts";
import type { ChatLog } from "./chat-log.ts";
import { exactOf, keepExact } from "./exact.ts";
import type { StoredMessage } from "./message.ts";

const chat = "local:me";
const picture = { type: "file", data: new Uint8Array(400_000).fill(5), word: "lighthouse" };

async function open(t: TestContext, home: string): Promise<Throughline> {
  const throughline = await openThroughline({ home, durability: "process" });
  t.after(() => throughline.close());
  return throughline;
}

async function say(throughline: Throughline, id: string, value: unknown, chatId = chat) {
  const { chats } = throughline;
  const kept = await keepExact(chats, chatId, id, value);
  const message = { id, role: "user", content: "a picture", ...kept } as const;
  const [stored] = await chats.append(chatId, [message]);
  return stored as StoredMessage;
}

test("a message of many parts comes back equal after a restart, in its chat and in a fork of it", async (t) => {
  const home = join(temporaryDirectory(t), "home");
  {
    await using throughline = await openThroughline({ home, durability: "process" });
    await say(throughline, "m1", picture);
    await say(throughline, "m2", { small: [-0, undefined] });
    await say(throughline, "m3", { plain: true });
    await throughline.chats.fork(chat, "m2", "local:fork");
  }
  const { chats } = await open(t, home);
  for (const chatId of [chat, "local:fork"]) {
    const { messages } = await chats.messages(chatId);
    const [one, two] = messages as readonly [StoredMessage, StoredMessage];
    assert.deepEqual(await exactOf(chats, chatId, one), picture);
    assert.deepEqual(await exactOf(chats, chatId, two), { small: [-0, undefined] });
  }
  const m3 = await chats.message(chat, "m3");
  assert.deepEqual(m3.exact, { value: { plain: true } }, "for people to read");
  assert.equal((await chats.row(chat)).message_count, 3);
});

test("a crash after the parts leaves no message, and saying it again stores no part twice", async (t) => {
  const throughline = await open(t, join(temporaryDirectory(t), "home"));
  const { chats } = throughline;
  await keepExact(chats, chat, "m1", picture);
  assert.equal((await chats.messages(chat)).messages.length, 0);
  const { seq } = await chats.state(chat);
  const stored = await say(throughline, "m1", picture);
  assert.equal(stored.seq, seq + 1);
  assert.deepEqual(await exactOf(chats, chat, stored), picture);
});

test("erasing a message removes the bytes of its parts, and no other message's", async (t) => {
  const home = join(temporaryDirectory(t), "home");
  const throughline = await open(t, home);
  const { chats } = throughline;
  const secret = { text: "lighthouse ".repeat(15_000) };
  await say(throughline, "m1", secret);
  await say(throughline, "m2", picture);
  assert.ok(bytesUnder(home).includes("lighthouse lighthouse"));
  await chats.erase(chat, "m1");
  assert.ok(!bytesUnder(home).includes("lighthouse lighthouse"));
  assert.deepEqual(await exactOf(chats, chat, await chats.message(chat, "m2")), picture);
});

test("a chat that is forgotten while the parts of a message are stored does not begin again", async (t) => {
  const home = join(temporaryDirectory(t), "home");
  const { chats } = await open(t, home);
  const secret = { text: "lighthouse ".repeat(150_000) };
  const change = async (...given: Parameters<ChatLog["change"]>) => {
    await chats.change(...given);
    await chats.forget(chat);
  };
  const forgetting = changed(chats, (name) => (name === "change" ? change : undefined));
  const gone = { code: "THROUGHLINE_NOT_FOUND" };
  await assert.rejects(keepExact(forgetting, chat, "m1", secret), gone);
  assert.ok(!bytesUnder(home).includes("lighthouse lighthouse"));
  const { exact } = await keepExact(chats, chat, "m2", secret);
  await chats.forget(chat);
  const message = { id: "m2", role: "user", content: "a picture", exact } as const;
  await assert.rejects(chats.append(chat, [message]), gone);
  assert.equal((await chats.list()).chats.length, 0);
});

for (const [what, since] of [
  ["was forgotten", []],
  ["has begun again since it was forgotten", [{ role: "user", content: "new" }]],
] as const) {
  test(`nothing of an answer is kept in a chat that ${what}`, async (t) => {
    const { chats } = await open(t, join(temporaryDirectory(t), "home"));
    const answer = { data: Buffer.alloc(9_000, 7).toString("base64"), text: "x".repeat(300_000) };
    await chats.append(chat, [{ id: "m1", role: "user", content: "hello" }]);
    const { exact } = await keepExact(chats, chat, "m2", answer, "m1");
    assert.equal((exact["parts"] as readonly string[]).length, 3);
    await chats.forget(chat);
    if (since.length > 0) await chats.append(chat, since);
    const keeping = keepExact(chats, chat, "m3", answer, "m1");
    await assert.rejects(keeping, { code: "THROUGHLINE_NOT_FOUND" });
    const { seq } = await chats.state(chat);
    assert.deepEqual([seq, await chats.files.list(chat)], [since.length, []]);
  });
}
