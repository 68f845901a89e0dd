// A process dies at each place of a turn; the next one finds the message, offers it, and answers it.
import assert from "node:assert/strict";
import fs from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { notCompleted } from "../src/core/chat/model-row.ts";
import { isThroughlineError } from "../src/core/errors.ts";
import { openThroughline } from "../src/core/throughline.ts";
import { temporaryDirectory } from "./support/command-line.ts";
import { killed } from "./support/killed.ts";
import { type ScriptedStep, scriptedResponder } from "./support/scripted-responder.ts";
import {
  chat,
  hello,
  journalOf,
  type KillPlace,
  killPlaces,
  lampTool,
  question,
  usage,
} from "./support/turn-kill-words.ts";

type Kind = "repeatable" | "";

/** Runs a turn in another process, which does not survive it. */
const killAt = (home: string, place: KillPlace, task: "talk" | "answer", kind: Kind = "") =>
  killed("turn", [home, place, task, kind]);

const journal = (home: string) => fs.readFileSync(journalOf(home), "utf8").trim().split("\n");
/** The keys with which the tool ran for the question. */
const keysOf = (home: string) =>
  journal(home)
    .filter((line) => line.startsWith("tool ran "))
    .slice(1); // the first one is of the turn before

/** The next run: the same home, in this process. */
async function restart(
  t: TestContext,
  home: string,
  script: readonly (readonly ScriptedStep[])[],
  kind: Kind = "",
) {
  const model = scriptedResponder(script);
  const target = { provider: model.provider, model: model.model };
  const throughline = await openThroughline({ home, ...target });
  t.after(() => throughline.close());
  const { chats } = throughline;
  const turns = await throughline.turns({
    model,
    persona: "You are kind.",
    tools: () => ({ instructions: "", tools: [lampTool(home, kind === "repeatable")] }),
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

/** What is on record of the question once the process is dead. */
const lefts = ["nothing", "asked", "called", "returned", "answered"] as const;
const says = {
  nothing: "nothing of the message",
  asked: "the message, unanswered",
  called: "a call whose outcome is unknown",
  returned: "a call and its result",
  answered: "the message, answered",
};
/** From which place on that is so. */
const from: readonly KillPlace[] = [
  "before the user's message",
  "before the sync of the user's message",
  "before the sync of the call",
  "before the sync of the result",
  "before the sync of the answer",
];
const [called, returned] = [answered.slice(0, -2), answered.slice(0, -1)];

/** Those that leave what another one leaves: a write that is torn, or not begun. The storage's tests cut it anywhere. */
const isOfWrite = (place: KillPlace) =>
  /^(in|before) the (call|result|answer|user's|sync)/.test(place);
const isFull = process.env["THROUGHLINE_FULL"] === "1";
const places = killPlaces.filter((place, at) => isFull || at === 0 || !isOfWrite(place));

for (const place of places) {
  const at = killPlaces.indexOf(place);
  const left = lefts[from.findLastIndex((each) => killPlaces.indexOf(each) <= at)] ?? "nothing";
  for (const kind of left === "called" ? (["", "repeatable"] as const) : ([""] as const)) {
    const ran = at >= killPlaces.indexOf("while the tool runs") ? 1 : 0;
    const whose = kind === "" ? "a tool" : "a repeatable tool";
    test(`a process with ${whose} killed ${place} leaves ${says[left]}, and the turn continues from there`, async (t) => {
      const home = makeHome(t);
      await killAt(home, place, "talk", kind);
      assert.equal(keysOf(home).length, ran);
      const c = await restart(t, home, [late], kind);
      const there = { nothing: before, asked, called, returned, answered }[left];
      assert.deepEqual(await c.transcript(), there);
      const isOpen = left !== "nothing" && left !== "answered";
      assert.equal(await c.unanswered(), isOpen ? 1 : 0);
      assert.equal((await c.sessions.active(chat))?.message_count, left === "answered" ? 2 : 1);
      // Starting asked no model and ran no tool.
      assert.equal(c.model.requests.length, 0);
      assert.equal(keysOf(home).length, ran);

      if (isOpen) {
        const turn = await c.turns.answer(chat);
        assert.equal(turn.id, question.id);
        await turn.done;
      } else await c.turns.submit(chat, question).done;
      const isRepeated = left === "called" && kind === "repeatable";
      const done = isRepeated ? returned : left === "nothing" ? asked : there;
      const complete = left === "answered" ? answered : [...done, "assistant: It is on now."];
      assert.deepEqual(await c.transcript(), complete);
      assert.equal(c.model.requests.length, left === "answered" ? 0 : 1);
      await assertOver(c, complete);
      // Only a call that says that it does no harm runs again, and then with the same key.
      assert.equal(keysOf(home).length, isRepeated ? ran + 1 : ran);
      assert.equal(new Set(keysOf(home)).size, ran || (isRepeated ? 1 : 0));
      if (left === "answered") return;
      // The model gets what is on record, and is told what is not known.
      const told = c.model.requests[0]?.messages.map(({ role, content }) => `${role}: ${content}`);
      const unknown = left === "called" && !isRepeated ? [`tool: ${notCompleted}`] : [];
      assert.deepEqual(told, [...done, ...unknown]);
    });
  }
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
  await killAt(home, "in the middle of the stream", "answer");
  const c = await restart(t, home, [late]);
  assert.deepEqual(await c.transcript(), returned);
  assert.equal(await c.unanswered(), 1);
  // A model was asked at each attempt, but the tool ran once.
  assert.equal(journal(home).filter((line) => line === "asked").length, 4);
  assert.equal(keysOf(home).length, 1);
  await (await c.turns.answer(chat)).done;
  const complete = [...returned, "assistant: It is on now."];
  assert.deepEqual(await c.transcript(), complete);
  await assertOver(c, complete);
});
