import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { temporaryDirectory } from "../../../test/support/command-line.ts";
import { HeldClock } from "../../../test/support/held-clock.ts";
import { openThroughline } from "../throughline.ts";

async function companion(t: TestContext, place: "memory" | "files" = "memory") {
  const clock = new HeldClock();
  const options = place === "memory" ? { storage: place } : { home: temporaryDirectory(t) };
  const throughline = await openThroughline({ ...options, clock });
  t.after(() => throughline.close());
  const { chats } = throughline;
  /** Each chat is newer than the one before. */
  const say = async (chatId: string, ...contents: readonly string[]) => {
    clock.pass(1_000);
    const messages = contents.map((content) => ({ role: "user" as const, content }));
    for (let at = 0; at < messages.length; at += 500) {
      await chats.append(chatId, messages.slice(at, at + 500));
    }
  };
  /** Of each chat its id, how many messages hold the words, and the newest of them. */
  const found = async (query: string, options: Parameters<typeof chats.findChats>[1] = {}) =>
    (await chats.findChats(query, options)).map(
      ({ chat_id, match_count, match }) => [chat_id, match_count, match?.content] as const,
    );
  return { chats, say, found };
}

test("of more than 100 hits of a chat 100 are counted, and a chat behind the newest 1,000 is not found", async (t) => {
  const { chats, say, found } = await companion(t);
  await say("oldest", "milk", "tea");
  await say("older", ...Array.from({ length: 101 }, () => "tea"));
  await say("newest", ...Array.from({ length: 899 }, () => "tea"));
  const expected = ["newest", "older"].map((chatId) => [chatId, 100, "tea"]);
  assert.deepEqual(await found("tea"), expected);
  assert.equal((await chats.findChats("tea")).more, true);
  await chats.clear("newest");
  assert.deepEqual(await found("tea"), expected.slice(1));
});

test("a query that asks for nothing finds no chat", async (t) => {
  const { say, found } = await companion(t);
  await say("a", "...");
  for (const query of ["", " ", "...", "*"]) assert.deepEqual(await found(query), [], query);
});

const skip = process.env["THROUGHLINE_FULL"] !== "1" && "THROUGHLINE_FULL=1 runs it";
test("past the first 10,000 chats what was said is found, titles and ids are not", {
  skip,
}, async (t) => {
  const { chats, say, found } = await companion(t);
  await say("oldest", "green tea");
  await chats.rename("oldest", "Breakfast");
  for (let n = 0; n < 10_000; n++) await say(`other ${n}`, "milk");
  assert.deepEqual(await found("tea"), [["oldest", 1, "green tea"]]);
  assert.deepEqual(await found("breakfast"), []);
});

test("a common word needs no more than the first hits", async (t) => {
  const { chats, say, found } = await companion(t);
  for (let n = 0; n < 200; n++) await say(`chat ${n}`, "tea", "more tea");
  const { logs } = chats;
  const asked: number[] = [];
  const search = logs.search.bind(logs);
  t.mock.method(logs, "search", (query: string, options: Parameters<typeof search>[1]) => {
    asked.push(options.limit);
    return search(query, options);
  });
  const rows = await found("tea", { limit: 50 });
  assert.deepEqual([rows.length, rows.every(([, count]) => count === 2)], [50, true]);
  assert.deepEqual(asked, [50, 200]);
});

// A search looks through many chats. Others get their turn between: counted in passes of the event loop.

async function manyChats(count: number) {
  const { chats } = await openThroughline({ storage: "memory" });
  for (let n = 0; n < count; n++) await chats.append(`${n}`, [{ role: "user", content: "milk" }]);
  return chats;
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
  ["the titles of 500 chats", {}],
  ["500 chats for damaged ones", { damaged: true }],
] as const) {
  test(`who looks through ${what} lets others work between every 100`, async () => {
    const chats = await manyChats(500);
    const passes = await passesOf(chats.findChats("nothing", options));
    assert.ok(passes >= 5, `${passes} passes`);
  });
}
