import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { isThroughlineError } from "../errors.ts";
import { bytesOf, checkInteraction, fitInteraction, type NewInteraction } from "./interaction.ts";

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

for (const intent of ["greeting", "GREETING", "Greeting"]) {
  test(`the intent ${intent} is kept as GREETING`, () => {
    assert.equal(checkInteraction({ ...hello, intent } as NewInteraction).intent, "GREETING");
  });
}

for (const outcome of ["answered", "interrupted", "failed"] as const) {
  test(`an interaction that was ${outcome} is kept as ${outcome}`, () => {
    assert.equal(checkInteraction({ ...hello, outcome } as NewInteraction).outcome, outcome);
  });
}

const maxBytes = 80;
// The intent ASK takes 3 of the 80 bytes, a … takes 3, and 10 are the least of the response.
const cuts: readonly [
  why: string,
  utterance: string,
  response: string,
  keptUtterance: string,
  keptResponse: string,
][] = [
  ["fits to the byte", "u".repeat(60), "r".repeat(17), "u".repeat(60), "r".repeat(17)],
  ["is one byte over", "u".repeat(60), "r".repeat(18), "u".repeat(60), `${"r".repeat(14)}…`],
  ["ends in emoji", "u".repeat(60), "😀".repeat(5), "u".repeat(60), "😀😀😀…"],
  ["asks too much", "u".repeat(99), "r".repeat(9), `${"u".repeat(65)}…`, "r".repeat(9)],
  ["is too much twice", "u".repeat(99), "r".repeat(99), `${"u".repeat(64)}…`, "rrrrrrr…"],
  ["asks too much unanswered", "u".repeat(99), "", `${"u".repeat(74)}…`, ""],
  ["asks nothing", "", "r".repeat(99), "", `${"r".repeat(74)}…`],
  ["begins with a BOM", "", `\ufeff${"r".repeat(99)}`, "", `\ufeff${"r".repeat(71)}…`],
];
for (const [why, utterance, response, keptUtterance, keptResponse] of cuts) {
  test(`an interaction that ${why} is cut to 80 bytes, response first, at a code point`, () => {
    const input = { utterance, intent: "ASK", response, outcome: "answered" } as const;
    const kept = fitInteraction(input, maxBytes);
    assert.deepEqual(kept, { ...input, utterance: keptUtterance, response: keptResponse });
  });
}

test("an interaction of any texts is within any budget of 80 bytes or more, and prefixes", () => {
  const text = fc.string({ unit: fc.nat({ max: 0xffff }).map((n) => String.fromCharCode(n)) });
  fc.assert(
    fc.property(text, text, fc.integer({ min: 80, max: 200 }), (utterance, response, max) => {
      const input = { utterance, intent: "I".repeat(64), response, outcome: "failed" } as const;
      const kept = fitInteraction(input, max);
      assert.ok(bytesOf(kept) <= max);
      if (bytesOf(input) <= max) assert.equal(kept, input);
      for (const field of ["utterance", "response"] as const) {
        if (kept[field] === input[field]) continue;
        assert.match(kept[field], /…$/);
        assert.ok(input[field].toWellFormed().startsWith(kept[field].slice(0, -1)));
      }
    }),
  );
});
