// The reaction that a message has: one at most, over restarts, kills, two clicks at once, and in a bucket alone.
import assert from "node:assert/strict";
import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import type { MomentsOptions } from "../src/moments/options.ts";
import { consentWording } from "../src/moments/record/consent.ts";
import * as schemas from "../src/moments/routes/answer-schemas.ts";
import { agreed, bucket } from "./support/moments-home.ts";
import { servedMoments } from "./support/served-moments.ts";
import { eventsOf, jsonOf, until } from "./support/server-fixture.ts";

type Sentiment = "positive" | "negative";

/** A home with an answer in the chat `local:me`, that can be started again. */
async function world(t: TestContext, options: Partial<MomentsOptions> = {}) {
  const serving = (home?: string) =>
    servedMoments({ after: () => undefined }, undefined, { home, moments: options });
  let c = await serving();
  const { home } = c;
  t.after(async () => {
    await c.end();
    rmSync(home, { recursive: true, force: true });
  });
  const { assistant } = await jsonOf(await c.say("Tell me a joke"), 200);
  const react = async (sentiment: Sentiment) => {
    const body = { sentiment, what: "it", chat_id: "local:me", target_message_id: assistant.id };
    return jsonOf(await c.post("/api/feedback", body), 201);
  };
  const reactions = async () => {
    const { reactions } = schemas.reactions
      .strict()
      .parse(await c.get("/api/chats/local%3Ame/reactions"));
    for (const { message_ids: ids } of reactions) assert.deepEqual(ids, [assistant.id]);
    return reactions.map(({ sentiment }) => sentiment);
  };
  const status = async (name: string) => c.moments.packages.status(name);
  const restart = async () => {
    await c.end();
    c = await serving(home);
  };
  return { home, react, reactions, status, restart, now: () => c };
}

async function inBucket(t: TestContext): Promise<Partial<MomentsOptions>> {
  const { s3 } = await bucket(t);
  return { mode: "s3", consent: agreed, s3 };
}

test("a forgotten reaction is listed no more, also while its bucket is away", async (t) => {
  const { server, s3 } = await bucket(t);
  const c = await world(t, { mode: "s3", consent: agreed, s3 });
  await c.react("positive");
  assert.deepEqual(await c.reactions(), ["positive"]);
  server.fail({ times: Number.POSITIVE_INFINITY, does: { kind: "reset" } });
  await c.now().throughline.chats.forget("local:me");
  assert.deepEqual(await c.reactions(), []);
});

const places = { "on the disk": async () => ({}), "in a bucket alone": inBucket } as const;

for (const [where, options] of Object.entries(places)) {
  test(`a message has the newest reaction, which is ${where}, also after a restart, until it is taken back`, async (t) => {
    const c = await world(t, await options(t));
    assert.deepEqual(await c.reactions(), []);
    const liked = await c.react("positive");
    assert.deepEqual(await c.reactions(), ["positive"]);
    await c.restart();
    assert.deepEqual(await c.reactions(), ["positive"]);
    const disliked = await c.react("negative");
    const { retracted } = (await c.status(liked.name)) ?? {};
    assert.deepEqual([retracted?.reason, retracted?.superseded_by], ["superseded", disliked.id]);
    assert.deepEqual(await c.reactions(), ["negative"]);
    await c.restart();
    assert.deepEqual(await c.reactions(), ["negative"]);
    await c.now().post(`/api/feedback/${disliked.name}/retract`);
    assert.deepEqual(await c.reactions(), []);
    await c.restart();
    assert.deepEqual(await c.reactions(), []);
    await c.react("positive");
    assert.deepEqual(await c.reactions(), ["positive"]);
    await c.now().throughline.chats.forget("local:me");
    assert.deepEqual(await c.reactions(), []);
  });

  test(`of reactions in two windows at once one holds, ${where}`, async (t) => {
    const c = await world(t, await options(t));
    const both = await Promise.all([c.react("positive"), c.react("negative")]);
    const [reaction, ...more] = await c.reactions();
    assert.deepEqual(more, []);
    const marks = await Promise.all(
      both.map(async ({ name }) => (await c.status(name))?.retracted),
    );
    assert.equal(marks.filter((mark) => mark === null).length, 1);
    assert.equal(reaction, marks[0] === null ? "positive" : "negative");
    const { packages } = await c.now().get("/api/feedback");
    const live = packages.find(({ status }: (typeof packages)[0]) => status.retracted === null);
    await c.now().post(`/api/feedback/${live.name}/retract`);
    assert.deepEqual(await c.reactions(), [], "the other one does not come back");
  });
}

test("a kill between a reaction and the mark of the one before leaves one, also where the clock was put back", async (t) => {
  const c = await world(t);
  const liked = await c.react("positive");
  const disliked = await c.react("negative");
  // As the kill leaves it.
  const status = join(c.home, "feedback", `${liked.name}.status.json`);
  await c.now().moments.packages.close();
  writeFileSync(status, JSON.stringify({ uploaded: [], preserved: null, retracted: null }));
  await c.restart();
  assert.deepEqual(await c.reactions(), ["negative"]);
  assert.equal(JSON.parse(readFileSync(status, "utf8")).retracted.superseded_by, disliked.id);
});

test("who watches is told of a reaction, of one that is taken back and of one that is deleted", async (t) => {
  const c = await world(t);
  const watched = eventsOf((await c.now().ask("/api/events")).body);
  const next = async (type: string) => {
    for (;;) {
      const { data } = await until(watched, "feedback");
      const { receipt } = schemas.events.feedback.parse(data);
      if (data.type === type) return receipt.name;
    }
  };
  const { name } = await c.react("positive");
  await c.now().post(`/api/feedback/${name}/retract`);
  assert.equal(await next("feedback.retracted"), name);
  await c.now().ask(`/api/feedback/${name}`, { method: "DELETE" });
  assert.equal(await next("feedback.retracted"), name);
  assert.deepEqual(readdirSync(join(c.home, "feedback")), []);
});

test("reactions of a named annotator, of the model and to no named message are no thumb", async (t) => {
  const c = await world(t);
  const { recorder } = c.now().moments;
  const { messages } = await c.now().get("/api/chats/local%3Ame/messages");
  const said = { sentiment: "negative", what: "it", chatId: "local:me" } as const;
  const named = { ...said, source: "http", targetMessageId: messages.at(-1).id } as const;
  for (const input of [
    { ...named, annotator: { kind: "human", id: "Ann" } },
    { ...named, annotator: { kind: "model", id: null } },
    { ...said, source: "skill" },
    { ...said, source: "http" },
  ] as const) {
    await recorder.record(input).whenDurable();
  }
  assert.deepEqual(await c.reactions(), []);
  await c.react("positive");
  assert.deepEqual(await c.reactions(), ["positive"]);
  const { packages } = await c.now().get("/api/feedback");
  for (const { status } of packages) assert.equal(status.retracted, null);
});

test("a reaction to a chat that is being forgotten is refused, since its log goes last", async (t) => {
  const { home, now } = await world(t, { consent: { messages: true, wording: consentWording } });
  const { throughline, post } = now();
  const { chats } = throughline;
  const [, answered] = (await chats.messages("local:me")).messages;
  const remove = chats.files.delete.bind(chats.files);
  let status = 0;
  chats.files.delete = async (...what) => {
    const body = { sentiment: "positive", what: "it", chat_id: "local:me" };
    ({ status } = await post("/api/feedback", { ...body, target_message_id: answered?.id }));
    return remove(...what);
  };
  await chats.forget("local:me");
  assert.equal(status, 404);
  assert.deepEqual(readdirSync(join(home, "feedback")), []);
});

test("a reaction that words are removed from each time it is read is refused in the end", async (t) => {
  const { home, now } = await world(t, { consent: { messages: true, wording: consentWording } });
  const { moments, throughline, post } = now();
  const [asked, answered] = (await throughline.chats.messages("local:me")).messages;
  const reactionTo = moments.packages.reactionTo.bind(moments.packages);
  moments.packages.reactionTo = async (...about) => {
    await throughline.chats.erase("local:me", asked?.id ?? "");
    return reactionTo(...about);
  };
  const body = { sentiment: "positive", what: "it", chat_id: "local:me" };
  const answer = await post("/api/feedback", { ...body, target_message_id: answered?.id });
  assert.equal((await jsonOf(answer, 409)).code, "THROUGHLINE_CONFLICT");
  assert.deepEqual(readdirSync(join(home, "feedback")), []);
});

for (const loss of ["forgotten", "erased"] as const) {
  test(`a reaction that is read while its words are ${loss} keeps none of them`, async (t) => {
    const { home, now } = await world(t, { consent: { messages: true, wording: consentWording } });
    const { moments, throughline, post } = now();
    const { chats } = throughline;
    const [asked, answered] = (await chats.messages("local:me")).messages;
    const reactionTo = moments.packages.reactionTo.bind(moments.packages);
    moments.packages.reactionTo = async (...about) => {
      moments.packages.reactionTo = reactionTo;
      const found = await reactionTo(...about);
      if (loss === "forgotten") await chats.forget("local:me");
      else await chats.erase("local:me", asked?.id ?? "");
      return found;
    };
    const body = { sentiment: "positive", what: "it", chat_id: "local:me" };
    const { status } = await post("/api/feedback", { ...body, target_message_id: answered?.id });
    assert.equal(status, loss === "forgotten" ? 404 : 201);
    const folder = join(home, "feedback");
    for (const name of readdirSync(folder, { recursive: true, encoding: "utf8" })) {
      const path = join(folder, name);
      if (statSync(path).isFile())
        assert.doesNotMatch(readFileSync(path, "latin1"), /Tell me a joke/);
    }
  });
}
