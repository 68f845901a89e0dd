// What a person wants gone goes also when the disk takes no byte more.
import assert from "node:assert/strict";
import { test } from "node:test";
import { openThroughline } from "../src/core/throughline.ts";
import { type FaultyDisk, faultyDisk } from "./support/faulty-disk.ts";
import { SimulatedDisk } from "./support/simulated-disk.ts";
import { openOn } from "./support/storage-workload.ts";

/** A disk that is full until the file of a chat is removed. */
function fullUntilRemoved(inner: SimulatedDisk, chatId: string): FaultyDisk {
  const full = faultyDisk(inner, { fault: "ENOSPC", at: 1, call: "write", repeat: "forever" });
  const unlink = full.unlink.bind(full);
  full.unlink = async (path) => {
    await unlink(path);
    if (path.endsWith(`/${chatId}.jsonl`)) full.heal();
  };
  return full;
}

async function diskWithChats(): Promise<SimulatedDisk> {
  const disk = new SimulatedDisk();
  await using throughline = await openThroughline({ storage: (await openOn(disk)).storage });
  for (const chatId of ["a", "b"]) {
    await throughline.chats.append(chatId, [{ id: "m1", role: "user", content: "Hello" }]);
  }
  return disk;
}

test("a chat is forgotten on a full disk, and stays so", async () => {
  const disk = await diskWithChats();
  const { storage } = await openOn(fullUntilRemoved(disk, "a"));
  await using throughline = await openThroughline({ storage });
  const { chats } = throughline;
  const full = { code: "THROUGHLINE_UNAVAILABLE" };
  await assert.rejects(chats.append("a", [{ id: "m2", role: "user", content: "more" }]), full);
  const receipt = await chats.forget("a");
  assert.deepEqual(receipt.removed[0], { place: "transcript", count: 1 });
  assert.deepEqual(receipt.unreachable, []);
  assert.notEqual(await chats.forgottenAt("a"), undefined);
  assert.equal(await chats.logs.tail("a", 1), undefined);
  assert.equal((await chats.list({})).chats.length, 1);
});

test("where a disk stays full a chat is forgotten, and the receipt says that no list has it", async () => {
  const disk = await diskWithChats();
  const fault = { fault: "ENOSPC", at: 1, call: "write", repeat: "forever" } as const;
  const { storage } = await openOn(faultyDisk(disk, fault));
  await using throughline = await openThroughline({ storage });
  const { chats } = throughline;
  const { removed, unreachable } = await chats.forget("a");
  assert.deepEqual(removed[0], { place: "transcript", count: 1 });
  assert.match(unreachable.join(), /the list of forgotten chats: an import could bring it back/);
  assert.equal(await chats.logs.tail("a", 1), undefined);
});
