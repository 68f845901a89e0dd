import assert from "node:assert/strict";
import { test } from "node:test";
import type { ProviderSession } from "../../api/openapi-types.ts";
import { keptWords, switchWords } from "./switch-words.ts";

const bucket = (answers: number): ProviderSession => ({
  session_id: "",
  message_count: answers,
  total_cost_usd: 0,
  total_tokens: 0,
});
const chatOf = (sessions: Readonly<Record<string, number>>) => ({
  provider_sessions: Object.fromEntries(
    Object.entries(sessions).map(([provider, answers]) => [provider, bucket(answers)]),
  ),
});
const ollama = { provider: "ollama", model: "qwen3" };

const switches: readonly [Readonly<Record<string, number>>, string, string][] = [
  [{}, "openai", ""],
  [
    { ollama: 12 },
    "openai",
    "OpenAI gets the messages of this chat and starts a session of its own.",
  ],
  [
    { ollama: 12, openai: 1 },
    "openai",
    "OpenAI continues its session (1 answer) and gets what was said since.",
  ],
  [
    { ollama: 12 },
    "ollama",
    "Each continues the session with Ollama and gets the messages of this chat.",
  ],
  [{ ollama: 12 }, "offline", "No model gets your messages."],
  [
    { ollama: 12 },
    "toString",
    "toString gets the messages of this chat and starts a session of its own.",
  ],
];
for (const [sessions, provider, words] of switches) {
  test(`with ${JSON.stringify(sessions)} on Ollama, choosing ${provider} says "${words}"`, () => {
    assert.equal(switchWords(chatOf(sessions), ollama, provider), words);
  });
}

test("the session that a chat has is named as kept, unless it has none or no model", () => {
  const kept =
    "The session with Ollama (12 answers) is kept if you switch, and continues when you switch back.";
  assert.equal(keptWords(chatOf({ ollama: 12 }), ollama), kept);
  assert.equal(keptWords(chatOf({ openai: 3 }), ollama), "");
  const offline = { provider: "offline", model: "offline" };
  assert.equal(keptWords(chatOf({ offline: 3 }), offline), "");
});
