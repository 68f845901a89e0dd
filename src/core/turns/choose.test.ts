import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as nextPass } from "node:timers/promises";
import { changed } from "../../../test/support/changed.ts";
import { MemoryPlace, openMemoryProcess } from "../../../test/support/memory-place.ts";
import {
  chat,
  down,
  type Script,
  scriptedCompanion,
} from "../../../test/support/scripted-companion.ts";
import type { ScriptedStep } from "../../../test/support/scripted-responder.ts";
import { randomId } from "../ids.ts";
import type { Lease } from "../storage/leases.ts";
import { withVariants } from "./turn-log.ts";

const companion = (
  script: Script,
  { window, place }: { readonly window?: number; readonly place?: MemoryPlace } = {},
) =>
  scriptedCompanion(script, {
    window,
    newId: randomId,
    storage: place === undefined ? "memory" : openMemoryProcess({ place }),
  });

type Companion = Awaited<ReturnType<typeof companion>>;

/** A message with its answer, and as many more answers as there are retries. */
async function answered(c: Companion, content: string, retries: number): Promise<string[]> {
  const first = await c.turns.submit(chat, { content }).done;
  const ids = [first.assistant?.id ?? ""];
  for (let n = 0; n < retries; n++) {
    ids.push((await (await c.turns.retry(chat)).done).assistant?.id ?? "");
  }
  return ids;
}

async function shown({ chats }: Companion, chatId = chat): Promise<string[]> {
  const { messages } = await chats.messages(chatId);
  return messages.filter(({ hidden }) => !hidden).map(({ content }) => content);
}

/** What the newest answer says of the others. */
async function variants({ chats }: Companion, limit = 50) {
  const { messages } = await chats.messages(chat, { limit });
  return (await withVariants(chats, chat, messages)).flatMap(({ content, variants = [] }) =>
    variants.length === 0 ? [] : [{ content, variants }],
  );
}

const conflict = { code: "THROUGHLINE_CONFLICT" };
const missing = { code: "THROUGHLINE_NOT_FOUND" };

test("right after a turn, while its lease is being released, an answer is chosen and a message dismissed", async () => {
  const storage = openMemoryProcess({ place: new MemoryPlace() });
  let held = Promise.withResolvers<void>();
  const slow = ({ epoch, lost, release }: Lease): Lease => {
    return { epoch, lost, release: () => held.promise.then(release) };
  };
  const leases = changed(storage.leases, {
    acquire: async (...args) => slow(await storage.leases.acquire(...args)),
    async tryAcquire(...args) {
      const lease = await storage.leases.tryAcquire(...args);
      return lease && slow(lease);
    },
  });
  const script: Script = [["alpha"], [down]];
  const c = await scriptedCompanion(script, { storage: changed(storage, { leases }) });
  const end = async () => {
    for (let pass = 0; pass < 100; pass++) await nextPass();
    held.resolve();
  };
  const { assistant } = await c.say("Hello");
  await Promise.all([c.turns.choose(chat, assistant?.id ?? ""), end()]);
  held = Promise.withResolvers();
  await c.say("Again");
  const [count] = await Promise.all([c.turns.dismiss(chat), end()]);
  assert.equal(count, 1);
});

test("choosing what is shown stores nothing, and keeps the session of its provider", async () => {
  const session: ScriptedStep = { type: "provider-session", id: "resp_1" };
  const c = await companion([["1"], [session, "2"]]);
  const [first = "", second = ""] = await answered(c, "Hello", 1);
  const end = async () => (await c.chats.existing(chat)).seq;
  const resumed = async () => (await c.sessions.active(chat))?.session_id;
  const before = await end();
  await c.turns.choose(chat, second);
  assert.deepEqual([await end(), await resumed()], [before, "resp_1"]);
  await c.turns.choose(chat, first);
  assert.equal(await resumed(), "");
  const chosen = await end();
  await c.turns.choose(chat, first);
  assert.equal(await end(), chosen);
});

test("an answer is chosen with the tool calls that led to it", async () => {
  const call = { id: "c1", type: "function", function: { name: "look", arguments: "{}" } } as const;
  const looks = (said: string): readonly ScriptedStep[] => [
    { type: "tool-call", call },
    { type: "tool-result", toolCallId: "c1", toolName: "look", content: said, isError: false },
    `It says ${said}`,
  ];
  const c = await companion([looks("rain"), looks("sun"), ["Bye"], ["Bye"]]);
  const [first = "", second = ""] = await answered(c, "Weather?", 1);
  await c.turns.choose(chat, first);
  assert.deepEqual(await shown(c), ["Weather?", "", "rain", "It says rain"]);
  await c.turns.choose(chat, second);
  assert.deepEqual(await shown(c), ["Weather?", "", "sun", "It says sun"]);
  await c.chats.fork(chat, second, "newer");
  assert.deepEqual(await shown(c, "newer"), ["Weather?", "", "sun", "It says sun"]);
  await c.chats.fork(chat, first, "copy");
  assert.deepEqual(await shown(c, "copy"), ["Weather?", "", "rain", "It says rain"]);
  await c.turns.choose(chat, first);
  await c.say("Thanks");
  const asked = ["user: Weather?", "assistant: ", "tool: rain", "assistant: It says rain"];
  assert.deepEqual(c.asked(), [...asked, "user: Thanks"]);
});

test("once more was said an answer is not chosen, and a fork at it has it", async () => {
  const c = await companion([["1"], ["2"], ["more"]]);
  const [first = "", second = ""] = await answered(c, "Hello", 1);
  await c.say("And?");
  const message = /more was said since: fork the chat at this answer instead/;
  await assert.rejects(c.turns.choose(chat, first), { ...conflict, message });
  await assert.rejects(c.turns.choose(chat, second), conflict);
  await c.chats.fork(chat, first, "copy");
  assert.deepEqual(await shown(c, "copy"), ["Hello", "1"]);
});

test("nothing is chosen while an answer is made or missing, nor what is gone or no answer", async () => {
  const gate = Promise.withResolvers<void>();
  const wait: ScriptedStep = { type: "wait", until: gate.promise };
  const c = await companion([["1"], ["2"], ["3"], [wait, "4"], [down]]);
  await assert.rejects(c.turns.choose(chat, "x"), missing);
  const [first = "", second = ""] = await answered(c, "Hello", 2);
  const { messages } = await c.chats.messages(chat);
  await assert.rejects(c.turns.choose(chat, messages[0]?.id ?? ""), missing);
  await assert.rejects(c.turns.choose(chat, "x"), missing);
  await c.chats.erase(chat, first);
  await assert.rejects(c.turns.choose(chat, first), conflict);
  assert.equal((await variants(c))[0]?.variants.length, 2);
  const running = await c.turns.retry(chat);
  await assert.rejects(c.turns.choose(chat, second), conflict);
  gate.resolve();
  await running.done;
  await c.turns.choose(chat, second);
  await c.say("More");
  await assert.rejects(c.turns.choose(chat, second), conflict);
});

test("no provider resumes a session that has another answer in it", async () => {
  const ends = (id: string): ScriptedStep => ({ type: "provider-session", id });
  const c = await companion([
    ["1", ends("s1")],
    ["2", ends("s2")],
    ["more", ends("s3")],
    ["and more"],
  ]);
  const [first = ""] = await answered(c, "Hello", 1);
  assert.equal(c.model.requests[1]?.providerSessionId, undefined, "of the answer before");
  await c.turns.choose(chat, first);
  await c.say("More");
  assert.equal(c.model.requests[2]?.providerSessionId, undefined, "of the answer that was hidden");
  await c.say("Still more");
  assert.equal(c.model.requests[3]?.providerSessionId, "s3");
});

test("working memory has the chosen answer at its place, and other processes remember neither", async () => {
  const place = new MemoryPlace();
  const c = await companion([["0"], ["1st"], ["2nd"], ["3rd"]], { window: 4_096, place });
  const other = await companion([], { place });
  await c.say("before");
  const [first = ""] = await answered(c, "one", 1);
  const said = { utterance: "one", intent: "chat", response: "2nd", outcome: "answered" } as const;
  other.workingMemory.of(chat).append(said, "t");
  await c.turns.choose(chat, first);
  assert.deepEqual(c.workingMemory.of(chat).recentResponses(), ["1st", "0"]);
  await c.say("two");
  assert.match(c.model.requests.at(-1)?.context ?? "", /1st/);
  assert.doesNotMatch(c.model.requests.at(-1)?.context ?? "", /2nd/);
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(other.workingMemory.peek(chat)?.count ?? 0, 0);
  await other.close();
  await c.close();
});

test("a summary that tells a replaced answer, or not the chosen one, is not used", async () => {
  const c = await companion([["1"], ["2"], ["more"]]);
  const [first = ""] = await answered(c, "Hello", 1);
  const { seq } = await c.chats.existing(chat);
  await c.chats.compact(chat, seq, "They said hello, and got 2.");
  await c.turns.choose(chat, first);
  await c.say("More");
  assert.deepEqual(c.asked(), ["user: Hello", "assistant: 1", "user: More"]);
});

test("nothing is chosen while a message waits that another process left behind", async () => {
  const c = await companion([["1"], ["2"]]);
  const [first = ""] = await answered(c, "Hello", 1);
  await c.chats.change(chat, (transaction) => {
    transaction.control("pending_input", { content: "And?" }, "pending:p1");
    transaction.set({ pending: ["p1"] });
  });
  const message = /no answer yet: answer or dismiss it first/;
  await assert.rejects(c.turns.choose(chat, first), { ...conflict, message });
  await c.turns.dismiss(chat);
  await assert.rejects(c.turns.choose(chat, first), conflict, "then more was said");
});

test("an answer whose other ones fill a page is counted with them", async () => {
  const c = await companion([["1"], ["2"], ["3"], ["4"]]);
  const ids = await answered(c, "Hello", 3);
  assert.deepEqual(await variants(c, 1), [{ content: "4", variants: ids }]);
});
