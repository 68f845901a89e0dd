// Forgetting reaches every place in which something of a chat is kept: a row for each place, a test for each way in
// which chats are forgotten. Real files, read whole.
import assert from "node:assert/strict";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import type { RunnableConfig } from "@langchain/core/runnables";
import { emptyCheckpoint } from "@langchain/langgraph-checkpoint";
import { ThroughlineSessionStore } from "../src/adapters/claude-agent-sdk/session-store.ts";
import { ThroughlineSaver } from "../src/adapters/langchain/saver.ts";
import { ThroughlineSession } from "../src/adapters/openai/session.ts";
import { startCompanion } from "../src/companion/start-companion.ts";
import { openThroughline } from "../src/core/throughline.ts";
import { foldSessionSummary } from "./support/claude-fold.ts";
import { bytesUnder, runCli, temporaryDirectory } from "./support/command-line.ts";
import { started } from "./support/moments-home.ts";
import { randomText } from "./support/random-text.ts";
import { companion, jsonOf } from "./support/server-fixture.ts";

interface Place {
  /** What the receipt calls it, and how much of it there is. */
  readonly receipt: { readonly place: string; readonly count: number };
  /** It is not on disk, or keeps no words there. */
  readonly isInMemory?: true;
  readonly fill: (running: Running, chatId: string, words: string) => Promise<unknown>;
}

/** A process with everything that keeps something of a chat. */
async function start(home: string) {
  const throughline = await openThroughline({ home });
  const companion = await startCompanion(throughline);
  return { throughline, companion, moments: await started(throughline) };
}
type Running = Awaited<ReturnType<typeof start>>;

const user = (content: string) => ({ role: "user", content }) as const;

const places: Readonly<Record<string, Place>> = {
  "its messages": {
    receipt: { place: "transcript", count: 2 },
    fill: ({ throughline }, chatId, words) =>
      throughline.chats.append(chatId, [user(words), { role: "assistant", content: words }]),
  },
  "its files": {
    receipt: { place: "attachments", count: 1 },
    async fill({ throughline: { chats } }, chatId, words) {
      const sha256 = await chats.files.put(chatId, Buffer.from(words));
      const file = { name: `${words.slice(0, 20)}.txt`, type: "text/plain", size: 1, sha256 };
      await chats.append(chatId, [{ ...user("see"), attachments: [file] }]);
    },
  },
  "the working memory": {
    receipt: { place: "working memory", count: 1 },
    isInMemory: true,
    async fill({ throughline }, chatId, words) {
      await throughline.chats.append(chatId, [user("hello")], { heard: false });
      const said = { utterance: words, response: words };
      throughline.workingMemory.of(chatId).append({ ...said, intent: "ask", outcome: "answered" });
    },
  },
  "the companion": {
    receipt: { place: "companion", count: 2 },
    async fill({ throughline, companion }, chatId, words) {
      await throughline.chats.append(chatId, [user("hello")], { heard: false });
      companion.personSaid(chatId, words);
      companion.replied(chatId, words);
      await companion.save();
    },
  },
  "its moments": {
    receipt: { place: "packages", count: 1 },
    async fill({ throughline, moments: { recorder } }, chatId, words) {
      await throughline.chats.append(chatId, [user("hello")], { heard: false });
      recorder.message({ role: "user", text: words, id: `${chatId}:m1`, chatId, turnId: chatId });
      const what = { sentiment: "positive", what: words.slice(0, 90), source: "http" } as const;
      await recorder.record({ ...what, chatId }).whenDurable();
    },
  },
  // An id of frameworks needs no chat.
  "a thread of LangGraph": {
    receipt: { place: "langgraph", count: 6 },
    async fill({ throughline }, chatId, words) {
      const config: RunnableConfig = { configurable: { thread_id: chatId, checkpoint_ns: "" } };
      const channel_values = { long: words.repeat(20), list: [words] };
      const checkpoint = { ...emptyCheckpoint(), channel_values };
      const metadata = { source: "input", step: 0, parents: {} } as const;
      const saver = new ThroughlineSaver(throughline);
      await saver.put(config, checkpoint, metadata, { long: 1, list: 1 });
    },
  },
  "a session of Claude": {
    receipt: { place: "claude", count: 2 },
    async fill({ throughline }, sessionId, words) {
      const store = new ThroughlineSessionStore(throughline, { foldSessionSummary });
      for (const projectKey of ["p", "q"]) {
        const entry = { type: "user", uuid: `${projectKey}1`, text: words.repeat(20) };
        await store.append({ projectKey, sessionId }, [entry]);
      }
    },
  },
  "a session of OpenAI Agents": {
    receipt: { place: "transcript", count: 1 },
    async fill({ throughline }, chatId, words) {
      const image = { type: "input_image", image: `data:image/png;base64,${words.repeat(20)}` };
      const item = { role: "user", content: [{ type: "input_text", text: words }, image] } as const;
      await new ThroughlineSession(throughline, chatId).addItems([item as never]);
    },
  },
};

interface Way {
  readonly forget: (chatId: string) => Promise<Receipt>;
  readonly end: () => Promise<unknown>;
}

/** Who forgets. */
const ways: Readonly<Record<string, (home: string, running: Running) => Promise<Way>>> = {
  "the process that has it": async (_, { throughline }) => ({
    forget: (id) => throughline.chats.forget(id),
    end: () => throughline.close(),
  }),
  "a request over HTTP": async (_, { throughline }) => {
    const c = await companion([], { throughline });
    return {
      forget: async (id) => jsonOf(await c.ask(`/api/chats/${id}`, { method: "DELETE" }), 200),
      end: () => c.turns.close(0).then(() => throughline.close()),
    };
  },
  "a process without features": async (home, { throughline }) => {
    await throughline.close();
    const bare = await openThroughline({ home });
    return { forget: (id) => bare.chats.forget(id), end: () => bare.close() };
  },
  "the command line": async (home, { throughline }) => {
    await throughline.close();
    const forget = async (id: string) =>
      JSON.parse((await runCli(["sessions", "forget", id, "--yes", "--json"], { home })).out);
    return { forget, end: async () => undefined };
  },
};

interface Receipt {
  readonly removed: readonly object[];
  readonly unreachable: readonly string[];
}

/** One chat for each place, that is forgotten, and another one that is kept. */
const chats = Object.entries(places).map(([what, place], nth) => {
  const [forgotten, kept] = [`lighthouse-${nth}-`, `harbour-${nth}-`];
  return { what, place, forgotten, kept, ids: [`a${nth}`, `b${nth}`] as const };
});

/** A home in which each place has something of its two chats. */
async function fill(t: TestContext) {
  const home = join(temporaryDirectory(t), "home");
  const running = await start(home);
  for (const { place, forgotten, kept, ids } of chats) {
    for (const [nth, word] of [forgotten, kept].entries()) {
      await place.fill(running, ids[nth] ?? "", `${word} ${randomText(2_000)}`);
    }
  }
  return { home, running };
}

for (const [way, begin] of Object.entries(ways)) {
  test(`chats that ${way} forgets leave nothing in any place, and others keep their own`, async (t) => {
    const { home, running } = await fill(t);
    const full = bytesUnder(home);
    for (const { what, place, forgotten } of chats) {
      assert.ok(place.isInMemory || full.includes(forgotten), what);
    }
    const { forget, end } = await begin(home, running);
    const receipts: Receipt[] = [];
    const isHere = ["the process that has it", "a request over HTTP"].includes(way);
    for (const { what, ids, forgotten } of chats) {
      receipts.push(await forget(ids[0]));
      // Before the next forgetting rewrites something.
      if (isHere) assert.ok(!bytesUnder(home).includes(forgotten), `${what}, at once`);
    }
    await end();
    for (const [nth, { what, place }] of chats.entries()) {
      const { removed = [], unreachable = [] } = receipts[nth] ?? {};
      const isLoaded = !["companion", "packages"].includes(place.receipt.place);
      const isReached = isHere || (isLoaded && !place.isInMemory);
      const isNamed = removed.some(
        (each) => JSON.stringify(each) === JSON.stringify(place.receipt),
      );
      if (isReached) assert.ok(isNamed, `${what}: ${JSON.stringify(removed)}`);
      else if (!isNamed && !place.isInMemory) {
        const says = "kept here, and not loaded in this process; removed when it is next started";
        assert.ok(
          unreachable.some((each) => each.endsWith(says)),
          `${what}: ${unreachable.join("; ")}`,
        );
      }
    }
    // Features that were not loaded remove theirs when they start, and what the companion heard.
    if (receipts.some(({ unreachable }) => unreachable.length > 0)) {
      const { throughline } = await start(home);
      await throughline.close();
    }
    const left = bytesUnder(home);
    for (const { what, place, forgotten, kept } of chats) {
      assert.ok(!left.includes(forgotten), what);
      assert.equal(left.includes(kept), !place.isInMemory, what);
    }
  });
}
