import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { column } from "../../../test/support/columns.ts";
import {
  chat,
  down,
  type Script,
  scriptedCompanion,
} from "../../../test/support/scripted-companion.ts";
import type { ScriptedStep } from "../../../test/support/scripted-responder.ts";
import { noHooks, noPart } from "../extension.ts";
import { randomId } from "../ids.ts";
import type { ResponderRequest, TurnTool } from "../models/responder.ts";
import type { NextPrompt } from "./next-prompt.ts";
import type { TurnsOptions } from "./turns-options.ts";

const remember: TurnTool = {
  name: "remember",
  description: "Keeps something.",
  parameters: { type: "object" },
  run: async () => "kept",
};
const tools = () => ({ instructions: "You have tools.", tools: [remember] });
const fn = { name: "remember", arguments: "{}" };
const call = { id: "c1", type: "function", function: fn } as const;
const kept = { toolCallId: "c1", toolName: "remember", content: "kept", isError: false };

async function open(
  t: TestContext,
  script: Script,
  { window, ...turns }: TurnsOptions & { readonly window?: number } = {},
) {
  const freshness = { idleTimeoutMinutes: 120 };
  const c = await scriptedCompanion(script, { window, freshness, newId: randomId, turns });
  t.after(() => c.close());
  const stored = async () => {
    const { head, seq } = await c.chats.state(chat);
    return { head, seq, chats: (await c.chats.list()).chats.length };
  };
  return { ...c, stored, provider: c.model.provider };
}

type Opened = Awaited<ReturnType<typeof open>>;

/** What a responder was asked with, without the random marks of its blocks and without functions. */
function plain({
  instructions,
  messages,
  context,
  tools,
}: Partial<ResponderRequest | NextPrompt["request"]>) {
  const marks = (text: string | undefined) => text?.replaceAll(/context [\w-]{8,}/g, "context X");
  const offered = tools && {
    instructions: tools.instructions,
    tools: tools.tools.map(({ name, description, parameters }) => {
      return { name, description, parameters };
    }),
  };
  return { instructions, messages, context: marks(context), tools: offered };
}

const situations: readonly [
  says: string,
  before: (c: Opened) => Promise<unknown>,
  more?: TurnsOptions & { readonly window?: number },
][] = [
  ["is the first", async () => undefined],
  ["is the second", (c) => c.say("Hello")],
  ["follows the call of a tool", (c) => c.say("tool"), { tools }],
  ["comes after 40 minutes", (c) => c.say("Hello").then(() => c.clock.pass(40 * 60_000))],
  ["comes after 3 days", (c) => c.say("Hello").then(() => c.clock.pass(3 * 86_400_000))],
  ["follows one without an answer", (c) => c.say("fail").catch(() => undefined)],
  ["goes to a model with a window of 4,096", (c) => c.say("Hello"), { window: 4_096 }],
  [
    "goes to a model with a window of 4,096 after 3 days",
    (c) => c.say("Hello").then(() => c.clock.pass(3 * 86_400_000)),
    { window: 4_096 },
  ],
  ["comes after a clear", (c) => c.say("Hello").then(() => c.throughline.chats.clear(chat))],
  ["comes after a reset", (c) => c.say("Hello").then(() => c.throughline.sessions.reset(chat))],
  [
    "follows words of the companion",
    (c) => c.throughline.chats.append(chat, [{ role: "assistant", content: "Are you there?" }]),
  ],
];
for (const [says, before, more] of situations) {
  test(`the prompt of a message that ${says} is what the model then gets, and showing it changes nothing`, async (t) => {
    const script: ScriptedStep[][] = [["One."], ["Two."]];
    const c = await open(t, script, more);
    if (says.includes("tool")) {
      script[0] = [{ type: "tool-call", call }, { type: "tool-result", ...kept }, "One."];
    }
    if (says.includes("without an answer")) script[0] = [down];
    await before(c);
    const stored = await c.stored();
    const shown = await c.turns.nextPrompt(chat, { content: "And now?" });
    assert.deepEqual(await c.stored(), stored);
    await c.say("And now?");
    const asked = c.model.requests.at(-1);
    assert.ok(asked);
    assert.deepEqual(plain(shown.request), plain(asked));
    const [persona, ...others] = shown.sections;
    assert.deepEqual(persona, { name: "persona", text: "You are kind.", tokens: 9 });
    // The sections hold all of the request, in its order.
    const messages = others.flatMap((section) => {
      if (section.name === "history") return section.messages.map(({ content }) => content);
      return section.name === "message" ? [section.text] : [];
    });
    const contents = asked.messages.map(({ content }) => content);
    assert.deepEqual(messages, contents);
    const context = others.find(({ name }) => name === "context");
    assert.equal(context !== undefined, asked.context !== undefined);
    const sum = shown.sections.reduce((total, { tokens }) => total + tokens, 0);
    assert.equal(shown.tokens, sum);
  });
}

test("without a message the prompt ends with the history, or with what nothing has answered", async (t) => {
  const c = await open(t, [["One."], [down]]);
  const names = async () =>
    (await c.turns.nextPrompt(chat, { content: " " })).sections.map(({ name }) => name);
  assert.deepEqual(await names(), ["persona"]);
  await c.say("Hello");
  assert.deepEqual(await names(), ["persona", "history"]);
  await c.say("Are you there?").catch(() => undefined);
  const { sections, request } = await c.turns.nextPrompt(chat);
  assert.partialDeepStrictEqual(sections.at(-1), { name: "message", text: "Are you there?" });
  assert.equal(request.messages.at(-1)?.content, "Are you there?");
});

test("the prompt has what the chat held, also where a long import comes in between", async (t) => {
  const c = await open(t, [["One."]]);
  await c.say("Hello");
  const { logs } = c.chats;
  const page = logs.page.bind(logs);
  const imported = async (...asked: Parameters<typeof page>) => {
    const said = Array.from({ length: 250 }, () => ({ role: "user", content: "Old" }) as const);
    await c.chats.append(chat, said);
    return page(...asked);
  };
  t.mock.method(logs, "page", imported, { times: 1 });
  const { request } = await c.turns.nextPrompt(chat);
  assert.deepEqual(column(request.messages, "content"), ["Hello", "One."]);
});

test("the prompt says what the next message ends, and what the provider counted", async (t) => {
  const usage = { inputTokens: 70, outputTokens: 3, costUsd: 0 };
  const c = await open(t, [["One.", { type: "end", finish: "stop", usage }]]);
  const first = await c.turns.nextPrompt(chat);
  const { ends, reason, reportedTokens } = first;
  assert.deepEqual([ends, reason, reportedTokens], ["nothing", "no_session", undefined]);
  await c.say("Hello");
  const next = await c.turns.nextPrompt(chat);
  assert.deepEqual([next.ends, next.reportedTokens, next.historyTokens], ["nothing", 70, 24_000]);
  c.clock.pass(7 * 86_400_000);
  const late = await c.turns.nextPrompt(chat);
  const { ends: ended, reason: why, reportedTokens: counted } = late;
  assert.deepEqual([ended, why, counted], ["period", "idle_timeout", undefined]);
  assert.equal(late.sections.map(({ name }) => name).join(), "persona,context");
});

test("what extensions add is asked for without a turn; one that fails adds nothing", async (t) => {
  const c = await open(t, [["One."]]);
  const part = { ...noPart, instructions: "Likes tea.", notes: ["Your mood: calm."] };
  const extension = (preview: () => Promise<typeof noPart>, begun = preview) => ({
    remove: async () => [],
    catchUp: async () => undefined,
    turn: () => ({ ...noHooks, begun }),
    preview,
    [Symbol.asyncDispose]: async () => undefined,
  });
  await c.throughline.extend("tea", async () => extension(async () => part));
  await c.throughline.extend("broken", async () =>
    extension(() => Promise.reject(new Error("no"))),
  );
  const shown = await c.turns.nextPrompt(chat, { content: "Hello" });
  await c.say("Hello");
  assert.deepEqual(plain(shown.request), plain(c.model.requests[0] ?? {}));
  assert.equal(shown.request.instructions, "You are kind.\n\nLikes tea.");
  const names = shown.sections.map(({ name }) => name);
  assert.deepEqual(names, ["persona", "facts", "context", "message"]);
});

test("a persona that is a function is asked in each turn; one that throws fails the turn, not the message", async (t) => {
  let persona = () => "You are kind.";
  const c = await open(t, [["One."], ["Two."], ["Three."]], { persona: () => persona() });
  await c.say("1");
  persona = () => "You are brief.";
  assert.equal((await c.turns.nextPrompt(chat)).request.instructions, "You are brief.");
  await c.say("2");
  persona = () => assert.fail("no persona");
  await assert.rejects(c.say("3"), /no persona/);
  persona = () => "You are back.";
  await (await c.turns.answer(chat)).done;
  const asked = c.model.requests.map(({ instructions }) => instructions);
  assert.deepEqual(asked, ["You are kind.", "You are brief.", "You are back."]);
});

test("a chat id that is none, and a model that is not configured, are refused", async (t) => {
  const c = await open(t, []);
  await assert.rejects(c.turns.nextPrompt(""), { code: "THROUGHLINE_INVALID" });
  const asked = { provider: "openai", model: "gpt" };
  await assert.rejects(c.turns.nextPrompt(chat, asked), { code: "THROUGHLINE_CONFIGURATION" });
});

test("of two tools with one name the last is shown and offered", async (t) => {
  const last = { ...remember, description: "Keeps it better." };
  const twice = () => ({ instructions: "", tools: [remember, last] });
  const c = await open(t, [["Yes"]], { tools: twice });
  const next = await c.turns.nextPrompt(chat, { content: "Hello" });
  await c.say("Hello");
  for (const request of [next.request, c.model.requests[0]]) {
    const [offered, ...more] = request?.tools?.tools ?? [];
    assert.deepEqual([offered?.description, more], [last.description, []]);
  }
});
