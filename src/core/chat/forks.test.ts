// A fork and what it was made from name each other, whatever happens to one of them.
import assert from "node:assert/strict";
import fs from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { openThroughline, type Throughline } from "../throughline.ts";
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
  assert.deepEqual(await links(t, "two"), ["source m2 2", "of-two m1 1"]);
  assert.deepEqual(await links(t, "of-two"), ["two m1 1"]);
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
  const broken: AsyncIterable<never> = {
    [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(new Error("the disk is full")) }),
  };
  const read = t.chats.logs.read;
  t.chats.logs.read = () => broken;
  await assert.rejects(t.chats.fork("source", "m2", "cut"), /the disk is full/);
  t.chats.logs.read = read;
  assert.deepEqual(await links(t, "source"), [undefined]);
  await t.chats.append("cut", [{ role: "user", content: "Something else" }]);
  assert.deepEqual(await links(t, "source"), [undefined]);
});

test("a chat that exists is no branch, and changes nothing in the source", async () => {
  await using t = await opened();
  await t.chats.append("taken", [{ role: "user", content: "Hello" }]);
  const { seq } = await t.chats.existing("source");
  await assert.rejects(t.chats.fork("source", "m2", "taken"), /exists already/);
  await assert.rejects(t.chats.fork("source", "m2", "source"), /exists already/);
  assert.equal((await t.chats.existing("source")).seq, seq);
});

test("a chat names up to 100 branches, the oldest first, also with long ids", async () => {
  await using t = await opened();
  const long = "5".repeat(1_000);
  for (let n = 1; n <= 101; n++) await t.chats.fork("source", "m2", `fork-${n}`);
  await t.chats.fork("source", "m2", long);
  await t.chats.fork(long, "m2", "of-long");
  const named = await links(t, "source");
  assert.equal(named.length - 1, 100);
  assert.deepEqual(await links(t, long), ["source m2 2", "of-long m2 2"]);
});

test("a chat is forgotten, and its forks are named, also where the chat of one cannot be read", async (t) => {
  const home = fs.mkdtempSync(join(tmpdir(), "throughline-forks-"));
  t.after(() => fs.rmSync(home, { recursive: true }));
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
