// A fork and what it was made from name each other, whatever happens to one of them.
import assert from "node:assert/strict";
import fs from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { temporaryDirectory } from "../../../test/support/command-line.ts";
import { openThroughline, type Throughline } from "../throughline.ts";
import type { Chats } from "./chats.ts";
import { linksOf } from "./forks.ts";

async function opened() {
  const throughline = await openThroughline({ storage: "memory" });
  await throughline.chats.append("source", [
    { id: "m1", role: "user", content: "Plan a picnic" },
    { id: "m2", role: "assistant", content: "By the lake" },
  ]);
  return throughline;
}

async function links({ chats }: Throughline, chatId: string) {
  const { head } = await chats.existing(chatId);
  const { origin, branches } = await linksOf(chats, chatId, head);
  const short = ({ chat_id, message_id, seq }: (typeof branches)[number]) =>
    [chat_id, message_id, seq].filter((each) => each !== undefined).join(" ");
  return [origin && short(origin), ...branches.map(short)];
}

test("a fork and its source name each other, with the message where they part", async () => {
  await using t = await opened();
  await t.chats.fork("source", "m1", "one");
  await t.chats.fork("source", "m2", "two");
  await t.chats.fork("two", "m1", "of-two");
  assert.deepEqual(await links(t, "source"), [undefined, "one m1 1", "two m2 2"]);
  assert.deepEqual(await links(t, "two"), ["source m2 2", "of-two m1 2"]);
  assert.deepEqual(await links(t, "of-two"), ["two m1 2"]);
  const { head } = await t.chats.existing("one");
  const { origin } = await linksOf(t.chats, "one", head);
  assert.equal(origin?.title, "Plan a picnic");
});

test("a fork without a message copies none, and is linked both ways", async () => {
  await using t = await opened();
  await t.chats.fork("source", undefined, "other");
  assert.deepEqual(await links(t, "source"), [undefined, "other"]);
  assert.deepEqual(await links(t, "other"), ["source"]);
  assert.deepEqual((await t.chats.messages("other")).messages, []);
  await t.chats.append("other", [{ id: "m1", role: "user", content: "Another m1" }]);
  await t.chats.erase("source", "m1");
  assert.equal((await t.chats.message("other", "m1")).content, "Another m1", "it is no copy");
});

test("a forgotten branch is not shown, and a chat that was forked and forgotten leaves no link", async () => {
  await using t = await opened();
  await t.chats.fork("source", "m2", "one");
  await t.chats.fork("source", "m2", "two");
  const { unreachable } = await t.chats.forget("one");
  assert.deepEqual(unreachable, []);
  assert.deepEqual(await links(t, "source"), [undefined, "two m2 2"]);
  await t.chats.forget("source");
  assert.deepEqual(await links(t, "two"), [undefined]);
});

test("a fork that failed is not shown, nor a later chat of its id", async () => {
  await using t = await opened();
  const { read } = t.chats.logs;
  const next = () => Promise.reject(new Error("the disk is full"));
  t.chats.logs.read = () => ({ [Symbol.asyncIterator]: () => ({ next }) });
  await assert.rejects(t.chats.fork("source", "m2", "cut"), /the disk is full/);
  t.chats.logs.read = read;
  assert.equal((await t.chats.state("cut")).head, undefined);
  assert.deepEqual(await links(t, "source"), [undefined]);
  await t.chats.append("cut", [{ role: "user", content: "Something else" }]);
  assert.deepEqual(await links(t, "source"), [undefined]);
});

test("a chat names up to 100 branches, the oldest first, also with long ids", async () => {
  await using t = await opened();
  const long = "5".repeat(1_000);
  for (let n = 1; n <= 101; n++) await t.chats.fork("source", "m2", `fork-${n}`);
  await t.chats.fork("source", "m2", long);
  await t.chats.fork(long, "m2", "of-long");
  const named = await links(t, "source");
  assert.equal(named.length - 1, 100);
  assert.deepEqual(await links(t, long), ["source m2 2", "of-long m2 3"]);
});

test("a chat is forgotten, and its forks are named, also where the chat of one cannot be read", async (t) => {
  const home = temporaryDirectory(t);
  {
    await using before = await openThroughline({ home });
    await before.chats.append("a", [{ id: "m1", role: "user", content: "Plan a picnic" }]);
    await before.chats.fork("a", "m1", "b");
    await before.chats.fork("b", "m1", "c");
  }
  const path = join(home, "chats", "b.jsonl");
  fs.rmSync(path);
  fs.mkdirSync(path); // of another program
  await using after = await openThroughline({ home });
  assert.deepEqual((await after.chats.forget("a")).forks, ["b", "c"]);
});

const password = { role: "user", content: "my password is hunter2", id: "m1" } as const;
const reply = { role: "assistant", content: "noted", id: "m2" } as const;

/** `first`, its fork `second`, and `third`, a fork of `second`, all of which hold m1 and m2. */
async function forked() {
  const throughline = await openThroughline({ storage: "memory" });
  const { chats } = throughline;
  await chats.append("first", [password, reply]);
  await chats.append("first", [{ role: "user", content: "only here", id: "m3" }]);
  await chats.fork("first", "m2", "second");
  await chats.fork("second", "m2", "third");
  return throughline;
}

async function shown(chats: Chats, chatId: string): Promise<readonly string[]> {
  const { messages } = await chats.messages(chatId);
  return messages.map(({ content, redacted }) => (redacted ? "(erased)" : content));
}

const family = ["first", "second", "third"] as const;

for (const from of family) {
  test(`a message that is erased in ${from} is erased in its forks and in what they were made of`, async () => {
    await using throughline = await forked();
    const { chats } = throughline;
    const { erased, copies } = await chats.erase(from, "m1");
    const others = family.filter((chatId) => chatId !== from);
    assert.deepEqual([erased, [...copies].sort()], [true, others]);
    assert.deepEqual((await chats.erase(from, "m1")).copies, [], "it can be repeated");
    for (const chatId of family) {
      assert.equal((await shown(chats, chatId))[0], "(erased)");
      const records = await Array.fromAsync(chats.records(chatId));
      assert.doesNotMatch(JSON.stringify(records), /hunter2/, chatId);
    }
  });
}

test("forks share their messages also when the chat between, or the first one, was forgotten", async () => {
  await using throughline = await forked();
  const { chats } = throughline;
  await chats.fork("first", "m1", "fourth");
  await chats.forget("second");
  assert.deepEqual((await chats.erase("first", "m2")).copies, ["third"]);
  await chats.forget("first");
  assert.deepEqual((await chats.erase("third", "m1")).copies, ["fourth"]);
});

test("another message that has the same id in a fork, and other chats, stay as they are", async () => {
  await using throughline = await forked();
  const { chats } = throughline;
  await chats.append("second", [{ role: "user", content: "another", id: "m3" }]);
  await chats.append("stranger", [password]);
  assert.deepEqual((await chats.erase("first", "m3")).copies, []);
  await chats.erase("first", "m1");
  assert.deepEqual(await shown(chats, "second"), ["(erased)", "noted", "another"]);
  assert.deepEqual(await shown(chats, "stranger"), ["my password is hunter2"]);
});

/** A chat of m1 and 600 more messages, once the first of them are in its fork `second`. */
async function forkUnderWay() {
  const throughline = await openThroughline({ storage: "memory" });
  const { chats } = throughline;
  const ids = Array.from({ length: 600 }, (_, index) => `n${index}`);
  const many = ids.map((id) => ({ role: "user" as const, content: id, id }));
  await chats.append("first", [password, ...many]);
  const { logs } = chats;
  const append = logs.append.bind(logs);
  const { promise: isBegun, resolve } = Promise.withResolvers<void>();
  let hasBegun = false;
  logs.append = async (chatId, ...rest) => {
    // The rest of it comes later than what is done to its source, if that does not wait for it.
    for (let pass = 0; hasBegun && chatId === "second" && pass < 50; pass++) await setImmediate();
    const seq = await append(chatId, ...rest);
    if (chatId === "second") resolve();
    hasBegun ||= chatId === "second";
    return seq;
  };
  const forking = chats.fork("first", "n599", "second");
  await isBegun;
  return { ...throughline, throughline, forking };
}

test("a chat that is forgotten ends the fork that is being made of it, and nothing is left of that", async () => {
  const { throughline, chats, forking } = await forkUnderWay();
  await using _ = throughline;
  const refused = assert.rejects(forking, { code: "THROUGHLINE_NOT_FOUND" });
  assert.deepEqual((await chats.forget("first")).forks, []);
  await refused;
  assert.equal((await chats.state("second")).head, undefined);
});

test("a fork that is forgotten while it is being made ends, and leaves what is begun there since", async () => {
  for (const said of [[], [{ id: "new", role: "user" as const, content: "Something else" }]]) {
    const { throughline, chats, forking } = await forkUnderWay();
    await using _ = throughline;
    const refused = assert.rejects(forking, { code: "THROUGHLINE_NOT_FOUND" });
    await chats.forget("second");
    if (said.length > 0) await chats.append("second", said);
    await refused;
    assert.equal((await chats.state("second")).head?.message_count, said[0] && 1);
    assert.equal((await chats.find("second", "new"))?.content, said[0]?.content);
  }
});

test("a chat that is begun while a fork of its id begins is left as it is", async () => {
  await using t = await opened();
  const { logs } = t.chats;
  const append = logs.append.bind(logs);
  logs.append = async (...args) => {
    logs.append = append;
    const said = { id: "n1", _type: "message", role: "user", content: "Mine" };
    await append("taken", [said], { expectedSeq: 0, head: { message_count: 1 } });
    return append(...args);
  };
  await assert.rejects(t.chats.fork("source", "m2", "taken"), { code: "THROUGHLINE_CONFLICT" });
  assert.equal((await t.chats.find("taken", "n1"))?.content, "Mine");
});

test("of two forks of one id that begin at once one is made, and whole", async () => {
  await using t = await opened();
  const { logs } = t.chats;
  const append = logs.append.bind(logs);
  let second: Promise<unknown> | undefined;
  logs.append = async (...args) => {
    second ??= assert.rejects(t.chats.fork("source", "m2", "one"), {
      code: "THROUGHLINE_CONFLICT",
    });
    for (let pass = 0; pass < 50; pass++) await setImmediate();
    return append(...args);
  };
  await t.chats.fork("source", "m2", "one");
  await second;
  assert.equal((await t.chats.row("one")).message_count, 2);
});

test("a fork that failed and cannot be removed says why it failed", async () => {
  await using t = await opened();
  const { logs } = t.chats;
  logs.read = () => ({ [Symbol.asyncIterator]: () => ({ next: fails("the disk is full") }) });
  logs.delete = fails("the disk is gone");
  await assert.rejects(t.chats.fork("source", "m2", "cut"), /the disk is full/);
});

const fails = (says: string) => () => Promise.reject(new Error(says));

test("what is erased while a fork is being made is erased in that fork; what is taken back, in later ones", async () => {
  for (const act of ["erase", "takeBack"] as const) {
    const { throughline, chats, forking } = await forkUnderWay();
    await using _ = throughline;
    if (act === "erase") {
      assert.deepEqual((await chats.erase("first", "m1")).copies, ["second"]);
    } else await chats.takeBack("first", ["m1"]);
    assert.equal((await chats.find("second", "n599"))?.content, "n599");
    await forking;
    const { messages } = await chats.messages("second", { limit: 1_000 });
    assert.deepEqual([messages.length, messages[0]?.redacted], [601, act === "erase" || undefined]);
    await chats.fork("first", "n599", "third");
    assert.equal(await chats.find("third", "m1"), undefined);
  }
});

test("a fork that cannot be changed now is named, and reached when it is asked for again", async () => {
  await using throughline = await forked();
  const { chats } = throughline;
  const { logs } = chats;
  const erase = logs.erase.bind(logs);
  logs.erase = (chatId, ...rest) =>
    chatId === "second" ? Promise.reject(new Error("the disk is full")) : erase(chatId, ...rest);
  const { copies, unreachable } = await chats.erase("first", "m1");
  assert.deepEqual(copies, ["third"]);
  assert.match(unreachable.join(), /"second".*erase it there/);
  logs.erase = erase;
  assert.deepEqual((await chats.erase("first", "m1")).unreachable, []);
  assert.equal((await shown(chats, "second"))[0], "(erased)");
});

test("forgetting a chat names its forks and theirs, which stay; not the chat that it was made from", async () => {
  await using throughline = await forked();
  const { chats } = throughline;
  await chats.fork("second", undefined, "empty");
  await chats.append("stranger", [password]);
  const forksOf = async (chatId: string) => (await chats.forget(chatId)).forks;
  assert.deepEqual(await forksOf("first"), ["second", "third"]);
  assert.deepEqual(await forksOf("second"), ["third"]);
  assert.deepEqual(await forksOf("first"), ["third"], "again, with one between that is gone");
  assert.deepEqual(await forksOf("third"), []);
  assert.deepEqual(await shown(chats, "stranger"), ["my password is hunter2"]);
});
