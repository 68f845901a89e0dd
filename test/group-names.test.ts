// Who spoke in a group, in every way in and out.
import assert from "node:assert/strict";
import { test } from "node:test";
import { mcpHandler } from "../src/adapters/mcp/mcp.ts";
import { openThroughline } from "../src/core/throughline.ts";
import { bytesUnder, copiesOf, runCli } from "./support/command-line.ts";
import { connectMcp } from "./support/mcp-clients.ts";
import { companion, jsonOf, me, problemOf } from "./support/server-fixture.ts";

test("a name comes in by a message, a form and an append, and is shown", async () => {
  const c = await companion([["1"], ["2"]]);
  await jsonOf(await c.post(`${me}/messages`, { content: "One", name: "Ann" }), 200);
  const form = new FormData();
  form.append("content", "Two");
  form.append("name", "Bob");
  const { headers, body } = new Request("http://x/", { method: "POST", body: form });
  const type = headers.get("content-type") ?? "";
  const bytes = Buffer.from(await new Response(body).arrayBuffer()) as unknown as string;
  await jsonOf(
    await c.ask(`${me}/messages`, {
      method: "POST",
      body: bytes,
      headers: { "content-type": type },
    }),
    200,
  );
  const said = { role: "user", content: "Three", name: "Cem" };
  await jsonOf(await c.post(`${me}/append`, { messages: [said] }), 200);
  const { messages } = await c.get(`${me}/messages`);
  const named = messages.filter(({ role }: { role: string }) => role === "user");
  assert.deepEqual(
    named.map(({ content, name }: { content: string; name: string }) => [name, content]),
    [
      ["Ann", "One"],
      ["Bob", "Two"],
      ["Cem", "Three"],
    ],
  );
  for (const name of ["", " ", "a\nb", "a\u2028b", "a\u0007", "\ud800", "n".repeat(201)]) {
    for (const [path, sent] of [
      ["messages", { content: "Hello", name }],
      ["append", { messages: [{ ...said, name }] }],
    ] as const) {
      await problemOf(await c.post(`${me}/${path}`, sent), 400, "THROUGHLINE_INVALID");
    }
  }
});

const homeOfAnn = copiesOf(async (home) => {
  await using throughline = await openThroughline({ home });
  await throughline.chats.append("group", [
    { id: "m1", role: "user", content: "Hello", name: "Ann <b>&" },
    { id: "m2", role: "assistant", content: "Hello Ann" },
  ]);
});

test("the command line shows who spoke, and every export has it", async (t) => {
  const home = await homeOfAnn(t);
  const shown = await runCli(["sessions", "show", "group"], { home });
  assert.match(shown.out, / You \(Ann <b>&\) {2}m1\n {2}Hello\n/);
  const exported = async (format: string) =>
    (await runCli(["sessions", "export", "group", "--format", format], { home })).out;
  assert.match(await exported("html"), /<b>User<\/b> <bdi>Ann &lt;b&gt;&amp;<\/bdi>/);
  assert.match(await exported("markdown"), /\*\*User\*\* `Ann <b>&`/);
  const [, first] = (await exported("jsonl")).split("\n");
  assert.equal(JSON.parse(first ?? "").name, "Ann <b>&");
});

test("erasing a message removes the name of its person, and forgetting the chat does", async (t) => {
  const home = await homeOfAnn(t);
  {
    await using throughline = await openThroughline({ home });
    await throughline.chats.erase("group", "m1");
  }
  assert.doesNotMatch(bytesUnder(home), /Ann <b>/);
});

test("an MCP client stores who spoke, and gets it in the context", async (t) => {
  const throughline = await openThroughline({ storage: "memory" });
  const handler = mcpHandler(throughline, { version: "1.2.3" });
  const fetch = ((url: URL, init: RequestInit) =>
    handler.fetch(new Request(url, init))) as typeof globalThis.fetch;
  const client = await connectMcp("v2, 2025-11-25", { url: "http://localhost", fetch });
  t.after(async () => {
    await client.close();
    await handler.close();
    await throughline.close();
  });
  const messages = [{ role: "user", content: "Hello", name: "Ann" }];
  await client.call("session_append", { chat_id: "group", messages });
  const context = await client.call("session_context", { chat_id: "group" });
  assert.equal(context.messages[0].content, '"Ann": Hello');
  const found = await client.call("session_search", { query: "hello" });
  assert.equal(found.hits[0].message.name, "Ann");
});
