// What the application took back is nowhere to be seen, on every storage and after a restart.
import assert from "node:assert/strict";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import type { ChatFormat } from "../src/core/chat/chat-formats.ts";
import type { Chats } from "../src/core/chat/chats.ts";
import { readHistory } from "../src/core/chat/history.ts";
import type { MessageInput } from "../src/core/chat/message-input.ts";
import { renderChat } from "../src/core/chat/render-chat.ts";
import { openThroughline, type ThroughlineOptions } from "../src/core/throughline.ts";
import { exportChats } from "../src/interchange/export.ts";
import { openPostgresStorage } from "../src/postgres/postgres.ts";
import { temporaryDirectory } from "./support/command-line.ts";
import { MemoryPlace, openMemoryProcess } from "./support/memory-place.ts";
import { noPostgres, withPostgres } from "./support/test-postgres.ts";

const chat = "telegram:42";
const call = {
  id: "c1",
  type: "function",
  function: { name: "look", arguments: '{"for":"lighthouse one"}' },
};
const said: readonly MessageInput[] = [
  { id: "q1", role: "user", content: "the first question stays" },
  { id: "a1", role: "assistant", content: "the first answer stays" },
  { id: "q2", role: "user", content: "where is the lighthouse" },
  { id: "call", role: "assistant", content: "I look", tool_calls: [call] },
  { id: "result", role: "tool", content: "lighthouse two", tool_call_id: "c1", name: "look" },
  { id: "a2", role: "assistant", content: "the lighthouse is here" },
];

// A database takes longer to start than all of these take.
const isFull = process.env["THROUGHLINE_FULL"] === "1";
const database = isFull && noPostgres() === undefined ? withPostgres() : undefined;

type Place = () => Promise<Pick<ThroughlineOptions, "home" | "storage">>;

const places: Readonly<Record<string, (t: TestContext) => Promise<Place>>> = {
  "in memory": async () => {
    const place = new MemoryPlace();
    return async () => ({ storage: openMemoryProcess({ place }) });
  },
  "in files": async (t) => {
    const home = join(temporaryDirectory(t), "home");
    return async () => ({ home });
  },
  "on PostgreSQL": async () => {
    const server = await database;
    assert.ok(server);
    const url = await server.newDatabase();
    return async () => {
      const pool = server.pool(url);
      return { storage: await openPostgresStorage({ pool, durability: "process" }) };
    };
  },
};

/** Everything that people, programs and models get of a chat. */
async function seen(chats: Chats, chatId = chat): Promise<string> {
  const formats: ChatFormat[] = ["jsonl", "markdown", "html"];
  const rendered: unknown[] = [];
  for (const format of formats) {
    rendered.push(await Array.fromAsync(await renderChat(chats, chatId, format, "UTC")));
  }
  for await (const { pieces } of exportChats(chats, { format: "nanobot", chatId })) {
    rendered.push(await Array.fromAsync(pieces));
  }
  const model = { provider: "a", model: "b", window: 100_000 };
  const history = await readHistory(chats.logs, chatId, model);
  const page = await chats.messages(chatId);
  const found = await Promise.all(said.map(({ id }) => chats.find(chatId, String(id))));
  const chatsFound = await chats.findChats("lighthouse");
  const hits = [
    await chats.search("lighthouse", { chatId }),
    chatsFound.filter(({ chat_id }) => chat_id === chatId),
  ];
  return JSON.stringify([rendered, history, page, found, hits, await chats.list()]);
}

for (const [kept, newPlace] of Object.entries(places)) {
  if (kept !== "in files" && !isFull) continue;
  for (const [what, ids, left] of [
    ["a question", ["q2"], "the lighthouse is here"],
    ["an answer", ["a2"], "where is the lighthouse"],
    ["a call and its result", ["call", "result"], "where is the lighthouse"],
    ["all of a turn", ["q2", "call", "result", "a2"], "the first answer stays"],
  ] as const) {
    const options = { skip: kept === "on PostgreSQL" && (noPostgres() ?? false) };
    test(
      `${kept}, ${what} that is taken back is in no history, page, search, export or fork`,
      options,
      async (t) => {
        const place = await newPlace(t);
        const words = said.filter(({ id }) => ids.some((each) => each === id));
        const gone = words.map(({ content }) => content);
        if (ids.some((id) => id === "call")) gone.push("lighthouse one");
        const assertGone = async (chats: Chats, chatId = chat) => {
          const all = await seen(chats, chatId);
          for (const text of gone) assert.equal(all.includes(text), false, `${chatId}: ${text}`);
          assert.ok(all.includes(left));
          assert.equal((await chats.row(chatId)).message_count, said.length - ids.length);
        };
        const throughline = await openThroughline(await place());
        const { chats } = throughline;
        await chats.append(chat, said);
        await chats.fork(chat, "a2", "before");
        for (const text of gone) assert.ok((await seen(chats)).includes(text), text);
        await chats.takeBack(chat, ids);
        await assertGone(chats);
        for (const id of ids) {
          await assert.rejects(chats.message(chat, id), { code: "THROUGHLINE_NOT_FOUND" });
        }
        await chats.append(chat, [{ id: "end", role: "user", content: "the end" }]);
        await chats.fork(chat, "end", "after");
        await chats.takeBack(chat, ["end"]);
        await chats.takeBack("after", ["end"]);
        await assertGone(chats, "after");
        assert.equal((await chats.messages("before")).messages.length, said.length);
        await throughline.close();
        await using again = await openThroughline(await place());
        await assertGone(again.chats);
        await assertGone(again.chats, "after");
        assert.equal((await again.chats.messages("before")).messages.length, said.length);
      },
    );
  }
}
