import assert from "node:assert/strict";
import { test } from "node:test";
import * as schemas from "../src/server/answer-schemas.ts";
import { events as serverEvents, TurnEvents } from "../src/server/event-schemas.ts";
import { streamed } from "../src/server/export-route.ts";
import type { Router } from "../src/server/router.ts";
import { awakeCompanion } from "./support/awake.ts";
import {
  assertDescribed,
  companion,
  eventsOf,
  jsonOf,
  me,
  problemOf,
  words,
} from "./support/server-fixture.ts";

test("every answer is what its description says", async () => {
  const c = await companion([["Hi"], ["Once ", { type: "cut" }], ["Twice"], ["three"]]);
  const first = schemas.answer.strict().parse(await jsonOf(await c.say("Hello"), 200));
  schemas.answer.strict().parse(await jsonOf(await c.say("Tell me"), 200));
  schemas.answer.strict().parse(await jsonOf(await c.post(`${me}/retry`, {}), 200));
  const message = `${me}/messages/${first.turn_id}`;
  const read = (path: string) => c.get(path);
  const sent = async (path: string, body = {}, status = 200) =>
    jsonOf(await c.post(path, body), status);
  const removed = async (path: string) => jsonOf(await c.ask(path, { method: "DELETE" }), 200);
  schemas.chatList.strict().parse(await read("/api/chats"));
  schemas.chatList.strict().parse(await read("/api/chats?query=hello"));
  schemas.chatList.strict().parse(await read("/api/chats?unanswered=true&limit=3"));
  schemas.chatList.strict().parse(await read("/api/chats?damaged=true"));
  schemas.chat.strict().parse(await read(me));
  schemas.chat.strict().parse(await sent(`${me}/rename`, { title: "Me" }));
  schemas.chat.strict().parse(await sent(`${me}/metadata`, { metadata: { pinned: true } }));
  schemas.messagePage.strict().parse(await read(`${me}/messages`));
  schemas.hits.strict().parse(await read("/api/search?query=hello"));
  schemas.memory.strict().parse(await read("/api/memory"));
  schemas.health.strict().parse(await read("/healthz"));
  schemas.ready.strict().parse(await read("/readyz"));
  schemas.stopped.strict().parse(await sent(`${me}/stop`));
  schemas.dismissed.strict().parse(await sent(`${me}/dismiss`));
  const fork = { message_id: first.turn_id, chat_id: "copy" };
  schemas.chatRow.strict().parse(await sent(`${me}/fork`, fork, 201));
  schemas.removed.strict().parse(await removed(message));
  schemas.removed.strict().parse(await removed(`${message}?erase=true`));
  schemas.session.strict().parse(await sent(`${me}/reset`));
  schemas.session.strict().parse(await sent(`${me}/reset`, { provider: "scripted" }));
  schemas.chat.strict().parse(await sent(`${me}/clear`));
  schemas.forgetReceipt.strict().parse(await removed(me));
  schemas.problem.strict().parse(await (await c.ask(me)).json());
});

test("every event of a chat and of a turn is what its description says", async () => {
  const c = await companion([["Hi"], ["Once ", { type: "cut" }]]);
  const watched = eventsOf((await c.ask("/api/events")).body);
  const told = [];
  for (const content of ["Hello", "Tell me"]) {
    const { body } = await c.stream(`${me}/messages`, { content });
    told.push(...(await Array.fromAsync(eventsOf(body))));
  }
  await c.post(`${me}/rename`, { title: "Me" });
  const [accepted] = told.filter(({ name }) => name === "accepted");
  const message = `${me}/messages/${accepted?.data.turn_id}`;
  await jsonOf(await c.ask(message, { method: "DELETE" }), 200);
  await jsonOf(await c.ask(me, { method: "DELETE" }), 200);
  await c.server.close();
  assertDescribed(told, TurnEvents.shape, ["accepted", "text", "result"]);
  assertDescribed(await Array.fromAsync(watched), serverEvents, ["message", "turn", "session"]);
});

test("the metadata of a chat is replaced whole; what is no object, or has a zone that is none, is refused", async () => {
  const c = await companion([["Hi"]]);
  await c.say("Hello");
  const set = (metadata: unknown, path = me) => c.post(`${path}/metadata`, { metadata });
  await jsonOf(await set({ lang: "de", nested: { a: [1, null] } }), 200);
  const metadata = { user_timezone: "Europe/Berlin" };
  assert.deepEqual((await jsonOf(await set(metadata), 200)).metadata, metadata);
  for (const wrong of [undefined, null, [], "x", 7, { user_timezone: "Nowhere/Land" }]) {
    await problemOf(await set(wrong), 400, "THROUGHLINE_INVALID");
  }
  await problemOf(await set({}, "/api/chats/nobody"), 404, "THROUGHLINE_NOT_FOUND");
  assert.deepEqual((await c.get(me)).metadata, metadata);
});

test("chats are listed by the last act of a person, and messages backwards, page by page", async () => {
  const c = await companion([["1"], ["2"], ["3"]]);
  for (const id of ["a", "b", "b"]) {
    c.clock.pass(1_000);
    await c.post(`/api/chats/${id}/messages`, { content: `I am ${id}` });
  }
  const first = await c.get("/api/chats?limit=1");
  assert.deepEqual([first.chats[0].chat_id, first.chats[0].title], ["b", "I am b"]);
  const second = await c.get(`/api/chats?limit=1&cursor=${encodeURIComponent(first.cursor)}`);
  assert.deepEqual([second.chats[0].chat_id, second.cursor], ["a", undefined]);
  const newest = await c.get("/api/chats/b/messages?limit=3");
  assert.deepEqual(words(newest.messages), ["assistant: 2", "user: I am b", "assistant: 3"]);
  const oldest = await c.get(`/api/chats/b/messages?limit=3&before=${newest.before}`);
  assert.deepEqual(words(oldest.messages), ["user: I am b"]);
  assert.equal(oldest.before, undefined);
});

test("a query lists each chat that holds it once, with the newest match", async () => {
  const c = await companion([["one"], ["two"], ["three"]]);
  await c.say("green tea");
  await c.say("more green tea");
  await c.post("/api/chats/b/messages", { content: "coffee and tea" });
  assert.equal((await c.get("/api/chats?query=tea")).chats.length, 2);
  assert.equal((await c.get("/api/chats?query=tea&limit=1")).chats.length, 1);
  const { chats, cursor } = await c.get("/api/chats?query=GREEN%20tea");
  assert.deepEqual([chats.length, chats[0].chat_id, cursor], [1, "local:me", undefined]);
  assert.equal(chats[0].match.content, "more green tea");
  assert.deepEqual([chats[0].match_count, chats[0].match.timestamp !== ""], [2, true]);
  assert.equal((await c.get("/api/chats?query=t&limit=1")).chats.length, 0);
  const { hits } = await c.get("/api/search?query=tea&limit=1&chat_id=local:me");
  assert.deepEqual(
    hits.map(({ message }: { message: { content: string } }) => message.content),
    ["more green tea"],
  );
  assert.deepEqual((await c.get("/api/search?query=green&chat_id=b")).hits, []);
});

test("while a query is typed its last word is a beginning, and titles and ids are found", async () => {
  const c = await companion([["one"], ["two"]]);
  await c.say("green tea");
  c.clock.pass(1_000);
  await c.post("/api/chats/telegram%3A42/messages", { content: "coffee" });
  await c.post("/api/chats/telegram%3A42/rename", { title: "Teapots" });
  const ids = async (query: string) => {
    const list = schemas.chatList.strict().parse(await c.get(`/api/chats?${query}`));
    return list.chats.map(({ chat_id, match_count }) => [chat_id, match_count]);
  };
  assert.deepEqual(await ids("query=gre&prefix=true"), [["local:me", 1]]);
  assert.deepEqual(await ids("query=gre&prefix=false"), []);
  assert.deepEqual(await ids("query=teapots"), [["telegram:42", 0]]);
  assert.deepEqual(await ids("query=telegram:42"), [["telegram:42", 0]]);
  assert.deepEqual(await ids("query=te&prefix=true"), [
    ["telegram:42", 0],
    ["local:me", 1],
  ]);
  const { hits } = await c.get("/api/search?query=cof&prefix=true");
  assert.equal(hits[0].message.content, "coffee");
});

test("every match in a chat is told with its place and its own time, newest first", async () => {
  const c = await companion([["tea for you"], ["milk"]]);
  await c.say("green tea");
  c.clock.pass(60_000);
  await c.say("more tea");
  const path = "/api/chats/local%3Ame/matches";
  const found = async (query: string) =>
    schemas.matches.strict().parse(await c.get(`${path}?${query}`)).matches;
  const { messages } = await c.get("/api/chats/local%3Ame/messages");
  const wanted = [messages[2], messages[1], messages[0]].map(({ id, seq, timestamp }) => {
    return { id, seq, timestamp };
  });
  assert.deepEqual(await found("query=tea"), wanted);
  assert.notEqual(wanted[0]?.timestamp, wanted[1]?.timestamp);
  assert.deepEqual(await found("query=te"), []);
  assert.equal((await found("query=te&prefix=true")).length, 3);
  assert.deepEqual((await c.get("/api/chats/none/matches?query=tea")).matches, []);
});

test("what was taken back, erased, cleared or forgotten is not found and not shown", async () => {
  const c = await companion([["r1"], ["r2"], ["r3"], ["r4"]]);
  const ids: string[] = [];
  for (const word of ["apple", "banana", "cherry"]) {
    ids.push((await jsonOf(await c.say(word), 200)).turn_id);
  }
  await c.ask(`${me}/messages/${ids[0]}`, { method: "DELETE" });
  await c.post(`${me}/take-back`, { ids: [ids[1]] });
  const found = async () => {
    const all = ["apple", "banana", "cherry"];
    const hits = await Promise.all(all.map((word) => c.get(`/api/search?query=${word}`)));
    return hits.flatMap(({ hits }, i) => (hits.length > 0 ? [all[i]] : []));
  };
  assert.deepEqual(await found(), ["cherry"]);
  const { messages } = await c.get(`${me}/messages`);
  assert.doesNotMatch(JSON.stringify(messages), /apple|banana/);
  assert.deepEqual([messages[0].redacted, messages[0].content], [true, ""]);
  for (const format of ["jsonl", "markdown", "html"]) {
    const text = await (await c.ask(`${me}/export?format=${format}`)).text();
    assert.match(text, /cherry/);
    assert.doesNotMatch(text, /apple|banana/);
  }
  await c.post(`${me}/clear`);
  assert.deepEqual(await found(), []);
  assert.deepEqual((await c.get(`${me}/messages`)).messages, []);
  assert.deepEqual((await c.get("/api/chats?query=cherry")).chats, []);
  await c.ask(me, { method: "DELETE" });
  await problemOf(await c.ask(`${me}/messages`), 404, "THROUGHLINE_NOT_FOUND");
  assert.deepEqual((await c.get("/api/memory")).chats, []);
});

test("a client that asks whether a chat was begun gets 204 where it was not", async () => {
  const c = await companion();
  for (const path of [me, `${me}/messages`]) {
    assert.equal((await c.ask(`${path}?if_exists=true`)).status, 204);
    await problemOf(await c.ask(`${path}?if_exists=false`), 404, "THROUGHLINE_NOT_FOUND");
    await problemOf(await c.ask(`${path}?if_exists=1`), 400, "THROUGHLINE_INVALID");
  }
  await c.throughline.chats.append("local:me", [{ role: "user", content: "Hello" }]);
  assert.deepEqual(await c.get(`${me}?if_exists=true`), await c.get(me));
  const [message] = (await c.get(`${me}/messages?if_exists=true`)).messages;
  assert.equal(message.content, "Hello");
});

test("removing what is not there is 404, removing twice is removing once", async () => {
  const c = await companion([["Hi"]]);
  const { turn_id } = await jsonOf(await c.say("Hello"), 200);
  await problemOf(
    await c.ask(`${me}/messages/${turn_id}?erase=false`, { method: "DELETE" }),
    400,
    "THROUGHLINE_INVALID",
  );
  for (const query of ["", "?erase=true", ""]) {
    const done = await jsonOf(
      await c.ask(`${me}/messages/${turn_id}${query}`, { method: "DELETE" }),
      200,
    );
    assert.equal(done.erased, true);
  }
  for (const path of [`${me}/messages/x`, `${me}/messages/x?erase=true`]) {
    await problemOf(await c.ask(path, { method: "DELETE" }), 404, "THROUGHLINE_NOT_FOUND");
  }
  await c.say("Hello again");
  const { messages } = await c.get(`${me}/messages`);
  const fork = { chat_id: "fork", message_id: messages.at(-1).id };
  assert.equal((await c.post(`${me}/fork`, fork)).status, 201);
  const first = await jsonOf(await c.ask(me, { method: "DELETE" }), 200);
  assert.deepEqual(first.forks, ["fork"]);
  const again = await jsonOf(await c.ask(me, { method: "DELETE" }), 200);
  assert.deepEqual(again.removed[0], { place: "transcript", count: 0 });
});

test("a reset is for the active provider, for the one that is named, or for all", async () => {
  const c = await companion([["Hi"]]);
  const { sessions } = c.throughline;
  await c.say("Hello");
  await sessions.update("local:me", {
    ...{ turn: "t", provider: "claude", model: "m", session_id: "s1", messages: 3 },
    ...{ cost_usd: 0, tokens: 7, outcome: "answered", generation: 1, bucket_generation: 1 },
  });
  const active = await jsonOf(await c.post(`${me}/reset`), 200);
  assert.deepEqual([active.generation, active.message_count], [1, 0]);
  assert.equal(active.provider_sessions.claude.session_id, "s1");
  const dropped = await jsonOf(await c.post(`${me}/reset`, { provider: "scripted" }), 200);
  assert.deepEqual([dropped.generation, dropped.message_count], [1, 0]);
  await problemOf(await c.post(`${me}/reset`, { provider: "nope" }), 404, "THROUGHLINE_NOT_FOUND");
  const nobody = await c.post("/api/chats/nobody/reset", { provider: "scripted" });
  await problemOf(nobody, 404, "THROUGHLINE_NOT_FOUND");
  assert.equal((await c.get(me)).provider, "scripted");
  const both = { all: true, provider: "scripted" };
  await problemOf(await c.post(`${me}/reset`, both), 400, "THROUGHLINE_INVALID");
  const reset = await jsonOf(await c.post(`${me}/reset`, { all: true }), 200);
  assert.deepEqual(reset.provider_sessions, {});
  assert.deepEqual([reset.generation, reset.provider, reset.model], [2, "scripted", "script-1"]);
  assert.equal((await c.get(`${me}/messages`)).messages.length, 2);
});

test("an answer that is chosen again is the one of the newest page, which names all of them", async () => {
  const c = await companion([["first"], ["second"], ["more"]]);
  const { assistant } = await jsonOf(await c.say("Hello"), 200);
  const second = (await jsonOf(await c.post(`${me}/retry`), 200)).assistant;
  const variants = [assistant.id, second.id];
  const shown = async (query = "") => {
    const { messages } = await c.get(`${me}/messages${query}`);
    return messages.filter((each: { hidden?: true }) => !each.hidden).at(-1);
  };
  assert.deepEqual([(await shown()).content, (await shown()).variants], ["second", variants]);
  const watched = eventsOf((await c.ask("/api/events")).body);
  const chosen = await jsonOf(await c.post(`${me}/messages/${assistant.id}/choose`), 200);
  schemas.message.parse(chosen);
  assert.deepEqual([chosen.content, chosen.variants], ["first", variants]);
  let told = await watched.next();
  while (!told.done && told.value.name !== "message") told = await watched.next();
  const event = { change: "chosen", chat_id: "local:me", message_id: assistant.id };
  assert.deepEqual(told.value?.data, event);
  assert.deepEqual([(await shown()).content, (await shown()).variants], ["first", variants]);
  assert.equal((await shown("?before=1000")).variants, undefined, "an older page does not say");
  const unknown = await c.post(`${me}/messages/nothing/choose`);
  await problemOf(unknown, 404, "THROUGHLINE_NOT_FOUND");
  await c.say("More");
  const late = await c.post(`${me}/messages/${second.id}/choose`);
  const { detail } = await problemOf(late, 409, "THROUGHLINE_CONFLICT");
  assert.equal(detail, "more was said since: fork the chat at this answer instead");
});

test("a fork is a chat of its own, at its own address, made once; it and its source name each other", async () => {
  const c = await companion([["Hi"], ["more"]]);
  const { turn_id, assistant } = await jsonOf(await c.say("Hello"), 200);
  await c.say("And?");
  const body = { message_id: turn_id, chat_id: "a/b" };
  const response = await c.post(`${me}/fork`, body);
  assert.equal(response.headers.get("location"), "/api/chats/a%2Fb");
  assert.equal((await jsonOf(response, 201)).message_count, 1);
  assert.deepEqual(words((await c.get("/api/chats/a%2Fb/messages")).messages), ["user: Hello"]);
  await problemOf(await c.post(`${me}/fork`, body), 409, "THROUGHLINE_CONFLICT");
  const unknown = { message_id: "nothing", chat_id: "c" };
  await problemOf(await c.post(`${me}/fork`, unknown), 404, "THROUGHLINE_NOT_FOUND");
  await jsonOf(await c.post(`${me}/fork`, { message_id: assistant.id, chat_id: "one" }), 201);
  await jsonOf(await c.post(`${me}/fork`, { chat_id: "two" }), 201);
  const source = schemas.chat.strict().parse(await c.get(me));
  const linked = source.branches.map(({ chat_id, message_id, seq }) => [chat_id, message_id, seq]);
  assert.deepEqual(linked.slice(1), [
    ["one", assistant.id, assistant.seq],
    ["two", undefined, undefined],
  ]);
  const fork = schemas.chat.strict().parse(await c.get("/api/chats/one"));
  const { chat_id, title, message_id } = fork.forked_from ?? {};
  assert.deepEqual([chat_id, title, message_id], ["local:me", "Hello", assistant.id]);
});

test("a chat is reached by its percent-encoded id, whatever its letters", async () => {
  const plain = "a/b a%2Fb a%252Fb a+b a?b a#b a;b=c a&b ..a ... __proto__ constructor messages";
  const odd = ["a b", "\u{1f9f5} é", "e\u0301", 'say "hi"\n<b>', "\u0001", "c:\\windows"];
  const ids = [...plain.split(" "), ...odd, "x".repeat(1_024)];
  const c = await companion(ids.map(() => ["Hi"]));
  for (const id of ids) {
    const path = `/api/chats/${encodeURIComponent(id)}`;
    await jsonOf(await c.post(`${path}/messages`, { content: "Hello" }), 200);
    assert.equal((await c.get(path)).chat_id, id);
    const file = (await c.ask(`${path}/export`)).headers.get("content-disposition");
    assert.match(String(file), /^attachment; filename="[A-Za-z0-9_-]{1,60}\.jsonl"$/);
  }
  const listed = async () =>
    (await c.get("/api/chats")).chats.map(({ chat_id }: ChatId) => chat_id);
  assert.deepEqual((await listed()).sort(), ids.toSorted());
  for (const id of ids) await c.ask(`/api/chats/${encodeURIComponent(id)}`, { method: "DELETE" });
  assert.deepEqual(await listed(), []);
});

interface ChatId {
  readonly chat_id: string;
}

test("an export is a file that holds what was said", async () => {
  const c = await companion([["Hi <b>there</b>"]]);
  await c.say("Hello");
  for (const [format, type, ending, start] of [
    ["jsonl", "application/jsonl", "jsonl", '{"_type":"metadata","key":"local:me"'],
    ["markdown", "text/markdown; charset=utf-8", "md", "# Hello\n\nChat `local:me`. "],
    ["html", "text/html; charset=utf-8", "html", "<!doctype html>"],
  ] as const) {
    const response = await c.ask(`${me}/export?format=${format}`);
    assert.equal(response.headers.get("content-type"), type);
    const name = `attachment; filename="local_me.${ending}"`;
    assert.equal(response.headers.get("content-disposition"), name);
    const text = await response.text();
    assert.ok(text.startsWith(start), text.slice(0, 80));
    assert.match(text, /Hello[\s\S]*Hi/);
    assert.equal(text.includes("Hi <b>"), format === "jsonl");
  }
  const none = await c.ask("/api/chats/nobody/export");
  await problemOf(none, 404, "THROUGHLINE_NOT_FOUND");
});

test("an export is cut into pieces, and reads no further than its client", async () => {
  const c = await companion();
  const content = "x".repeat(1_000);
  const messages = Array.from({ length: 100 }, () => ({ role: "user" as const, content }));
  await c.throughline.chats.append("local:me", messages);
  const reader = (await c.ask(`${me}/export`)).body!.getReader();
  const { value } = await reader.read();
  assert.ok(value!.length < 20_000, String(value!.length));
  await new Promise((resolve) => setImmediate(resolve));
  await c.throughline.chats.forget("local:me");
  let rest = 0;
  for (let next = await reader.read(); !next.done; next = await reader.read()) {
    rest += next.value.length;
  }
  assert.ok(rest < 20_000, `${rest} bytes came after the chat was forgotten`);
});

test("an export whose client is gone before its first piece is ended", async () => {
  let isEnded = false;
  async function* parts() {
    try {
      yield* ["one", "two"];
    } finally {
      isEnded = true;
    }
  }
  const route = (router: Router) => {
    router.get("/api/long", {
      id: "long",
      summary: "Download",
      answers: { 200: { says: "The file." } },
      answer: (_, context) => streamed(router, context, parts(), {}),
    });
    return () => undefined;
  };
  const c = await companion([], { features: [route] });
  await (await c.ask("/api/long")).body!.cancel();
  assert.ok(isEnded);
});

test("working memory is told by chat, with its summary; health has the version and for how long", async () => {
  const c = await companion([["Hi"]], { version: "1.2.3" });
  await c.say("Hello");
  const { chats } = await c.get("/api/memory");
  assert.deepEqual([chats[0].chat_id, chats[0].count, chats[0].capacity], ["local:me", 1, 3]);
  assert.match(chats[0].summary, /You said 'Hello'/);
  c.clock.pass(1_500);
  const wanted = { status: "ok", version: "1.2.3", uptime_seconds: 1.5, repairs: 0 };
  assert.deepEqual(await c.get("/healthz"), wanted);
});

test("metrics count turns and requests, by the route's pattern and never by what was said", async () => {
  const c = await companion([["Hi"]], { version: "1.2.3" });
  await c.say("Hello");
  await c.ask("/api/search?query=canary");
  await c.ask("/nowhere/canary");
  await c.ask(me, { method: "PATCH" });
  const response = await c.ask("/metrics");
  assert.match(response.headers.get("content-type") ?? "", /^text\/plain; version=0\.0\.4/);
  const text = await response.text();
  for (const line of [
    'throughline_turns_total{outcome="answered"} 1',
    "throughline_turn_seconds_count 1",
    "throughline_turns 0",
    "throughline_open_chats 1",
    "throughline_index_waiting_bytes 0",
    'throughline_build_info{version="1.2.3"} 1',
    'throughline_http_requests_total{method="POST",route="/api/chats/{id}/messages",status="200"} 1',
    'throughline_http_requests_total{method="GET",route="none",status="404"} 1',
    'throughline_http_requests_total{method="other",route="/api/chats/{id}",status="405"} 1',
  ]) {
    assert.ok(text.includes(`${line}\n`), `${line} is not in ${text}`);
  }
  assert.doesNotMatch(text, /canary|local:me/);
});

test("GET and HEAD change nothing, on any route, and HEAD has no body", async () => {
  const c = await awakeCompanion([["Hi"]]);
  const { turn_id } = await jsonOf(await c.say("Hello"), 200);
  const state = async () => {
    const { chats, workingMemory } = c.throughline;
    const records = await Array.fromAsync(chats.records("local:me"));
    const run = [c.run.emotions.state, c.run.person, c.run.sleepState];
    return JSON.stringify([records, await chats.list(), workingMemory.stats(), run]);
  };
  const before = await state();
  const { paths } = await c.get("/api/openapi.json");
  for (const path of [...Object.keys(paths), "/", "/page.js", "/nowhere"]) {
    for (const method of ["GET", "HEAD"]) {
      const url = path.replace("{id}", "local%3Ame").replace("{message_id}", turn_id);
      const response = await c.ask(url, { method });
      if (method === "GET") await response.body?.cancel();
      else assert.equal(await response.text(), "", url);
    }
  }
  assert.equal(await state(), before);
});

test("a log line of a request holds its route and status, and nothing of the chat", async () => {
  const lines: string[] = [];
  const note = (fields: object, message: string) =>
    lines.push(JSON.stringify({ ...fields, message }));
  const logger = { debug: note, info: note, warn: note, error: note };
  const c = await companion([["canary-answer"]], { logger });
  await c.post("/api/chats/canary-id/messages", { content: "canary-content" });
  await c.ask("/api/search?query=canary-query");
  await c.ask("/canary-path");
  assert.equal(lines.length, 3);
  assert.match(lines[0]!, /"method":"POST","route":"\/api\/chats\/\{id\}\/messages","status":200/);
  assert.doesNotMatch(lines.join("\n"), /canary/);
});
