// What several processes remember of chats that one of them removes: by a message, or by asking.
import assert from "node:assert/strict";
import { test } from "node:test";
import { heldPlace, mortal, pass, process, until } from "../../../test/support/cluster-world.ts";
import { MemoryPlace, openMemoryProcess } from "../../../test/support/memory-place.ts";
import { type Extension, noHooks, noPart, type Removal } from "../extension.ts";
import { openThroughline } from "../throughline.ts";

const said = [{ id: "m1", role: "user", content: "Hello" }] as const;
const chats = ["gone", "kept", "other", "mine", "earlier"];

/** One server, with an extension that notes what it is asked to remove. */
async function server(place: MemoryPlace) {
  const storage = mortal(openMemoryProcess({ place }));
  const throughline = await openThroughline({ storage });
  const removals: Removal[] = [];
  /** For each time it caught up, which of the chats had been forgotten. */
  const caughtUp: (readonly string[])[] = [];
  const extension: Extension = {
    remove: async (removal) => {
      removals.push(removal);
      return [];
    },
    preview: async () => noPart,
    catchUp: async (read) => {
      const forgotten = await read();
      caughtUp.push(chats.filter((chatId) => forgotten.at(chatId) !== undefined));
    },
    turn: () => noHooks,
    [Symbol.asyncDispose]: async () => undefined,
  };
  await throughline.extend("noting", async () => extension);
  caughtUp.length = 0;
  return { ...throughline, storage, removals, caughtUp };
}

/** Two servers, the second of which remembers words of all chats, and began after one of them was forgotten. */
async function two() {
  const place = new MemoryPlace();
  const a = await server(place);
  await a.chats.append("earlier", said);
  await a.chats.forget("earlier");
  const b = await server(place);
  for (const chatId of chats) {
    await a.chats.append(chatId, said);
    b.workingMemory.of(chatId);
  }
  const isKnown = (chatId: string) => b.workingMemory.peek(chatId) !== undefined;
  const close = async () => {
    await a.close();
    await b.close();
  };
  return { a, b, isKnown, [Symbol.asyncDispose]: close };
}

for (const [loss, remove, messageId] of [
  ["clear", ({ chats }) => chats.clear("gone"), undefined],
  ["take_back", ({ chats }) => chats.takeBack("gone", ["m1"]), "m1"],
  ["erase", ({ chats }) => chats.erase("gone", "m1"), "m1"],
  ["forget", ({ chats }) => chats.forget("gone"), undefined],
] satisfies [string, (a: Awaited<ReturnType<typeof server>>) => Promise<unknown>, unknown][]) {
  test(`a ${loss} elsewhere reaches the working memory and the extensions, and no other chat`, async () => {
    await using world = await two();
    const { a, b, isKnown } = world;
    await remove(a);
    await until(() => b.removals.length > 0);
    assert.deepEqual(chats.map(isKnown), [false, true, true, true, true]);
    assert.deepEqual(b.removals, [{ loss, chatId: "gone", messageId, isElsewhere: true }]);
  });
}

test("a process that missed something remembers nothing of any chat, and its extensions learn what was forgotten", async () => {
  await using world = await two();
  const { a, b, isKnown } = world;
  await b.chats.forget("mine");
  await a.chats.forget("other"); // it hears of this one
  await until(() => b.removals.length > 1);
  b.storage.deafen(true);
  await a.chats.forget("gone");
  b.storage.deafen(false);
  assert.deepEqual(chats.map(isKnown), [true, true, false, false, true]);
  b.storage.gap();
  await until(() => b.caughtUp.length > 0);
  assert.ok(!chats.some(isKnown));
  assert.deepEqual([b.caughtUp, b.removals.length], [[["gone"]], 2], "the others are known");
});

const chat = "chat-1";

test("a chat is forgotten, and nothing waits for ever, when its lease is lost midway and is free", async () => {
  const { clock, open } = heldPlace();
  const { storage, timers } = open();
  const { chats } = await process(storage, { clock });
  await chats.append(chat, [{ role: "user", content: "Hello" }]);
  const [asked, dropped] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const remove = async () => {
    asked.resolve();
    await dropped.promise;
    return [];
  };
  chats.others.push({ remove });
  const forgetting = chats.forget(chat).then(() => "forgotten");
  await asked.promise;
  clock.pass(9_500); // it slept: by its own clock it may not trust the lease
  await timers.pass(0);
  dropped.resolve();
  const late = pass(clock, 20_000, timers).then(() => "waits");
  assert.equal(await Promise.race([forgetting, late]), "forgotten");
  await late;
  assert.equal(await chats.logs.tail(chat, 1), undefined);
  const lease = await chats.tryLease(chat);
  assert.notEqual(lease, undefined);
  await lease?.release();
});

test("what a process that died began to forget is forgotten by one that starts before the lease lapses", async () => {
  const { clock, open } = heldPlace();
  const dying = open();
  const own = mortal(dying.storage);
  const a = await process(own, { clock });
  await a.chats.append(chat, [{ role: "user", content: "Hello" }]);
  const dies = Promise.withResolvers<void>();
  const remove = async () => {
    own.kill();
    dies.resolve();
    return [];
  };
  a.chats.others.push({ remove });
  void a.chats.forget(chat);
  await dies.promise;
  const { storage, timers } = open();
  const b = await process(storage, { clock });
  await pass(clock, 20_000, timers);
  await until(async () => (await b.chats.logs.tail(chat, 1)) === undefined);
});
