import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { isThroughlineError } from "../errors.ts";
import {
  checkInteraction,
  fieldBytes,
  fitInteraction,
  type NewInteraction,
} from "./interaction.ts";

const hello = { utterance: "Hello", intent: "greeting", response: "Hi!", outcome: "answered" };

const secret = "my secret";
const wrong: readonly [field: keyof NewInteraction, value: unknown][] = [
  ["utterance", 42],
  ["utterance", undefined],
  ["utterance", null],
  ["utterance", [secret]],
  ["response", 42],
  ["response", undefined],
  ["response", { text: secret }],
  ["intent", 42],
  ["intent", undefined],
  ["intent", ""],
  ["intent", "UNKNOWN\n"],
  ["intent", `${secret}). I responded 'yes'`],
  ["intent", "i".repeat(65)],
  ["outcome", "spoken"],
  ["outcome", undefined],
  ["outcome", secret],
];
for (const [field, value] of wrong) {
  test(`an interaction whose ${field} is ${JSON.stringify(value)} is refused, unquoted`, () => {
    assert.throws(
      () => checkInteraction({ ...hello, [field]: value } as NewInteraction),
      (error: Error) =>
        isThroughlineError(error, "THROUGHLINE_INVALID") && !error.message.includes(secret),
    );
  });
}

test("a text of any code units is kept whole, or cut to a prefix of 8 KiB and a …", () => {
  const unit = fc.nat({ max: 0xffff }).map((n) => String.fromCharCode(n));
  const text = fc
    .tuple(fc.integer({ min: fieldBytes - 20, max: fieldBytes }), fc.string({ unit }))
    .map(([length, end]) => `\ufeff${"a".repeat(length - 20)}${end}`);
  fc.assert(
    fc.property(text, text, (utterance, response) => {
      const input = { utterance, intent: "ASK", response, outcome: "failed" } as const;
      const kept = fitInteraction(input);
      for (const field of ["utterance", "response"] as const) {
        assert.ok(Buffer.byteLength(kept[field]) <= fieldBytes);
        if (Buffer.byteLength(input[field]) <= fieldBytes) {
          assert.equal(kept[field], input[field]);
        } else {
          assert.match(kept[field], /…$/);
          assert.ok(input[field].toWellFormed().startsWith(kept[field].slice(0, -1)));
        }
      }
    }),
  );
});
