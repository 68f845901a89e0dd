// A tool's call is on record before the tool runs, its result before the model gets it.
import assert from "node:assert/strict";
import { test } from "node:test";
import { chat, scriptedCompanion } from "../../../test/support/scripted-companion.ts";
import { shownRecords } from "../chat/marks.ts";
import type { StoredMessage, ToolCall } from "../chat/message.ts";
import { notCompleted } from "../chat/model-row.ts";
import { renderRows } from "../chat/render-rows.ts";
import { ThroughlineError } from "../errors.ts";
import {
  type Responder,
  ResponderError,
  type ResponderEvent,
  type ResponderRequest,
  type TurnTool,
} from "../models/responder.ts";
import type { TurnProgress } from "./turn.ts";

const usage = { inputTokens: 10, outputTokens: 5, costUsd: 0 };

/** What a model does in one answer; `runs` calls the tool `pay` that it is offered, as a model would. */
type Step =
  | string
  | { readonly runs: string }
  | { readonly thinks: string }
  | { readonly meets: () => Promise<unknown> };

async function* play(
  steps: readonly Step[],
  { tools }: ResponderRequest,
  signal: AbortSignal,
): AsyncGenerator<ResponderEvent> {
  const aborted = new Promise<never>((_, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason));
  });
  aborted.catch(() => undefined); // heard where a tool runs
  for (const step of steps) {
    if (step === "FAILS") throw new ResponderError("it broke off", { kind: "unavailable" });
    if (typeof step === "string") yield { type: "text", text: step };
    else if ("thinks" in step) yield { type: "reasoning", text: step.thinks };
    else if ("meets" in step) await step.meets();
    else {
      // The id of every call is the same, as some services have it.
      const call = { name: "pay", arguments: JSON.stringify({ to: step.runs }) };
      const toolCall = { id: "call_0", type: "function", function: call } as const;
      yield { type: "tool-call", call: toolCall };
      const tool = tools?.tools[0] ?? assert.fail("no tool is offered");
      const content = await Promise.race([tool.run({ to: step.runs }, toolCall), aborted]);
      const result = { toolCallId: "call_0", toolName: "pay", content, isError: false };
      yield { type: "tool-result", ...result };
    }
  }
  yield { type: "end", finish: "stop", usage };
}

type Run = (to: string, key: string) => Promise<string> | string;

async function companion(
  script: readonly (readonly Step[])[],
  options: { run?: Run; readonly repeatable?: boolean; readonly idleMinutes?: number } = {},
) {
  const requests: ResponderRequest[] = [];
  const model: Responder = {
    provider: "scripted",
    model: "script-1",
    window: undefined,
    respond(request, signal) {
      const steps = script[requests.length] ?? assert.fail("not asked so often");
      requests.push(request);
      return play(steps, request, signal);
    },
  };
  const runs: string[] = [];
  const pay: TurnTool = {
    name: "pay",
    description: "Pays.",
    parameters: { type: "object" },
    repeatable: options.repeatable,
    async run(args, _call, key) {
      const { to } = args as { to: string };
      runs.push(`${to} ${key}`);
      return (await options.run?.(to, key)) ?? `paid ${to}`;
    },
  };
  const c = await scriptedCompanion(model, {
    freshness: { idleTimeoutMinutes: options.idleMinutes ?? 0 },
    turns: { tools: () => ({ instructions: "", tools: [pay] }) },
  });
  const shown = async () => {
    const { messages } = await c.chats.messages(chat);
    return messages.filter(({ hidden }) => !hidden).map(asLine);
  };
  const asked = (n: number) =>
    requests[n]?.messages.map((message) => {
      const calls = message.role === "assistant" ? message.toolCalls : undefined;
      return asLine({ ...message, tool_calls: calls });
    });
  return { ...c, requests, runs, shown, asked };
}

interface Line extends Pick<StoredMessage, "role" | "content"> {
  readonly tool_calls?: readonly Pick<ToolCall, "function">[] | undefined;
}
function asLine({ role, content, tool_calls: calls = [] }: Line): string {
  return `${role}: ${content}${calls.map((call) => ` [${call.function.arguments}]`).join("")}`;
}

/** The chat as it is exported for people. */
async function rendered(c: Awaited<ReturnType<typeof companion>>): Promise<string[]> {
  const shown = await shownRecords(c.chats.logs, chat);
  const rows = await Array.fromAsync(renderRows(shown));
  return rows.flatMap((row) => (row.kind === "message" ? [row.text] : []));
}

async function progressOf(progress: AsyncIterable<TurnProgress>): Promise<string[]> {
  const told: string[] = [];
  for await (const item of progress) {
    if (item.type === "message") told.push(`message ${asLine(item.message)}`);
    else if ("text" in item) told.push(`${item.type} ${item.text}`);
    else told.push(item.type);
  }
  return told;
}

test("a tool waits until its call is on the disk, and the model until the result is", async () => {
  const c = await companion([[{ runs: "Ada" }, "Done."]]);
  const { logs } = c.chats;
  const { append } = logs;
  const asked = { call: Promise.withResolvers<void>(), result: Promise.withResolvers<void>() };
  const open = { call: Promise.withResolvers<void>(), result: Promise.withResolvers<void>() };
  logs.append = async (key, records, options) => {
    const kind = (["call", "result"] as const).find((each) =>
      records.some(({ id }) => id.endsWith(`:${each}:1`)),
    );
    if (kind !== undefined) {
      asked[kind].resolve();
      await open[kind].promise;
    }
    return append.call(logs, key, records, options);
  };
  /** Long enough for all that does not wait for the disk. */
  const settle = async () => {
    for (let n = 0; n < 20; n++) await new Promise((resolve) => setImmediate(resolve));
  };
  const turn = c.turns.submit(chat, { content: "Pay Ada" });
  const told: string[] = [];
  const watched = (async () => {
    for await (const { type } of turn.progress()) told.push(type);
  })();
  await asked.call.promise;
  await settle();
  assert.deepEqual([c.runs.length, told], [0, ["accepted"]]);
  open.call.resolve();
  await asked.result.promise;
  await settle();
  assert.deepEqual([c.runs.length, told], [1, ["accepted", "message"]]);
  open.result.resolve();
  await watched;
  assert.deepEqual(told, ["accepted", "message", "message", "text", "result"]);
});

test("a turn without tools is stored in two appends, the message and the answer", async () => {
  const c = await companion([["Hi"]]);
  const { logs } = c.chats;
  const { append } = logs;
  let appends = 0;
  logs.append = (...args) => {
    appends++;
    return append.apply(logs, args);
  };
  await c.say("Hello");
  assert.equal(appends, 2);
});

test("a failed turn that is taken up again continues after its last result, and no tool runs again", async () => {
  const c = await companion([
    [{ runs: "Ada" }, { runs: "Bo" }, "So ", "FAILS"],
    [{ runs: "Cy" }, "FAILS"],
    ["All paid."],
  ]);
  const first = await c.say("Pay all");
  // Words after the last result: this is an answer, cut short.
  assert.deepEqual([first.outcome, first.assistant?.content], ["failed", "So "]);

  const turn = await c.say("Pay Cy");
  assert.deepEqual([turn.outcome, turn.assistant], ["failed", undefined]);
  const again = await (await c.turns.answer(chat)).done;
  assert.equal(again.assistant?.content, "All paid.");
  assert.match(c.runs.join(", "), /^Ada \S+, Bo \S+, Cy \S+$/);
  assert.equal(new Set(c.runs).size, 3, "each call has a key of its own");
  const asked = ["user: Pay Cy", 'assistant:  [{"to":"Cy"}]', "tool: paid Cy"];
  assert.deepEqual(c.asked(2)?.slice(-3), asked);
  const ids = (await c.chats.messages(chat)).messages.map(({ id }) => id);
  assert.equal(new Set(ids).size, ids.length);
});

/** A turn of which the chat was lost while its tool ran. */
async function lost(script: readonly (readonly Step[])[], repeatable: boolean, next?: Run) {
  const isRunning = Promise.withResolvers<void>();
  const run = () => {
    isRunning.resolve();
    return new Promise<string>(() => undefined);
  };
  const options: Parameters<typeof companion>[1] = { repeatable, run };
  const c = await companion([[{ runs: "Ada" }], ...script], options);
  const turn = c.turns.submit(chat, { content: "Pay Ada" });
  await isRunning.promise;
  options.run = next;
  turn.fence(new Error("the chat was lost"));
  await assert.rejects(turn.done, /the chat was lost/);
  return c;
}

test("a call without a result is not run again, and the model is told that its outcome is unknown", async () => {
  const c = await lost([["I do not know."]], false);
  await (await c.turns.answer(chat)).done;
  assert.equal(c.runs.length, 1);
  const before = ["user: Pay Ada", 'assistant:  [{"to":"Ada"}]'];
  assert.deepEqual(c.asked(1), [...before, `tool: ${notCompleted}`]);
  assert.deepEqual(await c.shown(), [...before, "assistant: I do not know."]);
});

for (const how of ["returns", "throws"] as const) {
  test(`a repeatable call without a result runs again with its key, and what it ${how} is stored`, async () => {
    const c = await lost([["Paid."]], true, () => {
      if (how === "throws") throw new Error("secret");
      return "paid at last";
    });
    const again = await c.turns.answer(chat);
    const told = await progressOf(again.progress());
    const content = how === "returns" ? "paid at last" : "The tool failed.";
    assert.deepEqual(told, ["accepted", `message tool: ${content}`, "text Paid.", "result"]);
    assert.equal(c.runs.length, 2);
    assert.equal(new Set(c.runs).size, 1, "with the same key");
    assert.deepEqual(c.asked(1)?.slice(-2), ['assistant:  [{"to":"Ada"}]', `tool: ${content}`]);
  });
}

for (const how of ["returns", "throws"] as const) {
  test(`what a tool ${how} after its result was reported changes nothing, and the answer is kept`, async () => {
    const late = Promise.withResolvers<string>();
    const fn = { name: "slow", arguments: "{}" };
    const call = { id: "c1", type: "function", function: fn } as const;
    const model: Responder = {
      provider: "scripted",
      model: "script-1",
      window: undefined,
      async *respond({ tools }) {
        yield { type: "tool-call", call };
        const run = Promise.resolve(tools?.tools[0]?.run({}, call)).catch(() => undefined);
        const content = "It took too long.";
        yield { type: "tool-result", toolCallId: "c1", toolName: "slow", content, isError: true };
        if (how === "returns") late.resolve("late");
        else late.reject(new Error("late"));
        await run;
        yield { type: "text", text: "I gave up on it." };
        yield { type: "end", finish: "stop", usage };
      },
    };
    const slow = { name: "slow", description: "Waits.", parameters: { type: "object" } } as const;
    const tools = () => ({ instructions: "", tools: [{ ...slow, run: () => late.promise }] });
    const c = await scriptedCompanion(model, { turns: { tools } });
    await c.say("Do it");
    const { messages } = await c.chats.messages(chat);
    assert.deepEqual(messages.map(asLine), [
      "user: Do it",
      "assistant:  [{}]",
      "tool: It took too long.",
      "assistant: I gave up on it.",
    ]);
  });
}

test("a turn that is taken up in a new period still knows what its tools did", async () => {
  const c = await companion([["Hi"], [{ runs: "Ada" }, "FAILS"], ["Paid."]], { idleMinutes: 30 });
  await c.say("Hello");
  await c.say("Pay Ada");
  c.clock.pass(60 * 60_000);
  await (await c.turns.answer(chat)).done;
  assert.deepEqual(c.asked(2), ["user: Pay Ada", 'assistant:  [{"to":"Ada"}]', "tool: paid Ada"]);
  assert.equal(c.runs.length, 1);
});

test("a failed turn that is sent again after others were said is asked with what its tools did, once", async () => {
  const c = await companion([[{ runs: "Ada" }, "FAILS"], ["Sunny"], ["Paid."]]);
  const pay = { id: "pay", content: "Pay Ada" };
  await c.turns.submit(chat, pay).done;
  await c.say("Weather?");
  await c.turns.submit(chat, pay).done;
  assert.deepEqual(c.asked(2), [
    "user: Pay Ada\n\nWeather?",
    "assistant: Sunny",
    "user: Pay Ada",
    'assistant:  [{"to":"Ada"}]',
    "tool: paid Ada",
  ]);
});

test("a retry that fails after a tool ran leaves the old answer, and what it did is hidden", async () => {
  const c = await companion([["first"], [{ runs: "Ada" }, "FAILS"], ["Bye"]]);
  await c.say("Hello");
  const { outcome } = await (await c.turns.retry(chat)).done;
  assert.equal(outcome, "failed");
  assert.deepEqual(await c.shown(), ["user: Hello", "assistant: first"]);
  const { messages } = await c.chats.messages(chat);
  const hides = messages.map(({ hidden, replaced }) => hidden && replaced);
  assert.deepEqual(hides, [undefined, undefined, true, true]);
  assert.deepEqual(await rendered(c), ["Hello", "first"]);
  await c.say("Thanks");
  assert.deepEqual(c.asked(2), ["user: Hello", "assistant: first", "user: Thanks"]);
});

test("a retry that is repeated after it failed continues after its last result, and then takes the old answer's place", async () => {
  const old = ["first", { runs: "Bo" }, "old"];
  const c = await companion([old, [{ runs: "Ada" }, "FAILS"], ["second"], ["Bye"]]);
  await c.say("Hello");
  await (await c.turns.retry(chat, { id: "r1" })).done;
  await (await c.turns.retry(chat, { id: "r1" })).done;
  const call = 'assistant:  [{"to":"Ada"}]';
  assert.deepEqual(c.asked(2), ["user: Hello", call, "tool: paid Ada"]);
  assert.equal(c.runs.length, 2);
  const now = ["user: Hello", call, "tool: paid Ada", "assistant: second"];
  assert.deepEqual(await c.shown(), now);
  assert.deepEqual(await rendered(c), ["Hello", "", "paid Ada", "second"]);
  await c.say("Thanks");
  assert.deepEqual(c.asked(3), [...now, "user: Thanks"]);
});

test("what a tool returns after its turn was stopped is not stored", async () => {
  const isRunning = Promise.withResolvers<void>();
  const paid = Promise.withResolvers<string>();
  const c = await companion([["Wait. ", { runs: "Ada" }, "never said"], ["Bye"]], {
    run: () => {
      isRunning.resolve();
      return paid.promise;
    },
  });
  const turn = c.turns.submit(chat, { content: "Pay Ada" });
  await isRunning.promise;
  turn.stop();
  const { outcome } = await turn.done;
  assert.equal(outcome, "interrupted");
  paid.resolve("paid");
  await c.say("And?");
  const call = 'assistant: Wait.  [{"to":"Ada"}]';
  assert.deepEqual(await c.shown(), ["user: Pay Ada", call, "user: And?", "assistant: Bye"]);
  assert.deepEqual(c.asked(1), ["user: Pay Ada", call, `tool: ${notCompleted}`, "user: And?"]);
});

test("a call that a model makes after its turn has lost the chat is not stored, and does not run", async () => {
  const isAsked = Promise.withResolvers<void>();
  const isLost = Promise.withResolvers<void>();
  const meets = () => {
    isAsked.resolve();
    return isLost.promise;
  };
  const c = await companion([[{ meets }, { runs: "Ada" }]]);
  const turn = c.turns.submit(chat, { content: "Pay Ada" });
  await isAsked.promise;
  turn.fence(new Error("the chat was lost"));
  isLost.resolve();
  await assert.rejects(turn.done, /the chat was lost/);
  assert.deepEqual([await c.shown(), c.runs], [["user: Pay Ada"], []]);
});

test("a call that is erased is neither run again nor told to the model that takes the turn up", async () => {
  const c = await companion([[{ runs: "Ada" }, "FAILS"], ["Hm."]], { repeatable: true });
  const turn = c.turns.submit(chat, { content: "Pay Ada" });
  await turn.done;
  await c.chats.erase(chat, `${turn.id}:call:1`);
  await c.chats.erase(chat, `${turn.id}:result:1`);
  await (await c.turns.answer(chat)).done;
  assert.deepEqual(c.asked(1), ["user: Pay Ada"]);
  assert.equal(c.runs.length, 1);
});

test("the question that is erased or taken back while its tool runs ends the turn, not its record", async () => {
  for (const how of ["erase", "take back"] as const) {
    const run = async () => {
      await (how === "erase" ? c.chats.erase(chat, "q") : c.chats.takeBack(chat, ["q"]));
      return "paid";
    };
    const c = await companion([[{ runs: "Ada" }, "Paid."], ["Bye"]], { run });
    const { outcome } = await c.turns.submit(chat, { id: "q", content: "Pay Ada" }).done;
    assert.equal(outcome, "answered");
    assert.equal((await c.chats.row(chat)).unanswered, false);
    await c.say("Next");
    assert.deepEqual(c.asked(1), ["user: Next"], how);
  }
});

test("a period that ends while a tool runs keeps what came before, and hides what comes later", async () => {
  const run = async () => {
    await c.sessions.reset(chat);
    return "paid";
  };
  const c = await companion([[{ runs: "Ada" }, "Paid."], ["Bye"]], { run });
  await c.say("Pay Ada");
  assert.deepEqual(await c.shown(), ["user: Pay Ada", 'assistant:  [{"to":"Ada"}]']);
  await c.say("Next");
  assert.deepEqual(c.asked(1), ["user: Next"]);
});

test("a call that cannot be stored does not run, and the turn stays to be answered", async () => {
  const c = await companion([[{ runs: "Ada" }], [{ runs: "Ada" }, "Paid."]]);
  const { logs } = c.chats;
  const { append } = logs;
  logs.append = async (key, records, options) => {
    if (!records.some(({ id }) => id.endsWith(":call:1")))
      return append.call(logs, key, records, options);
    logs.append = append;
    throw new ThroughlineError("the disk is full", { code: "THROUGHLINE_UNAVAILABLE" });
  };
  await assert.rejects(c.say("Pay Ada"), /the disk is full/);
  assert.equal(c.runs.length, 0);
  assert.equal((await c.chats.row(chat)).unanswered, true);
  await (await c.turns.answer(chat)).done;
  assert.equal(c.runs.length, 1);
});

test("what a model thinks is stored with the call or the answer that it led to, and is sent to no model", async () => {
  const c = await companion([
    [{ thinks: "First " }, { thinks: "pay." }, { runs: "Ada" }, { thinks: "Done now." }, "Paid."],
    ["Bye"],
  ]);
  const turn = c.turns.submit(chat, { content: "Pay Ada" });
  const told = await progressOf(turn.progress());
  const thoughts = told.filter((line) => line.startsWith("reasoning"));
  assert.deepEqual(thoughts, ["reasoning First ", "reasoning pay.", "reasoning Done now."]);
  const { messages } = await c.chats.messages(chat);
  const stored = messages.map(({ reasoning_content }) => reasoning_content);
  assert.deepEqual(stored, [undefined, "First pay.", undefined, "Done now."]);
  await c.say("Next");
  assert.equal(JSON.stringify(c.requests[1]).includes("First pay."), false);
  assert.deepEqual(await c.chats.search("first"), []);
  await c.chats.takeBack(chat, [messages[1]?.id ?? ""]);
  await c.chats.erase(chat, messages[3]?.id ?? "");
  const left = JSON.stringify((await c.chats.messages(chat)).messages);
  assert.equal(/First pay|Done now/.test(left), false);
  await c.chats.clear(chat);
  assert.deepEqual((await c.chats.messages(chat)).messages, []);
});
