// Tools of a chat page: those of the server, those of the page, and those that a person has to approve.

import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { setTimeout } from "node:timers/promises";
import {
  convertToModelMessages,
  createUIMessageStream,
  lastAssistantMessageIsCompleteWithApprovalResponses,
  lastAssistantMessageIsCompleteWithToolCalls,
  streamText,
  tool,
  type UIMessage,
} from "ai";
import { z } from "zod";
import { chatServer, chatWorld, json, PageChat } from "../../../test/support/chat-page.ts";
import { memoryPlace, until } from "../../../test/support/cluster-world.ts";
import { columns } from "../../../test/support/columns.ts";
import { type AiStep, scriptedAiModel } from "../../../test/support/scripted-ai-model.ts";
import { scriptedResponder } from "../../../test/support/scripted-responder.ts";
import { noPart } from "../../core/extension.ts";
import type { Storage } from "../../core/storage/storage.ts";
import { openThroughline, type Throughline } from "../../core/throughline.ts";
import { chatRoutes } from "./chat-routes.ts";
import { loadMessages } from "./load-messages.ts";

async function world(t: TestContext, answers: readonly (readonly AiStep[])[], storage?: Storage) {
  const ran: string[] = [];
  const room = z.object({ room: z.string() });
  const tools = {
    lamp: tool({
      inputSchema: room,
      execute: async ({ room: where }) => {
        ran.push(where);
        return { on: true, room: where };
      },
    }),
    broken: tool({
      inputSchema: z.object({}),
      execute: async (): Promise<string> => {
        throw new Error("no power");
      },
    }),
    place: tool({ inputSchema: z.object({}), outputSchema: z.string() }),
    erase: tool({
      inputSchema: room,
      execute: async ({ room: where }) => {
        ran.push(`erased ${where}`);
        return "gone";
      },
    }),
  };
  const w = await chatWorld(t, {
    answers,
    options: { tools, toolApproval: { erase: "user-approval" } },
    throughline: await openThroughline({ storage: storage ?? "memory" }),
  });
  return {
    ...w,
    ran,
    get prompts() {
      return w.asked.map(({ messages }) => messages as UIMessage[]);
    },
    /** What a model of our own gets of the chat. */
    async nextPrompt() {
      const responder = scriptedResponder([["Yes"]]);
      const turns = await w.throughline.turns({ model: responder });
      await turns.submit("c1", { content: "And now?" }).done;
      return responder.requests[0]?.messages ?? [];
    },
  };
}

const call = (name: string, room?: string, id = `${name}-1`): AiStep => ({
  call: name,
  id,
  input: room === undefined ? {} : { room },
});

test("calls and results are messages of the chat, so that another model continues; the page gets its own form", async (t) => {
  const w = await world(t, [
    [{ thinks: "Hm" }, "Let me see.", call("lamp", "hall"), call("broken")],
    ["It is on."],
  ]);
  const page = w.page();
  await page.sendMessage({ text: "Lamp?" });
  assert.equal(page.status, "ready");
  assert.deepEqual(await w.load(), json(page.messages));
  const id = page.messages[1]?.id;
  const stored = await w.stored();
  assert.deepEqual(
    stored.slice(1).map((record) => [record.id, record.role, record.content, record.hidden]),
    [
      [id, "assistant", "Let me see.", undefined],
      [`${id}~2`, "tool", '{"on":true,"room":"hall"}', undefined],
      [`${id}~3`, "tool", "Error: no power", undefined],
      [`${id}~4`, "assistant", "It is on.", undefined],
    ],
  );
  // The text of the second step is stored once: its parts are those of the text.
  assert.deepEqual(stored[4]?.exact, { framework: "ai-sdk", ui_message: id, from: 5 });
  assert.deepEqual(columns(await w.nextPrompt(), "role", "content"), [
    ["user", "Lamp?"],
    ["assistant", "Let me see."],
    ["tool", '{"on":true,"room":"hall"}'],
    ["tool", "Error: no power"],
    ["assistant", "It is on."],
    ["user", "And now?"],
  ]);
  // And the page shows what that one answered.
  assert.deepEqual((await w.texts()).slice(2), ["user: And now?", "assistant: Yes"]);
});

test("a step is stored before the model is asked again, and an attempt that failed runs no tool twice", async (t) => {
  const cut = { error: new Error("x") };
  const w = await world(t, [["Let me see.", call("lamp", "hall")], [cut], ["It is on."]]);
  const page = w.page();
  const hi = { id: "u1", role: "user", parts: [{ type: "text", text: "Lamp?" }] } as const;
  await page.sendMessage({ ...hi, parts: [...hi.parts] });
  assert.equal(page.status, "error");
  assert.equal(await w.unanswered(), 1);
  assert.deepEqual(await w.texts(), ["user: Lamp?", "assistant: Let me see."]);
  const kept = await w.load();
  // The same message again: the page has nothing of the answer, and gets all of it.
  const second = w.page(kept.slice(0, 1));
  await second.sendMessage();
  assert.equal(second.status, "ready");
  assert.deepEqual(w.prompts[1], kept);
  assert.deepEqual(w.ran, ["hall"]);
  assert.deepEqual(second.texts, ["user: Lamp?", "assistant: Let me see. | It is on."]);
  assert.deepEqual(await w.load(), json(second.messages));
  assert.equal(await w.unanswered(), 0);
});

test("a call waits for a person; what was approved is stored, and runs once", async (t) => {
  const w = await world(t, [
    ["May I?", call("erase", "hall"), call("lamp", "hall"), "Tell me."],
    ["It is gone."],
  ]);
  const page = w.page([], {
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
  });
  await page.sendMessage({ text: "Erase it" });
  assert.deepEqual(await w.load(), json(page.messages));
  assert.equal(await w.unanswered(), 0);
  assert.equal((await w.stored()).at(-1)?.stats?.input_tokens, 10);
  const asked = page.messages[1];
  const { id } = approvalOf(asked);
  await page.addToolApprovalResponse({ id, approved: true, reason: "yes" });
  await until(() => page.status === "ready" && w.model.doStreamCalls.length === 2);
  assert.deepEqual(page.texts, ["user: Erase it", "assistant: May I? | Tell me. | It is gone."]);
  assert.deepEqual(w.ran, ["hall", "erased hall"]);
  assert.deepEqual(await w.load(), json(page.messages));
  assert.equal(page.messages[1]?.id, asked?.id);
  // The same approval again, as after a lost reply, gets the rest of the stored answer.
  const answered = json(w.prompts[1] ?? []);
  const repeat = w.page(answered);
  await repeat.sendMessage();
  assert.deepEqual(json(repeat.messages), json(page.messages));
  assert.deepEqual(w.ran, ["hall", "erased hall"]);
  assert.equal(w.model.doStreamCalls.length, 2);
  const roles = (await w.nextPrompt()).map(({ role, content }) => `${role}: ${content}`);
  assert.deepEqual(roles.slice(0, 5), [
    "user: Erase it",
    "assistant: May I?Tell me.",
    "tool: gone",
    'tool: {"on":true,"room":"hall"}',
    "assistant: It is gone.",
  ]);
  assert.equal((await w.stored()).filter(({ role }) => role === "tool").length, 2);
  // One erased piece of it is not shown, and nothing of it that other pieces repeat.
  const last = (await w.stored()).findLast(({ content }) => content === "It is gone.");
  await w.throughline.chats.erase("c1", last?.id ?? "");
  assert.deepEqual(await w.texts(), ["user: Erase it", "user: And now?", "assistant: Yes"]);
});

function approvalOf(message: UIMessage | undefined): { readonly id: string } {
  const asked = message?.parts.find((part) => "approval" in part) as { approval?: { id: string } };
  assert.ok(asked.approval);
  return asked.approval;
}

test("a call that a person refuses does not run, and the model is told", async (t) => {
  const w = await world(t, [[call("erase", "hall")], ["As you wish."]]);
  const page = w.page([], {
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
  });
  await page.sendMessage({ text: "Erase it" });
  await page.addToolApprovalResponse({ id: approvalOf(page.messages[1]).id, approved: false });
  await until(() => page.status === "ready" && w.model.doStreamCalls.length === 2);
  assert.deepEqual(w.ran, []);
  assert.deepEqual(await w.load(), json(page.messages));
  assert.match(JSON.stringify(w.model.doStreamCalls[1]?.prompt), /denied/);
});

test("a tool of the page gives its result; nothing else that the page changed is believed", async (t) => {
  const w = await world(t, [["Where?", call("place")], ["In Berlin."]]);
  const page = w.page([], {
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithToolCalls,
    onToolCall: ({ toolCall }: { toolCall: { toolCallId: string; toolName: string } }) => {
      const { toolCallId } = toolCall;
      void page.addToolOutput({ tool: toolCall.toolName, toolCallId, output: "Berlin" });
    },
  });
  await page.sendMessage({ text: "Where am I?" });
  await until(() => page.status === "ready" && w.model.doStreamCalls.length === 2);
  assert.deepEqual(page.texts[1], "assistant: Where? | In Berlin.");
  assert.deepEqual(await w.load(), json(page.messages));
  // Another result for the same call, and other words.
  const forged = json(page.messages.slice(1)).map((message: UIMessage) => ({
    ...message,
    parts: message.parts.map((part) =>
      part.type === "text" ? { ...part, text: "forged" } : { ...part, output: "forged" },
    ),
  }));
  await (await w.post({ id: "c1", messages: forged })).text();
  assert.deepEqual(await w.load(), json(page.messages));
  assert.equal(w.model.doStreamCalls.length, 2);
});

test("a model that says nothing to the result of a page's tool is not asked again by the page", async (t) => {
  const w = await world(t, [["Look.", call("place")], []]);
  const more = { sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithToolCalls };
  const page = w.page([], more);
  await page.sendMessage({ text: "Where am I?" });
  await page.addToolOutput({ tool: "place", toolCallId: "place-1", output: "Berlin" });
  await until(() => page.status === "ready" && w.model.doStreamCalls.length === 2);
  assert.deepEqual(await w.load(), json(page.messages));
  // What the log has of it, for a page that did not see its end.
  const [question, answer] = json(page.messages);
  const second = w.page([question, { ...answer, parts: answer.parts.slice(0, -1) }], more);
  await second.sendMessage();
  assert.deepEqual([second.status, w.requests()], ["ready", 3]);
  assert.deepEqual(json(second.messages), json(page.messages));
});

test("the result of a page's tool, sent twice at once, makes one answer", async (t) => {
  const rest = Promise.withResolvers<void>();
  const w = await world(t, [[call("place")], [rest.promise, "In Berlin."]]);
  const page = w.page();
  await page.sendMessage({ text: "Where am I?" });
  const [, answer] = json(page.messages);
  const parts = answer.parts.map((part: { type: string }) =>
    part.type === "tool-place" ? { ...part, state: "output-available", output: "Berlin" } : part,
  );
  const body = { id: "c1", messages: [{ ...answer, parts }], messageId: answer.id };
  const both = await Promise.all([w.post(body), w.post(body)]);
  // One that comes later has nothing of it, and gets what was before, too.
  const late = w.page(page.messages.slice(0, 1));
  const resumed = late.resumeStream();
  await until(() => late.messages.length === 2);
  rest.resolve();
  const texts = await Promise.all(both.map((sent) => sent.text()));
  assert.equal(texts[0], texts[1]);
  assert.doesNotMatch(texts[0] ?? "", /tool-input/);
  await resumed;
  assert.deepEqual(json(late.messages), await w.load());
  assert.equal(w.model.doStreamCalls.length, 2);
});

test("a call that never got a result does not break the next message", async (t) => {
  const w = await world(t, [[call("place")], ["Never mind."]]);
  const page = w.page();
  await page.sendMessage({ text: "Where am I?" });
  await page.sendMessage({ text: "Well?" });
  assert.equal(page.status, "ready");
  assert.equal(page.texts.at(-1), "assistant: Never mind.");
  assert.match(JSON.stringify(w.model.doStreamCalls[1]?.prompt), /No result: the turn ended/);
  assert.deepEqual(await w.load(), json(page.messages));
});

test("a stream of the application's own keeps its data and metadata", async (t) => {
  const throughline = await openThroughline({ storage: "memory" });
  const model = scriptedAiModel([["Hello"]]);
  const routes = chatRoutes(throughline, {
    respond: async ({ messages, body, context }) =>
      createUIMessageStream({
        execute: async ({ writer }) => {
          writer.write({ type: "data-tone", id: "d1", data: { tone: body["tone"], context } });
          writer.write({ type: "start", messageId: "its own" });
          writer.write({ type: "data-gone", data: 1, transient: true });
          const given = { model, messages: await convertToModelMessages(messages) };
          writer.merge(
            streamText(given).toUIMessageStream({ messageMetadata: () => ({ seen: 1 }) }),
          );
        },
      }),
  });
  await using server = await chatServer(routes);
  t.after(() => throughline.close());
  const page = new PageChat({ id: "c1", api: server.api });
  await page.sendMessage({ text: "Hi", metadata: { from: "phone" } }, { body: { tone: "kind" } });
  const loaded = (await loadMessages(throughline, "c1")) as UIMessage[];
  assert.deepEqual(loaded, json(page.messages));
  assert.deepEqual(loaded[0]?.metadata, { from: "phone" });
  assert.deepEqual(loaded[1]?.metadata, { seen: 1 });
  assert.deepEqual(loaded[1]?.parts[0], { type: "data-tone", id: "d1", data: { tone: "kind" } });
  // And a page that has nothing of it gets the same.
  page.messages = page.messages.slice(0, 1);
  await page.sendMessage();
  assert.deepEqual(json(page.messages), loaded);
});

test("a call that waits for the page is given to it again after a crash, and no model is asked", async (t) => {
  const w = await world(t, [["Where?", call("place")], ["In Berlin."]]);
  const turns = await w.throughline.turns();
  const target = { provider: "ai-sdk", model: "ai-sdk" };
  const opened = await turns.open("c1", { id: "u1", content: "Where am I?" }, target);
  if (opened.state !== "open") assert.fail(opened.state);
  const part = { type: "tool-place", toolCallId: "k1", state: "input-available", input: {} };
  await opened.turn.keep([
    {
      id: "a1",
      role: "assistant",
      content: "",
      tool_calls: [{ id: "k1", type: "function", function: { name: "place", arguments: "{}" } }],
      exact: { framework: "ai-sdk", ui_message: "a1", from: 0, value: { parts: [part] } },
    },
  ]);
  await opened.turn.fail();
  const page = w.page((await w.load()).slice(0, 1));
  await page.sendMessage();
  assert.deepEqual(json(page.messages), await w.load());
  assert.equal(w.model.doStreamCalls.length, 0);
  assert.equal(await w.unanswered(), 0);
});

/** The answer with what the page changed in its calls. */
function changed(message: UIMessage | undefined, change: object): UIMessage {
  const [copy] = json(message === undefined ? [] : [message]);
  const parts = copy.parts.map((part: object) =>
    "toolCallId" in part ? { ...part, ...change } : part,
  );
  return { ...copy, parts };
}

test("an approval is stored before the model is asked; no page gives a result in its place", async (t) => {
  const fails = { error: new Error("x") };
  const w = await world(t, [["May I?", call("erase", "hall")], [fails], ["Gone."]]);
  const page = w.page();
  await page.sendMessage({ text: "Erase it" });
  const asked = page.messages[1];
  const output = { state: "output-available", output: "forged" };
  const forged = changed(asked, { ...output, approval: undefined });
  await (await w.post({ id: "c1", message: forged })).text();
  assert.deepEqual(await w.load(), json(page.messages));
  const approval = { id: approvalOf(asked).id, approved: true };
  const message = changed(asked, { state: "approval-responded", approval });
  await (await w.post({ id: "c1", message })).text();
  assert.equal(await w.unanswered(), 1);
  assert.deepEqual(w.ran, ["erased hall"]);
  // The call ran, and the model failed after that: it is asked again, and the call does not run again.
  const again = w.page([...page.messages.slice(0, 1), message]);
  await again.sendMessage();
  assert.equal(again.status, "ready");
  assert.deepEqual(w.ran, ["erased hall"]);
  assert.deepEqual(json(again.messages), await w.load());
  assert.deepEqual(again.texts[1], "assistant: May I? | Gone.");
  assert.equal(await w.unanswered(), 0);
});

test("an approval that was stored before a crash is asked again with the same approval", async (t) => {
  const w = await world(t, [[call("erase", "hall")], ["Gone."]]);
  const page = w.page();
  await page.sendMessage({ id: "u1", role: "user", parts: [{ type: "text", text: "Erase it" }] });
  const asked = page.messages[1];
  const approval = { ...approvalOf(asked), approved: true };
  const message = changed(asked, { state: "approval-responded", approval });
  // The process dies after it stored the approval.
  const turns = await w.throughline.turns();
  const target = { provider: "ai-sdk", model: "ai-sdk" };
  const opened = await turns.open("c1", { id: "u1" }, target);
  if (opened.state !== "open") assert.fail(opened.state);
  const value = { parts: message.parts.slice(1) };
  const exact = { framework: "ai-sdk", ui_message: message.id, from: 1, value };
  const id = `${message.id}~3`;
  await opened.turn.keep([{ id, role: "assistant", content: "", hidden: true, exact } as never]);
  await opened.turn.fail();
  assert.deepEqual((await w.load())[1], message);
  const again = w.page(await w.load());
  await again.sendMessage();
  assert.deepEqual(w.ran, ["erased hall"]);
  assert.deepEqual(json(again.messages), await w.load());
});

/** A turn of the application's own, which lets others wait. */
async function busy(throughline: Throughline, id: string) {
  const turns = await throughline.turns();
  const target = { provider: "own", model: "own" };
  const opened = await turns.open("c1", { id, content: "Later?" }, target);
  if (opened.state !== "open") assert.fail(opened.state);
  const usage = { inputTokens: 1, outputTokens: 1, costUsd: 0 };
  const messages = [{ role: "assistant", content: "Later." } as const];
  return { end: () => opened.turn.close({ messages, usage, outcome: "answered" }) };
}

test("the same result of a page's tool, sent to two servers, makes one answer; so does a regeneration", async (t) => {
  const place = await memoryPlace();
  const [a, b] = await Promise.all([place.open(), place.open()]);
  const one = await world(t, [[call("place")], ["Berlin."], ["Paris."]], a);
  const two = await world(t, [["Berlin."], ["Paris."]], b);
  const page = one.page();
  await page.sendMessage({ id: "u1", role: "user", parts: [{ type: "text", text: "Where?" }] });
  const answer = page.messages[1];
  const message = changed(answer, { state: "output-available", output: "Berlin" });
  const regenerate = { messages: page.messages.slice(0, 1), trigger: "regenerate-message" };
  for (const request of [{ message }, { ...regenerate, messageId: answer?.id }]) {
    const before = one.prompts.length + two.prompts.length;
    // Both are read before either begins: another answer is being made.
    const turn = await busy(one.throughline, `later ${before}`);
    const both = [one, two].map((server) => server.post({ id: "c1", ...request }));
    await setTimeout(100);
    await turn.end();
    const texts = await Promise.all(both.map(async (sent) => (await sent).text()));
    for (const text of texts) assert.match(text, /"delta":"(Berlin|Paris)\."/);
    assert.equal(one.prompts.length + two.prompts.length, before + 1);
  }
  assert.equal((await two.load()).length, 2);
  assert.deepEqual(await two.load(), await one.load());
  assert.equal(await one.unanswered(), 0);
});

test("an answer that is taken back while its continuation waits is not continued, and the chat is free", async (t) => {
  const w = await world(t, [[call("place")], ["Free."]]);
  const page = w.page();
  await page.sendMessage({ text: "Where?" });
  const answer = page.messages[1];
  const turn = await busy(w.throughline, "later");
  const message = changed(answer, { state: "output-available", output: "Berlin" });
  const waits = w.post({ id: "c1", message });
  await setTimeout(50);
  const ids = (await w.stored())
    .map(({ id }) => id)
    .filter((id) => id.startsWith(answer?.id ?? "-"));
  await w.throughline.chats.takeBack("c1", ids);
  await turn.end();
  assert.equal((await waits).status, 404);
  const last = w.page();
  await last.sendMessage({ text: "Well?" });
  assert.deepEqual(last.texts.at(-1), "assistant: Free.");
});

test("what the page is told once by a feature is told when the application reads it", async (t) => {
  const throughline = await openThroughline({ storage: "memory" });
  t.after(() => throughline.close());
  const told: unknown[] = [];
  await throughline.extend("weather", async () => ({
    remove: async () => [],
    preview: async () => noPart,
    catchUp: async (read) => void (await read()),
    turn: () => ({
      begun: async ({ acknowledged }) => {
        told.push(acknowledged);
        const notes = ["It rains."];
        return { instructions: "You like tea.", notes, context: "", acknowledged: 7 };
      },
      ended: () => undefined,
    }),
    [Symbol.asyncDispose]: async () => undefined,
  }));
  const heard: string[] = [];
  let isRead = false;
  const routes = chatRoutes(throughline, {
    respond: async (turn) => {
      heard.push(turn.instructions, (isRead && turn.context) || "");
      const messages = await convertToModelMessages(turn.messages);
      return streamText({ model: scriptedAiModel([["Hello"]]), messages });
    },
  });
  await using server = await chatServer(routes);
  for (const reads of [false, true, false]) {
    isRead = reads;
    await new PageChat({ id: "c1", api: server.api }).sendMessage({ text: "Hi" });
  }
  assert.match(heard[3] ?? "", /It rains\./);
  assert.equal(heard[0], "You like tea.");
  assert.deepEqual(told, [undefined, undefined, 7]);
});

test("an answer that another agent began goes to the model as it is, and nothing of it is lost", async (t) => {
  const w = await world(t, [["It is on."]]);
  const turns = await w.throughline.turns();
  const target = { provider: "own", model: "own" };
  const opened = await turns.open("c1", { id: "u1", content: "Lamp?" }, target);
  if (opened.state !== "open") assert.fail(opened.state);
  const called = { id: "k1", type: "function", function: { name: "lamp", arguments: "{}" } };
  await opened.turn.keep([
    { id: "m1", role: "assistant", content: "Let me see.", tool_calls: [called] },
    { id: "m2", role: "tool", content: "on", tool_call_id: "k1" },
  ]);
  await opened.turn.fail();
  const page = w.page((await w.load()).slice(0, 1));
  await page.sendMessage();
  assert.equal(page.status, "ready");
  assert.match(JSON.stringify(w.model.doStreamCalls[0]?.prompt), /Let me see.*"value":"on"/);
  const said = ["user: Lamp?", "assistant: Let me see.", "assistant: It is on."];
  assert.deepEqual(await w.texts(), said);
});
