// A piece of a stream that is lost may have been the word that everything turns on.
import assert from "node:assert/strict";
import { test } from "node:test";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { collectAnswer } from "../../../test/support/collect-answer.ts";
import { chatStream } from "../../../test/support/openai-server.ts";
import { aiSdkResponder } from "./ai-sdk-responder.ts";
import { ResponderError } from "./responder.ts";

const events = chatStream("I do NOT agree.").split(/(?<=\n\n)/);

/** A model whose answer comes as these server-sent events. */
const saying = (...sent: string[]) => over(sent.join(""));

function over(body: string | ReadableStream) {
  const headers = { "content-type": "text/event-stream" };
  const fetch = async () => new Response(body, { headers });
  const make = createOpenAICompatible({
    name: "ours",
    baseURL: "http://x",
    includeUsage: true,
    fetch,
  });
  return aiSdkResponder({ provider: "ours", model: make("m"), maxRetries: 0 });
}

const half = (event: string) => `${event.slice(0, event.length / 2)}\n\n`;
const broken: Readonly<Record<string, (event: string) => string>> = {
  "is cut": half,
  "is no JSON": () => "data: NOT \n\n",
  "is of another form": () => 'data: {"choices":"NOT "}\n\n',
  "is an error": () => 'data: {"error":{"message":"canary"}}\n\n',
};

for (const [what, lose] of Object.entries(broken)) {
  test(`an answer one piece of which ${what} is what came before it, and ends as an error`, async () => {
    const [i, doing, not = "", ...rest] = events;
    const { text, events: told } = await collectAnswer(
      saying(`${i}${doing}`, lose(not), ...rest),
      "hi",
    );
    assert.equal(text, "I do ");
    const end = told.at(-1);
    assert.ok(end?.type === "end" && end.finish === "error");
    assert.deepEqual(
      end.usage,
      { inputTokens: 12, outputTokens: 4, cachedInputTokens: 0, costUsd: undefined },
      "it was all paid for",
    );
  });

  test(`an answer whose first piece ${what} is thrown as an error, and nothing of it is told`, async () => {
    const [first = "", ...rest] = events;
    const { error, events: told } = await collectAnswer(saying(lose(first), ...rest), "hi");
    assert.deepEqual(told, []);
    assert.ok(error instanceof ResponderError);
    assert.equal(error.message.includes("canary"), false);
    assert.equal(error.usage?.inputTokens, 12);
  });
}

for (const [what, broken] of [
  ["thinks without an end", ""],
  ["goes on without an end after a piece was lost", "data: NOT \n\n"],
] as const) {
  test(`a model that ${what} is read no further`, async () => {
    const field = broken === "" ? "reasoning_content" : "content";
    const piece = JSON.stringify({ choices: [{ delta: { [field]: "x".repeat(64 * 1024) } }] });
    let sent = 0;
    const encoder = new TextEncoder();
    const body = new ReadableStream({
      pull(controller) {
        controller.enqueue(encoder.encode(`${sent++ === 0 ? broken : ""}data: ${piece}\n\n`));
        if (sent === 1_000) controller.close();
      },
    });
    const { error } = await collectAnswer(over(body), "hi");
    assert.match(String(error), /sent more than can be read/);
    assert.ok(sent < 200, `${sent} pieces of 1,000 were read`);
  });
}
