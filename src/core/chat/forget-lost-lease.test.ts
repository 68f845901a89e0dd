import assert from "node:assert/strict";
import { test } from "node:test";
import { heldPlace, mortal, pass, process, until } from "../../../test/support/cluster-world.ts";

const chat = "chat-1";

test("a chat is forgotten, and nothing waits for ever, when its lease is lost midway and is free", async () => {
  const { clock, open } = heldPlace();
  const { storage, timers } = open();
  const { chats } = await process(storage, { clock });
  await chats.append(chat, [{ role: "user", content: "Hello" }]);
  const [asked, dropped] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  chats.onForget(async () => {
    asked.resolve();
    await dropped.promise;
    return [];
  });
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
  a.chats.onForget(async () => {
    own.kill();
    dies.resolve();
    return [];
  });
  void a.chats.forget(chat);
  await dies.promise;
  const { storage, timers } = open();
  const b = await process(storage, { clock });
  await pass(clock, 20_000, timers);
  await until(async () => (await b.chats.logs.tail(chat, 1)) === undefined);
});
