// Whatever a model sends, what it said before is stored.
import assert from "node:assert/strict";
import { test } from "node:test";
import { chat, scriptedCompanion } from "../../../test/support/scripted-companion.ts";
import { type ScriptedStep, scriptedResponder } from "../../../test/support/scripted-responder.ts";
import { isMessage } from "../chat/message.ts";
import type { Logger } from "../logger.ts";
import { silentLogger } from "../logger.ts";
import { unknownUsage } from "../models/prices.ts";
import { type Responder, ResponderError, type ResponderEvent } from "../models/responder.ts";
import { answerLimits } from "./answer.ts";

const usage = { inputTokens: 100, outputTokens: 20, costUsd: 0.01 };
const end = { type: "end", finish: "stop", usage } as const;

async function companion(responder: Responder) {
  const warned: object[] = [];
  const logger: Logger = { ...silentLogger, warn: (fields) => warned.push(fields) };
  const c = await scriptedCompanion(responder, { logger });
  const ask = () => c.say("Hello");
  const stored = async () => {
    const page = await c.chats.logs.page(chat, { limit: 1_000 });
    return page.filter((record) => isMessage(record)).slice(1);
  };
  return { ...c, ask, stored, warned };
}

/** Says one piece over and over until nobody reads any more, or after far too much of it. */
function flood(piece: string) {
  const seen = { pieces: 0, left: false, aborted: false };
  const responder: Responder = {
    provider: "flood",
    model: "m",
    window: undefined,
    async *respond(_, signal): AsyncGenerator<ResponderEvent, void> {
      signal.addEventListener("abort", () => {
        seen.aborted = true;
      });
      try {
        for (; seen.pieces * piece.length < 4e6; seen.pieces++) yield { type: "text", text: piece };
      } finally {
        seen.left = true;
      }
    },
  };
  return { responder, seen };
}

for (const [what, piece, jsonBytes] of [
  ["small pieces", "So it goes. ", 1],
  ["one piece", "x".repeat(1_200_000), 1],
  ["controls, six bytes each in JSON", "\u0001".repeat(1_000), 6],
  ["pairs of surrogates", "\u{1f600}".repeat(1_000), 2],
] as const) {
  test(`an answer of millions of characters, in ${what}, is cut at its limit and kept as partial`, async () => {
    const { responder, seen } = flood(piece);
    const c = await companion(responder);
    const { assistant, outcome, reason, usage } = await c.ask();
    const kept = assistant?.content ?? "";
    assert.ok(piece.repeat(seen.pieces + 1).startsWith(kept));
    assert.ok(kept.isWellFormed());
    const bytes = kept.length * jsonBytes;
    const most = answerLimits.messageBytes;
    assert.ok(bytes > most - 12 && bytes <= most, `${bytes}`);
    const { partial, partial_reason } = assistant ?? {};
    assert.deepEqual([outcome, partial, partial_reason], ["failed", true, "error"]);
    assert.match(reason ?? "", /flood\/m wrote more than can be kept/);
    assert.deepEqual(usage, unknownUsage);
    assert.deepEqual([seen.left, seen.aborted], [true, true]);
    assert.equal((await c.chats.row(chat)).unanswered, false);
  });
}

const call = (id: string, args = "{}", name = "look") => {
  const fn = { name, arguments: args };
  return { type: "tool-call", call: { id, type: "function", function: fn } } as const;
};
const result = (toolCallId: string, content = "rain") =>
  ({ type: "tool-result", toolCallId, toolName: "look", content, isError: false }) as const;

test("an answer that calls tools a thousand times is cut, with what came before", async () => {
  const responder: Responder = {
    provider: "flood",
    model: "m",
    window: undefined,
    async *respond() {
      for (let n = 1; n <= 1_000; n++) {
        yield { type: "text", text: `Once ${n}. ` };
        yield call(`c${n}`);
        yield result(`c${n}`);
      }
    },
  };
  const c = await companion(responder);
  const { outcome, reason } = await c.ask();
  const { length } = await c.stored();
  assert.deepEqual([outcome, length], ["failed", 2 * answerLimits.toolCalls + 1]);
  assert.match(reason ?? "", /more than can be kept/);
});

const long = "x".repeat(1_200_000);
const session = { type: "provider-session", id: "s".repeat(1_025) } as const;
const halved = { ...usage, outputTokens: 0.5 };
const away = new ResponderError("It went away.", { kind: "unavailable", usage: halved });
const bad: readonly (readonly [what: string, step: ScriptedStep, reason: RegExp])[] = [
  ["counts tokens as NaN", { ...end, usage: { ...usage, inputTokens: NaN } }, /usage must be/],
  ["counts half a token", { ...end, usage: halved }, /usage must be/],
  ["costs over 10^6", { ...end, usage: { ...usage, costUsd: 1_000_001 } }, /usage must be/],
  ["names a session of 1,025 bytes", session, /id is missing or cannot be used/],
  ["names a model of 257 bytes", { ...end, model: "m".repeat(257) }, /model is missing or cannot/],
  ["sends data that is no JSON", { type: "provider-data", data: { x: NaN } }, /data/],
  ["calls a tool without an id", call(""), /call\.id must be/],
  ["calls a tool without a name", call("c1", "{}", ""), /function\.name must be/],
  ["calls a tool with 1.2 MB", call("c1", long), /more than can be kept/],
  ["thinks 1.2 MB", { type: "reasoning", text: long }, /more than can be kept/],
  ["fails and counts half a token", { type: "fail", error: away }, /^It went away\.$/],
  ["sends 1.2 MB of data", { type: "provider-data", data: { long } }, /more than can be kept/],
];
for (const [what, step, says] of bad) {
  test(`the answer of a model that ${what} is kept as far as it came, with the reason`, async () => {
    const c = await companion(scriptedResponder([["It rains", step, " cats", end]]));
    const { assistant, outcome, reason } = await c.ask();
    assert.deepEqual([assistant?.content, outcome], ["It rains", "failed"]);
    assert.match(reason ?? "", says);
    assert.equal((await c.stored()).length, 1);
    assert.equal(JSON.stringify(c.warned).includes("rains"), false);
  });
}

test("what a tool found beyond the limit of a text is stored as far as it fits", async () => {
  const c = await companion(scriptedResponder([[call("c1"), result("c1", long), "It rains", end]]));
  const { outcome } = await c.ask();
  const [, found, answer] = await c.stored();
  assert.deepEqual([outcome, answer?.content], ["answered", "It rains"]);
  assert.equal(found?.content, long.slice(0, answerLimits.messageBytes));
});

test("the largest answer that is kept fits into the store, and so does what it replaces", async () => {
  const { messageBytes, toolCalls } = answerLimits;
  const small = Array.from({ length: toolCalls }, (_, n) => call(`c${n}`));
  const large = Array.from({ length: 3 }, (_, n) => result(`c${n}`, "x".repeat(messageBytes)));
  const data = { type: "provider-data", data: { long: "x".repeat(200_000) } } as const;
  const length = messageBytes - 200_011;
  const script = [...small, ...large, "x".repeat(length), data, data, end];
  const c = await companion(scriptedResponder([script, script]));
  assert.equal((await c.ask()).outcome, "answered");
  const { outcome, assistant } = await (await c.turns.retry(chat)).done;
  assert.deepEqual([outcome, assistant?.content.length], ["answered", length]);
  assert.deepEqual(c.warned, []);
});
