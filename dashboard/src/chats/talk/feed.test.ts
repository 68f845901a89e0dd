// Method: the feed as it is, over a network of our own: `fetch` and `EventSource` are the browser's.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { type TestContext, test } from "node:test";
import { setImmediate as passed } from "node:timers/promises";
import { detailOf } from "../../api/client.ts";
import { connectNow, inSight } from "../../api/events.ts";
import type { Message, ServerEvents } from "../../api/openapi-types.ts";
import { draftsOf, saveDrafts } from "./drafts.ts";
import { Feed } from "./feed.ts";
import { feedOf } from "./feeds.ts";

type Answer = (path: string, init: RequestInit) => Response | Promise<Response>;

/** The stream of events that the page has open. */
let events: EventTarget;
let answer: Answer;

class Source extends EventTarget {
  static readonly OPEN = 1;
  readonly readyState = 0;
  constructor() {
    super();
    events = this;
  }
  close(): void {}
}

/** The network for one test. */
function connect(t: TestContext, answers: Answer = nothingYet): void {
  const { fetch, EventSource } = globalThis;
  globalThis.fetch = async (path, init = {}) => answer(String(path), init);
  globalThis.EventSource = Source as unknown as typeof EventSource;
  answer = answers;
  connectNow();
  t.after(() => {
    globalThis.fetch = fetch;
    globalThis.EventSource = EventSource;
  });
}

function open(t: TestContext): Feed {
  const feed = new Feed("chat");
  t.after(() => {
    feed.end();
    saveDrafts("chat", { draft: "", edits: [], waiting: [], isBegun: false });
  });
  return feed;
}

const nothingYet: Answer = (path) =>
  path.endsWith("/turn") ? new Response(null, { status: 204 }) : Response.json({ messages: [] });

const lostPosts: Answer = (path, init) => {
  if (init.method === "POST") throw new TypeError("no network");
  return nothingYet(path, init);
};

function tell(event: ServerEvents["message"]): void {
  events.dispatchEvent(new MessageEvent("message", { data: JSON.stringify(event) }));
}

function tellOfChat(change: "cleared" | "forgotten"): void {
  const data = JSON.stringify({ chat_id: "chat", change });
  events.dispatchEvent(new MessageEvent("session", { data }));
}

function message(seq: number, more: Partial<Message> = {}): Message {
  return { id: `m${seq}`, seq, role: "user", content: `words ${seq}`, timestamp: "", ...more };
}

async function until(isSo: () => boolean): Promise<void> {
  const end = performance.now() + 5_000;
  while (!isSo() && performance.now() < end) await passed();
  assert.ok(isSo(), "this never came");
}

/** A chat that has loaded, on a network. */
async function loaded(t: TestContext, answers?: Answer): Promise<Feed> {
  connect(t, answers);
  const feed = open(t);
  await isReady(feed);
  return feed;
}

const isReady = (feed: Feed) => until(() => feed.state.status === "ready");
/** As the server makes it. */
const idOfKey = (key: string) => `i_${createHash("sha256").update(key).digest("hex").slice(0, 32)}`;
const words = (feed: Feed) => feed.state.messages.map(({ content }) => content);

test("what is told while a chat loads is in it when it has loaded", async (t) => {
  const page = Promise.withResolvers<Response>();
  connect(t, (path, init) => (path.includes("/messages?") ? page.promise : nothingYet(path, init)));
  const feed = open(t);
  tell({ change: "stored", chat_id: "chat", message: message(2, { content: "older form" }) });
  tell({ change: "stored", chat_id: "chat", message: message(3) });
  tell({ change: "stored", chat_id: "other", message: message(4) });
  tell({ change: "erased", chat_id: "chat", message_id: "m1" });
  page.resolve(Response.json({ messages: [message(1), message(2)] }));
  await isReady(feed);
  assert.deepEqual(words(feed), ["", "words 2", "words 3"]);
  assert.equal(feed.state.messages[0]?.redacted, true);
});

test("a chat that breaks off while it is read says that the server cannot be reached", async (t) => {
  connect(t, (path, init) => {
    if (!path.includes("/messages?")) return nothingYet(path, init);
    const body = new ReadableStream({ start: (stream) => stream.error(new TypeError("cut off")) });
    return new Response(body);
  });
  const feed = open(t);
  await until(() => feed.state.status === "failed");
  assert.equal(detailOf(feed.state.error), "Can't reach Throughline.");
});

test("a message that was taken back is in the chat no more", async (t) => {
  const feed = await loaded(t, async (path, init) =>
    path.includes("/messages?")
      ? Response.json({ messages: [message(1), message(2)] })
      : nothingYet(path, init),
  );
  tell({ change: "taken_back", chat_id: "chat", message_id: "m1" });
  assert.deepEqual(words(feed), ["words 2"]);
});

test("of two equal messages that wait the one that was stored waits no more, told of twice", async (t) => {
  const keys: string[] = [];
  const streams: ReadableStreamDefaultController<Uint8Array>[] = [];
  const feed = await loaded(t, (path, init) => {
    if (init.method !== "POST") return nothingYet(path, init);
    keys.push(new Headers(init.headers).get("idempotency-key") ?? "");
    return new Response(new ReadableStream({ start: (each) => void streams.push(each) }));
  });
  const sent = [feed.send("ok"), feed.send("ok")];
  await until(() => streams.length === 2 && feed.state.waiting[1]?.state === "waiting");
  const id = idOfKey(keys[0] ?? "");
  const stored = message(2, { id, content: "ok" });
  const waiting = () => feed.state.waiting.map(({ key }) => key);
  tell({ change: "stored", chat_id: "chat", message: message(1, { content: "ok" }) });
  assert.deepEqual(waiting(), keys, "another browser sent it too");
  for (let told = 0; told < 2; told++) {
    tell({ change: "stored", chat_id: "chat", message: stored });
    assert.deepEqual(waiting(), keys.slice(1));
  }
  const data = JSON.stringify({ assistant: null });
  streams[0]?.enqueue(new TextEncoder().encode(`event: result\ndata: ${data}\n\n`));
  for (const stream of streams) stream.close();
  await Promise.all(sent);
});

test("a message is posted once the one before has arrived, on the model that was chosen for it", async (t) => {
  const posts: { readonly body: unknown; readonly arrive: () => void }[] = [];
  const feed = await loaded(t, (path, init) => {
    if (init.method !== "POST") return nothingYet(path, init);
    const { promise, resolve } = Promise.withResolvers<Response>();
    const arrive = () => resolve(new Response(null, { status: 503 }));
    posts.push({ body: JSON.parse(String(init.body)), arrive });
    return promise;
  });
  const model = { provider: "ollama", model: "qwen3" };
  feed.keep({ model });
  const sent = [feed.send("a picture"), feed.send("what is it?")];
  await until(() => posts.length > 0);
  feed.keep({ model: undefined });
  for (let n = 0; n < 20; n++) await passed();
  assert.equal(posts.length, 1);
  posts[0]?.arrive();
  await until(() => posts.length === 2);
  posts[1]?.arrive();
  await Promise.all(sent);
  const bodies = posts.map(({ body }) => body);
  assert.deepEqual(bodies, [
    { content: "a picture", ...model },
    { content: "what is it?", ...model },
  ]);
});

test("a message on its way while its chat is forgotten is shown as unsent if it does not arrive", async (t) => {
  const post = Promise.withResolvers<Response>();
  let isPosted = false;
  const feed = await loaded(t, (path, init) => {
    isPosted ||= init.method === "POST";
    return init.method === "POST" ? post.promise : nothingYet(path, init);
  });
  tell({ change: "stored", chat_id: "chat", message: message(1) });
  feed.keep({ draft: "typed" });
  feed.edit("m1", "edited");
  const sent = feed.send("on its way");
  await until(() => isPosted);
  tellOfChat("forgotten");
  assert.deepEqual([feed.draft, feed.edits.size, words(feed)], ["", 0, []]);
  assert.deepEqual(draftsOf("chat")?.edits, []);
  post.reject(new TypeError("no network"));
  await sent;
  const unsent = feed.state.waiting.map(({ content, state }) => [content, state]);
  assert.deepEqual(unsent, [["on its way", "failed"]]);
});

test("a chat that is cleared keeps what was typed and not sent, also through a reload", async (t) => {
  const feed = await loaded(t, lostPosts);
  await feed.send("unsent");
  feed.keep({ draft: "typed" });
  tellOfChat("cleared");
  for (let n = 0; n < 20; n++) await passed(); // it is read again
  for (const { draft, waiting } of [feed.state, draftsOf("chat")!]) {
    assert.deepEqual([draft, waiting.map(({ content }) => content)], ["typed", ["unsent"]]);
  }
});

test("a message that was stored although its response was lost is not unsent, also over plain http", async (t) => {
  const { subtle } = crypto;
  Object.defineProperty(crypto, "subtle", { value: undefined, configurable: true });
  t.after(() => Object.defineProperty(crypto, "subtle", { value: subtle, configurable: true }));
  const feed = await loaded(t, lostPosts);
  await feed.send("hello");
  const [{ key, state } = assert.fail("it is not shown")] = feed.state.waiting;
  assert.equal(state, "failed");
  const id = idOfKey(key);
  tell({ change: "stored", chat_id: "chat", message: message(1, { id, content: "hello" }) });
  assert.deepEqual(feed.state.waiting, []);
});

test("what is moved back to the draft comes before what was typed since", async (t) => {
  const feed = await loaded(t);
  answer = () => Promise.reject(new TypeError("no network"));
  await feed.send("first words");
  feed.keep({ draft: "other words" });
  assert.equal(feed.state.waiting[0]?.state, "failed");
  assert.equal(feed.toDraft(feed.state.waiting[0].key), "first words\nother words");
  assert.deepEqual([feed.draft, feed.state.waiting], ["first words\nother words", []]);
});

for (const [says, draft, edits, isKept] of [
  ["with a draft", "typed", [], true],
  ["with a message that is being edited", "", [["m1", "typed"]], true],
  ["in which nothing was typed", "", [], false],
] as const) {
  test(`a chat ${says} is ${isKept ? "" : "not "}the same after seven others`, async (t) => {
    connect(t);
    const feed = feedOf(says);
    await isReady(feed);
    await until(() => !feed.isBusy);
    feed.keep({ draft });
    for (const [id, content] of edits) feed.edit(id, content);
    for (let n = 1; n <= 7; n++) await isReady(feedOf(`${says} ${n}`));
    assert.equal(feedOf(says) === feed, isKept);
  });
}

test("of two readings of a chat that end in another order the one that was begun last counts", async (t) => {
  const pages: PromiseWithResolvers<Response>[] = [];
  connect(t, (path, init) => {
    if (!path.includes("/messages?")) return nothingYet(path, init);
    const page = Promise.withResolvers<Response>();
    pages.push(page);
    return page.promise;
  });
  const feed = open(t);
  await until(() => pages.length === 1);
  pages[0]?.resolve(Response.json({ messages: [message(1)] }));
  await isReady(feed);
  const readings = [feed.load(), feed.load()];
  await until(() => pages.length === 3);
  pages[2]?.resolve(Response.json({ messages: [message(1, { content: "chosen" })] }));
  await readings[1];
  pages[1]?.resolve(Response.json({ messages: [message(1, { content: "before that" })] }));
  await readings[0];
  assert.deepEqual(words(feed), ["chosen"]);
});

test("another answer that is chosen, or made, elsewhere is read, once for each", async (t) => {
  let shown = "first";
  let reads = 0;
  const feed = await loaded(t, async (path, init) => {
    if (!path.includes("/messages?")) return nothingYet(path, init);
    reads++;
    await passed();
    return Response.json({
      messages: [message(1), message(2, { role: "assistant", content: shown })],
    });
  });
  for (const [content, event] of [
    ["second", { change: "chosen", chat_id: "chat", message_id: "m2" }],
    [
      "third",
      {
        change: "stored",
        chat_id: "chat",
        message: message(2, { id: "t:answer:r", turn: "t", role: "assistant", content: "third" }),
      },
    ],
  ] as const) {
    shown = content;
    tell(event);
    tell(event);
    await until(() => words(feed).at(-1) === content && feed.state.messages.at(-1)?.id === "m2");
  }
  for (let n = 0; n < 20; n++) await passed();
  assert.equal(reads, 5);
});

test("the chosen model is named with a message, an answer and a retry, and is forgotten with the chat", async (t) => {
  const sent: (readonly [string, unknown])[] = [];
  connect(t, (path, init) => {
    if (init.method === "POST") {
      sent.push([path.split("/").at(-1) ?? "", JSON.parse(String(init.body))]);
      return Response.json({ code: "X", detail: "refused" }, { status: 400 });
    }
    const messages = [message(1), message(2, { role: "assistant" })];
    return path.endsWith("/turn") ? nothingYet(path, init) : Response.json({ messages });
  });
  const feed = open(t);
  await passed();
  await passed();
  const model = { provider: "ollama", model: "qwen3" };
  await feed.send("one");
  feed.keep({ model });
  await feed.resend(feed.state.waiting[0]?.key ?? "");
  await feed.answer();
  await feed.regenerate("key");
  assert.deepEqual(sent, [
    ["messages", { content: "one" }],
    ["messages", { content: "one", ...model }],
    ["answer", model],
    ["retry", model],
  ]);
  tellOfChat("forgotten");
  assert.equal(feed.state.model, undefined);
});

for (const [says, isStored, outcome] of [
  ["was stored while none ran", true, []],
  ["is still not stored a moment later", false, ["lost"]],
] as const) {
  test(`between two turns none runs: a message that waited and ${says} is shown as ${outcome[0] ?? "nothing else"}`, async (t) => {
    const streams: ReadableStreamDefaultController<Uint8Array>[] = [];
    const keys: string[] = [];
    const feed = await loaded(t, (path, init) => {
      if (path.endsWith("/turn")) return nothingYet(path, init);
      if (init.method !== "POST") {
        const stored = message(3, { id: idOfKey(keys[1] ?? ""), content: "two" });
        return Response.json({ messages: isStored && keys.length > 1 ? [stored] : [] });
      }
      keys.push(new Headers(init.headers).get("idempotency-key") ?? "");
      return new Response(new ReadableStream({ start: (each) => void streams.push(each) }));
    });
    const seen = new Set<string>();
    const states = () => feed.state.waiting.map(({ state }) => state);
    t.after(feed.store.subscribe(() => states().forEach((state) => void seen.add(state))));
    void feed.send("one");
    void feed.send("two");
    await until(() => states()[1] === "waiting");
    const user = message(1, { id: idOfKey(keys[0] ?? "") });
    const assistant = message(2, { role: "assistant" });
    for (const [name, data] of [
      ["accepted", { turn_id: "t", user }],
      ["result", { assistant }],
    ] as const) {
      const event = `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
      streams[0]?.enqueue(new TextEncoder().encode(event));
    }
    for (const stream of streams) stream.close();
    await until(() => states().length < 2 && states()[0] !== "waiting");
    assert.deepEqual([states(), seen.has("lost")], [outcome, !isStored]);
  });
}

test("a message that takes too long to send is moved to the draft, looked for on the server, and the next one is sent", async (t) => {
  const posts: unknown[] = [];
  let reads = 0;
  const feed = await loaded(t, (path, { method, body, signal, ...init }) => {
    if (path.includes("/messages?")) reads++;
    if (method !== "POST") return nothingYet(path, init);
    posts.push(JSON.parse(String(body)).content);
    return new Promise((_, reject) => {
      signal?.addEventListener("abort", () => reject(signal.reason));
    });
  });
  const sent = [feed.send("one"), feed.send("two")];
  await until(() => posts.length === 1);
  const before = reads;
  feed.toDraft(feed.state.waiting[0]?.key ?? "");
  await until(() => posts.length === 2 && reads > before);
  const waiting = feed.state.waiting.map(({ content, state }) => [content, state]);
  assert.deepEqual([posts, feed.draft, waiting], [["one", "two"], "one", [["two", "sending"]]]);
  feed.toDraft(feed.state.waiting[0]?.key ?? "");
  await Promise.all(sent);
  assert.deepEqual([feed.draft, feed.state.waiting], ["two\none", []]);
});

test("a message that was moved to the draft is the same one when it is sent as it is, and another after a change", async (t) => {
  const keys: (string | null)[] = [];
  const feed = await loaded(t, (path, { method, signal, ...init }) => {
    if (method !== "POST") return nothingYet(path, init);
    keys.push(new Headers(init.headers).get("idempotency-key"));
    return new Promise((_, reject) => {
      signal?.addEventListener("abort", () => reject(signal.reason));
    });
  });
  for (const content of ["one", "one", "one more", "one"]) {
    const sent = feed.send(content);
    const count = keys.length;
    await until(() => keys.length > count);
    feed.toDraft(feed.state.waiting[0]?.key ?? "");
    await sent;
  }
  assert.equal(keys[1], keys[0]);
  assert.equal(new Set(keys).size, 3);
});

test("a page out of sight follows no turn until it is seen again: the connections are for the others", async (t) => {
  let asked = 0;
  connect(t, (path, init) => {
    if (path.endsWith("/turn")) asked++;
    return nothingYet(path, init);
  });
  await isReady(feedOf("out of sight"));
  await until(() => asked === 1);
  t.after(() => inSight.set(true));
  inSight.set(false);
  const data = JSON.stringify({ chat_id: "out of sight", turn_id: "t", state: "running" });
  events.dispatchEvent(new MessageEvent("turn", { data }));
  for (let n = 0; n < 20; n++) await passed();
  assert.equal(asked, 1);
  inSight.set(true);
  await until(() => asked > 1);
});

test("a page out of sight still learns what becomes of a message that waits", async (t) => {
  const feed = await loaded(t);
  feed.store.set({
    ...feed.state,
    waiting: [{ key: "k", content: "one", files: [], state: "waiting" }],
  });
  t.after(() => inSight.set(true));
  inSight.set(false);
  await feed.load(feed.state.waiting);
  assert.equal(feed.state.waiting[0]?.state, "lost");
});
