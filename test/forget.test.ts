// Forgetting reaches every place in which something of a chat is kept: a row for each place, and for each way in
// which a chat is forgotten. Real files, read whole.
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
import { consentWording } from "../src/moments/record/consent.ts";
import { startMoments } from "../src/moments/start-moments.ts";
import { foldSessionSummary } from "./support/claude-fold.ts";
import { bytesUnder, runCli, temporaryDirectory } from "./support/command-line.ts";
import { randomText } from "./support/random-text.ts";
import { companion, jsonOf } from "./support/server-fixture.ts";

interface Place {
  /** What the receipt calls it, and how much of it there is. */
  readonly receipt: { readonly place: string; readonly count: number };
  /** It is not on disk, or keeps no words there. */
  readonly isInMemory?: true;
  readonly fill: (running: Running, chatId: string, words: string) => Promise<unknown>;
}

const consent = { messages: true, frames: true, audio: true, upload: true, export: true };
const software = { name: "throughline", version: "0.0.0" };

/** A process with everything that keeps something of a chat. */
async function start(home: string) {
  const throughline = await openThroughline({ home });
  const companion = await startCompanion(throughline);
  const moments = await startMoments(throughline, {
    sessionId: "a1b2c3d4",
    software,
    consent: { ...consent, wording: consentWording, by: "a test" },
  });
  return { throughline, companion, moments };
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

/** Who forgets, and what is started again before the bytes are looked for. */
const ways: Readonly<Record<string, (home: string, running: Running) => Promise<unknown>>> = {
  "the process that has it": async (_, { throughline }) => {
    const receipt = await throughline.chats.forget("a");
    await throughline.close();
    return receipt;
  },
  "a request over HTTP": async (_, { throughline }) => {
    const c = await companion([], { throughline });
    const receipt = await jsonOf(await c.ask("/api/chats/a", { method: "DELETE" }), 200);
    await c.turns.close(0);
    await throughline.close();
    return receipt;
  },
  "a process without features": async (home, { throughline }) => {
    await throughline.close();
    await using bare = await openThroughline({ home });
    return await bare.chats.forget("a");
  },
  "the command line": async (home, { throughline }) => {
    await throughline.close();
    const { out } = await runCli(["sessions", "forget", "a", "--yes", "--json"], { home });
    return JSON.parse(out);
  },
};

interface Receipt {
  readonly removed: readonly object[];
  readonly unreachable: readonly string[];
}

/** Features that were not loaded remove theirs when they start. */
async function startAgain(home: string): Promise<void> {
  const { throughline } = await start(home);
  await throughline.close();
}

async function fill(t: TestContext, wanted: readonly Place[], words: Record<"a" | "b", string>) {
  const home = join(temporaryDirectory(t), "home");
  const running = await start(home);
  for (const [chatId, said] of Object.entries(words)) {
    for (const place of wanted) await place.fill(running, chatId, said);
  }
  return { home, running };
}

for (const [way, forget] of Object.entries(ways)) {
  for (const [what, place] of Object.entries(places)) {
    test(`a chat that ${way} forgets leaves nothing in ${what}, and another chat keeps its own`, async (t) => {
      const words = { a: `lighthouse ${randomText(2_000)}`, b: `harbour ${randomText(2_000)}` };
      const { home, running } = await fill(t, [place], words);
      if (!place.isInMemory) assert.ok(bytesUnder(home).includes("lighthouse"));
      const { removed, unreachable } = (await forget(home, running)) as Receipt;
      const isLoaded = !["companion", "packages"].includes(place.receipt.place);
      const isHere = ["the process that has it", "a request over HTTP"].includes(way);
      const isReached = isHere || (isLoaded && !place.isInMemory);
      const isNamed = removed.some(
        (each) => JSON.stringify(each) === JSON.stringify(place.receipt),
      );
      if (isReached) assert.ok(isNamed, JSON.stringify(removed));
      else if (!isNamed && !place.isInMemory) {
        const says = "kept here, and not loaded in this process; removed when it is next started";
        assert.ok(
          unreachable.some((each) => each.endsWith(says)),
          unreachable.join("; "),
        );
      }
      // What the companion heard of it too.
      if (unreachable.length > 0) await startAgain(home);
      const left = bytesUnder(home);
      assert.ok(!left.includes("lighthouse"));
      assert.equal(left.includes("harbour"), !place.isInMemory);
    });
  }
}
