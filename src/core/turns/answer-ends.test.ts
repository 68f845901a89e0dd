// How an answer ends, through a server that speaks OpenAI's protocol: what is empty is no answer, and what was
// cut at a limit says so.
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { deltaStream, openAiServer } from "../../../test/support/openai-server.ts";
import { unknownUsage } from "../models/prices.ts";
import { createResponder } from "../models/registry.ts";
import type { Responder, ResponderEvent, TurnTool } from "../models/responder.ts";
import { openThroughline } from "../throughline.ts";

const said = { content: "The boat" };
const thought = { reasoning_content: "When does it leave?" };
const name = "openai-compatible/m";
const silent = `${name} answered without a word`;
const cutOff = `${name} did not end its answer`;
const limit = "it reached its limit of tokens";
const filter = "a content filter stopped it";
const rows = [
  [[], "stop", undefined, silent],
  [[{ content: " \n\n " }], "stop", undefined, silent],
  [[thought], "stop", undefined, silent],
  [[thought], "length", undefined, `${silent}: ${limit}`],
  [[], "content_filter", undefined, `${silent}: ${filter}`],
  [[said], "length", "length", `${cutOff}: ${limit}`],
  [[thought, said], "content_filter", "content_filter", `${cutOff}: ${filter}`],
  [[thought, said], "stop", "whole", undefined],
] as const;

for (const [deltas, finish, cut, reason] of rows) {
  const what = deltas.length === 0 ? "nothing" : JSON.stringify(deltas);
  test(`an answer of ${what} that ends with ${finish} is ${cut ?? "none, and can be asked for again"}`, async (t) => {
    const server = await openAiServer((n) =>
      n === 0 ? { stream: deltaStream(deltas, finish) } : { text: "At nine." },
    );
    t.after(() => server.close());
    const spec = { provider: "openai-compatible", model: "m", baseUrl: server.url } as const;
    await using throughline = await openThroughline({ storage: "memory" });
    const { chats } = throughline;
    const model = await createResponder(spec, {}, {});
    const turns = await throughline.turns({ model, persona: "" });
    const answer = await turns.submit("local:me", { id: "u1", content: "When?" }).done;
    assert.equal(answer.reason, reason);
    const { chats: open } = await chats.list({ unanswered: true });
    if (cut === undefined) {
      assert.deepEqual([answer.outcome, answer.assistant, open.length], ["failed", undefined, 1]);
      assert.equal((await (await turns.answer("local:me")).done).assistant?.content, "At nine.");
      return;
    }
    const isCut = cut !== "whole";
    const { messages } = await chats.messages("local:me");
    const [, stored] = messages;
    assert.deepEqual([answer.outcome, open.length, messages.length], ["answered", 0, 2]);
    const expected = isCut ? [true, cut] : [undefined, undefined];
    assert.deepEqual([stored?.partial, stored?.partial_reason], expected);
    const again = await turns.submit("local:me", { id: "u1", content: "When?" }).done;
    assert.deepEqual([again.outcome, again.assistant?.id], ["answered", stored?.id]);
  });
}

const fn = { name: "look", arguments: "{}" };
const call = { type: "tool-call", call: { id: "c", type: "function", function: fn } } as const;
const looked = { toolCallId: "c", toolName: "look", content: "rain", isError: false } as const;
const result: ResponderEvent = { type: "tool-result", ...looked };
const words: ResponderEvent = { type: "text", text: "Let me look." };
const session: ResponderEvent = { type: "provider-session", id: "of-an-empty-answer" };

for (const [what, events, finish, isAnswer] of [
  ["a tool and then nothing", [call, result], "stop", false],
  ["a tool and then white space", [call, result, { type: "text", text: " \n" }], "stop", false],
  ["words, a tool and then nothing", [words, call, result], "stop", true],
  ["a tool alone", [call], "tool-calls", true],
  ["nothing but a session", [session], "stop", false],
] as const) {
  test(`an answer of ${what} is ${isAnswer ? "one" : "none, and no session goes on after it"}`, async () => {
    const resumed: (string | undefined)[] = [];
    const model: Responder = {
      provider: "p",
      model: "m",
      window: undefined,
      async *respond(request) {
        resumed.push(request.providerSessionId);
        if (resumed.length === 1) yield* events;
        else yield { type: "text", text: "At nine." };
        yield { type: "end", finish: resumed.length === 1 ? finish : "stop", usage: unknownUsage };
      },
    };
    await using throughline = await openThroughline({ storage: "memory" });
    const turns = await throughline.turns({ model, persona: "" });
    const { outcome } = await turns.submit("local:me", { content: "When?" }).done;
    assert.equal(outcome, isAnswer ? "answered" : "failed");
    if (isAnswer) return;
    const { assistant } = await (await turns.answer("local:me")).done;
    assert.deepEqual([assistant?.content, resumed], ["At nine.", [undefined, undefined]]);
    const { messages } = await throughline.chats.messages("local:me");
    const answers = messages.filter((each) => each.role === "assistant" && !each.tool_calls);
    assert.deepEqual([answers.length, answers[0]?.content], [1, "At nine."]);
  });
}

for (const [what, message, isAnswer] of [
  ["nothing", { content: "" }, false],
  ["white space", { content: " \n" }, false],
  ["a call", { content: "", tool_calls: [{ ...call.call }] }, true],
  ["what was cut", { content: "The", partial: true, partial_reason: "length" }, true],
] as const) {
  test(`a turn of an application that closes with ${what} is ${isAnswer ? "answered" : "unanswered"}`, async () => {
    await using throughline = await openThroughline({ storage: "memory" });
    const turns = await throughline.turns();
    const target = { provider: "p", model: "m" };
    const opened = await turns.open("local:me", { id: "u1", content: "When?" }, target);
    assert.ok(opened.state === "open");
    const messages = [{ role: "assistant" as const, ...message }];
    const end = { messages, usage: unknownUsage, outcome: "answered" } as const;
    const { outcome, assistant } = await opened.turn.close(end);
    assert.equal(outcome, isAnswer ? "answered" : "failed");
    if (isAnswer) {
      const reason = "partial_reason" in message ? message.partial_reason : undefined;
      assert.equal(assistant?.partial_reason, reason);
      return;
    }
    assert.equal((await throughline.chats.row("local:me")).unanswered, true);
    const again = await turns.open("local:me", { id: "u1", content: "When?" }, target);
    assert.equal(again.state, "open");
    if (again.state === "open") await again.turn.close({ ...end, outcome: "interrupted" });
  });
}

/** Asks a model that calls a tool once, and whose server refuses what is not well formed. */
async function askWithTool(t: TestContext, tool: TurnTool, refuses: boolean, persona: string) {
  const called = { index: 0, ...call.call };
  const server = await openAiServer((_, { body }) => {
    const text = JSON.stringify(body);
    if (/\\ud[89a-f]/.test(text)) return { status: 400 };
    const hasResult = text.includes('"role":"tool"');
    const refusal = { error: { message: "the tool message is not allowed" } };
    if (hasResult && refuses) return { status: 400, body: JSON.stringify(refusal) };
    if (hasResult) return { text: "At nine." };
    return { stream: deltaStream([{ tool_calls: [called] }], "tool_calls") };
  });
  t.after(() => server.close());
  const spec = { provider: "openai-compatible", model: "m", baseUrl: server.url } as const;
  await using throughline = await openThroughline({ storage: "memory" });
  const tools = () => ({ instructions: "", tools: [tool] });
  const model = await createResponder(spec, {}, {});
  const turns = await throughline.turns({ model, persona, tools });
  return await turns.submit("local:me", { content: "When?" }).done;
}

const lone = "half an emoji: \ud83d";
const look: TurnTool = {
  name: "look",
  description: "Looks.",
  parameters: { type: "object", properties: {} },
  run: async () => "nine",
};
for (const [where, tool, persona] of [
  ["a tool's result", { ...look, run: async () => lone }, ""],
  ["the persona and a tool's description", { ...look, description: lone }, lone],
] as const) {
  test(`a lone surrogate in ${where} gets no request refused`, async (t) => {
    const { assistant } = await askWithTool(t, tool, false, persona);
    assert.equal(assistant?.content, "At nine.");
  });
}

test("a refusal after a tool has the provider's words", async (t) => {
  const { outcome, reason = "", detail = "" } = await askWithTool(t, look, true, "");
  assert.equal(outcome, "failed");
  assert.match(`${reason} ${detail}`, /HTTP 400.*the tool message is not allowed/);
});
