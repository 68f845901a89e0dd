// A process dies between opening a turn and closing it; the next one finds the message and what was kept.
import assert from "node:assert/strict";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { openThroughline } from "../src/core/throughline.ts";
import type { OpenInput, OpenTurn } from "../src/core/turns/open-turn.ts";
import { temporaryDirectory } from "./support/command-line.ts";
import { killed } from "./support/killed.ts";
import {
  answer,
  call,
  chat,
  openTurnPlaces,
  result,
  target,
  usage,
} from "./support/open-turn-words.ts";

/** The next run: the same home, in this process. */
async function restart(t: TestContext, home: string) {
  const throughline = await openThroughline({ home });
  t.after(() => throughline.close());
  const { chats } = throughline;
  const turns = await throughline.turns();
  const ids = async () =>
    (await chats.messages(chat, { limit: 1_000 })).messages.map(({ id }) => id);
  const unanswered = async () => (await chats.list({ unanswered: true })).chats.length;
  const open = async (input: OpenInput): Promise<OpenTurn> => {
    const opened = await turns.open(chat, input, target);
    return opened.state === "open" ? opened.turn : assert.fail(`it is ${opened.state}`);
  };
  return { ...throughline, turns, ids, unanswered, open };
}

const whole = (id: string) => [id, call(id).id, result(id).id, answer(id).id];

for (const [index, place] of openTurnPlaces.entries()) {
  const kept = index === 0 ? [] : [call("m1"), result("m1")].slice(0, Math.min(index, 2));
  test(`a process killed ${place} leaves ${place === "after close" ? "the answer" : `the message unanswered, with ${kept.length} of what was kept, and it is answered once`}`, async (t) => {
    const home = join(temporaryDirectory(t), "home");
    await killed("open-turn", [home, place]);
    const c = await restart(t, home);
    const isAnswered = place === "after close";
    assert.deepEqual(await c.ids(), isAnswered ? whole("m1") : ["m1", ...kept.map(({ id }) => id)]);
    assert.equal(await c.unanswered(), isAnswered ? 0 : 1);
    const input = { id: "m1", content: "question m1" };
    if (!isAnswered) {
      const turn = await c.open(input);
      assert.equal(turn.attempt, 2);
      assert.deepEqual(
        turn.kept.map(({ id }) => id),
        kept.map(({ id }) => id),
      );
      const messages = [call("m1"), result("m1"), answer("m1")];
      await turn.close({ messages, usage, outcome: "answered" });
    }
    assert.deepEqual(await c.ids(), whole("m1"));
    if (place === "while a second message waits") {
      const turn = await c.open({});
      assert.deepEqual([turn.user.id, turn.user.content], ["m2", "question m2"]);
      await turn.close({ messages: [answer("m2")], usage, outcome: "answered" });
    }
    assert.equal(await c.unanswered(), 0);
    assert.equal((await c.turns.open(chat, input, target)).state, "answered");
    const turnsThere = place === "while a second message waits" ? 2 : 1;
    const session = await c.sessions.active(chat);
    assert.deepEqual(
      [session?.message_count, session?.total_cost_usd],
      [turnsThere, turnsThere * 0.5],
      "counted once",
    );
  });
}

const kills = process.env["THROUGHLINE_FULL"] === "1" ? 6 : 2;
test(`after ${kills} kills at any moment, all that a program saw stored is there once, and only the last message is open`, async (t) => {
  const home = join(temporaryDirectory(t), "home");
  const seen: string[] = [];
  for (let n = 0; n < kills; n++) {
    const delayMs = Math.round((54 / kills) * n);
    seen.push(...(await killed("open-turn", [home, "never"], { once: "\n", delayMs })));
  }
  const c = await restart(t, home);
  const ids = await c.ids();
  assert.equal(new Set(ids).size, ids.length, "each once");
  assert.deepEqual(
    seen.filter((id) => !ids.includes(id)),
    [],
  );
  // Of every answer the whole turn is there.
  for (const id of ids.filter((each) => each.endsWith("-answer"))) {
    const at = ids.indexOf(id);
    assert.deepEqual(ids.slice(at - 3, at + 1), whole(id.slice(0, -"-answer".length)));
  }
  const isOpen = !ids.at(-1)?.endsWith("-answer");
  assert.equal(await c.unanswered(), isOpen ? 1 : 0);
});
