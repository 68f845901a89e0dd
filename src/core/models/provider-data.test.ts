import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { JsonObject } from "../json.ts";
import { readProviderData, writeProviderData } from "./provider-data.ts";

test("a signed thought and a response id come back as they were written", () => {
  const data = {
    responseId: "resp_1",
    reasoning: [{ text: "hmm", metadata: { anthropic: { signature: "sig" } } }],
  };
  const stored = writeProviderData(data);
  assert.deepEqual(stored, { response_id: "resp_1", reasoning: data.reasoning });
  assert.deepEqual(readProviderData(JSON.parse(JSON.stringify(stored))), {
    ...data,
    continues: false,
  });
});

const cyclic: Record<string, unknown> = {};
cyclic["self"] = cyclic;
const dropped: readonly [string, object][] = [
  ["no metadata", {}],
  ["an item id alone", { openai: { itemId: "rs_1", reasoningEncryptedContent: null } }],
  ["a provider without fields", { ollama: {} }],
  ["a cycle", { odd: cyclic }],
  ["a number that JSON does not keep", { odd: { n: 2 ** 60 } }],
];
for (const [what, metadata] of dropped) {
  test(`a thought with ${what} is not stored, and does not fail the turn`, () => {
    assert.equal(
      writeProviderData({ reasoning: [{ text: "t", metadata: metadata as never }] }),
      undefined,
    );
  });
}

test("encrypted thinking is stored without the item id, which could not be resolved alone", () => {
  const metadata = { openai: { itemId: "rs_1", reasoningEncryptedContent: "opaque" } };
  assert.deepEqual(writeProviderData({ reasoning: [{ text: "", metadata }] }), {
    response_id: undefined,
    reasoning: [{ text: "", metadata: { openai: { reasoningEncryptedContent: "opaque" } } }],
  });
});

test("stored data of any shape is read without a crash", () => {
  const shape = fc.dictionary(fc.constantFrom("response_id", "reasoning", "x"), fc.jsonValue());
  fc.assert(
    fc.property(shape, (stored) => {
      const data = readProviderData(stored as JsonObject);
      assert.ok(data.responseId === undefined || typeof data.responseId === "string");
    }),
  );
  assert.deepEqual(
    readProviderData({ response_id: "", reasoning: [null, { text: 1 }, { text: " " }] }),
    { responseId: undefined, reasoning: [], continues: false },
  );
});
