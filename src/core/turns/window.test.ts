// Chats with a model whose window is small, or that a large message fills: through a server that speaks
// OpenAI's protocol, counts a token for each 4 characters and refuses what is longer than its window.
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import {
  deltaStream,
  openAiServer,
  type Reply,
  type SeenRequest,
} from "../../../test/support/openai-server.ts";
import { seededRandom } from "../../testing/random.ts";
import { createResponder } from "../models/registry.ts";
import type { TurnTool } from "../models/responder.ts";
import { openThroughline } from "../throughline.ts";

const chat = "local:me";
const seed = Date.now() % 1_000_000;
const random = seededRandom(seed);

/** Words that no text repeats. */
function words(length: number): string {
  let text = "";
  while (text.length < length) text += `${random(2 ** 31).toString(36)} `;
  return text.slice(0, length).replaceAll("look", "lock"); // the word that calls the tool
}

const states = (window: number, sent: number) =>
  `This model's maximum context length is ${window} tokens. However, you requested ${sent} tokens.`;
const statesNothing = () => "The input is too long: context length exceeded.";
const chars = (request: SeenRequest) => JSON.stringify(request.body["messages"]).length;

interface Opened {
  /** Of the server. */
  readonly window: number;
  readonly known?: number;
  readonly says?: (window: number, sent: number) => string;
  /** What its tool returns, when a message asks it to look. */
  readonly result?: string;
}

async function open(t: TestContext, { window, known, says = states, result }: Opened) {
  t.diagnostic(`seed ${seed}`);
  const server = await openAiServer((_, request): Reply => {
    const sent = Math.ceil(chars(request) / 4);
    if (sent > window) {
      const error = { message: says(window, sent), type: "invalid_request_error" };
      return { status: 400, body: JSON.stringify({ error }) };
    }
    const last = (request.body["messages"] as { role: string; content: unknown }[]).at(-1);
    const isLook = last?.role === "user" && JSON.stringify(last).includes("look");
    return isLook ? { stream: toolCall } : { text: "Heard." };
  });
  const name = { provider: "openai-compatible", model: "m", baseUrl: server.url } as const;
  const model = await createResponder(name, {}, { window: known });
  const throughline = await openThroughline({ storage: "memory" });
  const look: TurnTool = {
    name: "look",
    description: "Looks.",
    parameters: { type: "object", properties: {} },
    run: async () => result ?? "",
  };
  const tools = () => ({ instructions: "", tools: [look] });
  const turns = await throughline.turns({
    model,
    persona: "You are kind.",
    ...(result && { tools }),
  });
  t.after(async () => {
    await throughline.close();
    await server.close();
  });
  const say = async (content: string) => {
    const { assistant, reason } = await turns.submit(chat, { content }).done;
    return assistant?.content ?? reason ?? "";
  };
  const sent = () =>
    server.requests.at(-1)?.body["messages"] as { role: string; content: string }[];
  return { server, throughline, turns, say, sent };
}

const looks = { id: "c1", type: "function", function: { name: "look", arguments: "{}" } };
const toolCall = deltaStream([{ tool_calls: [{ index: 0, ...looks }] }], "tool_calls");

/** In any case more than the window has room for. */
const count = process.env["THROUGHLINE_FULL"] === "1" ? 60 : 24;

for (const says of [states, statesNothing]) {
  const what = says === states ? "states its window" : "states no window";
  test(`${count} messages of 800 characters are answered by a model of 4,096 tokens that ${what}`, async (t) => {
    const { say, server, sent } = await open(t, { window: 4_096, says });
    for (let at = 0; at < count; at++) assert.match(await say(words(800)), /^Heard/);
    const refused = server.requests.filter((request) => chars(request) / 4 > 4_096).length;
    assert.ok(refused <= (says === states ? 1 : 20), `${refused} requests were refused`);
    assert.ok(sent().length >= 1);
  });
}

test("a window that is configured is never passed", async (t) => {
  const { say, server } = await open(t, { window: 4_096, known: 4_096 });
  for (let at = 0; at < count; at++) await say(words(800));
  assert.equal(server.requests.length, count);
});

test("after a turn with a large tool result the model still gets what was said before it", async (t) => {
  const result = words(63_000);
  const { say, sent, turns, throughline } = await open(t, {
    window: 32_000,
    known: 32_000,
    result,
  });
  await say("My name is Ann.");
  await say("Please look");
  const preview = await turns.nextPrompt(chat, { content: "What is my name?" });
  await say("What is my name?");
  const text = JSON.stringify(sent());
  assert.match(text, /My name is Ann\..*Please look.*left out.*What is my name\?/s);
  assert.ok(text.length < 20_000, `${text.length} characters`);
  const history = preview.request.messages.map(({ role, content }) => [role, content]);
  const got = sent()
    .filter(({ role }) => role !== "system")
    .map(({ role, content }) => [role, content ?? ""]);
  assert.deepEqual(history, got);
  const { messages } = await throughline.chats.messages(chat, {});
  assert.ok(
    messages.some(({ content }) => content === result),
    "it is whole in the log",
  );
});

test("a turn whose tool ran is not repeated, and ends its own turn alone", async (t) => {
  const result = words(63_000);
  const { say, sent, server } = await open(t, { window: 12_096, result });
  await say("My name is Ann.");
  assert.match(await say("Please look"), /it is too long for this model/);
  assert.equal(server.requests.length, 3, "its tool is not run again");
  assert.equal(await say("What is my name?"), "Heard.");
  assert.match(JSON.stringify(sent()), /My name is Ann\..*left out.*What is my name\?/s);
  assert.equal(server.requests.length, 4);
});

for (const says of [states, statesNothing]) {
  test(`a message that no window takes ends its own turn alone: ${says.name}`, async (t) => {
    const { say, sent, server } = await open(t, { window: 12_096, says });
    await say("My name is Ann.");
    for (let at = 0; at < 6; at++) await say(words(2_000));
    const paste = words(200_000);
    assert.match(await say(paste), /too long/);
    assert.ok(server.requests.length <= 7 + 5);
    const before = server.requests.length;
    assert.match(await say("What is my name?"), /^Heard/);
    const text = JSON.stringify(sent());
    assert.match(text, /My name is Ann\..*left out.*What is my name\?/s);
    assert.ok(server.requests.length - before <= 4);
    // Nor later.
    for (let at = 0; at < 5; at++) await say(words(300));
    assert.match(JSON.stringify(sent()), /My name is Ann\./);
  });
}
