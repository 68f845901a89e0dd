// How an answer ends, through a server that speaks OpenAI's protocol: what is empty is no answer, and what was
// cut at a limit says so.
import assert from "node:assert/strict";
import { test } from "node:test";
import { openAiServer } from "../../../test/support/openai-server.ts";
import { createResponder } from "../models/models.ts";
import { openThroughline } from "../throughline.ts";

type Delta = { readonly content?: string; readonly reasoning_content?: string };

function streamOf(deltas: readonly Delta[], finish: string): string {
  const choices = [
    ...deltas.map((delta) => ({ index: 0, delta: { role: "assistant", ...delta } })),
    { index: 0, delta: {}, finish_reason: finish },
  ];
  const chunk = { id: "1", object: "chat.completion.chunk", model: "m" };
  const events = choices.map((choice) => JSON.stringify({ ...chunk, choices: [choice] }));
  return [...events, "[DONE]"].map((data) => `data: ${data}\n\n`).join("");
}

const said = { content: "The boat" };
const thought = { reasoning_content: "When does it leave?" };
const name = "openai-compatible/m";
const rows = [
  [[], "stop", undefined, `${name} answered without a word`],
  [[{ content: " \n\n " }], "stop", undefined, `${name} answered without a word`],
  [[thought], "stop", undefined, `${name} answered without a word`],
  [
    [thought],
    "length",
    undefined,
    `${name} answered without a word: it reached its limit of tokens`,
  ],
  [[], "content_filter", undefined, `${name} answered without a word: a content filter stopped it`],
  [[said], "length", "length", `${name} did not end its answer: it reached its limit of tokens`],
  [
    [thought, said],
    "content_filter",
    "content_filter",
    `${name} did not end its answer: a content filter stopped it`,
  ],
  [[thought, said], "stop", "whole", undefined],
] as const;

for (const [deltas, finish, cut, reason] of rows) {
  const what = deltas.length === 0 ? "nothing" : JSON.stringify(deltas);
  test(`an answer of ${what} that ends with ${finish} is ${cut ?? "none, and can be asked for again"}`, async (t) => {
    let isFirst = true;
    const server = await openAiServer(() => {
      const isAsked = isFirst;
      isFirst = false;
      return isAsked ? { stream: streamOf(deltas, finish) } : { text: "At nine." };
    });
    t.after(() => server.close());
    const spec = { provider: "openai-compatible", model: "m", baseUrl: server.url } as const;
    await using throughline = await openThroughline({ storage: "memory" });
    const { chats } = throughline;
    const turns = await throughline.turns({
      model: await createResponder(spec, {}, {}),
      persona: "",
    });
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
    assert.deepEqual(
      [stored?.partial, stored?.partial_reason],
      isCut ? [true, cut] : [undefined, undefined],
    );
    const again = await turns.submit("local:me", { id: "u1", content: "When?" }).done;
    assert.deepEqual([again.outcome, again.assistant?.id], ["answered", stored?.id]);
  });
}
