// A program that calls its own model, on a home. It notes in its output what was stored when it went on.
// Arguments: the home, and the place at which it kills itself. At the place "never" it makes one turn
// after the other until its parent kills it.
import { setImmediate } from "node:timers/promises";
import { openThroughline } from "../../../src/core/throughline.ts";
import {
  answer,
  call,
  chat,
  type OpenTurnPlace,
  result,
  target,
  usage,
} from "../open-turn-words.ts";
import { say as note } from "../say.ts";

const [home = "", place = ""] = process.argv.slice(3);

function dieAt(here: OpenTurnPlace): void {
  if (place === here) process.kill(process.pid, "SIGKILL");
}

const throughline = await openThroughline({ home });
const turns = await throughline.turns();

async function turn(id: string): Promise<void> {
  const opened = await turns.open(chat, { id, content: `question ${id}` }, target);
  if (opened.state !== "open") throw new Error(`${id} is ${opened.state}`);
  note(id);
  dieAt("after open");
  await opened.turn.keep([call(id)]);
  note(call(id).id);
  dieAt("after the call is kept");
  await opened.turn.keep([result(id)]);
  note(result(id).id);
  dieAt("after the result is kept");
  if (place === "while a second message waits") {
    turns.open(chat, { id: "m2", content: "question m2" }, target).catch(() => undefined);
    while (!(await throughline.chats.existing(chat)).head.pending?.includes("m2")) {
      await setImmediate();
    }
  }
  dieAt("while a second message waits");
  const closing = opened.turn.close({ messages: [answer(id)], usage, outcome: "answered" });
  dieAt("as close is called");
  await closing;
  note(answer(id).id);
  dieAt("after close");
}

for (let n = 1; ; n++) await turn(place === "never" ? `${process.pid}-${n}` : `m${n}`);
