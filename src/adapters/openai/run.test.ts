// Sessions in runs of the real runner, with a model that needs no network.

import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import {
  type AgentInputItem,
  type HandoffInputData,
  handoff,
  MemorySession,
  run,
  tool,
} from "@openai/agents";
import { z } from "zod";
import {
  type Answers,
  agentsModel,
  agentWithTool,
  call,
  says,
  usual,
} from "../../../test/support/agents-model.ts";
import { column } from "../../../test/support/columns.ts";
import { bytesUnder, temporaryDirectory } from "../../../test/support/command-line.ts";
import { HeldClock } from "../../../test/support/held-clock.ts";
import { HeldTimers } from "../../../test/support/held-timers.ts";

import { randomText } from "../../../test/support/random-text.ts";
import { scriptedResponder } from "../../../test/support/scripted-responder.ts";
import { ThroughlineError } from "../../core/errors.ts";
import { openThroughline } from "../../core/throughline.ts";
import { ThroughlineSession } from "./session.ts";

const chat = "telegram:42";

type Given = { readonly home?: string; readonly clock?: HeldClock; readonly timers?: HeldTimers };
async function companion({ home, clock, timers }: Given = {}) {
  const place = home === undefined ? ({ storage: "memory" } as const) : { home };
  const freshness = clock && { idleTimeoutMinutes: 30 };
  const throughline = await openThroughline({ ...place, clock, timers, freshness });
  const session = new ThroughlineSession(throughline, chat);
  const { chats } = throughline;
  const transcript = async () => {
    const { messages } = await chats.messages(chat, { limit: 1_000 });
    return messages
      .filter(({ hidden }) => !hidden)
      .map(({ role, content, tool_calls: calls }) => `${role}: ${calls ? "(call)" : content}`);
  };
  const unanswered = async () => (await chats.list({ unanswered: true })).chats.length;
  return { throughline, session, chats, transcript, unanswered };
}

const stored = (session: ThroughlineSession) => {
  return { session, callModelInputFilter: session.beforeModel };
};

const textsOf = (items: readonly AgentInputItem[]) =>
  items.map((item) => {
    const { content, type } = item as { content?: unknown; type?: string };
    return typeof content === "string" ? content : JSON.stringify(content ?? type);
  });

for (const isStored of [false, true]) {
  const how = isStored ? "with beforeModel" : "alone";
  test(`after runs with tools, thoughts, streams and instructions a session ${how} has what the SDK's own has`, async () => {
    const c = await companion();
    const sessions = [new MemorySession(), c.session];
    for (const session of sessions) {
      const options = isStored && session === c.session ? stored(c.session) : { session };
      const agent = agentWithTool();
      for (const text of ["Hello", "use the tool", "Hello"]) await run(agent, text, options);
      const input: AgentInputItem[] = [
        { role: "system", content: "Be brief." },
        { role: "user", content: [{ type: "input_text", text: "the tool again" }] },
      ];
      const streamed = await run(agent, input, { ...options, stream: true });
      for await (const _ of streamed);
      await streamed.completed;
      await run(agent, "Hello", options);
    }
    const [own, ours] = await Promise.all(sessions.map((session) => session.getItems()));
    assert.deepEqual(ours, own);
    assert.equal(ours?.length, 17);
    assert.deepEqual((await c.transcript()).slice(0, 6), [
      "user: Hello",
      "assistant: answer to 1",
      "user: use the tool",
      "assistant: (call)",
      "tool: found",
      "assistant: answer to 6",
    ]);
    assert.equal(await c.unanswered(), 0);
  });
}

test("what was said and what the tool returned is stored before the model gets it", async () => {
  const c = await companion();
  const seen: (readonly string[])[] = [];
  const answers: Answers = async (input) => {
    seen.push(await c.transcript());
    assert.equal(await c.unanswered(), 1);
    assert.deepEqual(await c.session.interrupted(), (await c.session.getItems()).slice(2));
    return usual(input);
  };
  await c.session.addItems([{ role: "user", content: "Hi" }, says("Hi")]);
  await run(agentWithTool(answers), "use the tool", stored(c.session));
  const before = ["user: Hi", "assistant: Hi", "user: use the tool"];
  assert.deepEqual(seen, [before, [...before, "assistant: (call)", "tool: found"]]);
  assert.deepEqual(await c.session.interrupted(), []);
  assert.equal(await c.unanswered(), 0);
  const period = await c.throughline.sessions.active(chat);
  assert.deepEqual([period?.provider, period?.message_count], ["openai-agents", 1]);
});

test("a run that fails leaves its turn open, until it is dismissed or the next turn ends it", async () => {
  const c = await companion();
  const fails = agentWithTool((input) => {
    if (textsOf(input).at(-1)?.includes("found")) throw new Error("down");
    if (input.at(-1)?.type === "function_call_result") throw new Error("down");
    return usual(input);
  });
  await assert.rejects(run(fails, "use the tool", stored(c.session)));
  assert.equal(await c.unanswered(), 1);
  const interrupted = await c.session.interrupted();
  assert.deepEqual(column(interrupted, "type"), [
    "message",
    "reasoning",
    "function_call",
    "function_call_result",
  ]);
  // Another object, as in the next request.
  const next = new ThroughlineSession(c.throughline, chat);
  assert.deepEqual(await next.interrupted(), interrupted);
  await run(agentWithTool(), "Hello", stored(next));
  assert.deepEqual(await next.interrupted(), []);
  assert.equal(await c.unanswered(), 0);
  assert.deepEqual((await c.transcript()).slice(-2), ["user: Hello", "assistant: answer to 5"]);

  await assert.rejects(run(fails, "use the tool", stored(c.session)));
  await next.dismiss();
  assert.equal(await c.unanswered(), 0);
  assert.deepEqual(await next.interrupted(), []);
  const turns = await c.throughline.turns({ model: scriptedResponder([["From another model"]]) });
  await turns.submit(chat, { content: "And you?" }).done;
  assert.equal((await c.transcript()).at(-1), "assistant: From another model");
  await next.dismiss();
  await new ThroughlineSession(c.throughline, "never").dismiss();
});

test("an input guardrail that fails leaves what was said if the model was asked beside it, until it is popped, and nothing if not", async () => {
  for (const runInParallel of [true, false]) {
    const c = await companion();
    const agent = agentWithTool();
    const execute = async () => ({ tripwireTriggered: true, outputInfo: {} });
    agent.inputGuardrails = [{ name: "no", runInParallel, execute }];
    await assert.rejects(run(agent, "Bad words", stored(c.session)), /guardrail/i);
    assert.deepEqual(textsOf(await c.session.getItems()), runInParallel ? ["Bad words"] : []);
    assert.equal(await c.unanswered(), runInParallel ? 1 : 0);
    const popped = await c.session.popItem();
    assert.equal(popped?.["content"], runInParallel ? "Bad words" : undefined);
    await run(agentWithTool(), "Good words", stored(c.session));
    assert.deepEqual(await c.transcript(), ["user: Good words", "assistant: answer to 1"]);
  }
});

test("an output guardrail that fails leaves what it leaves in the SDK's own session", async () => {
  const c = await companion();
  const own = new MemorySession();
  const agent = agentWithTool();
  const execute = async () => ({ tripwireTriggered: true, outputInfo: {} });
  agent.outputGuardrails = [{ name: "no", execute }];
  for (const options of [{ session: own }, stored(c.session)]) {
    await assert.rejects(run(agent, "use the tool", options), /guardrail/i);
  }
  assert.deepEqual(await c.session.getItems(), await own.getItems());
  assert.equal(await c.unanswered(), 0);
  await run(agentWithTool(), "Hello", { session: own });
  await run(agentWithTool(), "Hello", stored(c.session));
  assert.deepEqual(await c.session.getItems(), await own.getItems());
  assert.equal(await c.unanswered(), 0);
});

test("a run that waits for an approval is taken up in the turn that asked, also by another object", async () => {
  for (const isOther of [false, true]) {
    const c = await companion();
    const own = new MemorySession();
    const lookup = tool({
      name: "lookup",
      description: "Looks something up",
      parameters: z.object({}),
      needsApproval: true,
      execute: async () => "found",
    });
    const agent = agentWithTool();
    agent.tools = [lookup];
    for (const options of [{ session: own }, stored(c.session)]) {
      const { state, interruptions } = await run(agent, "use the tool", options);
      for (const each of interruptions) state.approve(each);
      const isOurs = options.session === c.session;
      const other = new ThroughlineSession(c.throughline, chat);
      await run(agent, state, isOurs && isOther ? stored(other) : options);
    }
    assert.deepEqual(await c.session.getItems(), await own.getItems());
    assert.deepEqual((await c.transcript()).slice(-2), ["tool: found", "assistant: answer to 4"]);
    assert.equal(await c.unanswered(), 0);
  }
});

test("two runs at once in one chat both end, and nothing is there twice", async () => {
  const c = await companion();
  const both = Promise.withResolvers<void>();
  let asked = 0;
  const answers: Answers = async (input) => {
    if (++asked === 2) both.resolve();
    await both.promise;
    return usual(input);
  };
  const other = new ThroughlineSession(c.throughline, chat);
  await Promise.all([
    run(agentWithTool(answers), "the tool, first", stored(c.session)),
    run(agentWithTool(answers), "second", stored(other)),
  ]);
  const texts = textsOf(await c.session.getItems());
  assert.equal(texts.filter((text) => text === "the tool, first").length, 1);
  assert.equal(texts.filter((text) => text === "second").length, 1);
  assert.equal(texts.length, 7);
  assert.equal(await c.unanswered(), 0);
});

test("what is said again while history is left out is stored before the model gets it", async () => {
  const c = await companion();
  await run(agentWithTool(), "yes", stored(c.session));
  let before: readonly string[] = [];
  const agent = agentWithTool(async (input) => {
    before = await c.transcript();
    return usual(input);
  });
  const sessionInputCallback = (_: AgentInputItem[], items: AgentInputItem[]) => items;
  await run(agent, "yes", { ...stored(c.session), sessionInputCallback });
  assert.deepEqual(before, ["user: yes", "assistant: answer to 1", "user: yes"]);
  assert.equal((await c.transcript()).length, 4);
});

test("a run without new words answers what a crash left unanswered", async () => {
  const c = await companion();
  const fails = agentWithTool(() => Promise.reject(new Error("down")));
  await assert.rejects(run(fails, "Hello", stored(c.session)));
  const next = new ThroughlineSession(c.throughline, chat);
  await run(agentWithTool(), [], stored(next));
  assert.deepEqual(await c.transcript(), ["user: Hello", "assistant: answer to 1"]);
  assert.equal(await c.unanswered(), 0);
});

test("what was said in another way is in the session, and a part of a message can be popped", async () => {
  const c = await companion();
  const calls = ["a", "b"].map((id) => {
    return { id, type: "function" as const, function: { name: "lookup", arguments: "{}" } };
  });
  await c.chats.append(chat, [
    { role: "user", content: "Look twice" },
    { role: "assistant", content: "I look.", tool_calls: calls },
    { role: "tool", content: "1", tool_call_id: "a", name: "lookup" },
    { role: "assistant", content: "a notice", hidden: true },
  ]);
  const result = await c.session.popItem();
  assert.deepEqual([result?.type, result?.callId], ["function_call_result", "a"]);
  assert.equal((await c.session.popItem())?.callId, "b");
  const types = column(await c.session.getItems(), "type");
  assert.deepEqual(types, ["message", "message", "function_call"]);
  const said = ["user: Look twice", "assistant: I look.", "assistant: (call)"];
  assert.deepEqual(await c.transcript(), said);
  const { messages } = (await c.chats.messages(chat)) ?? {};
  await c.chats.erase(chat, messages[0]?.id ?? "");
  assert.equal((await c.session.getItems()).length, 2);
});

test("another model gets the calls and results of a run; the working memory does not keep what was popped", async () => {
  const c = await companion();
  await run(agentWithTool(), "use the tool", stored(c.session));
  const { workingMemory } = c.throughline;
  assert.equal(workingMemory.peek(chat)?.all().length, 1);
  const model = scriptedResponder([["From here"]]);
  const turns = await c.throughline.turns({ model });
  await turns.submit(chat, { content: "And now?" }).done;
  const roles = model.requests[0]?.messages.map(({ role }) => role);
  assert.deepEqual(roles, ["user", "assistant", "tool", "assistant", "user"]);
  assert.deepEqual(textsOf(await c.session.getItems()).slice(-2), [
    "And now?",
    '[{"type":"output_text","text":"From here"}]',
  ]);
  await c.session.popItem();
  assert.equal(workingMemory.peek(chat), undefined);
});

const compaction = { type: "compaction", encrypted_content: "xyz", id: "cmp_1" };

test("a compaction replaces what models get, and people keep the transcript", async () => {
  const c = await companion();
  await run(agentWithTool(), "Hello", stored(c.session));
  const [, answer] = await c.session.getItems();
  const items = [compaction, answer, says("new")];
  await c.session.replaceHistoryWithCompaction(items);
  assert.deepEqual(await c.session.getItems(), items);
  const said = ["user: Hello", "assistant: answer to 1", "assistant: new"];
  assert.deepEqual(await c.transcript(), said);
  await c.session.addItems([{ role: "user", content: "Next" }]);
  assert.equal((await c.session.getItems()).length, 4);
  for (let left = 4; left > 0; left--) await c.session.popItem();
  assert.equal(await c.session.popItem(), undefined);
  assert.deepEqual(await c.session.getItems(), []);
});

test("a compaction that a model makes in a run ends the turn", async () => {
  const c = await companion();
  await run(agentWithTool(), "Hello", stored(c.session));
  const agent = agentWithTool(() => [compaction, says("short now")]);
  await run(agent, "Go on", stored(c.session));
  assert.deepEqual(column(await c.session.getItems(), "type"), ["compaction", "message"]);
  assert.equal(await c.unanswered(), 0);
  assert.equal((await c.transcript()).at(-1), "assistant: short now");
});

test("a screenshot and a result of 1.2 MB come back whole, and forgetting leaves no byte of them", async (t) => {
  const home = join(temporaryDirectory(t), "home");
  const c = await companion({ home });
  const base64 = randomText(1_200_000).replaceAll("0", "canary");
  const image = `data:image/png;base64,${base64.slice(0, base64.length - (base64.length % 4))}`;
  const screenshot = { type: "input_image", image };
  const asked = { role: "user", content: [{ type: "input_text", text: "See" }, screenshot] };
  const long = randomText(1_200_000).replaceAll("0", "canary");
  const answers: Answers = (input) =>
    input.some(({ type }) => type === "function_call_result") ? usual(input) : [call("c")];
  const agent = agentWithTool(answers, () => long);
  await run(agent, [asked as AgentInputItem], stored(c.session));
  const items = await c.session.getItems();
  assert.deepEqual(items[0], asked);
  assert.deepEqual(items[2].output, { type: "text", text: long });
  const longCall = call("d", JSON.stringify({ long }));
  await c.session.addItems([longCall]);
  assert.deepEqual(await c.session.getItems(1), [longCall]);
  assert.equal((await c.chats.messages(chat)).messages[0]?.content, "See");
  assert.match(bytesUnder(home), /canary/);
  await c.chats.forget(chat);
  await c.throughline.close();
  assert.doesNotMatch(bytesUnder(home), /canary/);
});

test("with freshness rules a session begins with the current period", async () => {
  const clock = new HeldClock();
  const c = await companion({ clock });
  await run(agentWithTool(), "Hello", stored(c.session));
  clock.pass(29 * 60_000);
  assert.equal((await c.session.getItems()).length, 2);
  clock.pass(60_000);
  assert.deepEqual(await c.session.getItems(), []);
  await run(agentWithTool(), "Back again", stored(c.session));
  const input = await c.session.getItems();
  assert.deepEqual(textsOf(input).slice(0, 1), ["Back again"]);
  assert.equal((await c.transcript()).length, 4);
  // The period ends between the two.
  clock.pass(30 * 60_000);
  input.push({ role: "user", content: "Third time" });
  await c.session.beforeModel({ modelData: { input }, agent: {} });
  assert.deepEqual(textsOf(await c.session.getItems()), ["Third time"]);
  assert.equal((await c.transcript()).length, 5);
  await c.session.dismiss();
});

test("a chat that is forgotten during a run stays so, also when it begins again", async () => {
  for (const isBegunAgain of [false, true]) {
    const c = await companion();
    const forgets = agentWithTool(async () => {
      await c.chats.forget(chat);
      if (isBegunAgain) await c.chats.append(chat, [{ role: "user", content: "New" }]);
      return [says("too late")];
    });
    const running = run(forgets, "Hello", stored(c.session));
    await assert.rejects(running, { code: "THROUGHLINE_NOT_FOUND" });
    if (isBegunAgain) assert.deepEqual(await c.transcript(), ["user: New"]);
    else await assert.rejects(c.chats.row(chat), { code: "THROUGHLINE_NOT_FOUND" });
  }
});

test("what is cleared or popped during a run is as in the SDK's own session after it", async () => {
  for (const change of ["clearSession", "popItem"] as const) {
    const c = await companion();
    const own = new MemorySession();
    for (const options of [{ session: own }, stored(c.session)]) {
      await run(agentWithTool(), "Hello", options);
      const session = options.session;
      const changes = agentWithTool(async (input) => {
        await session[change]();
        // There it is stored at the end of the run.
        if (change === "popItem" && session === own)
          await own.addItems([says("answer to 1", "msg_1") as never]);
        return usual(input);
      });
      await run(changes, "And now?", options);
    }
    assert.deepEqual(await c.session.getItems(), await own.getItems());
    assert.equal(await c.unanswered(), 0);
  }
});

test("a turn that is stopped ends at once, and what its run adds is stored all the same", async () => {
  const clock = new HeldClock();
  const c = await companion({ clock, timers: new HeldTimers(clock) });
  const turns = await c.throughline.turns();
  const agent = agentWithTool(async () => {
    turns.stop(chat);
    await turns.running(chat)?.done.catch(() => undefined);
    return [says("all the same")];
  });
  await run(agent, "Hello", stored(c.session));
  assert.deepEqual(await c.transcript(), ["user: Hello", "assistant: all the same"]);
});

test("an answer that comes after its period was ended is in no session", async () => {
  const c = await companion();
  const agent = agentWithTool(async (input) => {
    await c.throughline.sessions.reset(chat);
    return usual(input);
  });
  await run(agent, "Hello", stored(c.session));
  assert.deepEqual(await c.session.getItems(), []);
  assert.deepEqual(await c.transcript(), ["user: Hello"]);
});

test("history that a handoff puts in other words, and a message without words, are as in the SDK's own session", async () => {
  const c = await companion();
  const own = new MemorySession();
  const second = agentWithTool();
  second.name = "second";
  const inputFilter = (data: HandoffInputData) => {
    const summary = [{ role: "user" as const, content: "So far: a greeting" }];
    return { ...data, inputHistory: summary, preHandoffItems: [] };
  };
  const first = agentWithTool((input) =>
    input.length === 1 ? [{ ...call("h"), name: "transfer_to_second" }] : usual(input),
  );
  first.handoffs = [handoff(second, { inputFilter })];
  for (const options of [{ session: own }, stored(c.session)]) {
    await run(first, "Hello", options);
    await run(agentWithTool(), "", options);
  }
  assert.deepEqual(await c.session.getItems(), await own.getItems());
  assert.doesNotMatch((await c.transcript()).join(), /So far/);
});

test("what was stored while its reply was lost is there once", async () => {
  const c = await companion();
  const { logs } = c.chats;
  const append = logs.append.bind(logs);
  let lost = 0;
  const loseNext = () => {
    logs.append = async (...args) => {
      logs.append = append;
      await append(...args);
      lost++;
      throw new ThroughlineError("the reply was lost", { code: "THROUGHLINE_OUTCOME_UNKNOWN" });
    };
  };
  loseNext();
  await c.session.addItems([{ role: "user", content: "Hi" }, says("Hi")]);
  const agent = agentWithTool((input) => {
    loseNext();
    return usual(input);
  });
  await run(agent, "use the tool", stored(c.session));
  assert.equal(lost, 3);
  assert.deepEqual(await c.transcript(), [
    "user: Hi",
    "assistant: Hi",
    "user: use the tool",
    "assistant: (call)",
    "tool: found",
    "assistant: answer to 6",
  ]);
});

test("a filter of your own comes before beforeModel", async () => {
  const c = await companion();
  const agent = agentWithTool();
  agent.model = agentsModel((input) => [says(textsOf(input).join(" "))]);
  const { finalOutput } = await run(agent, "My number is 42", {
    session: c.session,
    callModelInputFilter: async (given) => {
      for (const item of given.modelData.input) {
        if (item.type === "message" && item.role === "user") item.content = "My number is [number]";
      }
      return c.session.beforeModel(given);
    },
  });
  assert.equal(finalOutput, "My number is [number]");
  const both = ["user", "assistant"].map((role) => `${role}: My number is [number]`);
  assert.deepEqual(await c.transcript(), both);
});
