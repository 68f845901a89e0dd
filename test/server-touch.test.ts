// A pat: what the companion feels, what its model is told, and what a rule makes of it.
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { factsOf } from "../src/app/companion.ts";
import { follow, recordPat } from "../src/app/moments.ts";
import type { MomentsOptions } from "../src/moments/options.ts";
import { awake, runOf } from "./support/awake.ts";
import { servedMoments } from "./support/served-moments.ts";
import { companion, jsonOf, me, problemOf } from "./support/server-fixture.ts";

type Script = Parameters<typeof companion>[0];

async function awakeAt(t: TestContext, script: Script, options: Partial<MomentsOptions> = {}) {
  let hurtful: (text: string) => readonly string[] = () => [];
  const c = await servedMoments(t, script, {
    moments: { hurtful: (text: string) => hurtful(text), ...options },
    addFeatures: (throughline, moments) =>
      awake({}, { onPat: (chatId) => recordPat(moments, chatId) })(throughline),
  });
  const run = runOf(c);
  const facts = factsOf(run);
  assert.ok(facts.hurtful);
  hurtful = facts.hurtful;
  follow(c.moments.recorder, facts);
  return { ...c, run };
}

const settled = async (c: Awaited<ReturnType<typeof awakeAt>>) => {
  await c.turns.running("local:me")?.done;
};

test("a light pat is felt, and nobody is told", async (t) => {
  const c = await awakeAt(t, [["Hi"]]);
  await c.say("Hello");
  const before = c.run.emotions.feeling().levels["joy"] ?? 0;
  const { event, hint, state } = await jsonOf(await c.post("/api/touch", { level: 1 }), 200);
  assert.deepEqual([event, hint], ["pat_level1", "none"]);
  assert.ok(state.levels.joy > before);
  assert.equal(c.model.requests.length, 1);
});

test("a long pat is felt, and the model is told in a turn of its own, marked as nobody's words", async (t) => {
  const c = await awakeAt(t, [["Knock, knock"], ["Mmh, thank you"]]);
  await c.say("Tell me a joke");
  const told = await jsonOf(await c.post("/api/touch", { level: 2 }), 200);
  assert.deepEqual([told.event, told.hint, told.chat_id], ["pat_level2", "told", "local:me"]);
  await settled(c);
  const words = "[Someone scratched your head. This probably means they liked what you just did.]";
  assert.equal(c.model.requests[1]?.messages.at(-1)?.content, words);
  const { messages } = await c.get(`${me}/messages`);
  const [hint, answer] = messages.slice(-2);
  assert.deepEqual([hint.content, hint.synthetic], [words, "pat_hint"]);
  assert.equal(answer.content, "Mmh, thank you");
  // Neither the hint nor what came of it is what was liked.
  const receipt = c.moments.recorder.record({
    ...{ sentiment: "positive", what: "the joke", source: "skill" },
    ...{ chatId: "local:me", turnId: told.turn_id },
  });
  await receipt.whenDurable();
  const { manifest, messages: kept } = await c.moments.packages.read(receipt.name);
  assert.equal(kept[manifest.target?.index ?? -1]?.text, "Knock, knock");
  assert.equal(kept.find(({ text }) => text === words)?.synthetic, "pat_hint");
  assert.equal(manifest.latched["mood"], c.run.emotions.tone);
});

test("a second long pat while the hint of the first one waits adds nothing", async (t) => {
  const gate = Promise.withResolvers<void>();
  const c = await awakeAt(t, [["Hi"], [{ type: "wait", until: gate.promise }, "Mmh"]]);
  await c.say("Hello");
  const first = await jsonOf(await c.post("/api/touch", { level: 2 }), 200);
  const second = await jsonOf(await c.post("/api/touch", { level: 2, chat_id: "local:me" }), 200);
  assert.deepEqual([second.hint, second.turn_id], ["pending", first.turn_id]);
  gate.resolve();
  await settled(c);
  assert.equal(c.model.requests.length, 2);
});

test("the same Idempotency-Key is the same touch, while it is told of and afterwards", async (t) => {
  const c = await awakeAt(t, [["Hi"], ["Mmh"], ["Mmh again"]]);
  await c.say("Hello");
  const send = (body: object, key: string) =>
    c.post("/api/touch", body, { "idempotency-key": key });
  const sent = await Promise.all([send({ level: 2 }, "k1"), send({ level: 2 }, "k1")]);
  const [first, second] = await Promise.all(sent.map((response) => jsonOf(response, 200)));
  assert.equal(first.hint, "told");
  assert.deepEqual(second, first);
  await settled(c);
  const joy = () => c.run.emotions.feeling().levels["joy"] ?? 0;
  const felt = joy();
  assert.deepEqual(await jsonOf(await send({ level: 2 }, "k1"), 200), first);
  assert.ok(joy() <= felt, "it was felt again");
  assert.equal(c.model.requests.length, 2);
  await problemOf(await send({ level: 1 }, "k1"), 409, "THROUGHLINE_CONFLICT");
  // What was refused was not done: its key is free.
  const nowhere = { level: 1, chat_id: "local:nobody" };
  await problemOf(await send(nowhere, "k2"), 404, "THROUGHLINE_NOT_FOUND");
  assert.equal((await jsonOf(await send({ level: 1 }, "k2"), 200)).event, "pat_level1");
});

test("with rules on, a long pat is a package of the last answer; a second one within 30 s is none", async (t) => {
  const c = await awakeAt(t, [["Knock, knock"], ["Mmh"], ["Mmh"]], { autoRecord: true });
  await c.say("Tell me a joke");
  const { recorded } = await jsonOf(await c.post("/api/touch", { level: 2 }), 200);
  const again = await jsonOf(await c.post("/api/touch", { level: 2 }), 200);
  assert.equal(again.recorded, null);
  await settled(c);
  await c.moments.recorder.forget(() => false);
  const { what, source, sentiment, channel } = (await untilSaved(c, recorded)).manifest;
  assert.deepEqual(
    [what, source, sentiment, channel],
    ["Knock, knock", "auto", "positive", "touch"],
  );
});

test("with rules on, words that hurt are a package that names them, about the answer before", async (t) => {
  const c = await awakeAt(t, [["I like rain"], ["Oh"]], { autoRecord: true });
  const names: string[] = [];
  c.moments.onEvent(({ type, receipt }) => {
    if (type === "feedback.durable") names.push(receipt.name);
  });
  await c.say("What do you like?");
  await c.say("You are stupid");
  const { manifest, messages } = await untilSaved(c, await nameIn(c));
  assert.deepEqual([manifest.sentiment, manifest.source], ["negative", "auto"]);
  assert.equal(manifest.matched.length > 0, true);
  assert.equal(messages[manifest.target?.index ?? -1]?.text, "I like rain");
});

test("rules are off unless somebody turns them on", async (t) => {
  const c = await awakeAt(t, [["Hi"], ["Mmh"], ["Oh"]]);
  await c.say("Hello");
  const { recorded } = await jsonOf(await c.post("/api/touch", { level: 2 }), 200);
  await c.say("You are stupid");
  assert.equal(recorded, null);
  assert.equal(c.moments.recorder.stats.waiting, 0);
  assert.deepEqual((await c.moments.packages.list()).packages, []);
});

test("a touch of no known level is refused; in a chat that is not there it is 404, and without a companion too", async (t) => {
  const c = await awakeAt(t, []);
  for (const body of [{}, { level: 3 }, { level: "2" }, { level: 2, more: 1 }]) {
    await problemOf(await c.post("/api/touch", body), 400, "THROUGHLINE_INVALID");
  }
  const nowhere = { level: 2, chat_id: "local:nobody" };
  await problemOf(await c.post("/api/touch", nowhere), 404, "THROUGHLINE_NOT_FOUND");
  const nobody = await companion();
  await problemOf(await nobody.post("/api/touch", { level: 1 }), 404, "THROUGHLINE_NOT_FOUND");
});

async function nameIn(c: Awaited<ReturnType<typeof awakeAt>>): Promise<string> {
  for (;;) {
    const [found] = (await c.moments.packages.list()).packages;
    if (found !== undefined) return found.name;
    await new Promise((done) => setImmediate(done));
  }
}

async function untilSaved(c: Awaited<ReturnType<typeof awakeAt>>, name: string) {
  while (!(await c.moments.packages.has(name))) await new Promise((done) => setImmediate(done));
  return c.moments.packages.read(name);
}
