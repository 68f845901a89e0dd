// A change of a chat whose append is refused because of a lease, where several processes write.
import assert from "node:assert/strict";
import { test } from "node:test";
import { changed } from "../../../test/support/changed.ts";
import { heldPlace } from "../../../test/support/cluster-world.ts";
import { ThroughlineError } from "../errors.ts";
import { openThroughline } from "../throughline.ts";

const chat = "telegram:42";

/** A process of which the next append is refused as if its lease were another's, once `before` is done. */
async function fencedOnce() {
  const { storage } = heldPlace().open();
  let next: (() => Promise<void>) | undefined;
  const refuseNext = async () => {
    const before = next;
    next = undefined;
    await before?.();
    throw new ThroughlineError("held", { code: "THROUGHLINE_FENCED" });
  };
  const isRefused = (name: unknown) => next !== undefined && name === "append";
  let released = Promise.resolve();
  const hindered = changed(storage, {
    leases: changed(storage.leases, {
      async acquire(...args) {
        const { epoch, lost, release } = await storage.leases.acquire(...args);
        return { epoch, lost, release: () => release().then(() => released) };
      },
    }),
    logs: (...args) =>
      changed(storage.logs(...args), (name) => (isRefused(name) ? refuseNext : undefined)),
  });
  const throughline = await openThroughline({ storage: hindered });
  await throughline.chats.append(chat, [{ role: "user", content: "Hello" }]);
  const refuse = (before = () => Promise.resolve()) => {
    next = before;
  };
  /** Has no release end. @returns what ends those that were asked for. */
  const holdReleases = () => {
    const held = Promise.withResolvers<void>();
    released = held.promise;
    return held.resolve;
  };
  return { ...throughline, refuse, holdReleases };
}

test("a change that needs no lease is made again", async () => {
  const { chats, refuse } = await fencedOnce();
  refuse();
  await chats.rename(chat, "Whales");
  assert.equal((await chats.row(chat)).title, "Whales");
});

test("a change that was on its way when the lease was released is made without it", async () => {
  const { chats, refuse } = await fencedOnce();
  const lease = await chats.lease(chat);
  refuse(() => lease.release());
  await chats.rename(chat, "Whales");
  assert.equal((await chats.row(chat)).title, "Whales");
});

test("a change that was on its way while the lease was being released is made without it", async () => {
  const { chats, refuse, holdReleases } = await fencedOnce();
  const lease = await chats.lease(chat);
  const end = holdReleases();
  let releasing: Promise<void> | undefined;
  refuse(async () => {
    releasing = lease.release();
  });
  await chats.rename(chat, "Whales");
  end();
  await releasing;
  assert.equal((await chats.row(chat)).title, "Whales");
});

test("a change that was on its way is made under the lease that was acquired since", async () => {
  const { chats, refuse } = await fencedOnce();
  const lease = await chats.lease(chat);
  refuse(async () => {
    await lease.release();
    await chats.lease(chat);
  });
  await chats.rename(chat, "Whales");
  assert.equal((await chats.row(chat)).title, "Whales");
});

test("a change under a lease that another process has now is refused", async () => {
  const { chats, refuse } = await fencedOnce();
  const lease = await chats.lease(chat);
  refuse();
  await assert.rejects(chats.rename(chat, "Whales"), { code: "THROUGHLINE_FENCED" });
  await lease.release();
  assert.equal((await chats.row(chat)).title, "Hello");
});
