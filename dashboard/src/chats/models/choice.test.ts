import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { queryClient } from "../../api/client.ts";
import type { Chat, ModelList } from "../../api/openapi-types.ts";
import { currentModel, keepForNewChats, modelOfChat, modelToAsk } from "./choice.ts";
import { modelName } from "./model-names.ts";

const qwen = { provider: "ollama", model: "qwen3" };
const llama = { provider: "ollama", model: "llama3" };
const offline = { provider: "offline", model: "offline" };

/** What the page knows: the models, the chat "c", and what was chosen last in this browser. */
function know(
  t: TestContext,
  standard: typeof qwen,
  chat: Partial<Chat> | null | undefined,
  last?: typeof qwen,
) {
  const items = new Map<string, string>();
  const fake = {
    getItem: (key: string) => items.get(key) ?? null,
    setItem: (key: string, value: string) => void items.set(key, value),
  };
  Object.defineProperty(globalThis, "localStorage", { value: fake, configurable: true });
  if (last !== undefined) keepForNewChats(last);
  const models = [{ model: "qwen3" }, { model: "llama3" }];
  const list: ModelList = { standard, providers: [{ provider: "ollama", models }] };
  queryClient.setQueryData(["models"], list);
  queryClient.setQueryData(["chat", "c"], chat);
  t.after(() => {
    queryClient.clear();
    Object.defineProperty(globalThis, "localStorage", { value: undefined, configurable: true });
  });
  return currentModel(chat as Chat | null | undefined, list);
}

const begun = { generation: 2, ...llama };
const copied = { generation: 0, ...llama };
const gone = { provider: "ollama", model: "gone" };
type Row = readonly [
  what: string,
  standard: typeof qwen,
  chat: Partial<Chat> | null,
  last: typeof qwen | undefined,
  shown: typeof qwen,
  asked: typeof qwen | undefined,
];
const rows: readonly Row[] = [
  ["a new chat runs on the standard model", qwen, null, undefined, qwen, undefined],
  ["a new chat runs on what was chosen last", qwen, null, llama, llama, llama],
  ["a model that is no longer offered is not taken", qwen, null, gone, qwen, undefined],
  ["a chat that was begun keeps its own", qwen, begun, qwen, llama, undefined],
  ["a copy that has no session is as a new chat", qwen, copied, undefined, qwen, undefined],
  [
    "a chat that began without a model continues with the standard one",
    qwen,
    { generation: 1, ...offline },
    llama,
    qwen,
    undefined,
  ],
];
for (const [what, standard, chat, last, shown, asked] of rows) {
  test(what, (t) => {
    assert.deepEqual(know(t, standard, chat, last), shown);
    assert.deepEqual(modelToAsk("c", undefined), asked);
    assert.deepEqual(modelToAsk("c", qwen), qwen, "what is chosen for it goes before");
  });
}

test("a copy of a chat is asked for the model of that chat", (t) => {
  know(t, qwen, begun);
  assert.deepEqual(modelOfChat("c", undefined), llama);
  assert.equal(modelOfChat("c", qwen), undefined, "the server takes that by itself");
});

test("before the server has said anything, nothing is named", () => {
  assert.equal(modelToAsk("c", undefined), undefined);
  assert.equal(modelOfChat("c", undefined), undefined);
});

test("what has no model reads as that, and a name that is there twice is there once", () => {
  assert.equal(modelName(offline), "Built-in responder (no model)");
  assert.equal(modelName(qwen), "Ollama \u00b7 qwen3");
  assert.equal(modelName({ provider: "nova", model: "nova" }), "nova");
  assert.equal(modelName({}), "");
});
