import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { HeldClock } from "../../../test/support/held-clock.ts";
import { ThroughlineError } from "../errors.ts";
import { openThroughline } from "../throughline.ts";
import { titleFrom } from "./chat-head.ts";
import type { Chats } from "./chats.ts";
import { summaryFor } from "./history.ts";
import { type MessageInput, messageRecord } from "./message-input.ts";

const chat = "telegram:42";
const user = (content: string, more = {}): MessageInput => ({ role: "user", content, ...more });
const assistant = (content: string): MessageInput => ({ role: "assistant", content });

async function companion() {
  const clock = new HeldClock();
  let ids = 0;
  const newId = () => `id-${++ids}`;
  const throughline = await openThroughline({ storage: "memory", clock, newId });
  const said = async (chatId = chat) =>
    (await throughline.chats.messages(chatId)).messages.map(({ content }) => content);
  return { ...throughline, clock, said };
}

test("a message whose id is as long as ids can be is shown and erased", async () => {
  const { chats } = await companion();
  const id = "m".repeat(256);
  await chats.append(chat, [user("x", { id })]);
  assert.equal((await chats.messages(chat)).messages[0]?.content, "x");
  assert.equal((await chats.erase(chat, id)).erased, true);
  assert.equal((await chats.messages(chat)).messages[0]?.redacted, true);
});

test("clear starts afresh and keeps metadata; the cursor moves to the clear point, and updated_at to now", async () => {
  const { chats, clock, said } = await companion();
  await chats.append(chat, [user("Hello"), assistant("Hi!")]);
  await chats.setMetadata(chat, { mood: "fine" });
  await chats.setConsolidated(chat, 1);
  clock.pass(1_000);
  await chats.clear(chat);
  assert.deepEqual(await said(), []);
  const { head } = await chats.existing(chat);
  assert.equal(head.last_consolidated, 2);
  assert.equal(Date.parse(head.updated_at), clock.now());
  assert.equal(Date.parse(head.created_at), clock.now() - 1_000);
  assert.deepEqual(head.metadata, { mood: "fine" });
  assert.equal((await chats.row(chat)).message_count, 0);
  await chats.append(chat, [user("Fresh start")]);
  assert.deepEqual(await said(), ["Fresh start"]);
  assert.equal((await chats.row(chat)).title, "Fresh start");
  await assert.rejects(chats.setConsolidated(chat, 2), { code: "THROUGHLINE_INVALID" });
});

test("an erased message leaves a mark in its place, and is gone from every record, search and title", async () => {
  const { chats } = await companion();
  await chats.append(chat, [user("my secret", { id: "m1" }), assistant("ok")]);
  assert.equal((await chats.erase(chat, "m1")).erased, true);
  assert.equal((await chats.erase(chat, "m1")).erased, false);
  const { messages } = await chats.messages(chat);
  const mark = { role: "system", timestamp: "", content: "", redacted: true };
  assert.deepEqual(messages[0], { id: "m1", seq: 1, ...mark });
  assert.equal(messages[1]?.content, "ok");
  assert.deepEqual(await chats.search("secret"), []);
  assert.equal((await chats.row(chat)).title, "");
  await assert.rejects(chats.message(chat, "m1"), { code: "THROUGHLINE_NOT_FOUND" });
  const records = await Array.fromAsync(chats.records(chat));
  assert.doesNotMatch(JSON.stringify([records, await chats.state(chat)]), /secret/);
  const kinds = records.map(({ seq, kind }) => `${seq} ${kind}`);
  assert.deepEqual(kinds, ["1 erased", "2 undefined"]);
  const [known] = await chats.append(chat, [user("after")]);
  assert.equal(known?.seq, 3);
});

test("erasing a message erases the summaries that cover it", async () => {
  const { chats } = await companion();
  await chats.append(chat, [user("1", { id: "a" }), user("2", { id: "b" })]);
  await chats.compact(chat, 1, "They said one.");
  await chats.erase(chat, "b");
  assert.match(JSON.stringify(await Array.fromAsync(chats.records(chat))), /They said one/);
  await chats.erase(chat, "a");
  assert.doesNotMatch(JSON.stringify(await Array.fromAsync(chats.records(chat))), /They said one/);
});

test("a summary of no words, or up to what is not there, is refused", async () => {
  const { chats } = await companion();
  await chats.append(chat, [user("1"), user("2")]);
  for (const [upToSeq, summary] of [
    [0, "x"],
    [9, "x"],
    [1.5, "x"],
    [1, " "],
  ] as const) {
    await assert.rejects(chats.compact(chat, upToSeq, summary), { code: "THROUGHLINE_INVALID" });
  }
});

const changes: Record<string, (w: Awaited<ReturnType<typeof companion>>) => Promise<unknown>> = {
  "is taken back": ({ chats }) => chats.takeBack(chat, ["a"]),
  "is erased": ({ chats }) => chats.erase(chat, "a"),
  "is cleared": ({ chats }) => chats.clear(chat),
  "belongs to a session that ended": ({ sessions }) => sessions.reset(chat),
};
for (const [says, change] of Object.entries(changes)) {
  test(`a summary stands for no message that ${says}`, async () => {
    const w = await companion();
    await w.chats.append(chat, [user("1", { id: "a" }), user("2", { id: "b" })]);
    await w.chats.compact(chat, 1, "They said one.");
    const summary = async () =>
      summaryFor(w.chats.logs, chat, (await w.chats.existing(chat)).head, "x");
    await w.chats.takeBack(chat, ["b"]);
    assert.equal((await summary())?.text, "They said one.");
    await change(w);
    assert.equal(await summary(), undefined);
  });
}

test("a chat that is begun again after a crash right before the end of its forgetting stays", async () => {
  const { chats, said } = await companion();
  await chats.append(chat, [user("secret")]);
  const { tombstones } = chats;
  await tombstones.begin(chat, { id: "x", at: "2026-01-01T00:00:00.000Z" }, []);
  await chats.logs.delete(chat);
  chats.forgetState(chat);
  await chats.recover();
  await chats.append(chat, [user("new words")]);
  await chats.recover();
  assert.deepEqual(await said(), ["new words"]);
});

test("a chat that is begun again after a call that failed right before the end and was repeated stays", async () => {
  const { chats, said } = await companion();
  await chats.append(chat, [user("secret")]);
  const { tombstones } = chats;
  const refused = new ThroughlineError("full", { code: "THROUGHLINE_UNAVAILABLE" });
  Object.assign(tombstones, { finish: () => Promise.reject(refused) });
  await assert.rejects(chats.forget(chat), refused);
  await chats.recover(); // a full disk is no reason not to start
  Reflect.deleteProperty(tombstones, "finish");
  await chats.forget(chat);
  await chats.append(chat, [user("new words")]);
  await chats.recover();
  assert.deepEqual(await said(), ["new words"]);
});

test("a chat is copied with messages of which an import knew no time", async () => {
  const { chats } = await companion();
  await chats.append(chat, [user("1")]);
  const { head } = await chats.existing(chat);
  const untimed = { id: "m2", role: "assistant", content: "2", timestamp: "" };
  await chats.logs.append(chat, [untimed], { head });
  await chats.fork(chat, "m2", "copy");
  const { messages } = await chats.messages("copy");
  const { timestamp = "" } = messages[0] ?? {};
  const said = messages.map(({ content, timestamp }) => `${content} at ${timestamp}`);
  assert.deepEqual(said, [`1 at ${timestamp}`, `2 at ${timestamp}`]);
});

test("metadata may take 32 KiB of the head, so that a chat that has so much goes on", async () => {
  const { chats, sessions, said } = await companion();
  await chats.append(chat, [user("x")]);
  const most = { x: "y".repeat(32 * 1024 - '{"x":""}'.length) };
  await chats.setMetadata(chat, most);
  await assert.rejects(chats.setMetadata(chat, { x: `${most.x}y` }), {
    code: "THROUGHLINE_TOO_LARGE",
    message: "metadata is longer than 32768 bytes",
  });
  assert.deepEqual((await chats.existing(chat)).head.metadata, most);
  await sessions.resolve(chat);
  await chats.append(chat, [user("the next")]);
  assert.deepEqual(await said(), ["x", "the next"]);
});

const [invalid, large] = ["THROUGHLINE_INVALID", "THROUGHLINE_TOO_LARGE"];
const ours = ["removal", "replaced", "pending", "erasure", "usage", "compaction", "part"];
const said = { role: "user", content: "x" };
const zone = "message.timestamp must be ISO 8601 with a zone";
const bad: readonly (readonly [name: string, message: unknown, code?: string, says?: string])[] = [
  ["an unknown role", { ...said, role: "robot" }, invalid],
  ["no content", { role: "user" }, invalid],
  ["content that is a number", { role: "user", content: 5 }, invalid],
  ["an empty id", { ...said, id: "" }, invalid],
  ...ours.map((kind) => [`the id ${kind}:m`, { ...said, id: `${kind}:m` }, invalid] as const),
  ["tool calls that are text", { role: "assistant", content: "", tool_calls: "x" }, invalid],
  ["a number for synthetic", { ...said, synthetic: 1 }, invalid],
  ["a day that is none", { ...said, timestamp: "2025-02-29T12:00:00+01:00" }, invalid, zone],
  ["a time without a T", { ...said, timestamp: "2026-01-01 00:00:00Z" }, invalid, zone],
  ["a time without a zone", { ...said, timestamp: "2026-01-01T00:00:00" }, invalid, zone],
  ["100 levels of nesting", { ...said, n: nested(100) }, large],
  ["more than 1 MiB", { ...said, content: "x".repeat(1024 * 1024) }, large],
  ["null for a message", null, invalid],
];
for (const [name, message, code, says] of bad) {
  test(`a message with ${name} is refused with ${code}, and the batch with it`, async () => {
    const { chats } = await companion();
    const refused = says === undefined ? { code } : { code, message: says };
    await assert.rejects(chats.append(chat, [user("new"), message as MessageInput]), refused);
    assert.deepEqual((await chats.list()).chats, []);
  });
}

const ids: readonly (readonly [name: string, id: unknown, code: string])[] = [
  ["empty", "", "THROUGHLINE_INVALID"],
  ["with NUL", "a\0b", "THROUGHLINE_INVALID"],
  ["with a lone surrogate", "a\ud800", "THROUGHLINE_INVALID"],
  ["of 10 KB", "x".repeat(10_240), "THROUGHLINE_TOO_LARGE"],
  ["a number", 42, "THROUGHLINE_INVALID"],
];
for (const [name, id, code] of ids) {
  test(`a chat id ${name} is refused with ${code} by every call`, async () => {
    const { chats, sessions, workingMemory } = await companion();
    const bad = id as string;
    assert.throws(() => workingMemory.of(bad), { code });
    await assert.rejects(chats.append(bad, [user("x")]), { code });
    await assert.rejects(chats.messages(bad), { code });
    await assert.rejects(chats.forget(bad), { code });
    await assert.rejects(sessions.resolve(bad), { code });
  });
}

function nested(depth: number): unknown {
  return depth === 0 ? 1 : [nested(depth - 1)];
}

for (const [name, act] of [
  ["renamed", (chats) => chats.rename(chat, "Again")],
  ["cleared", (chats) => chats.clear(chat)],
  ["given metadata", (chats) => chats.setMetadata(chat, { a: 1 })],
  ["taken back in part", (chats) => chats.takeBack(chat, ["m1"])],
  ["consolidated", (chats) => chats.setConsolidated(chat, 0)],
] satisfies [string, (chats: Chats) => Promise<unknown>][]) {
  test(`a chat that is ${name} while it is forgotten stays forgotten`, async () => {
    const { chats } = await companion();
    await chats.append(chat, [user("Hello", { id: "m1" })]);
    const begun = Promise.withResolvers<void>();
    const forgetting = chats.exclusively(chat, async () => {
      begun.resolve();
      await chats.logs.delete(chat);
      chats.forgetState(chat);
    });
    await begun.promise;
    await assert.rejects(act(chats), { code: "THROUGHLINE_NOT_FOUND" });
    await forgetting;
    assert.deepEqual((await chats.list()).chats, []);
  });
}

test("a chat takes a title of a person's choice, and gives it back", async () => {
  const { chats } = await companion();
  await chats.append("a", [user("Tell me about space", { id: "m1" }), assistant("Gladly")]);
  await chats.rename("a", "  Stars \n and moons ");
  assert.equal((await chats.row("a")).title, "Stars and moons");
  await chats.append("a", [user("More")]);
  await chats.erase("a", "m1");
  await chats.clear("a");
  assert.equal((await chats.row("a")).title, "Stars and moons", "it is the person's own");
  await chats.append("a", [user("And the sea?")]);
  await chats.rename("a", "");
  assert.equal((await chats.row("a")).title, "And the sea?");
  await chats.rename("a", "😀".repeat(200));
  assert.equal([...(await chats.row("a")).title].length, 120);
  await assert.rejects(chats.rename("none", "x"), { code: "THROUGHLINE_NOT_FOUND" });
});

test("a new title or new metadata is no activity: the list keeps its order", async () => {
  const { chats, clock } = await companion();
  await chats.append("a", [user("Moons")]);
  clock.pass(60_000);
  await chats.append("b", [user("Stars")]);
  const before = await chats.list();
  clock.pass(60_000);
  await chats.rename("a", "My moons");
  await chats.setMetadata("a", { pinned: true });
  await chats.setConsolidated("a", 1);
  const after = await chats.list();
  const acts = (list: typeof after) => list.chats.map((row) => [row.chat_id, row.last_active]);
  assert.deepEqual(acts(after), acts(before));
  assert.deepEqual([after.chats[0]?.chat_id, after.chats[1]?.title], ["b", "My moons"]);
});

test("a title passes over what nobody said and what is erased, also when it is given back", async () => {
  const { chats } = await companion();
  await chats.append("a", [
    user("[Somebody scratched your head]", { synthetic: "pat_hint" }),
    user(" \n "),
    user("secret", { id: "m1" }),
    user("Hello there"),
  ]);
  assert.equal((await chats.row("a")).title, "secret");
  await chats.rename("a", "Mine");
  await chats.erase("a", "m1");
  await chats.rename("a", "");
  assert.equal((await chats.row("a")).title, "Hello there");
});

const at = "2026-03-01T12:00:00.000Z";

test("marks that only we set go inside extra, so that no message passes for one that is hidden", () => {
  const given = { role: "user", content: "x", redacted: true, replaced: "yes", kind: "clear" };
  const { redacted, replaced, kind, extra } = messageRecord(given, () => "id", at);
  assert.deepEqual([redacted, replaced, kind], [undefined, undefined, undefined]);
  assert.deepEqual(extra, { redacted: true, replaced: "yes", kind: "clear" });
});

test("a title is the first 120 code points of the text, its spaces collapsed", () => {
  const part = fc.oneof(fc.constantFrom(" ", "\n", "\u3000", "a", "😀", "\u0301"), fc.string());
  fc.assert(
    fc.property(fc.array(part, { maxLength: 400 }), (parts) => {
      const content = parts.join("");
      const whole = [...content.replace(/\s+/gu, " ").trim()];
      assert.equal(titleFrom(content), whole.slice(0, 120).join(""));
    }),
  );
});
