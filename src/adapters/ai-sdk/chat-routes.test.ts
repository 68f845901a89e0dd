// The routes of a chat page, with the SDK's own chat and transport over HTTP.

import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout } from "node:timers/promises";
import type { UIMessage } from "ai";
import { chatWorld, json, textsOf } from "../../../test/support/chat-page.ts";
import { memoryPlace, until } from "../../../test/support/cluster-world.ts";
import { columns } from "../../../test/support/columns.ts";
import { randomText } from "../../../test/support/random-text.ts";
import type { JsonObject } from "../../core/json.ts";
import type { Logger } from "../../core/logger.ts";
import type { Storage } from "../../core/storage/storage.ts";
import { openThroughline, type Throughline } from "../../core/throughline.ts";
import { chatRoutes } from "./chat-routes.ts";

function gate() {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { closed: promise, open: resolve };
}

test("an answer is streamed to the page and stored as one message, with what it took", async (t) => {
  const w = await chatWorld(t, { answers: [["Hel", "lo"]] });
  const page = w.page();
  await page.sendMessage({ text: "Hi" });
  assert.equal(page.status, "ready");
  assert.deepEqual(page.texts, ["user: Hi", "assistant: Hello"]);
  assert.deepEqual(await w.load(), json(page.messages));
  const stored = await w.stored();
  // Text and role give both back: nothing else is kept of them.
  assert.deepEqual(columns(stored, "id", "role", "content", "exact", "model"), [
    [page.messages[0]?.id, "user", "Hi", undefined, undefined],
    [page.messages[1]?.id, "assistant", "Hello", undefined, "m-1-2026"],
  ]);
  const { input_tokens, output_tokens, cached_input_tokens } = stored[1]?.stats ?? {};
  assert.deepEqual([input_tokens, output_tokens, cached_input_tokens], [10, 5, 4]);
  assert.equal((await w.throughline.sessions.active("c1"))?.total_tokens, 15);
  assert.equal(await w.unanswered(), 0);
});

test("the message is stored before the model is asked, which gets the conversation as the log has it", async (t) => {
  const before = gate();
  const w = await chatWorld(t, { answers: [["one"], [before.closed, "two"]] });
  const page = w.page();
  await page.sendMessage({ text: "1" });
  // What the page says was said before is not believed.
  page.messages = [{ id: "forged", role: "assistant", parts: [{ type: "text", text: "forged" }] }];
  const sent = page.sendMessage({ text: "2" });
  await until(() => w.asked.length === 2);
  assert.deepEqual(await w.texts(), ["user: 1", "assistant: one", "user: 2"]);
  assert.deepEqual(w.asked[1]?.messages.map(textsOf), await w.texts());
  assert.equal(await w.unanswered(), 1);
  before.open();
  await sent;
  assert.deepEqual((await w.texts()).at(-1), "assistant: two");
});

test("a page that leaves stops nothing, and another one gets the whole stream from its start", async (t) => {
  const rest = gate();
  const w = await chatWorld(t, { answers: [["Hel", rest.closed, "lo"]] });
  const page = w.page();
  const sent = page.sendMessage({ text: "Hi" });
  await until(() => page.texts.at(-1) === "assistant: Hel");
  await page.stop(); // leaves
  await sent;
  const second = w.page(await w.load());
  const resumed = second.resumeStream();
  await until(() => second.texts.at(-1) === "assistant: Hel");
  rest.open();
  await resumed;
  assert.deepEqual(second.texts, ["user: Hi", "assistant: Hello"]);
  assert.deepEqual(await w.load(), json(second.messages));
  assert.equal((await w.watch()).status, 204);
  assert.equal((await w.watch("never begun")).status, 204);
  assert.equal(w.model.doStreamCalls.length, 1);
});

test("stop ends the model's call for every page, and keeps what came as partial", async (t) => {
  const never = new Promise(() => undefined);
  const w = await chatWorld(t, { answers: [["Hel", never], ["Fine"]] });
  const page = w.page();
  const sent = page.sendMessage({ text: "Hi" });
  await until(() => page.texts.at(-1) === "assistant: Hel");
  const second = w.page();
  const resumed = second.resumeStream();
  await until(() => second.texts.at(-1) === "assistant: Hel");
  assert.equal((await w.stop()).status, 204);
  await Promise.all([sent, resumed]);
  assert.equal(page.status, "ready");
  assert.equal(w.model.doStreamCalls[0]?.abortSignal?.aborted, true);
  const [, answer] = await w.stored();
  assert.deepEqual([answer?.content, answer?.partial], ["Hel", true]);
  assert.equal(answer?.partial_reason, "stopped");
  assert.equal(await w.unanswered(), 0);
  assert.equal((await w.watch()).status, 204);
  assert.equal((await w.stop()).status, 204, "stopping what does not run is no error");
  await page.sendMessage({ text: "Go on" });
  assert.deepEqual(page.texts.at(-1), "assistant: Fine");
  assert.deepEqual(await w.load(), json(page.messages).map(done));
});

/** Text that is not being written any more. */
const done = (message: UIMessage) => ({
  ...message,
  parts: message.parts.map((part) =>
    part.type === "text" && part.state ? { ...part, state: "done" } : part,
  ),
});

test("a stop before the first word leaves nothing but the question, which can be asked again", async (t) => {
  const w = await chatWorld(t, { answers: [[new Promise(() => undefined)], ["Hello"]] });
  const page = w.page();
  const sent = page.sendMessage({ id: "u1", role: "user", parts: [{ type: "text", text: "Hi" }] });
  await until(() => w.model.doStreamCalls.length === 1);
  await w.stop();
  await sent;
  assert.deepEqual(await w.texts(), ["user: Hi"]);
  assert.equal(await w.unanswered(), 0);
  page.messages = await w.load();
  await page.sendMessage();
  assert.deepEqual(await w.texts(), ["user: Hi", "assistant: Hello"]);
});

const hi = { id: "u1", role: "user", parts: [{ type: "text", text: "Hi" }] };
const request = { id: "c1", messages: [hi], trigger: "submit-message" };

test("the same message again while it is answered joins the stream from its start", async (t) => {
  const rest = gate();
  const w = await chatWorld(t, { answers: [["Hel", rest.closed, "lo"]] });
  const first = w.post(request);
  const [one, two] = await Promise.all([first, w.post(request)]);
  const three = await w.post({ ...request, messages: undefined, message: hi });
  rest.open();
  const bodies = await Promise.all([one, two, three].map((response) => response.text()));
  assert.match(bodies[0] ?? "", /"delta":"Hel".*"delta":"lo".*"type":"finish".*\[DONE\]/s);
  assert.equal(bodies[1], bodies[0]);
  assert.equal(bodies[2], bodies[0]);
  assert.equal(one.headers.get("x-vercel-ai-ui-message-stream"), "v1");
  assert.equal(w.asked.length, 1);
  assert.equal((await w.stored()).length, 2);
});

test("the same message again after a failure is asked again, and after its answer gets that; a model that failed is an error of the stream", async (t) => {
  const w = await chatWorld(t, {
    answers: [[{ error: new Error("secret") }], [{ thinks: "Hm" }, "Hello"]],
  });
  const page = w.page();
  await page.sendMessage(hi as UIMessage);
  assert.equal(page.status, "error");
  assert.equal(page.error?.message, "An error occurred.");
  assert.equal(await w.unanswered(), 1);
  assert.deepEqual(await w.texts(), ["user: Hi"]);
  page.messages = await w.load();
  await page.sendMessage();
  assert.equal(page.status, "ready");
  assert.deepEqual(await w.load(), json(page.messages));
  assert.equal(await w.unanswered(), 0);
  const again = w.page((await w.load()).slice(0, 1));
  await again.sendMessage();
  assert.deepEqual(json(again.messages), json(page.messages));
  assert.equal(w.asked.length, 2);
});

for (const [what, end, reason] of [
  ["fails", { error: new Error("x") }, "error"],
  ["ends for another reason", { finish: "other" }, "error"],
  ["ends with an error", { finish: "error" }, "error"],
  ["is cut at its length", { finish: "length" }, "length"],
  ["is cut by a filter", { finish: "content-filter" }, "content_filter"],
] as const) {
  test(`an answer that ${what} after its first words is partial: ${reason}`, async (t) => {
    const w = await chatWorld(t, { answers: [["Hel", end]] });
    await w.page().sendMessage(hi as UIMessage);
    assert.equal((await w.stored())[1]?.partial_reason, reason);
    assert.deepEqual([await w.texts(), await w.unanswered()], [["user: Hi", "assistant: Hel"], 0]);
  });
}

test("an answer without a word is none", async (t) => {
  for (const steps of [[], [" \n"], [{ thinks: "hmm" }, { finish: "length" }]] as const) {
    const w = await chatWorld(t, { answers: [steps] });
    await w.page().sendMessage(hi as UIMessage);
    assert.deepEqual([await w.texts(), await w.unanswered()], [["user: Hi"], 1]);
  }
});

/** A `respond` that does not do what its type says, and the error that the page and the log get. */
const refused = Object.assign(new Error("400 canary"), { status: 400, error: { message: "no" } });
const wanted = /must return what `streamText` returns/;
const faults: readonly [what: string, respond: () => unknown, page: RegExp, log: RegExp][] = [
  ["returns text", () => "Hi", wanted, wanted],
  ["returns nothing", async () => undefined, wanted, wanted],
  ["returns a stream of text", () => ReadableStream.from(["Hi"]), wanted, wanted],
  [
    "throws",
    () => {
      throw new RangeError("no such field");
    },
    /"An error occurred\."/,
    /"RangeError","message":"no such field","stack":"RangeError: no such field\\n +at /,
  ],
  [
    "is refused by a provider",
    () => Promise.reject(refused),
    /"The model refused the request \(HTTP 400\): no"/,
    /^(?!.*canary)/,
  ],
];

for (const [what, respond, onPage, inLog] of faults) {
  test(`a respond that ${what} is told so on the page and in the log, and its message is unanswered`, async (t) => {
    const lines: string[] = [];
    const note = (fields: object) => void lines.push(JSON.stringify(fields));
    const logger: Logger = { debug: note, info: note, warn: note, error: note };
    const throughline = await openThroughline({ storage: "memory", logger });
    const w = await chatWorld(t, { answers: [], respond: respond as never, throughline });
    const text = await (await w.post(request)).text();
    assert.match(text, onPage);
    assert.match(lines.join("\n"), inLog);
    assert.equal(await w.unanswered(), 1);
  });
}

test("an answer is made again: the old one and what came after it are taken back", async (t) => {
  const w = await chatWorld(t, { answers: [["one"], ["two"], ["three"]] });
  const page = w.page();
  await page.sendMessage({ text: "1" });
  await page.sendMessage({ text: "2" });
  const [, first] = page.messages;
  await page.regenerate({ messageId: first?.id ?? "" });
  assert.deepEqual(page.texts, ["user: 1", "assistant: three"]);
  assert.deepEqual(await w.load(), json(page.messages));
  assert.deepEqual(w.asked[2]?.messages.map(textsOf), ["user: 1"]);
  // The request that came twice makes no other one.
  const { messages } = page;
  const again = { id: "c1", messages: messages.slice(0, 1), messageId: first?.id };
  const { seq } = await w.throughline.chats.state("c1");
  const body = await (await w.post({ ...again, trigger: "regenerate-message" })).text();
  assert.match(body, /"delta":"three"/);
  assert.equal((await w.throughline.chats.state("c1")).seq, seq);
  assert.equal(w.asked.length, 3);
  // One that names none is another wish.
  await page.regenerate();
  assert.equal(w.asked.length, 4);
  assert.equal((await w.texts()).length, 2);
});

test("an edited message takes the place of the old one, and what came after is taken back", async (t) => {
  const w = await chatWorld(t, { answers: [["one"], ["two"], ["three"], ["four"]] });
  const page = w.page();
  await page.sendMessage({ text: "1" });
  await page.sendMessage({ text: "2" });
  const messageId = page.messages[0]?.id ?? "";
  await page.sendMessage({ text: "1!", messageId });
  assert.deepEqual(page.texts, ["user: 1!", "assistant: three"]);
  assert.deepEqual(await w.load(), json(page.messages));
  assert.deepEqual(w.asked[2]?.messages.map(textsOf), ["user: 1!"]);
  // Sent again it is the same message.
  const edited = { id: "c1", messages: page.messages.slice(0, 1), messageId };
  assert.match(await (await w.post(edited)).text(), /"delta":"three"/);
  await page.sendMessage({ text: "1?", messageId });
  assert.deepEqual(await w.load(), json(page.messages));
  assert.deepEqual(await w.texts(), ["user: 1?", "assistant: four"]);
  const url = "data:text/plain;base64,eA==";
  const file = { type: "file", mediaType: "text/plain", url } as const;
  await page.sendMessage({ text: "1?", files: [file], messageId });
  assert.deepEqual(await w.load(), json(page.messages));
  assert.equal(w.asked.length, 5);
  // What was said is only hidden.
  const ids = await Array.fromAsync(w.throughline.chats.records("c1"), ({ id }) => id);
  assert.ok(ids.includes(`${messageId}~4`));
});

test("an id that was used for another message is refused, and so is one that was taken back", async (t) => {
  const w = await chatWorld(t, { answers: [["one"]] });
  const page = w.page();
  await page.sendMessage(hi as UIMessage);
  await page.sendMessage({ id: "u2", role: "user", parts: [{ type: "text", text: "2" }] });
  const other = { ...hi, parts: [{ type: "text", text: "Other" }] };
  const refused = await w.post({ ...request, messages: [other] });
  assert.deepEqual(await codeOf(refused), [409, "THROUGHLINE_ID_CONFLICT"]);
  await page.sendMessage({ text: "Hi!", messageId: "u1" });
  const second = { id: "u2", role: "user", parts: [{ type: "text", text: "2" }] };
  const taken = await w.post({ ...request, messages: [second] });
  assert.deepEqual(await codeOf(taken), [409, "THROUGHLINE_CONFLICT"]);
  const edited = { ...second, parts: [{ type: "text", text: "2!" }] };
  const late = await w.post({ ...request, messages: [edited], messageId: "u2" });
  assert.deepEqual(await codeOf(late), [409, "THROUGHLINE_CONFLICT"]);
  assert.deepEqual(await w.texts(), ["user: Hi!", "assistant: one"]);
});

async function codeOf(response: Response): Promise<readonly unknown[]> {
  assert.equal(response.headers.get("content-type"), "application/problem+json");
  const { code, status } = (await response.json()) as { code: string; status: number };
  assert.equal(status, response.status);
  return [status, code];
}

test("what is no request of a page is refused, and nothing is stored", async (t) => {
  const w = await chatWorld(t, { answers: [["one"]] });
  const bad: readonly unknown[] = [
    undefined,
    [],
    { ...request, id: undefined },
    { ...request, id: "" },
    { ...request, trigger: "other" },
    { ...request, messageId: 7 },
    { ...request, messages: [] },
    { ...request, messages: [{ ...hi, id: "" }] },
    { ...request, messages: [{ ...hi, id: "x".repeat(201) }] },
    { ...request, messages: [{ ...hi, id: "removal:1" }] },
    { ...request, messages: [{ ...hi, role: "system" }] },
    { ...request, messages: [{ ...hi, parts: "Hi" }] },
    { ...request, messages: [{ ...hi, parts: [] }] },
    { ...request, messages: [{ ...hi, parts: [{ type: "text" }] }] },
    { ...request, messages: [{ ...hi, role: "assistant" }], trigger: "regenerate-message" },
  ];
  for (const body of bad) {
    const refused = await w.post(body);
    assert.deepEqual(await codeOf(refused), [400, "THROUGHLINE_INVALID"], JSON.stringify(body));
  }
  const unknown = await w.post({ ...request, messages: [{ ...hi, role: "assistant" }] });
  assert.deepEqual(await codeOf(unknown), [404, "THROUGHLINE_NOT_FOUND"]);
  const form = await w.post(request, { "content-type": "text/plain" });
  assert.deepEqual(await codeOf(form), [415, "THROUGHLINE_MEDIA_TYPE"]);
  const longId = { ...request, id: "x".repeat(2_000) };
  assert.deepEqual(await codeOf(await w.post(longId)), [413, "THROUGHLINE_TOO_LARGE"]);
  const long = { ...hi, parts: [{ type: "text", text: randomText(2 ** 20) }] };
  const tooLong = await w.post({ ...request, messages: [long] });
  assert.deepEqual(await codeOf(tooLong), [413, "THROUGHLINE_TOO_LARGE"]);
  for (const method of ["GET", "DELETE"]) {
    for (const path of ["", "/c1", "/c1/other", "/%E0%A4%A/stream"]) {
      const refused = await fetch(`${w.api}${path}`, { method });
      assert.deepEqual(await codeOf(refused), [404, "THROUGHLINE_NOT_FOUND"], path);
    }
  }
  assert.equal(w.asked.length, 0);
  assert.deepEqual(await w.load(), []);
  assert.throws(() => chatRoutes(w.throughline, {} as never), { code: "THROUGHLINE_INVALID" });
});

test("a file of 1.2 MB in a message comes back, also after it waited", async (t) => {
  const first = gate();
  const w = await chatWorld(t, { answers: [[first.closed, "one"], ["two"]] });
  const url = `data:image/png;base64,iVBORw0KGgo0${randomText(1_200_000)}`;
  const page = w.page();
  const sent = page.sendMessage({ text: "1" });
  await until(() => w.asked.length === 1);
  const other = w.page();
  const waits = other.sendMessage({
    text: "See",
    files: [{ type: "file", mediaType: "image/png", filename: "a.png", url }],
  });
  const head = async () => (await w.throughline.chats.existing("c1")).head;
  await until(async () => (await head()).pending !== undefined);
  first.open();
  await Promise.all([sent, waits]);
  assert.deepEqual((await w.load()).slice(2), json(other.messages));
  assert.deepEqual(w.asked[1]?.messages.at(-1), json(other.messages)[0]);
  await w.throughline.chats.erase("c1", other.messages[0]?.id ?? "");
  for await (const record of w.throughline.chats.records("c1"))
    assert.notEqual(record["kind"], "part");
});

test("a page on another server waits for the answer and gets it as it is stored", async (t) => {
  const place = await memoryPlace();
  const rest = gate();
  const [a, b] = await Promise.all([place.open(), place.open()]);
  const server = async (storage: Storage, answers: Parameters<typeof chatWorld>[1]["answers"]) =>
    chatWorld(t, { answers, throughline: await openThroughline({ storage }) });
  const one = await server(a, [["Hel", rest.closed, "lo"], ["again"]]);
  const two = await server(b, [["never"]]);
  const page = one.page();
  const sent = page.sendMessage(hi as UIMessage);
  await until(() => page.texts.at(-1) === "assistant: Hel");
  const watched = two.watch();
  const repeated = two.post(request);
  await until(() => two.requests() === 2);
  await setTimeout(50);
  rest.open();
  await sent;
  for (const response of [await watched, await repeated]) {
    assert.equal(response.status, 200);
    assert.match(await response.text(), /"delta":"Hello"/);
  }
  assert.equal(two.asked.length, 0);
  assert.deepEqual(await two.texts(), ["user: Hi", "assistant: Hello"]);
});

test("a thousand messages load, also those that were said in another way", async (t) => {
  const w = await chatWorld(t, { answers: [["Hello"]] });
  const call = { id: "k1", type: "function", function: { name: "lamp", arguments: '{"on":true}' } };
  const said = Array.from({ length: 1_000 }, (_, n) => {
    return { role: n % 2 ? ("assistant" as const) : ("user" as const), content: `text ${n}` };
  });
  await w.throughline.chats.append("c1", said);
  await w.throughline.chats.append("c1", [
    { role: "assistant", content: "See:", tool_calls: [call] },
    { role: "tool", content: "is on", tool_call_id: "k1" },
    { role: "assistant", content: "Noted", hidden: true },
  ]);
  const messages = await w.load();
  assert.equal(messages.length, 1_001);
  assert.deepEqual(messages[999]?.parts, [
    { type: "step-start" },
    { type: "text", text: "text 999", state: "done" },
  ]);
  assert.deepEqual(messages[1_000]?.parts.at(-1), {
    type: "dynamic-tool",
    toolCallId: "k1",
    toolName: "lamp",
    input: { on: true },
    state: "output-available",
    output: "is on",
  });
  await w.page().sendMessage({ text: "More" });
  assert.equal((await w.load()).length, 1_003);
});

test("a message that the SDK does not accept is shown as its text, and the others as they are", async (t) => {
  const w = await chatWorld(t, { answers: [["Hello"]] });
  const exact = {
    framework: "ai-sdk",
    ui_message: "a1",
    from: 0,
    value: { parts: [{ type: "text", text: "old", state: "unheard of" }] },
  };
  await w.throughline.chats.append("c1", [
    { id: "u1", role: "user", content: "Hi" },
    { id: "a1", role: "assistant", content: "old", exact },
    { id: "u2", role: "user", content: "secret" },
  ]);
  await w.throughline.chats.erase("c1", "u2");
  assert.deepEqual(await w.texts(), ["user: Hi", "assistant: old"]);
  assert.deepEqual((await w.load())[1]?.parts, [{ type: "text", text: "old" }]);
});

/** The first message of the chat, as its record and what came after are: nothing is answered. */
async function crashed(
  w: { readonly throughline: Throughline },
  id: string,
  content?: string,
  exact?: JsonObject,
) {
  const turns = await w.throughline.turns();
  const target = { provider: "ai-sdk", model: "ai-sdk" };
  const opened = await turns.open("c1", { id, content, exact }, target);
  if (opened.state !== "open") assert.fail(opened.state);
  return opened.turn;
}

test("an edit that a crash cut off is finished by the same request", async (t) => {
  const w = await chatWorld(t, { answers: [["one"], ["two"], ["three"]] });
  const page = w.page();
  await page.sendMessage(hi as UIMessage);
  await page.sendMessage({ text: "2" });
  const exact = { framework: "ai-sdk", ui_message: "u1", from: 0 };
  await (await crashed(w, "u1~2", "Hi!", exact)).fail();
  assert.deepEqual(await w.texts(), ["user: Hi!"]);
  page.messages = await w.load();
  await page.sendMessage({ text: "Hi!", messageId: "u1" });
  assert.deepEqual(await w.texts(), ["user: Hi!", "assistant: three"]);
  const roles = (await w.stored()).map(({ role, content }) => `${role}: ${content}`);
  assert.deepEqual(roles, ["user: Hi!", "assistant: three"]);
});

test("a regenerated answer that a crash cut off is finished by the same request, or by the message", async (t) => {
  for (const trigger of ["regenerate-message", "submit-message"]) {
    const w = await chatWorld(t, { answers: [["one"], ["two"]] });
    await w.page().sendMessage(hi as UIMessage);
    await (await crashed(w, "u1")).fail();
    assert.deepEqual(await w.texts(), ["user: Hi", "assistant: one"]);
    const body = await (await w.post({ ...request, trigger })).text();
    assert.match(body, /"delta":"two"/);
    assert.deepEqual(await w.texts(), ["user: Hi", "assistant: two"]);
  }
});

test("a page that watches a turn of the application's own gets its answer when it is stored", async (t) => {
  const w = await chatWorld(t, { answers: [["never"]] });
  const turn = await crashed(w, "m1", "Hi");
  const watched = w.watch();
  const stopped = w.watch();
  await until(() => w.requests() === 2);
  const spent = { inputTokens: 1, outputTokens: 1, costUsd: 0 };
  const messages = [{ role: "assistant", content: "Hello" } as const];
  await turn.close({ messages, usage: spent, outcome: "answered" });
  for (const response of [await watched, await stopped]) {
    assert.match(await response.text(), /"delta":"Hello"/);
  }
  const failing = await crashed(w, "m2", "Well?");
  const again = w.watch();
  await until(() => w.requests() === 3);
  await failing.fail();
  assert.equal((await again).status, 204);
});

test("an answer that comes after its period has ended is not shown, and nothing is asked twice", async (t) => {
  const rest = gate();
  const w = await chatWorld(t, { answers: [[{ thinks: "Hm" }, "Hel", rest.closed, "lo"]] });
  const sent = w.page().sendMessage(hi as UIMessage);
  await until(() => w.asked.length === 1);
  await w.throughline.sessions.reset("c1");
  rest.open();
  await sent;
  assert.deepEqual(await w.texts(), ["user: Hi"]);
  assert.equal(await w.unanswered(), 0);
});

const said = (delta: string) => [
  { type: "text-start", id: "1" },
  { type: "text-delta", id: "1", delta },
  { type: "text-end", id: "1" },
];

test("an answer that cannot be stored is an error of the stream, and leaves its message unanswered", async (t) => {
  const deep = JSON.parse(`${"[".repeat(2_000)}${"]".repeat(2_000)}`);
  const finish = { type: "finish", finishReason: "stop" };
  const tooDeep = { type: "data-deep", data: deep };
  const answers: object[][] = [
    [tooDeep, finish],
    [...said("Short"), finish],
  ];
  const respond = () => ReadableStream.from(answers.shift() ?? []);
  const w = await chatWorld(t, { answers: [], respond });
  const page = w.page();
  await page.sendMessage(hi as UIMessage);
  assert.equal(page.error?.message, "Larger or deeper than this call accepts.");
  assert.equal(await w.unanswered(), 1);
  page.messages = await w.load();
  await page.sendMessage();
  assert.deepEqual(await w.texts(), ["user: Hi", "assistant: Short"]);
});

test("a stream that ignores the signal is stopped, too, and let go of", async (t) => {
  const left = Promise.withResolvers<unknown>();
  const respond = () =>
    new ReadableStream({
      start(controller) {
        controller.enqueue({ type: "text-start", id: "1" });
        controller.enqueue({ type: "text-delta", id: "1", delta: "Hel" });
      },
      cancel: (reason) => left.resolve(reason),
    });
  const w = await chatWorld(t, { answers: [], respond });
  const page = w.page();
  const sent = page.sendMessage(hi as UIMessage);
  await until(() => page.texts.at(-1) === "assistant: Hel");
  await w.stop();
  await sent;
  await left.promise;
  assert.equal((await w.stored())[1]?.partial_reason, "stopped");
});

test("the stream says how the answer ended once that is stored", async (t) => {
  const [rest, stored] = [gate(), gate()];
  const w = await chatWorld(t, { answers: [["Hel", rest.closed, "lo"]] });
  const response = await w.post(request);
  const busy = w.throughline.chats.between("c1", () => stored.closed);
  rest.open();
  let text = "";
  const read = (async () => {
    const decoder = new TextDecoder();
    for await (const bytes of response.body ?? []) text += decoder.decode(bytes);
  })();
  await until(() => text.includes("text-end"));
  await setTimeout(30);
  assert.doesNotMatch(text, /"type":"finish"/);
  stored.open();
  await Promise.all([busy, read]);
  assert.equal(text.match(/"type":"finish"/g)?.length, 1);
});

test("a response for a page that has left is closed, and its message is stored", async (t) => {
  const w = await chatWorld(t, { answers: [["Hello"]] });
  const respond = async () => new ReadableStream({ start: (controller) => controller.close() });
  const routes = chatRoutes(w.throughline, { respond });
  const headers = { "content-type": "application/json" };
  const body = JSON.stringify({ ...request, id: "c2" });
  const signal = AbortSignal.abort();
  const response = await routes.POST(
    new Request("http://localhost/", { method: "POST", headers, body, signal }),
  );
  assert.equal(response.bodyUsed, true);
  assert.equal((await w.throughline.chats.messages("c2")).messages.length, 1);
});
