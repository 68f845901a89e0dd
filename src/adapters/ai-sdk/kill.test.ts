// Processes that are killed while they answer the messages of a page.
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import type { UIMessage } from "ai";
import { pageRoutes, said, toChat } from "../../../test/support/chat-page-words.ts";
import { temporaryDirectory } from "../../../test/support/command-line.ts";
import { killed } from "../../../test/support/killed.ts";
import { openThroughline, type Throughline } from "../../core/throughline.ts";
import { seededRandom } from "../../testing/random.ts";
import { loadMessages } from "./load-messages.ts";

const kills = process.env["THROUGHLINE_FULL"] === "1" ? 10 : 1;

/** Runs a process until so many of its answers began, and a while longer. @returns what its page saw. */
async function seen(home: string, name: string, began: number, delayMs: number) {
  const noted = { once: `began ${name}-${began}\n`, delayMs };
  const lines = await killed("chat-page", [home, name], noted);
  const ids = (what: string) =>
    new Set(lines.flatMap((line) => (line.startsWith(what) ? [line.slice(what.length)] : [])));
  return { began: ids("began "), done: ids("done ") };
}

test(`after each of ${kills} kills every message whose answer began is there once, unanswered if it has none`, async (t) => {
  const home = join(temporaryDirectory(t), "home");
  const random = seededRandom(11);
  let [messages, cut, kept] = [0, 0, 0];
  for (let kill = 1; kill <= kills; kill++) {
    const page = await seen(home, `k${kill}`, 1 + random(3), random(40));
    await using throughline = await openThroughline({ home });
    const before = answersIn(await load(throughline));
    for (const id of page.began) assert.equal(before.get(id)?.length, 1, `kill ${kill}: ${id}`);
    for (const id of page.done) assert.equal(before.get(id)?.[0], whole, `kill ${kill}: ${id}`);
    messages += page.began.size;
    const open = (await throughline.chats.existing("c1")).head.open_turn?.id;
    for (const [id, [answer]] of before) {
      if (answer !== whole) assert.equal(open, id, `kill ${kill}: ${id} is unanswered`);
    }
    if (open !== undefined) {
      cut++;
      const hasStep = before.get(open)?.[0] !== undefined;
      kept += hasStep ? 1 : 0;
      const calls: string[] = [];
      await (await pageRoutes(throughline, calls).POST(toChat([said(open)]))).text();
      assert.deepEqual(calls, hasStep ? [] : ["lamp"], "what a tool did is not forgotten");
    }
    const after = answersIn(await load(throughline));
    assert.ok([...after.values()].every((each) => each.length === 1 && each[0] === whole));
    assert.deepEqual((await throughline.chats.list({ unanswered: true })).chats, []);
  }
  t.diagnostic(`${messages} messages, ${cut} cut, ${kept} of these after a call`);
});

const whole = "Let me see.|on|It is on.";
const load = async (throughline: Throughline) =>
  (await loadMessages(throughline, "c1")) as UIMessage[];

/** What each message was answered with: by the id of the message, once for each time that it is there. */
function answersIn(messages: readonly UIMessage[]): ReadonlyMap<string, readonly string[]> {
  const answers = new Map<string, (string | undefined)[]>();
  for (const [index, { id, role }] of messages.entries()) {
    if (role !== "user") continue;
    const next = messages[index + 1];
    const answer = next?.role === "assistant" ? saidBy(next) : undefined;
    answers.set(id, [...(answers.get(id) ?? []), answer]);
  }
  return answers as ReadonlyMap<string, readonly string[]>;
}

function saidBy({ parts }: UIMessage): string {
  const texts = parts.map((part) => {
    if (part.type === "text") return part.text;
    return "output" in part ? String(part.output) : undefined;
  });
  return texts.filter((text) => text !== undefined).join("|");
}
