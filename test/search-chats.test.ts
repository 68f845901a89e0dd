import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { openThroughline } from "../src/core/throughline.ts";
import { openPostgresStorage } from "../src/postgres/postgres.ts";
import { temporaryDirectory } from "./support/command-line.ts";
import { HeldClock } from "./support/held-clock.ts";
import { noPostgres, withPostgres } from "./support/test-postgres.ts";

type Kept = "in memory" | "in files" | "on PostgreSQL";
const skip = noPostgres() ?? false;

async function companion(t: TestContext, kept: Kept) {
  const clock = new HeldClock();
  const throughline = await openThroughline({ ...(await placeFor(t, kept)), clock });
  t.after(() => throughline.close());
  const { chats } = throughline;
  /** Each chat is newer than the one before. */
  const say = async (chatId: string, count = 1, content = "the lighthouse") => {
    clock.pass(1_000);
    const messages = Array.from({ length: count }, () => ({ role: "user" as const, content }));
    for (let at = 0; at < count; at += 500) {
      await chats.append(chatId, messages.slice(at, at + 500));
    }
  };
  /** The chats that a search answers with, and of each how many messages. */
  const found = async (limit: number) => {
    const hits = await chats.search("lighthouse", { limit });
    return [...Map.groupBy(hits, ({ chat_id }) => chat_id)].map(([id, all]) => [id, all.length]);
  };
  return { chats, say, found };
}

async function placeFor(t: TestContext, kept: Kept) {
  if (kept === "in memory") return { storage: "memory" } as const;
  if (kept === "in files") {
    return { home: temporaryDirectory(t) };
  }
  const server = await withPostgres();
  const pool = server.pool(await server.newDatabase());
  return { storage: await openPostgresStorage({ pool, durability: "process" }) };
}

// A database takes longer to start than all of these take.
const isFull = process.env["THROUGHLINE_FULL"] === "1";
const others = isFull ? (["in memory", "on PostgreSQL"] as const) : [];

for (const kept of ["in files", ...others] as const) {
  const options = kept === "on PostgreSQL" ? { skip } : {};
  test(
    `${kept}, 60 messages that a clear hid take no place from those of other chats`,
    options,
    async (t) => {
      const { chats, say, found } = await companion(t, kept);
      for (const id of ["a", "b", "c"]) await say(id);
      await say("d", 60);
      await chats.clear("d");
      assert.deepEqual(await found(3), [
        ["c", 1],
        ["b", 1],
        ["a", 1],
      ]);
      assert.deepEqual(await found(2), [
        ["c", 1],
        ["b", 1],
      ]);
      assert.deepEqual(await chats.search("lighthouse", { limit: 3, chatId: "d" }), []);
    },
  );

  test(
    `${kept}, a chat with 1,001 hits has all places of a search for 1,000`,
    options,
    async (t) => {
      const { say, found } = await companion(t, kept);
      await say("a");
      await say("c", 1_001);
      assert.deepEqual(await found(1_000), [["c", 1_000]]);
    },
  );

  test(
    `${kept}, the newest 1,000 hits are looked at, and the answer says that there is more`,
    options,
    async (t) => {
      const { chats, say, found } = await companion(t, kept);
      await say("a");
      await say("b", 30);
      await say("nothing", 1, "milk");
      await say("c", 20);
      await say("d", 970);
      await chats.clear("d");
      await say("d", 2);
      await say("e", 1, "milk");
      assert.deepEqual(await found(100), [
        ["d", 2],
        ["c", 20],
        ["b", 8],
      ]);
      for (const chatId of [undefined, "d"]) {
        const { more } = await chats.search("lighthouse", { limit: 100, chatId });
        assert.equal(more, chatId === undefined ? true : undefined, chatId);
      }
      const chatsFound = await chats.findChats("lighthouse");
      assert.deepEqual([chatsFound.length, chatsFound.more], [4, true]); // one by its title
      assert.deepEqual(await found(24), [
        ["d", 2],
        ["c", 20],
        ["b", 2],
      ]);
    },
  );

  test(`${kept}, what was said after a clear is found, the newest first`, options, async (t) => {
    const { chats, say } = await companion(t, kept);
    await say("a", 5, "the old lighthouse");
    await chats.clear("a");
    await say("a", 1, "the new lighthouse");
    await say("a", 1, "the newest lighthouse");
    for (const chatId of [undefined, "a"]) {
      const hits = await chats.search("lighthouse", chatId === undefined ? {} : { chatId });
      assert.deepEqual(
        hits.map(({ message }) => message.content),
        ["the newest lighthouse", "the new lighthouse"],
      );
    }
  });
}
