import assert from "node:assert/strict";
import { test } from "node:test";
import { keyCorpus, textCorpus } from "../testing/corpus.ts";
import { freedPayload, messagePayloads, parsePayload, payloadBytes } from "./notification.ts";

const textOf = (parsed: ReturnType<typeof parsePayload>) =>
  parsed !== undefined && "text" in parsed ? parsed.text : "";

test("what a notification says is read back, for texts and names of every kind", () => {
  for (const { text } of textCorpus) {
    const json = JSON.stringify({ text });
    const parsed = messagePayloads("p1", 7, json).map(parsePayload);
    assert.equal(parsed.map(textOf).join(""), json);
    if (parsed.length > 1) continue;
    assert.deepEqual(parsed, [{ kind: "message", from: "p1", n: 7, text: json }]);
  }
  for (const { text: key } of keyCorpus) {
    const name = { collection: "chats", key };
    assert.deepEqual(parsePayload(freedPayload("p1", name)), { kind: "freed", from: "p1", name });
  }
});

for (const [what, unit] of [
  ["bytes", "x"],
  ["characters of 3 bytes", "密"],
  ["characters of 4 bytes", "😀"],
  ["line ends", "\n"],
] as const) {
  for (const count of [2_000, 7_880, 50_000]) {
    test(`a text of ${count} ${what} is notified in parts that fit, and is their sum`, () => {
      const text = `${unit.repeat(count)}.`;
      const payloads = messagePayloads("p\n1", 8, text);
      assert.ok(payloads.every((payload) => Buffer.byteLength(payload) <= payloadBytes));
      const parsed = payloads.map(parsePayload);
      assert.equal(parsed.map(textOf).join(""), text);
      const whole = '["message","p\\n1",8]\n'.length + Buffer.byteLength(text);
      assert.ok(payloads.length <= 1 + whole / 7_800, `${payloads.length} parts`);
      assert.equal(payloads.length === 1, whole <= payloadBytes);
      if (payloads.length === 1) return;
      for (const [index, each] of parsed.entries()) {
        const { text: _, ...rest } = { text: "", ...each };
        const expected = { kind: "part", from: "p\n1", n: 8, index, count: parsed.length };
        assert.deepEqual(rest, expected);
      }
    });
  }
}

test("the longest names fit a notification, also if every byte of theirs is escaped", () => {
  const name = { collection: "\u0001".repeat(200), key: "\u0001".repeat(1024) };
  assert.ok(Buffer.byteLength(freedPayload("p".repeat(36), name)) <= payloadBytes);
});

for (const payload of [
  "",
  "hello",
  "{}",
  "null",
  "[",
  '["message"]',
  '["message","p1"]',
  '["message","p1","1"]\n{}',
  '["message",1,1]\n{}',
  '["message","p1",1]',
  '["part","p1",1]\n{}',
  '["part","p1",1,0,"2"]\n{}',
  '["part","p1",1,"0",2]\n{}',
  '["part","p1",1,0,2]',
  '["freed","p1","chats"]',
  '["freed","p1","chats",1]',
  '["other","p1",1]\n{}',
]) {
  test(`a notification that says ${JSON.stringify(payload)} is none of ours`, () => {
    assert.equal(parsePayload(payload), undefined);
  });
}
