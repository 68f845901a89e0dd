import assert from "node:assert/strict";
import { test } from "node:test";
import type { Chat, ProviderSession } from "../../api/openapi-types.ts";
import { spent, spentIn, totalsOf, unpricedModels } from "./amounts.ts";

const none = { session_id: "", message_count: 1, total_tokens: 30, total_cost_usd: 0 };

for (const [says, bucket, words] of [
  ["with a price", { total_cost_usd: 0.02 }, "$0.0200"],
  ["with a price of nothing", {}, "$0.00"],
  ["without a price", { unpriced_tokens: 30 }, "no price set"],
  [
    "with a price for a part of them",
    { total_cost_usd: 1.5, unpriced_tokens: 10 },
    "$1.50, no price set for 10 tokens",
  ],
] as const) {
  test(`tokens ${says} come to ${JSON.stringify(words)}`, () => {
    assert.equal(spent(spentIn({ ...none, ...bucket })), words);
  });
}

test("the models without a price are named as the configuration has them, once", () => {
  const chat = (model: string, bucket: Partial<ProviderSession>) =>
    ({
      provider: "ollama",
      model,
      provider_sessions: { ollama: { ...none, ...bucket } },
    }) as unknown as Chat;
  const chats = [
    chat("qwen3", { unpriced_tokens: 2 }),
    chat("gemma3", { unpriced_tokens: 1 }),
    chat("qwen3", { unpriced_tokens: 3 }),
    chat("priced", { total_cost_usd: 1 }),
  ];
  assert.deepEqual(unpricedModels(chats), ["ollama/gemma3", "ollama/qwen3"]);
  const [total] = totalsOf(chats);
  assert.deepEqual([total?.unpriced, total?.costUsd, total?.tokens], [6, 1, 120]);
});
