import assert from "node:assert/strict";
import { test } from "node:test";
import type { Responder, ResponderEvent } from "../../src/core/models/responder.ts";
import { scriptedResponder } from "./scripted-responder.ts";

const request = { instructions: "", messages: [{ role: "user" as const, content: "hi" }] };

async function collect(responder: Responder, signal = new AbortController().signal) {
  const events: ResponderEvent[] = [];
  try {
    for await (const event of responder.respond(request, signal)) events.push(event);
  } catch (error) {
    return { events, error };
  }
  return { events, error: undefined };
}

test("turns are played in order, and what was asked is kept", async () => {
  const responder = scriptedResponder([["a", "b"], ["c"]], {
    provider: "p",
    model: "m",
    window: 9,
  });
  const first = await collect(responder);
  assert.deepEqual(first.events, [
    { type: "text", text: "a" },
    { type: "text", text: "b" },
    { type: "end", finish: "stop", usage: { inputTokens: 10, outputTokens: 2, costUsd: 0 } },
  ]);
  assert.equal((await collect(responder)).events[0]?.type, "text");
  assert.deepEqual(responder.requests, [request, request]);
  assert.deepEqual([responder.provider, responder.model, responder.window], ["p", "m", 9]);
});

test("a request past the script is refused with words that say so", async () => {
  const { error } = await collect(scriptedResponder([]));
  assert.match(String(error), /script has 0 turns/);
});

test("an end in the script is the last event, and a cut is an end with unknown usage", async () => {
  const end: ResponderEvent = {
    type: "end",
    finish: "length",
    usage: { inputTokens: 1, outputTokens: 2, costUsd: 3 },
  };
  assert.deepEqual((await collect(scriptedResponder([["a", end, "b"]]))).events.slice(1), [end]);
  const cut = await collect(scriptedResponder([["a", { type: "cut" }, "b"]]));
  assert.deepEqual(cut.events.slice(1), [
    {
      type: "end",
      finish: "other",
      usage: { inputTokens: undefined, outputTokens: undefined, costUsd: 0 },
    },
  ]);
});

test("a failure is thrown after what was said before it", async () => {
  const boom = new Error("boom");
  const { events, error } = await collect(
    scriptedResponder([["a", { type: "fail", error: boom }]]),
  );
  assert.equal(error, boom);
  assert.equal(events.length, 1);
});

test("a gate holds the turn until it opens", async () => {
  let open = () => {};
  const until = new Promise<void>((resolve) => {
    open = resolve;
  });
  const events = scriptedResponder([["a", { type: "wait", until }, "b"]])
    .respond(request, new AbortController().signal)
    [Symbol.asyncIterator]();
  await events.next();
  const second = events.next();
  const early = await Promise.race([
    second,
    new Promise((resolve) => setImmediate(resolve, "held")),
  ]);
  assert.equal(early, "held");
  open();
  assert.deepEqual((await second).value, { type: "text", text: "b" });
});

for (const step of ["hang", "wait"] as const) {
  test(`a ${step} ends with the reason of the abort`, async () => {
    const controller = new AbortController();
    const until = new Promise(() => undefined);
    const script = step === "hang" ? { type: step } : { type: step, until };
    const collected = collect(scriptedResponder([["a", script, "b"]]), controller.signal);
    setImmediate(() => controller.abort("stop it"));
    const { events, error } = await collected;
    assert.equal(error, "stop it");
    assert.deepEqual(events, [{ type: "text", text: "a" }]);
  });
}
