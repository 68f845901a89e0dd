import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { voiceReplay } from "./voice-replay.ts";

// U8. A message is written as its role's first letter and its text: "u hi".
const names: Readonly<Record<string, string>> = {
  u: "user",
  U: "USER",
  a: "assistant",
  A: " Assistant ",
  s: "system",
  t: "tool",
};
const read = (line: string) => ({ role: names[line[0] ?? ""] ?? "", text: line.slice(2) });

const rows: readonly [given: readonly string[], replay: readonly string[]][] = [
  [[], []],
  [["u hi"], ["u hi"]],
  [["a hello"], []],
  [["a hello", "a again"], []],
  [["a hello", "u hi"], ["u hi"]],
  [
    ["u hi", "a hello"],
    ["u hi", "a hello"],
  ],
  [
    ["u hi", "a hello", "u and?"],
    ["u hi", "a hello"],
  ],
  [
    ["a first", "u hi", "a hello", "u more", "u and?"],
    ["u hi", "a hello"],
  ],
  [["u one", "u two"], ["u one\ntwo"]],
  [
    ["U one", "u two", "A three", "a four"],
    ["u one\ntwo", "a three\nfour"],
  ],
  [
    ["u one", "s rule", "u two", "a three", "t result", "a four"],
    ["u one\ntwo", "a three\nfour"],
  ],
  [
    ["u one", "a  ", "u two", "a three"],
    ["u one\ntwo", "a three"],
  ],
  [
    ["u ", "a hello", "u hi", "a yes"],
    ["u hi", "a yes"],
  ],
];
for (const [given, replay] of rows) {
  test(`${JSON.stringify(given)} is replayed as ${JSON.stringify(replay)}`, () => {
    assert.deepEqual(voiceReplay(given.map(read)), replay.map(read));
  });
}

test("any conversation's replay begins with the person, alternates, and ends with the companion unless it is one message", () => {
  const role = fc.constantFrom("user", "USER", "assistant", "Assistant", "system", "__proto__");
  const message = fc.record({ role, text: fc.constantFrom("", " ", "a", "b") });
  fc.assert(
    fc.property(fc.array(message), (messages) => {
      const replay = voiceReplay(messages);
      for (const [index, each] of replay.entries()) {
        assert.equal(each.role, index % 2 === 0 ? "user" : "assistant");
        assert.notEqual(each.text.trim(), "");
      }
      if (replay.length > 1) assert.equal(replay.at(-1)?.role, "assistant");
      const hasUser = messages.some((m) => /user/i.test(m.role) && m.text.trim() !== "");
      assert.equal(replay.length > 0, hasUser);
    }),
  );
});
