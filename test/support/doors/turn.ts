// A companion on a home whose process kills itself at a chosen place of its last turn. Arguments: the
// home, the place, "talk" or "answer", and "repeatable" if its tool is. What its model is asked and its
// tool does is noted beside the home, where nothing of the product looks.
import { appendFileSync } from "node:fs";
import { systemClock } from "../../../src/core/clock.ts";
import { randomId } from "../../../src/core/ids.ts";
import { silentLogger } from "../../../src/core/logger.ts";
import type { Responder } from "../../../src/core/models/responder.ts";
import { realDisk } from "../../../src/core/storage/disk/disk.ts";
import { FileStorage } from "../../../src/core/storage/files/file-storage.ts";
import { FileIndex } from "../../../src/core/storage/files/index.ts";
import { partsOf } from "../../../src/core/storage/files/index-search.ts";
import { takeLease } from "../../../src/core/storage/files/lease.ts";
import { openThroughline } from "../../../src/core/throughline.ts";
import { systemTimers } from "../../../src/core/timers.ts";
import { hookedDisk } from "../hooked-disk.ts";
import {
  chat,
  hello,
  journalOf,
  type KillPlace,
  killPlaces,
  lampTool,
  question,
  usage,
} from "../turn-kill-words.ts";

const [home = "", place = "", task = "", kind = ""] = process.argv.slice(3);

/** Set once the turn begins that this process does not survive. */
let isArmed = false;
let writes = 0;

function dieAt(...places: readonly KillPlace[]): void {
  if (isArmed && places.some((each) => each === place)) process.kill(process.pid, "SIGKILL");
}

/** What a turn appends, in this order. A turn that is taken up again says so in place of its message. */
const appended = ["the user's message", "the call", "the result", "the answer"] as const;

/** This machine's disk. */
const disk = hookedDisk(realDisk, async (call, path, { half }) => {
  if (!path.includes("/journal/")) return;
  if (call === "write" && isArmed) writes++;
  const what = appended[writes - 1] ?? "the answer";
  if (call === "sync") dieAt(`before the sync of ${what}`);
  if (call !== "write") return;
  dieAt(`before ${what}`);
  if (isArmed && place === `in ${what}`) {
    await half();
    dieAt(`in ${what}`);
  }
});

const note = (what: string) => appendFileSync(journalOf(home), `${what}\n`);

const model: Responder = {
  ...{ provider: "scripted", model: "script-1", window: undefined },
  async *respond({ messages, tools }) {
    note("asked");
    dieAt("when the model is asked");
    if (messages.at(-1)?.role !== "tool") {
      yield { type: "text", text: "Let me see. " };
      const toolCall = { name: "lamp", arguments: "{}" };
      const call = { id: "call-1", type: "function", function: toolCall } as const;
      yield { type: "tool-call", call };
      const content = (await tools?.tools[0]?.run({}, call)) ?? "no tool";
      const result = { toolCallId: "call-1", toolName: "lamp", content, isError: false };
      yield { type: "tool-result", ...result };
    }
    yield { type: "text", text: "The lamp " };
    dieAt("in the middle of the stream");
    yield { type: "text", text: "is on." };
    yield { type: "end", finish: "stop", usage };
  },
};
const tool = lampTool(home, kind === "repeatable", {
  begins: () => dieAt("before the tool runs"),
  hasRun: () => dieAt("while the tool runs"),
});

const lease = takeLease(home);
const index = new FileIndex(`${home}/index.db`);
const ports = { clock: systemClock, newId: randomId, logger: silentLogger };
const storage = await FileStorage.open({
  ...{ ...ports, timers: systemTimers, home, disk, durability: "power-cut" },
  ...{ index, openIndex: partsOf(index), directoryChanged: () => undefined },
  ...{ maxOpen: 256, segmentBytes: 65_536 },
  guard: () => lease.check(),
  release: () => undefined,
});
const target = { provider: model.provider, model: model.model };
const throughline = await openThroughline({ storage, ...ports, ...target });
const turns = await throughline.turns({
  model,
  persona: "You are kind.",
  tools: () => ({ instructions: "", tools: [tool] }),
});
if (!killPlaces.some((each) => each === place)) throw new Error(`there is no place "${place}"`);

if (task === "talk") await turns.submit(chat, { content: hello }).done;
isArmed = true;
if (task === "talk") await turns.submit(chat, question).done;
else await (await turns.answer(chat)).done;
dieAt("after the turn");
throw new Error(`nothing happened at "${place}"`);
