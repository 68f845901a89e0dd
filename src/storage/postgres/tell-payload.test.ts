import assert from "node:assert/strict";
import { test } from "node:test";
import { keyCorpus, textCorpus } from "../../testing/corpus.ts";
import {
  freedPayload,
  keptPayload,
  parsePayload,
  payloadBytes,
  toldPayload,
} from "./tell-payload.ts";

test("what a notification says is read back, for texts and names of every kind", () => {
  for (const { text } of textCorpus) {
    const json = JSON.stringify({ text });
    const told = toldPayload("p1", 7, json);
    assert.deepEqual(parsePayload(told), { kind: "told", from: "p1", n: 7, text: json });
  }
  for (const { text: key } of keyCorpus) {
    const name = { collection: "chats", key };
    assert.deepEqual(parsePayload(freedPayload("p1", name)), { kind: "freed", from: "p1", name });
  }
  const kept = { kind: "kept", from: "p\n1", n: 8, id: "a id" };
  assert.deepEqual(parsePayload(keptPayload("p\n1", 8, "a id")), kept);
});

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
  '["told"]',
  '["told","p1"]',
  '["told","p1","1"]\n{}',
  '["told",1,1]\n{}',
  '["told","p1",1]',
  '["freed","p1","chats"]',
  '["freed","p1","chats",1]',
  '["other","p1",1]\n{}',
]) {
  test(`a notification that says ${JSON.stringify(payload)} is none of ours`, () => {
    assert.equal(parsePayload(payload), undefined);
  });
}
