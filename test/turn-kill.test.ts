// A process dies at each place of a turn; the next one finds the message, offers it, and answers it.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { systemClock } from "../src/clock.ts";
import { isThroughlineError } from "../src/errors.ts";
import { randomId } from "../src/ids.ts";
import { silentLogger } from "../src/logger.ts";
import { Turns } from "../src/runtime/turns.ts";
import { type ScriptedStep, scriptedResponder } from "../src/testing/scripted-responder.ts";
import { openThroughline } from "../src/throughline.ts";
import { temporaryDirectory } from "./command-line.ts";
import { chat, hello, journalOf, type KillPlace, question, usage } from "./turn-kill-words.ts";

/** Runs a turn in another process, which does not survive it. */
async function killAt(home: string, place: KillPlace, task: "talk" | "answer"): Promise<void> {
  const script = join(import.meta.dirname, "turn-kill-child.ts");
  const child = spawn(process.execPath, [script, home, place, task], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  let errors = "";
  child.stderr.setEncoding("utf8").on("data", (text) => {
    errors += text;
  });
  const [code, signal] = await once(child, "close");
  assert.deepEqual([code, signal], [null, "SIGKILL"], errors);
}

const journal = (home: string) => fs.readFileSync(journalOf(home), "utf8").trim().split("\n");

/** The next run: the same home, in this process. */
async function restart(t: TestContext, home: string, script: readonly (readonly ScriptedStep[])[]) {
  const model = scriptedResponder(script);
  const target = { provider: model.provider, model: model.model };
  const throughline = await openThroughline({ home, ...target });
  t.after(() => throughline.close());
  const { chats, sessions, workingMemory: memories, rules } = throughline;
  const turns = new Turns({
    ...{ chats, sessions, memories, rules, persona: "You are kind.", maxQueued: 32 },
    ...{ clock: systemClock, newId: randomId, logger: silentLogger },
    responders: { standard: target, get: async () => model },
  });
  const transcript = async () => {
    const { messages } = await chats.messages(chat);
    return messages.map(({ role, content }) => `${role}: ${content}`);
  };
  const unanswered = async () => (await chats.list({ unanswered: true })).chats.length;
  return { ...throughline, turns, model, transcript, unanswered };
}

function makeHome(t: TestContext): string {
  const home = join(temporaryDirectory(t), "home");
  fs.mkdirSync(home, { mode: 0o700 });
  return home;
}

const before = [
  `user: ${hello}`,
  "assistant: Let me see. ",
  "tool: on",
  "assistant: The lamp is on.",
];
const asked = [...before, `user: ${question.content}`];
const answered = [...asked, ...before.slice(1)];
const late: readonly ScriptedStep[] = ["It is on now.", { type: "end", finish: "stop", usage }];

const places: readonly (readonly [KillPlace, "nothing" | "asked" | "answered", tools: number])[] = [
  ["before the user's message", "nothing", 0],
  ["in the user's message", "nothing", 0],
  ["before the sync of the user's message", "asked", 0],
  ["when the model is asked", "asked", 0],
  ["in the middle of the stream", "asked", 1],
  ["before the answer", "asked", 1],
  ["in the answer", "asked", 1],
  ["before the sync of the answer", "answered", 1],
  ["after the turn", "answered", 1],
];

const says = {
  nothing: "nothing of the message",
  asked: "the message once, unanswered",
  answered: "the message once, answered",
};

for (const [place, left, tools] of places) {
  test(`a process killed ${place} leaves ${says[left]}, and the turn is completed exactly once`, async (t) => {
    const home = makeHome(t);
    await killAt(home, place, "talk");
    const ran = () => journal(home).filter((line) => line === "tool ran").length;
    assert.equal(ran(), tools);
    const c = await restart(t, home, [late]);
    const there = { nothing: before, asked, answered }[left];
    assert.deepEqual(await c.transcript(), there);
    assert.equal(await c.unanswered(), left === "asked" ? 1 : 0);
    assert.equal((await c.sessions.active(chat))?.message_count, left === "answered" ? 2 : 1);
    // Starting asked no model and ran no tool.
    assert.equal(c.model.requests.length, 0);
    assert.equal(ran(), tools);

    if (left === "asked") {
      const turn = await c.turns.answer(chat);
      assert.equal(turn.id, question.id);
      await turn.done;
    } else await c.turns.submit(chat, question).done;
    const complete = left === "answered" ? answered : [...asked, "assistant: It is on now."];
    assert.deepEqual(await c.transcript(), complete);
    assert.equal(c.model.requests.length, left === "answered" ? 0 : 1);
    // The model is asked with the message; not with what its dead predecessor had begun.
    const request = c.model.requests[0]?.messages ?? [];
    if (request.length > 0) assert.equal(request.length, asked.length);
    await assertOver(c, complete);
    assert.equal(ran(), tools);
  });
}

/** However it is asked for, the turn is not run a second time. */
async function assertOver(
  c: Awaited<ReturnType<typeof restart>>,
  complete: readonly string[],
): Promise<void> {
  const requests = c.model.requests.length;
  await assert.rejects(c.turns.answer(chat), (error) =>
    isThroughlineError(error, "THROUGHLINE_NOT_FOUND"),
  );
  const again = await c.turns.submit(chat, question).done;
  assert.equal(again.outcome, "answered");
  assert.equal(c.model.requests.length, requests);
  assert.deepEqual(await c.transcript(), complete);
  assert.equal(await c.unanswered(), 0);
  const session = await c.sessions.active(chat);
  assert.deepEqual([session?.message_count, session?.total_cost_usd], [2, 1], "counted once");
}

test("a turn whose answering is killed 3 times in a row is answered once by the fourth", async (t) => {
  const home = makeHome(t);
  await killAt(home, "when the model is asked", "talk");
  await killAt(home, "in the middle of the stream", "answer");
  await killAt(home, "before the answer", "answer");
  const c = await restart(t, home, [late]);
  assert.deepEqual(await c.transcript(), asked);
  assert.equal(await c.unanswered(), 1);
  // One tool for each attempt that a model was asked to make, none for a start.
  const lines = journal(home);
  assert.equal(lines.filter((line) => line === "asked").length, 4);
  assert.equal(lines.filter((line) => line === "tool ran").length, 2);
  await (await c.turns.answer(chat)).done;
  const complete = [...asked, "assistant: It is on now."];
  assert.deepEqual(await c.transcript(), complete);
  await assertOver(c, complete);
});
