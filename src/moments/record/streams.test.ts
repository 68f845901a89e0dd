// The small parts of the streams: messages, captured values, the clock.
import assert from "node:assert/strict";
import { test } from "node:test";
import { CapturedValues, captureClock } from "./buffers.ts";
import { cutText, MessageBuffer, type NewMessage } from "./messages.ts";

const messages = () => new MessageBuffer("a1b2c3d4");

const cuts: readonly [text: string, max: number, kept: string][] = [
  ["abc", 3, "abc"],
  ["abcd", 3, "abc"],
  ["😀😀😀", 2, "😀😀"],
  ["a😀b", 2, "a😀"],
];
for (const [text, max, kept] of cuts) {
  test(`${text} cut at ${max} code points is ${kept}`, () =>
    assert.equal(cutText(text, max), kept));
}

test("a text of 8,001 code points is cut to 8,000 and says so", () => {
  const kept = messages().push({ role: "user", text: "😀".repeat(8_001) }, 0);
  assert.deepEqual([kept.text.length, kept.truncated], [16_000, true]);
});

test("roles are upper case, and a message without an id gets one of its run and number", () => {
  const buffer = messages();
  buffer.push({ role: "user", text: "x" }, 0);
  const { role, id, seq } = buffer.push({ role: "ASSISTANT", text: "y" }, 0);
  assert.deepEqual({ role, id, seq }, { role: "ASSISTANT", id: "a1b2c3d4:2", seq: 2 });
});

test("an answer that grows stays in its place, with the time at which it began, and old snapshots stay", () => {
  const buffer = messages();
  buffer.push({ role: "assistant", text: "why", id: "a", live: true }, 10);
  buffer.push({ role: "user", text: "stop", id: "u" }, 20);
  const before = buffer.snapshot();
  buffer.push({ role: "assistant", text: "why did", id: "a", interrupted: true }, 30);
  const [answer] = buffer.snapshot();
  assert.deepEqual(
    [answer?.text, answer?.seq, answer?.atMs, answer?.endedMs],
    ["why did", 1, 10, 30],
  );
  assert.equal(before[0]?.text, "why");
  assert.equal(buffer.count, 2);
});

test("over the byte budget the oldest messages go, and are counted", () => {
  const buffer = messages();
  const toolCalls = [{ name: "x".repeat(60_000) }];
  for (let i = 0; i < 50; i++) buffer.push({ role: "assistant", text: "", toolCalls }, i);
  assert.ok(buffer.bytes <= 2_000_000 && buffer.count < 50);
});

const wrong: readonly [name: string, message: object][] = [
  ["a role of its own", { role: "robot", text: "x" }],
  ["a text that is none", { role: "user", text: 3 }],
  ["tool calls that are not JSON", { role: "assistant", text: "", toolCalls: [Number.NaN] }],
  ["an empty id", { role: "user", text: "", id: "" }],
];
for (const [name, message] of wrong) {
  test(`a message with ${name} is refused`, () => {
    const buffer = messages();
    assert.throws(() => buffer.push(message as NewMessage, 0), { code: "THROUGHLINE_INVALID" });
    assert.equal(buffer.count, 0);
  });
}

test("tool calls of more than 65,536 bytes are left out, and the message says truncated", () => {
  const toolCalls = [{ name: "x".repeat(70_000) }];
  const kept = messages().push({ role: "assistant", text: "", toolCalls }, 0);
  assert.deepEqual([kept.tool_calls, kept.truncated], [{ omitted: "too_large" }, true]);
});

test("of a captured name the last value wins; a value that does not fit is its hash", () => {
  const captured = new CapturedValues(1_000);
  captured.set("mood", "calm");
  captured.set("mood", "happy");
  captured.set("tools", ["x".repeat(2_000)]);
  captured.set("camera", "front");
  captured.set("camera", undefined);
  const { mood, tools } = captured.snapshot() as {
    mood: unknown;
    tools: { omitted: string; sha256: string };
  };
  assert.equal(mood, "happy");
  assert.equal(tools.omitted, "too_large");
  assert.match(tools.sha256, /^[0-9a-f]{64}$/);
  assert.deepEqual(Object.keys(captured.snapshot()), ["mood", "tools"]);
  assert.throws(() => captured.set("__proto__", 1), { code: "THROUGHLINE_INVALID" });
});

test("a sleep of 8 h ages everything by 8 h, a step of the wall clock by nothing, and without an uptime age is monotonic", () => {
  const at = { mono: 5_000, up: 90_000 };
  const mono = { now: () => 0, monotonic: () => at.mono };
  const [now, awake] = [captureClock({ ...mono, uptimeMs: () => at.up }), captureClock(mono)];
  const before = now();
  at.up += 28_800_010;
  at.mono += 10;
  const after = now();
  assert.equal(after - before, 28_800_010);
  at.up -= 900; // told in steps
  assert.equal(now(), after);
  assert.equal(awake(), 5_010);
});
