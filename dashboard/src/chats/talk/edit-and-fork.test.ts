// Method: the feed as it is, over a network of our own that has a chat of 120 messages.
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { Message } from "../../api/openapi-types.ts";
import { editAndFork } from "./edit-and-fork.ts";
import { Feed } from "./feed.ts";

const wait = () => new Promise((resolve) => setTimeout(resolve, 5));

/** A chat whose newest 50 messages are here, what was asked of the server, and older pages in our hands. */
async function open(t: TestContext, older: () => Promise<unknown>) {
  const asked: string[] = [];
  const { fetch } = globalThis;
  globalThis.fetch = async (path, init) => {
    const url = new URL(String(path), "http://host");
    asked.push(`${init?.method ?? "GET"} ${url.pathname}${url.search} ${String(init?.body ?? "")}`);
    // Refused, so that no new chat begins: what it would keep is none of these tests' affair.
    if (url.pathname.endsWith("/fork")) return new Response(null, { status: 503 });
    if (!url.pathname.endsWith("/messages")) return new Response(null, { status: 204 });
    const before = url.searchParams.get("before");
    if (before !== null) await older();
    const end = Number(before ?? 121);
    const first = Math.max(1, end - Number(url.searchParams.get("limit")));
    const messages = Array.from({ length: end - first }, (_, i): Message => {
      const seq = first + i;
      return { id: `m${seq}`, seq, role: "user", content: "words", timestamp: "" };
    });
    return Response.json({ messages, ...(first > 1 && { before: first }) });
  };
  const feed = new Feed("chat");
  t.after(() => {
    feed.end();
    globalThis.fetch = fetch;
  });
  while (feed.state.status !== "ready") await wait();
  const [oldest] = feed.state.messages;
  assert.equal(oldest?.id, "m71");
  const forks = () => asked.filter((each) => each.includes("/fork"));
  return { feed, oldest: oldest as Message, forks };
}

test("the oldest message that is here is edited with what came before it, also while that is read", async (t) => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const { feed, oldest, forks } = await open(t, () => promise);
  const reading = feed.loadOlder();
  const editing = assert.rejects(editAndFork(feed, oldest, "other words"));
  await wait();
  resolve();
  await Promise.all([reading, editing]);
  assert.equal(forks().length, 1);
  assert.match(forks()[0] ?? "", /"message_id":"m70"/);
});

test("when what came before does not come, nothing is copied and no chat begins", async (t) => {
  const { feed, oldest, forks } = await open(t, () => Promise.reject(new TypeError("no network")));
  await assert.rejects(editAndFork(feed, oldest, "other words"));
  assert.deepEqual(forks(), []);
});
