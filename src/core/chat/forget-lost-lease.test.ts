import assert from "node:assert/strict";
import { test } from "node:test";
import { heldPlace, pass, process } from "../../../test/support/cluster-world.ts";

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
  assert.equal(await chats.log.ports.logs.tail(chat, 1), undefined);
  const lease = await chats.log.tryLease(chat);
  assert.notEqual(lease, undefined);
  await lease?.release();
});
