// Files in the messages of frameworks: they lie with the chat by their hash, and the log has their names.
import assert from "node:assert/strict";
import { statSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { HumanMessage } from "@langchain/core/messages";
import { chatRoutes, loadMessages } from "../src/adapters/ai-sdk/ai-sdk.ts";
import { ThroughlineChatMessageHistory } from "../src/adapters/langchain/history.ts";
import { ThroughlineSession } from "../src/adapters/openai/session.ts";
import { exactOf, keepExact } from "../src/core/chat/exact.ts";
import { hashOf } from "../src/core/storage/file-store.ts";
import { openThroughline, type Throughline } from "../src/core/throughline.ts";
import { temporaryDirectory } from "./support/command-line.ts";
import { randomText } from "./support/random-text.ts";

const chat = "a";
/** A PNG with a text beside the picture, which nothing removes from what a framework brings. */
const bytes = Buffer.concat([
  Buffer.from("89504e470d0a1a0a00000007", "hex"),
  Buffer.from("tEXtAuthor\0\0\0\0\0", "latin1"),
  Buffer.from("000493e0", "hex"),
  Buffer.from("IDAT"),
  Buffer.from(randomText(600_000), "hex"),
  Buffer.alloc(4),
]);
const sha256 = hashOf(bytes);
const base64 = bytes.toString("base64");
const url = `data:image/png;base64,${base64}`;

interface Framework {
  /** Stores a message with the picture. */
  store(throughline: Throughline): Promise<unknown>;
  /** @returns what the framework is given back. */
  read(throughline: Throughline): Promise<unknown>;
}

/** What a tool says of the picture looks like the name that stands for it in the log. */
const digest = `sha256:${sha256}`;

const uiMessage = (url: string) => ({
  id: "m1",
  role: "user",
  metadata: { shot: url, digest },
  parts: [
    { type: "text", text: "look" },
    { type: "file", mediaType: "image/png", filename: "cat.png", url },
  ],
});
/** What the application was given to ask its model with. */
let given: unknown;
async function post(throughline: Throughline, message: object, id = chat): Promise<void> {
  const routes = chatRoutes(throughline, {
    respond({ messages }) {
      given = messages;
      return ReadableStream.from([
        { type: "start" },
        { type: "text-start", id: "t" },
        { type: "text-delta", id: "t", delta: "A cat" },
        { type: "text-end", id: "t" },
        { type: "finish" },
      ]);
    },
  });
  const request = new Request("http://x/", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ id, message }),
  });
  const response = await routes.POST(request);
  assert.equal(response.status, 200, await response.text());
}

const human = new HumanMessage({
  content: [
    { type: "text", text: "look" },
    {
      type: "image",
      source_type: "base64",
      mime_type: "image/png",
      data: base64,
      metadata: { digest },
    },
  ],
});
const item = {
  role: "user" as const,
  content: [
    { type: "input_text" as const, text: "look" },
    { type: "input_image" as const, image: url, providerData: { digest } },
  ],
};
const frameworks: Readonly<Record<string, Framework>> = {
  "the AI SDK": {
    store: (throughline) => post(throughline, uiMessage(url)),
    read: async (throughline) => {
      const [message] = await loadMessages(throughline, chat);
      assert.deepEqual(message, uiMessage(url));
      await post(throughline, {
        id: "m2",
        role: "user",
        parts: [{ type: "text", text: "and now?" }],
      });
      const [first] = given as readonly unknown[];
      assert.deepEqual(first, uiMessage(url));
      // The same message sent again is the same, with its picture.
      return post(throughline, uiMessage(url));
    },
  },
  LangChain: {
    store: (throughline) =>
      new ThroughlineChatMessageHistory(throughline, chat).addMessages([human]),
    read: async (throughline) => {
      const [message] = await new ThroughlineChatMessageHistory(throughline, chat).getMessages();
      assert.deepEqual(message?.toDict(), human.toDict());
    },
  },
  "the OpenAI Agents SDK": {
    store: (throughline) => new ThroughlineSession(throughline, chat).addItems([item]),
    read: async (throughline) => {
      assert.deepEqual(await new ThroughlineSession(throughline, chat).getItems(), [item]);
    },
  },
};

async function world(t: TestContext) {
  const home = join(temporaryDirectory(t), "home");
  const throughline = await openThroughline({ home, durability: "process" });
  t.after(() => throughline.close());
  return { home, throughline, files: async () => throughline.chats.files.list(chat) };
}

test("a message that was erased and is sent again leaves no file", async (t) => {
  const { throughline, files } = await world(t);
  await post(throughline, uiMessage(url));
  await throughline.chats.erase(chat, "m1");
  assert.deepEqual(await files(), []);
  await assert.rejects(post(throughline, uiMessage(url)), { name: "AssertionError" });
  assert.deepEqual(await files(), []);
});

test("a file stays that a message is about to name, when the other one that named it is erased", async (t) => {
  const { throughline, files } = await world(t);
  const { chats } = throughline;
  await post(throughline, uiMessage(url));
  const content = { parts: [{ type: "file", url }] };
  const { exact, attachments } = await keepExact(chats, chat, "b", content);
  await chats.erase(chat, "m1");
  assert.deepEqual(await files(), [{ sha256, bytes: bytes.length }]);
  await chats.append(chat, [{ id: "b", role: "user", content: "again", exact, attachments }]);
  const found = await chats.message(chat, "b");
  assert.deepEqual(await exactOf(chats, chat, found), content);
  await chats.erase(chat, "b");
  assert.deepEqual(await files(), []);
});

for (const [name, { store, read }] of Object.entries(frameworks)) {
  test(`a picture of ${name} is a file of the chat, and comes back equal`, async (t) => {
    const { home, throughline, files } = await world(t);
    await store(throughline);
    const { messages } = await throughline.chats.messages(chat);
    const [file] = messages[0]?.attachments ?? [];
    assert.deepEqual([file?.sha256, file?.type, file?.size], [sha256, "image/png", bytes.length]);
    assert.deepEqual(await files(), [{ sha256, bytes: bytes.length }]);
    await read(throughline);
    await throughline.close();
    const log = statSync(join(home, "chats", `${chat}.jsonl`)).size;
    assert.ok(log < 20_000, `the log has ${log} bytes`);
    await using again = await openThroughline({ home });
    await read(again);
  });

  test(`a picture of ${name} goes with its message or its chat, and stays in a copy until it is erased`, async (t) => {
    const { throughline, files } = await world(t);
    const { chats } = throughline;
    await store(throughline);
    const id = (await chats.messages(chat)).messages[0]?.id ?? "";
    await chats.fork(chat, id, "copy");
    await chats.forget(chat);
    assert.deepEqual(await files(), []);
    assert.equal(hashOf(await chats.attachment("copy", sha256)), sha256);
    await chats.erase("copy", id);
    assert.deepEqual(await chats.files.list("copy"), []);
  });
}

test("a small file and a text that only looks like one stay where they are", async (t) => {
  const { throughline, files } = await world(t);
  const history = new ThroughlineChatMessageHistory(throughline, chat);
  const texts = [
    `data:image/png;base64,${"A".repeat(9)}`,
    `data:text/plain;base64,${"é".repeat(9_000)}`,
  ];
  const messages = texts.map((text) => {
    return new HumanMessage({ content: [{ type: "image_url", image_url: { url: text } }] });
  });
  await history.addMessages(messages);
  assert.deepEqual(await files(), []);
  const stored = await history.getMessages();
  assert.deepEqual(
    stored.map((each) => each.toDict()),
    messages.map((each) => each.toDict()),
  );
});
