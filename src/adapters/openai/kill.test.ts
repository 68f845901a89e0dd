// Processes that are killed in the middle of turns with a tool, and servers while clients add items.
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { type AgentInputItem, OpenAIConversationsSession } from "@openai/agents";
import OpenAI from "openai";
import { column } from "../../../test/support/columns.ts";
import { temporaryDirectory } from "../../../test/support/command-line.ts";
import { ServerProcess } from "../../../test/support/kill-harness.ts";
import { killed } from "../../../test/support/killed.ts";
import type { MessagePage } from "../../core/chat/message-page.ts";
import { openThroughline } from "../../core/throughline.ts";
import { seededRandom } from "../../testing/random.ts";
import { ThroughlineSession } from "./session.ts";

const kills = process.env["THROUGHLINE_FULL"] === "1" ? 10 : 1;
const chat = "telegram:42";

test(`after each of ${kills} kills no message is missing whose first model call began, and nothing is there twice`, async (t) => {
  const home = join(temporaryDirectory(t), "home");
  const random = seededRandom(7);
  const noted: string[] = [];
  const named = (kind: string) =>
    noted.filter((line) => line.startsWith(`${kind} `)).map((line) => line.slice(kind.length + 1));
  let [open, forgotten] = [0, 0];
  for (let kill = 1; kill <= kills; kill++) {
    const until = `${["asked", "effect", "answered"][random(3)]} tool k${kill} ${1 + random(3)}\n`;
    noted.push(
      ...(await killed("agents", [home, chat, `k${kill}`], { once: until, delayMs: random(8) })),
    );
    await using throughline = await openThroughline({ home });
    const session = new ThroughlineSession(throughline, chat);
    const { messages } = await throughline.chats.messages(chat, { limit: 1_000 });
    const said = messages.filter(({ role }) => role === "user").map(({ content }) => content);
    assert.equal(new Set(said).size, said.length, "each is there once");
    const asked = new Set(named("asked"));
    const unasked = said.filter((text) => !asked.has(text));
    for (const text of asked) assert.ok(said.includes(text), `kill ${kill}: ${text}`);
    // At most the last message of each process was stored before its model call began.
    assert.ok(unasked.length <= kill);
    const answered = new Set(named("answered"));
    const results = messages.filter(({ role }) => role === "tool").map(({ content }) => content);
    assert.equal(new Set(results).size, results.length, "each result is there once");
    const lost = named("effect").filter((text) => !results.includes(`result of ${text}`));
    for (const text of lost) assert.ok(!answered.has(text), `kill ${kill}: ${text}`);
    // Only the effect during which the process died.
    assert.ok(lost.length <= kill);
    forgotten = lost.length;
    for (const text of answered) assert.equal(turnOf(messages, text).at(-1), "assistant", text);
    const interrupted = await session.interrupted();
    const isOpen = turnOf(messages, said.at(-1) ?? "").at(-1) !== "assistant";
    assert.equal((await throughline.chats.row(chat)).unanswered, interrupted.length > 0);
    if (isOpen) assert.equal(interrupted[0]?.content, said.at(-1), `kill ${kill}`);
    if (interrupted.length > 0) open++;
  }
  t.diagnostic(
    `${named("answered").length} answered, ${open} left open, ${forgotten} effects forgotten`,
  );
});

/** The roles of what was said in the turn of a message. */
function turnOf(messages: MessagePage["messages"], text: string): readonly string[] {
  const turn = messages.find(({ content }) => content === text)?.turn;
  return column(
    messages.filter((message) => message.turn === turn && !message.hidden),
    "role",
  );
}

const serverKills = process.env["THROUGHLINE_FULL"] === "1" ? 25 : 1;

test(`after each of ${serverKills} kills of the server every item that a client was told of is there once`, async (t) => {
  const home = join(temporaryDirectory(t), "home");
  const random = seededRandom(11);
  const told: string[] = [];
  let id: string | undefined;
  for (let kill = 1; kill <= serverKills; kill++) {
    const server = new ServerProcess(home);
    const baseURL = `${await server.url()}/v1`;
    const client = new OpenAI({ baseURL, apiKey: "none", maxRetries: 0 });
    id ??= (await client.conversations.create()).id;
    const session = new OpenAIConversationsSession({ client, conversationId: id });
    const texts = (await session.getItems()).map(textOf);
    assert.equal(new Set(texts).size, texts.length, `kill ${kill}`);
    const kept = texts.filter((text) => told.includes(text));
    assert.deepEqual(kept, told, `kill ${kill}`);
    const last = 1 + random(8);
    for (let n = 1; server.child.exitCode === null && !server.child.killed; n++) {
      const pair = ["question", "answer"].map((what) => `${what} ${kill}.${n}`);
      const items = pair.map((content, index) => ({
        role: index === 0 ? ("user" as const) : ("system" as const),
        content,
      }));
      if (n === last) setTimeout(() => server.child.kill("SIGKILL"), random(4));
      await session.addItems(items).then(
        () => told.push(...pair),
        () => undefined, // the connection went with the server
      );
    }
    await server.ended();
  }
  t.diagnostic(`${told.length} items`);
});

const textOf = (item: AgentInputItem): string => {
  const { content } = item as { readonly content?: unknown };
  return typeof content === "string" ? content : ((content as { text: string }[])[0]?.text ?? "");
};
