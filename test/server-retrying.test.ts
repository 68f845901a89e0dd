// A provider that cannot answer now: what the person hears of it, over a real connection to a model server.
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { createResponder } from "../src/core/models/registry.ts";
import { openThroughline } from "../src/core/throughline.ts";
import { createServer } from "../src/server/server.ts";
import { openAiServer, type Reply } from "./support/openai-server.ts";
import { companion, eventsOf, jsonOf, me, problemOf, until } from "./support/server-fixture.ts";

/** A companion whose model is this server's. */
async function over(t: TestContext, reply: (n: number) => Reply) {
  const models = await openAiServer(reply);
  t.after(models.close);
  const spec = { provider: "openai-compatible", model: "asked-1", baseUrl: models.url } as const;
  const responder = await createResponder(spec, {});
  const { provider, model } = responder;
  const throughline = await openThroughline({ storage: "memory", provider, model });
  let ids = 0;
  const own = {
    clock: { now: Date.now, monotonic: () => performance.now() },
    newId: () => `${++ids}`,
  };
  const turns = await throughline.turns({ model: responder, maxQueued: 8 });
  const server = createServer({ throughline, turns, ...own, version: "0" });
  const headers = { host: "127.0.0.1:7423", "content-type": "application/json" };
  const ask = (path: string, init: RequestInit = {}) =>
    server.fetch(new Request(`http://127.0.0.1:7423${path}`, { headers, ...init }));
  const post = (path: string, body: object, accept = "application/json") =>
    ask(path, { method: "POST", headers: { ...headers, accept }, body: JSON.stringify(body) });
  return { models, ask, post };
}

test("a wait for the provider is told within a second, with the provider's words; Stop ends the wait", {
  timeout: 15_000,
}, async (t) => {
  for (const status of [429, 503]) {
    const { models, ask, post } = await over(t, () => ({ status, retryAfter: 20 }));
    const everything = eventsOf((await ask("/api/events")).body);
    const response = await post(`${me}/messages`, { content: "Hello" }, "text/event-stream");
    const events = eventsOf(response.body);
    await until(events, "accepted");
    const since = performance.now();
    const { data } = await until(events, "retrying");
    assert.ok(performance.now() - since < 1_000);
    const what = status === 429 ? "is rate limited (HTTP 429" : "failed (HTTP 503";
    assert.deepEqual(data, {
      reason: `openai-compatible/asked-1 ${what}, invalid_request_error)`,
      detail: "Incorrect API key provided: undefined.",
      ...{ attempt: 2, seconds: 20 },
    });
    const { data: told } = await until(everything, "retrying");
    const { chat_id, turn_id, ...same } = told;
    assert.deepEqual(same, data);
    assert.equal(chat_id, "local:me");
    assert.deepEqual(await jsonOf(await post(`${me}/stop`, {}), 200), { stopped: true });
    const { data: result } = await until(events, "result");
    assert.deepEqual([result.turn_id, result.outcome], [turn_id, "interrupted"]);
    assert.equal(models.requests.length, 1, "it was not called again");
  }
});

test("a retry that is answered is an answer like any other", async (t) => {
  const { models, post } = await over(t, (n) => (n === 0 ? { status: 503 } : { text: "At last." }));
  const response = await post(`${me}/messages`, { content: "Hello" }, "text/event-stream");
  const events = await Array.fromAsync(eventsOf(response.body));
  const names = events.map(({ name }) => name).filter((name) => name !== ":");
  assert.deepEqual(names, ["accepted", "retrying", "text", "text", "result"]);
  assert.equal(events.at(-1)?.data.assistant.content, "At last.");
  assert.equal(models.requests.length, 2);
});

test("a connection that is refused is told of like a rate limit, without a code of Node", {
  timeout: 15_000,
}, async (t) => {
  const { models, post } = await over(t, () => ({}));
  await models.close();
  const response = await post(`${me}/messages`, { content: "Hello" }, "text/event-stream");
  const events = eventsOf(response.body);
  const { data } = await until(events, "retrying");
  assert.match(data.reason, /^openai-compatible\/asked-1 is not reachable: [a-z ]+$/);
  assert.deepEqual([data.attempt, data.seconds], [2, 2]);
  await post(`${me}/stop`, {});
  await until(events, "result");
});

test("a provider that asks for more than a minute is not called again, and the problem has its words", async (t) => {
  const { models, post } = await over(t, () => ({ status: 429, retryAfter: 300 }));
  const problem = await problemOf(
    await post(`${me}/messages`, { content: "Hello" }),
    ...([502, "THROUGHLINE_MODEL_FAILED"] as const),
  );
  assert.match(problem.detail, /is rate limited \(HTTP 429, \w+\): it asks to wait 300 s$/);
  assert.equal(
    (problem as { provider_detail?: string }).provider_detail,
    "Incorrect API key provided: undefined.",
  );
  assert.equal(models.requests.length, 1);
});

for (const cut of ["close", "reset"] as const) {
  test(`an answer cut by a connection that ${cut === "close" ? "closes" : "breaks"} is marked, and says so in plain words`, {
    timeout: 15_000,
  }, async (t) => {
    const { ask, post } = await over(t, () => ({ text: "Once upon a time", cut, cutAt: 400 }));
    const answer = await jsonOf(await post(`${me}/messages`, { content: "Hello" }), 200);
    assert.equal(answer.outcome, "failed");
    assert.doesNotMatch(answer.reason, /UND_ERR|E[A-Z]{4,}|Error/);
    const { messages } = await jsonOf(await ask(`${me}/messages`), 200);
    const { partial, partial_reason } = messages.at(-1);
    assert.deepEqual([partial, partial_reason], [true, "error"]);
  });
}

test("a page that comes late hears of the wait too", { timeout: 15_000 }, async () => {
  const wait = {
    type: "retrying",
    reason: "the model is busy",
    attempt: 2,
    waitMs: 1_500,
  } as const;
  const c = await companion([[wait, { type: "hang" }]]);
  await until(eventsOf((await c.stream(`${me}/messages`, { content: "Hello" })).body), "retrying");
  const late = eventsOf((await c.ask(`${me}/turn`)).body);
  const { data } = await until(late, "retrying");
  assert.deepEqual(data, { reason: "the model is busy", attempt: 2, seconds: 2 });
  await c.post(`${me}/stop`);
  await until(late, "result");
});
