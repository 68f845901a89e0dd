import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { connectMcp } from "../../../test/support/mcp-clients.ts";
import {
  companion,
  eventsOf,
  type FixtureOptions,
  problemOf,
  until,
} from "../../../test/support/server-fixture.ts";
import type { Remember } from "./mcp.ts";
import { mcpRoutes } from "./routes.ts";

const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" });
const accept = "application/json, text/event-stream";
const token = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

type Given = FixtureOptions & {
  readonly remember?: Remember;
  readonly script?: Parameters<typeof companion>[0];
};

async function served(t: TestContext, { remember, script, ...options }: Given = {}) {
  const c = await companion(script, { ...options, features: [mcpRoutes(remember)] });
  t.after(async () => {
    await c.server.close();
    await c.throughline.close();
  });
  const ask = (headers: Record<string, string> = {}, method = "POST") =>
    c.ask("/mcp", {
      method,
      headers: { accept, ...headers },
      body: method === "POST" ? body : undefined,
    } as RequestInit & { body?: string });
  return { ...c, askMcp: ask };
}

test("the guard and the token of every other route are before it, and only POST is answered", async (t) => {
  const { askMcp } = await served(t, { token });
  await problemOf(await askMcp(), 401, "THROUGHLINE_UNAUTHORIZED");
  const authorization = `Bearer ${token}`;
  assert.equal((await askMcp({ authorization })).status, 200);
  for (const [name, value] of [
    ["host", "evil.example"],
    ["origin", "http://evil.example"],
    ["sec-fetch-site", "cross-site"],
  ] as const) {
    const refused = await askMcp({ authorization, [name]: value });
    await problemOf(refused, 403, "THROUGHLINE_FORBIDDEN");
  }
  for (const method of ["GET", "DELETE"]) {
    const refused = await askMcp({ authorization }, method);
    await problemOf(refused, 405, "THROUGHLINE_METHOD_NOT_ALLOWED");
  }
  assert.equal((await askMcp({ authorization, "content-type": "text/plain" })).status, 415);
});

test("a body that is larger than the server takes is refused before anything is stored", async (t) => {
  const { server, throughline } = await served(t, { limits: { bodyBytes: 1_000 } });
  const messages = [{ role: "user", content: "x".repeat(1_000) }];
  const client = await connectMcp("v1", { url: "http://127.0.0.1:7423", fetch: through(server) });
  t.after(() => client.close());
  await assert.rejects(client.raw("session_append", { chat_id: "a", messages }), /413|large/i);
  assert.deepEqual((await throughline.chats.list()).chats, []);
});

/** The server as a function, with the header that a connection would bring. */
function through(server: { fetch(request: Request): Promise<Response> }): typeof fetch {
  return (async (url: URL, init: RequestInit) => {
    const headers = new Headers(init.headers);
    headers.set("host", "127.0.0.1:7423");
    return server.fetch(new Request(url, { ...init, headers }));
  }) as typeof fetch;
}

test("what is appended, reset and forgotten through MCP is published to those who watch", async (t) => {
  const { server, ask } = await served(t);
  const events = eventsOf((await ask("/api/events")).body);
  const client = await connectMcp("v1", { url: "http://127.0.0.1:7423", fetch: through(server) });
  t.after(() => client.close());
  const chat_id = "a";
  const messages = [{ id: "m1", role: "user", content: "Hello" }];
  await client.call("session_append", { chat_id, messages });
  await client.call("session_resolve", { chat_id });
  await client.call("session_reset", { chat_id });
  await client.call("session_forget", { chat_id });
  const { data: stored } = await until(events, "message");
  assert.equal(stored.change, "stored");
  assert.partialDeepStrictEqual(stored.message, { id: "m1", content: "Hello" });
  const changes = new Set<string>();
  while (!changes.has("forgotten")) {
    const { data } = await until(events, "session");
    assert.equal(data.chat_id, chat_id);
    changes.add(data.change);
  }
  assert.ok(changes.has("reset"));
});

test("forgetting a chat through MCP stops its turn, and no answer comes back", async (t) => {
  const { server, turns, throughline } = await served(t, { script: [["Hel", { type: "hang" }]] });
  const client = await connectMcp("v1", { url: "http://127.0.0.1:7423", fetch: through(server) });
  t.after(() => client.close());
  const turn = turns.submit("a", { content: "Hello" });
  for await (const { type } of turn.progress()) if (type === "text") break;
  await client.call("session_forget", { chat_id: "a" });
  await turn.done.catch(() => undefined);
  assert.deepEqual((await throughline.chats.list()).chats, []);
});

test("a server that closes waits for the tools that run, and they are answered", async (t) => {
  const [called, finish] = [Promise.withResolvers<void>(), Promise.withResolvers<string>()];
  const remember = async () => {
    called.resolve();
    return finish.promise;
  };
  const { server, listen } = await served(t, { remember, limits: { flushMs: 50 } });
  const { url } = await listen({ port: 0 });
  const client = await connectMcp("v1", { url });
  t.after(() => client.close());
  const answer = client.call("remember_positively", { what: "a joke" });
  await called.promise;
  const closed = server.close();
  setTimeout(() => finish.resolve("Remembered."), 200);
  assert.equal((await answer).outcome, "Remembered.");
  await closed;
});
