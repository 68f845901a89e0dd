// The Conversations API over real HTTP, with OpenAI's own clients as they are.

import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { OpenAIConversationsSession, run } from "@openai/agents";
import OpenAI from "openai";
import { agentWithTool } from "../../../test/support/agents-model.ts";
import { column, columns } from "../../../test/support/columns.ts";
import { randomText } from "../../../test/support/random-text.ts";
import { companion, eventsOf, jsonOf, me } from "../../../test/support/server-fixture.ts";
import { agentsDialect } from "./items.ts";
import { conversationRoutes } from "./routes.ts";
import { ThroughlineSession } from "./session.ts";

const token = "Zk3vQ9xT1mB7wYc5RdH0sLgE8uNpA2jFoIyXqVtMaeK";

async function served(t: TestContext, options: { readonly token?: string } = {}) {
  const c = await companion([["Hello there"]], { features: [conversationRoutes()], ...options });
  const { port } = await c.listen({ host: "127.0.0.1", port: 0 });
  t.after(() => c.server.close());
  const baseURL = `http://127.0.0.1:${port}/v1`;
  const client = new OpenAI({ baseURL, apiKey: token, maxRetries: 0 });
  return { ...c, client, baseURL };
}

const user = (content: string) => ({ type: "message" as const, role: "user" as const, content });
const imageOf = (image_url: string) => {
  return { type: "input_image", image_url, detail: "auto" } as const;
};
type Item = { content?: { text: string }[]; output?: string; type: string };
const textOf = (item: unknown) => {
  const { content, output, type } = item as Item;
  return content?.[0]?.text ?? output ?? type;
};

test("a conversation is created, read, and deleted with every byte", async (t) => {
  const { client, throughline } = await served(t);
  const metadata = { topic: "demo" };
  const { id, ...created } = await client.conversations.create({ metadata });
  assert.match(id, /^conv_[\w-]+$/);
  assert.equal(created.object, "conversation");
  assert.deepEqual(await client.conversations.retrieve(id), { id, ...created, metadata });
  assert.equal(Math.floor(created.created_at), created.created_at);
  const begun = await client.conversations.create({ items: [user("Hi")] });
  assert.deepEqual((await client.conversations.items.list(begun.id)).data.map(textOf), ["Hi"]);
  const { messages } = await throughline.chats.messages(begun.id);
  assert.deepEqual(columns(messages, "role", "content", "exact"), [["user", "Hi", undefined]]);
  const deleted = await client.conversations.delete(id);
  assert.deepEqual(deleted, { id, object: "conversation.deleted", deleted: true });
  await assert.rejects(client.conversations.retrieve(id), OpenAI.NotFoundError);
  await assert.rejects(client.conversations.delete(id), { code: "THROUGHLINE_NOT_FOUND" });
  await assert.rejects(throughline.chats.row(id), { code: "THROUGHLINE_NOT_FOUND" });
});

test("items are added in order and listed by order, after and limit, in pages", async (t) => {
  const { client } = await served(t);
  const { id } = await client.conversations.create();
  const { items } = client.conversations;
  const texts = Array.from({ length: 45 }, (_, n) => `m${n}`);
  const added = await items.create(id, { items: texts.map(user) });
  assert.deepEqual([added.object, added.has_more], ["list", false]);
  assert.deepEqual(added.data.map(textOf), texts);
  assert.deepEqual([added.first_id, added.last_id], [added.data[0]?.id, added.data.at(-1)?.id]);
  const newest = await items.list(id);
  assert.deepEqual(newest.data.map(textOf), texts.toReversed().slice(0, 20));
  assert.equal(newest.has_more, true);
  for (const order of ["asc", "desc"] as const) {
    const wanted = order === "asc" ? texts : texts.toReversed();
    const pages = await Array.fromAsync(items.list(id, { order, limit: 15 }));
    assert.deepEqual(pages.map(textOf), wanted);
    const after = pages[9]?.id ?? "";
    const page = await items.list(id, { order, after, limit: 35 });
    assert.deepEqual(page.data.map(textOf), wanted.slice(10));
    assert.equal(page.has_more, false);
  }
  const last = newest.data[0]?.id ?? "";
  const left = await items.delete(last, { conversation_id: id });
  assert.equal(left.id, id);
  assert.deepEqual((await items.list(id, { limit: 1 })).data.map(textOf), ["m43"]);
  await assert.rejects(items.delete(last, { conversation_id: id }), OpenAI.NotFoundError);
});

test("items of every kind come back as they were given, with an id of ours", async (t) => {
  const { client, throughline } = await served(t);
  const { id } = await client.conversations.create({});
  const reasoning = { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "xyz" };
  const image = imageOf("data:image/png;base64,AAAA");
  const lookup = { type: "function_call", call_id: "c1", name: "lookup", arguments: "{}" };
  const action = { type: "search", query: "x" };
  const search = { type: "web_search_call", status: "completed", action };
  const given = [
    { role: "developer", content: "Be brief." },
    { role: "user", content: [{ type: "input_text", text: "See" }, image] },
    reasoning,
    { ...lookup, id: "fc_1" },
    { type: "function_call_output", call_id: "c1", output: "found" },
    { ...search, id: "ws_1" },
    { role: "assistant", content: "Done." },
  ];
  const { data } = await client.conversations.items.create(id, { items: given as never });
  const listed = await Array.fromAsync(client.conversations.items.list(id, { order: "asc" }));
  assert.deepEqual(listed, data);
  assert.equal(new Set(listed.map((item) => item.id)).size, 7);
  const fields = listed.map(({ id: _, ...item }) => item as Record<string, unknown>);
  assert.deepEqual(listed[2], reasoning);
  assert.deepEqual(fields[1]?.["content"], [{ type: "input_text", text: "See" }, image]);
  assert.deepEqual(fields[3], { ...lookup, status: "completed" });
  assert.deepEqual(fields[5], search);
  const { messages } = await throughline.chats.messages(id);
  const shown = messages.filter(({ hidden }) => !hidden);
  assert.deepEqual(
    shown.map(({ role, content }) => `${role}: ${content}`),
    ["system: Be brief.", "user: See", "assistant: ", "tool: found", "assistant: Done."],
  );
  // The same chat as a session of the Agents SDK, without what only the other interface has a form for.
  const items = await new ThroughlineSession(throughline, id).getItems();
  assert.deepEqual(items[2], agentsDialect.call({ id: "c1", name: "lookup", arguments: "{}" }));
  assert.equal(items.length, 5);
  const left = await client.conversations.items.delete("rs_1", { conversation_id: id });
  assert.equal(left.id, id);
  assert.equal((await client.conversations.items.list(id)).data.length, 6);
});

test("OpenAIConversationsSession keeps runs in a chat: items, limits, pops, clears", async (t) => {
  const { client, throughline } = await served(t);
  const session = new OpenAIConversationsSession({ client });
  const agent = agentWithTool();
  for (const text of ["Hello", "use the tool"]) await run(agent, text, { session });
  const streamed = await run(agent, "Hello again", { session, stream: true });
  for await (const _ of streamed);
  await streamed.completed;
  const id = await session.getSessionId();
  const items = await session.getItems();
  const [hello, called, again] = [items.slice(0, 3), items.slice(3, 6), items.slice(6)];
  assert.deepEqual(column(called, "type"), ["reasoning", "function_call", "function_call_result"]);
  const said = Array(3).fill("message");
  assert.deepEqual([column(hello, "type"), column(again, "type")], [said, said]);
  assert.deepEqual(await session.getItems(2), items.slice(-2));
  assert.deepEqual(await session.getItems(0), []);
  const { messages } = await throughline.chats.messages(id);
  assert.equal(messages.at(-1)?.content, "answer to 8");
  assert.deepEqual(await session.popItem(), items.at(-1));
  assert.deepEqual(await session.popItem(), items.at(-2));
  assert.deepEqual(await session.getItems(), items.slice(0, -2));
  for (let n = 0; n < 7; n++) await session.popItem();
  assert.equal(await session.popItem(), undefined);
  await session.clearSession();
  await assert.rejects(throughline.chats.row(id), { code: "THROUGHLINE_NOT_FOUND" });
  assert.deepEqual(await session.getItems(), []);
  assert.notEqual(await session.getSessionId(), id);
});

test("what was said in a chat in another way is a conversation too, one item at a time", async (t) => {
  const { client, throughline } = await served(t);
  const calls = ["a", "b"].map((id) => {
    return { id, type: "function" as const, function: { name: "lookup", arguments: "{}" } };
  });
  await throughline.chats.append("telegram:42", [
    { role: "user", content: "Look twice" },
    { role: "assistant", content: "I look.", tool_calls: calls },
    { role: "tool", content: "1", tool_call_id: "b" },
  ]);
  const { items } = client.conversations;
  const list = async (order: "asc" | "desc") =>
    Array.fromAsync(items.list("telegram:42", { order, limit: 2 }));
  const listed = await list("asc");
  const calls2 = ["function_call", "function_call"];
  assert.deepEqual(listed.map(textOf), ["Look twice", "I look.", ...calls2, "1"]);
  assert.deepEqual((await list("desc")).toReversed(), listed);
  await items.delete(listed[2]?.id ?? "", { conversation_id: "telegram:42" });
  const left = (await list("asc")) as { call_id?: string }[];
  assert.deepEqual(column(left, "call_id"), [undefined, undefined, "b", "b"]);
  const ids = listed.map(({ id }) => id ?? "");
  const [question = "", look = "", , second = "", found = ""] = ids;
  assert.deepEqual(column(await list("desc"), "id"), [found, second, look, question]);
  for await (const { id } of items.list("telegram:42", { after: second, order: "asc" })) {
    assert.equal(id, found);
  }
  await items.delete(look, { conversation_id: "telegram:42" });
  assert.deepEqual(column(await list("asc"), "id"), [question, second, found]);
  await assert.rejects(items.delete(look, { conversation_id: "telegram:42" }), { status: 404 });
  await throughline.chats.append("telegram:42", [{ role: "user", content: "Thanks" }]);
  await items.delete(second, { conversation_id: "telegram:42" });
  assert.deepEqual(column(await list("asc"), "id").slice(0, 2), [question, found]);
  await throughline.chats.clear("telegram:42");
  assert.deepEqual(await list("desc"), []);
  assert.deepEqual(await list("asc"), []);
  const after = items.list("telegram:42", { after: listed[0]?.id ?? "" }).withResponse();
  await assert.rejects(after, { status: 404 });
});

test("those who watch hear what is added, deleted and forgotten", async (t) => {
  const { client, ask, server } = await served(t);
  const watched = eventsOf((await ask("/api/events")).body);
  const { id } = await client.conversations.create();
  const { data } = await client.conversations.items.create(id, { items: [user("See")] });
  await client.conversations.items.delete(data[0]?.id ?? "", { conversation_id: id });
  await client.conversations.delete(id);
  await server.close();
  const events = await Array.fromAsync(watched);
  const told = events.filter(({ name }) => ["message", "session"].includes(name));
  const changes = told.map(({ data: { change } }) => change);
  assert.deepEqual(changes, ["stored", "taken_back", "forgotten"]);
});

test("what is large leaves nothing in a conversation that there is not", async (t) => {
  const { client, throughline } = await served(t);
  const items = [{ ...user(""), content: [imageOf(randomText(200_000))] }];
  const adding = client.conversations.items.create("conv_none", { items });
  await assert.rejects(adding, { status: 404 });
  await assert.rejects(throughline.chats.row("conv_none"), { code: "THROUGHLINE_NOT_FOUND" });
});

test("a turn that runs in a conversation is stopped before it is deleted", async (t) => {
  const { client, turns } = await served(t);
  const { id } = await client.conversations.create();
  const opened = await turns.open(id, { content: "Hello" }, { provider: "elsewhere", model: "m" });
  assert.equal(opened.state, "open");
  if (opened.state !== "open") return;
  let isStopped = false;
  opened.turn.signal.addEventListener("abort", () => {
    isStopped = true;
    void opened.turn.fail();
  });
  await client.conversations.delete(id);
  assert.ok(isStopped);
});

test("errors are OpenAI's, with our codes, and nothing is stored", async (t) => {
  const { client, baseURL, ask } = await served(t, { token });
  const { id } = await client.conversations.create();
  const wrong: readonly (readonly [items: unknown, message: RegExp])[] = [
    [[], /items/],
    ["no list", /items/],
    [[{ content: "x" }], /items\.0: has neither type nor role/],
    [[user("x"), { type: "message", role: "user" }], /items\.1: has no content/],
    [[{ type: "function_call", call_id: "c", arguments: "{}" }], /items\.0: has no name/],
    [[{ type: "function_call_output", call_id: "c" }], /items\.0: has no output/],
    [[{ type: "item_reference", id: "x" }], /give the item itself/],
    [[{ role: "nobody", content: "x" }], /role/],
  ];
  for (const [items, message] of wrong) {
    const adding = client.conversations.items.create(id, { items: items as never });
    const error = await adding.catch((reason: unknown) => reason);
    assert.ok(error instanceof OpenAI.BadRequestError);
    assert.match(error.message, message);
    assert.deepEqual([error.code, error.type], ["THROUGHLINE_INVALID", "invalid_request_error"]);
  }
  assert.deepEqual((await client.conversations.items.list(id)).data, []);
  const { items } = client.conversations;
  const missing = items.create("conv_none", { items: [user("x")] });
  await assert.rejects(missing, { status: 404, code: "THROUGHLINE_NOT_FOUND" });
  await assert.rejects(items.list("conv_none").withResponse(), { status: 404 });
  await assert.rejects(items.list(id, { after: "none" }).withResponse(), { status: 404 });
  await assert.rejects(items.list(id, { limit: 101 }).withResponse(), { status: 400 });
  const large = items.create(id, { items: [user(randomText(2_000_000))] });
  await assert.rejects(large, { status: 413, code: "THROUGHLINE_TOO_LARGE" });
  const stranger = new OpenAI({ baseURL, apiKey: "wrong", maxRetries: 0 });
  await assert.rejects(stranger.conversations.retrieve(id), OpenAI.AuthenticationError);
  const away = await ask("/v1/responses", { headers: { authorization: `Bearer ${token}` } });
  assert.equal((await jsonOf(away, 404)).error.code, "THROUGHLINE_NOT_FOUND");
  const other = await ask(`${me}/messages`);
  assert.equal(other.headers.get("content-type"), "application/problem+json");
});
