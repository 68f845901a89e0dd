import assert from "node:assert/strict";
import { test } from "node:test";
import type { ModelInput } from "../chat/message.ts";
import { planSession, readProviderData, writeProviderData } from "./provider-data.ts";

const cyclic: Record<string, unknown> = {};
cyclic["self"] = cyclic;
const dropped: readonly [string, object][] = [
  ["no metadata", {}],
  ["an item id alone", { openai: { itemId: "rs_1", reasoningEncryptedContent: null } }],
  ["a provider without fields", { ollama: {} }],
  ["a cycle", { odd: cyclic }],
  ["a number that JSON does not keep", { odd: { n: 2 ** 60 } }],
];
test("a thought that its provider cannot use, or that cannot be stored, does not fail the turn", () => {
  for (const [what, metadata] of dropped) {
    const reasoning = [{ text: "t", metadata: metadata as never }];
    assert.equal(writeProviderData({ reasoning }), undefined, what);
  }
});

test("encrypted thinking is stored without the item id, which could not be resolved alone", () => {
  const metadata = { openai: { itemId: "rs_1", reasoningEncryptedContent: "opaque" } };
  assert.deepEqual(writeProviderData({ reasoning: [{ text: "", metadata }] }), {
    response_id: undefined,
    reasoning: [{ text: "", metadata: { openai: { reasoningEncryptedContent: "opaque" } } }],
  });
});

test("stored data of another shape, and a thought that its provider could not take, are passed over", () => {
  for (const other of [{ response_id: 1 }, { reasoning: [null] }, { reasoning: [{ text: 1 }] }]) {
    assert.deepEqual(readProviderData(other), {});
  }
  for (const metadata of [{ anthropic: "boom" }, { google: [1] }]) {
    const stored = { response_id: "r1", reasoning: [{ text: "x", metadata }] };
    assert.deepEqual(readProviderData(stored), { responseId: "r1", reasoning: [] });
  }
});

const user = (content: string): ModelInput => ({ role: "user", content });
const other = (content: string): ModelInput => ({ role: "assistant", content });
const answer = (content: string, id: string): ModelInput => ({
  role: "assistant",
  content,
  providerData: { response_id: id },
});

const openai = "openai.responses";

const result: ModelInput = { role: "tool", toolCallId: "1", toolName: "t", content: "x" };
const begun = [user("a"), answer("b", "r1")];
const rows: readonly [string, readonly ModelInput[], string | undefined, number | undefined][] = [
  ["after its newest answer", [...begun, user("c")], "r1", 1],
  ["after turns of other models", [...begun, user("c"), other("d"), user("e")], "r1", 3],
  ["after a failed turn", [...begun, user("c"), user("d")], "r1", 2],
  ["after a tool result", [...begun, result, user("c")], "r1", 2],
  ["with an imported id and no answer in the history", [user("a")], "r0", 1],
  ["when the answer is out of the history", [user("a"), other("b"), user("c")], "r1", undefined],
  [
    "when the id is of an older answer, by what came after it",
    [...begun, user("c"), answer("d", "r2"), user("e")],
    "r1",
    3,
  ],
  ["without an id", [...begun, user("c")], undefined, undefined],
  ["when nothing is new", begun, "r1", undefined],
];
for (const [when, messages, providerSessionId, unseen] of rows) {
  const outcome = unseen === undefined ? "is not resumed: all is sent" : `sends ${unseen} messages`;
  test(`a session ${when} ${outcome}`, () => {
    const request = { instructions: "Be kind.", messages };
    const plan = planSession(openai, {
      ...request,
      ...(providerSessionId === undefined ? {} : { providerSessionId }),
    });
    assert.equal(plan.resumed, unseen !== undefined);
    assert.deepEqual(plan.messages, messages.slice(unseen === undefined ? 0 : -unseen));
    assert.deepEqual(plan.providerOptions?.openai, {
      instructions: "Be kind.",
      ...(unseen === undefined ? {} : { previousResponseId: providerSessionId }),
    });
    assert.equal(plan.instructions, undefined, "the persona is not repeated in the thread");
  });
}

test("a provider without sessions is sent everything, and no id", () => {
  const messages = [user("a")];
  const request = { instructions: "Be kind.", messages, providerSessionId: "x" };
  const plan = planSession("ollama.chat", request);
  assert.deepEqual(plan, { messages, resumed: false, instructions: "Be kind." });
  const bare = planSession("ollama.chat", { instructions: "", messages });
  assert.deepEqual(bare, { messages, resumed: false, instructions: undefined });
});
