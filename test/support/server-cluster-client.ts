// A client of a cluster in a process of its own: says one thing after the other to servers by chance, and
// the same again, under its key, to another one until it is answered. What it says and what it hears it
// writes into a journal first, which outlives it: its next life goes on from there.
import fs from "node:fs";
import { setTimeout as wait } from "node:timers/promises";
import { seededRandom } from "../../src/testing/random.ts";
import { wordsOf } from "./noting-model.ts";
import {
  type ClientOptions,
  type Heard,
  readJournal,
  type Said,
} from "./server-cluster-journal.ts";

const options = JSON.parse(process.argv[2] ?? "") as ClientOptions;
const random = seededRandom(options.seed);
const journal = fs.openSync(options.journal, "a");
fs.writeSync(journal, "\n"); // the life before may have ended in a line
const note = (event: object) => {
  const at = String(process.hrtime.bigint());
  fs.writeSync(journal, `${JSON.stringify({ ...event, at })}\n`);
};

/** Chats in which this client says something now. */
const busy = new Set<string>();
let isOver = false;
process.stdin.on("end", () => {
  isOver = true;
});
process.stdin.resume();

/** What nobody answered in the life before. A third of it is never asked for again. */
const { said, closed } = readJournal(options.journal);
let count = said.length;
const open = said.filter(({ key }) => !closed.has(key));
for (const each of open.splice(0, Math.floor(open.length / 3))) {
  note({ event: "leaves", key: each.key });
}

await Promise.all(Array.from({ length: options.workers }, worker));
process.stdout.write("every one was answered\n");
process.exit(0);

async function worker(): Promise<void> {
  for (let next = toSay(); next !== undefined; next = toSay()) {
    busy.add(next.chat);
    await settle(next);
    busy.delete(next.chat);
  }
}

function toSay(): Said | undefined {
  const again = open.pop();
  if (again !== undefined || isOver) return again;
  let chat: string;
  do chat = chatByChance();
  while (busy.has(chat));
  const key = `${options.name}-${++count}`;
  const next = { chat, key, content: wordsOf(chat, key) };
  note({ event: "says", ...next });
  return next;
}

/** Half of what is said goes to a few chats, in which other clients speak too. */
function chatByChance(): string {
  const all = random(2) === 0 ? options.chats : options.hotChats;
  return `chat-${random(all)}`;
}

async function settle(next: Said): Promise<void> {
  let server = random(options.urls.length);
  for (;;) {
    const begunAt = performance.now();
    const broke = await tell(options.urls[server] ?? "", next);
    if (broke === undefined) return;
    note({
      event: "broke",
      key: next.key,
      why: broke,
      ms: Math.round(performance.now() - begunAt),
    });
    // Another one, soon.
    server = (server + 1 + random(options.urls.length - 1)) % options.urls.length;
    await wait(50 + random(100));
  }
}

/** @returns why nobody knows what became of it; `undefined` when it is answered. */
async function tell(url: string, { chat, key, content }: Said): Promise<string | undefined> {
  const isImpatient = random(12) === 0;
  const isWatching = random(2) === 0;
  try {
    const response = await fetch(`${url}/api/chats/${chat}/messages`, {
      method: "POST",
      headers: {
        ...{ "content-type": "application/json", "idempotency-key": key },
        ...(isWatching ? { accept: "text/event-stream" } : {}),
      },
      body: JSON.stringify({ content }),
      ...(isImpatient ? { signal: AbortSignal.timeout(random(200)) } : {}),
    });
    if (response.status === 503) return await response.text();
    if (response.status !== 200) fail(`${response.status} ${await response.text()}`);
    if (isWatching && response.body !== null) return await watch(key, response.body);
    answered(key, JSON.parse(await response.text()));
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.name : "unknown"; // the connection went
  }
}

async function watch(key: string, body: AsyncIterable<Uint8Array>): Promise<string | undefined> {
  let text = "";
  const decoder = new TextDecoder();
  for await (const chunk of body) {
    text += decoder.decode(chunk, { stream: true });
    const events = text.split("\n\n");
    text = events.pop() ?? "";
    for (const event of events) {
      const [, name, data = ""] = /^event: (.*)\ndata: (.*)$/m.exec(event) ?? [];
      if (name === "accepted") note({ event: "accepted", key, user: JSON.parse(data).user });
      else if (name === "result") {
        answered(key, JSON.parse(data));
        return undefined;
      } else if (name === "error") {
        if (JSON.parse(data).status !== 503) fail(data);
        return data;
      }
    }
  }
  return "the stream ended";
}

function answered(key: string, { user, assistant }: Heard): void {
  note({ event: "answered", key, user, assistant });
}

function fail(why: string): never {
  note({ event: "failed", why });
  process.stderr.write(`${why}\n`);
  process.exit(1);
}
