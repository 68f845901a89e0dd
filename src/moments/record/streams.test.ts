// The small parts of the streams: messages, captured values, counters, source clocks.
import assert from "node:assert/strict";
import { test } from "node:test";
import { CapturedValues } from "./captured-values.ts";
import { resolveLimits } from "./limits.ts";
import { LossCounters } from "./loss.ts";
import { cutText, MessageBuffer, type NewMessage } from "./message-buffer.ts";
import { ourTime, SourceClock } from "./source-clock.ts";

const at = (ms: number) => ({ monoMs: ms, ageMs: ms });
const messages = (limits = {}) => new MessageBuffer(resolveLimits(limits), "a1b2c3d4");

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
  const kept = messages().push({ role: "user", text: "😀".repeat(8_001) }, at(0));
  assert.deepEqual([kept.text.length, kept.truncated], [16_000, true]);
});

test("roles are upper case, and a message without an id gets one of its run and number", () => {
  const buffer = messages();
  buffer.push({ role: "user", text: "x" }, at(0));
  const { role, id, seq } = buffer.push({ role: "ASSISTANT", text: "y" }, at(0));
  assert.deepEqual({ role, id, seq }, { role: "ASSISTANT", id: "a1b2c3d4:2", seq: 2 });
});

test("an answer that grows stays in its place, with the time at which it began, and old snapshots stay", () => {
  const buffer = messages();
  buffer.push({ role: "assistant", text: "why", id: "a", live: true }, at(10));
  buffer.push({ role: "user", text: "stop", id: "u" }, at(20));
  const before = buffer.snapshot();
  buffer.push({ role: "assistant", text: "why did", id: "a", interrupted: true }, at(30));
  const [answer] = buffer.snapshot();
  assert.deepEqual(
    [answer?.text, answer?.seq, answer?.timeMs, answer?.endedAgeMs],
    ["why did", 1, 10, 30],
  );
  assert.equal(before[0]?.text, "why");
  assert.equal(buffer.count, 2);
});

test("over the byte budget the oldest messages go, and are counted", () => {
  const buffer = messages({ messageBytes: 2_000 });
  for (let i = 0; i < 10; i++) buffer.push({ role: "user", text: "x".repeat(300) }, at(i));
  assert.ok(buffer.bytes <= 2_000);
  assert.equal(buffer.loss.run.evicted.bytes, 10 - buffer.count);
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
    assert.throws(() => buffer.push(message as NewMessage, at(0)), { code: "THROUGHLINE_INVALID" });
    assert.equal(buffer.count, 0);
  });
}

test("tool calls of more than 65,536 bytes are left out, and the message says truncated", () => {
  const toolCalls = [{ name: "x".repeat(70_000) }];
  const kept = messages().push({ role: "assistant", text: "", toolCalls }, at(0));
  assert.deepEqual([kept.toolCalls, kept.truncated], [{ omitted: "too_large" }, true]);
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

test("losses are told of the run and of the window, which begins with a full second", () => {
  const loss = new LossCounters();
  for (let second = 0; second < 300; second++) loss.count("throttled", second * 1_000, 2);
  assert.equal(loss.run.throttled, 600);
  assert.equal(loss.since(180_000).throttled, 240);
  assert.equal(loss.since(299_500).throttled, 2);
  assert.equal(loss.since(300_000).throttled, 0);
});

test("a source's time maps by the transmission that waited least in the last 30 s, never to the future", () => {
  const clock = new SourceClock();
  const mapped = (sourceMs: number, receivedMs: number) =>
    ourTime({ sourceMs, offset: clock.offset(sourceMs, receivedMs) });
  assert.equal(mapped(1_000, 51_080), 51_080);
  assert.equal(mapped(1_500, 51_520), 51_520);
  assert.equal(mapped(2_000, 52_300), 52_020);
  assert.equal(mapped(40_000, 90_300), 90_300, "the offset of 30 s ago is forgotten");
});

test("what came before a source's offset was learned better is right too, up to a new one", () => {
  const clock = new SourceClock();
  const first = clock.offset(1_000, 51_080);
  const second = clock.offset(1_500, 51_520);
  assert.deepEqual([first.ms, second.ms], [50_020, 50_020]);
  const later = clock.offset(40_000, 90_300);
  clock.offset(40_500, 90_400);
  assert.deepEqual([first.ms, later.ms], [50_020, 49_900]);
});

for (const [how, byMs] of [
  ["back", -3_600_000],
  ["forward", 3_600_000],
] as const) {
  test(`a source that was set ${how} by an hour is mapped again, and what came before stays`, () => {
    const clock = new SourceClock();
    const before = clock.offset(5_000_000, 1_000);
    assert.equal(clock.offset(5_001_000 + byMs, 2_000).ms, 2_000 - 5_001_000 - byMs);
    assert.equal(before.ms, 1_000 - 5_000_000);
  });
}
