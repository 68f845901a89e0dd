// Changes of a chat that is open: each is made on top of those on their way, and none outlives one that failed.
import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as nextPass } from "node:timers/promises";
import { crashImages } from "../../../test/support/crash-images.ts";
import { HeldClock } from "../../../test/support/held-clock.ts";
import { HeldTimers } from "../../../test/support/held-timers.ts";
import { hookedDisk } from "../../../test/support/hooked-disk.ts";
import { bytesOf, logOf, refused } from "../../../test/support/journal-world.ts";
import { SimulatedDisk } from "../../../test/support/simulated-disk.ts";
import { openOn } from "../../../test/support/storage-workload.ts";
import { systemError } from "../../../test/support/system-error.ts";
import { silentLogger } from "../logger.ts";
import type { Disk } from "../storage/disk/disk.ts";
import { silentTelemetry } from "../telemetry.ts";
import { openThroughline } from "../throughline.ts";
import { Chats } from "./chats.ts";

const said = (content: string) => ({ role: "user", content }) as const;

/** The chats of a home on this disk, with a chat `a` that is open. */
async function openChats(disk: Disk) {
  const { storage } = await openOn(disk, { segmentBytes: 65_536 });
  const clock = new HeldClock();
  let ids = 0;
  const chats = new Chats(storage, {
    ...{ clock, timers: new HeldTimers(clock), newId: () => `id-${++ids}` },
    ...{ logger: silentLogger, telemetry: silentTelemetry },
  });
  await chats.append("a", [said("first")]);
  const contents = async () => (await chats.messages("a")).messages.map(({ content }) => content);
  return { storage, chats, contents };
}

/** A disk of which the next sync of the journal waits, and fails or not, once `hold` was called. */
function heldSyncs(fails = true) {
  const inner = new SimulatedDisk();
  let gate: PromiseWithResolvers<void> | undefined;
  const disk = hookedDisk(inner, async (call, path) => {
    if (call !== "sync" || !path.endsWith("journal") || gate === undefined) return;
    const { promise } = gate;
    gate = undefined;
    await promise;
    if (fails) throw systemError("EIO", { name: "fdatasync", path });
  });
  const hold = () => {
    gate = Promise.withResolvers<void>();
    return gate.resolve;
  };
  return { disk, inner, hold };
}

test("a burst of appends to one chat is stored in order by at most two syncs", async () => {
  const inner = new SimulatedDisk();
  const { storage, chats, contents } = await openChats(inner);
  const before = inner.operations.length;
  const texts = Array.from({ length: 40 }, (_, i) => `${i}`);
  const stored = await Promise.all(texts.map((text) => chats.append("a", [said(text)])));
  for (const [i, [message]] of stored.entries()) assert.equal(message?.seq, i + 2);
  const syncs = inner.operations.slice(before).filter(({ call }) => call === "sync");
  assert.ok(syncs.length <= 2, `${syncs.length} syncs`);
  assert.deepEqual(await contents(), ["first", ...texts]);
  assert.equal((await chats.existing("a")).head.message_count, 41);
  await storage.close();
});

test("what was decided on a change that was not stored is decided again, and its own change is refused", async () => {
  const { disk, inner, hold } = heldSyncs();
  const { storage, chats, contents } = await openChats(disk);
  const fail = hold();
  const renaming = chats.rename("a", "Whales");
  for (let i = 0; i < 20; i++) await nextPass(); // it is on its way
  const appending = chats.append("a", [said("on top")]);
  const titles: string[] = [];
  const deciding = chats.change("a", ({ head }) => {
    titles.push(head.title);
    return head.title;
  });
  const reading = chats.existing("a");
  for (let i = 0; i < 20; i++) await nextPass();
  fail();
  await Promise.all([assert.rejects(renaming, refused), assert.rejects(appending, refused)]);
  assert.equal(await deciding, "first");
  assert.deepEqual(titles, ["Whales", "first"]);
  assert.equal((await reading).head.title, "first");
  assert.deepEqual(await contents(), ["first"]);
  await chats.append("a", [said("second")]);
  for (const image of crashImages(inner, { maxImages: 12 })) {
    const left = await openChats(image);
    assert.deepEqual(await left.contents(), ["first", "second", "first"], image.label);
    await left.storage.close();
  }
  await storage.close();
});

test("a reader waits for what was appended before", async () => {
  const { disk, hold } = heldSyncs(false);
  const { storage, chats, contents } = await openChats(disk);
  const end = hold();
  const appending = chats.append("a", [said("second")]);
  const reading = contents();
  for (let i = 0; i < 20; i++) await nextPass();
  end();
  assert.deepEqual(await reading, ["first", "second"]);
  await appending;
  await storage.close();
});

test("a message whose id is on its way is stored once", async () => {
  const { storage, chats, contents } = await openChats(new SimulatedDisk());
  const message = { id: "m1", ...said("once") };
  const all = await Promise.all([1, 2, 3].map(() => chats.append("a", [message])));
  for (const [stored] of all) assert.equal(stored?.seq, 2);
  const twice = [1, 2].map(() => ({ ...message, id: "m2" }));
  await assert.rejects(chats.append("a", twice), { code: "THROUGHLINE_INVALID" });
  assert.deepEqual(await contents(), ["first", "once"]);
  await storage.close();
});

test("what a caller changes afterwards changes nothing that is stored", async () => {
  const { storage, chats } = await openChats(new SimulatedDisk());
  const metadata = { tags: ["red"] };
  await chats.setMetadata("a", metadata);
  metadata.tags.push("blue");
  const message = { ...said("second"), extra: { n: [1] } };
  const appending = chats.append("a", [message]);
  message.extra.n.push(2);
  await appending;
  const { head } = await chats.existing("a");
  assert.deepEqual(head.metadata, { tags: ["red"] });
  const { messages } = await chats.messages("a", { limit: 1 });
  assert.deepEqual(messages[0]?.extra, { n: [1] });
  await storage.close();
});

test("each record begins with its id and number in the file, whatever names its fields have", async () => {
  const disk = new SimulatedDisk();
  const { storage, chats } = await openChats(disk);
  const message = JSON.parse('{"7":"seven","__proto__":{"x":1},"role":"user","content":"hello"}');
  await chats.append("a", [message]);
  const lines = (await bytesOf(disk, logOf("a"))).toString().split("\n");
  const line = lines.find((each) => each.includes("seven")) ?? "";
  assert.match(line, /^\{"id":"id-2","seq":2,/);
  assert.deepEqual(Object.getOwnPropertyDescriptor(JSON.parse(line), "__proto__")?.value, { x: 1 });
  await storage.close();
});

for (const now of ["2026-03-01T12:00:01.000Z", "2026-03-01T11:05:00.000Z"]) {
  test(`what is said at ${now} in a chat that was forgotten at 12:00 survives a power cut`, async () => {
    const disk = new SimulatedDisk();
    const clock = new HeldClock("2026-03-01T11:59:59.000Z");
    const open = async (on: Disk) => {
      const { storage } = await openOn(on, { segmentBytes: 65_536 });
      return openThroughline({ storage, clock });
    };
    const { chats } = await open(disk);
    await chats.append("b", [said("other")]);
    await chats.append("a", [said("old")]);
    clock.pass(1_000);
    await chats.forget("a");
    clock.set(now);
    await chats.append("a", [said("new")]);
    clock.set("2026-03-01T12:30:00.000Z");
    for (const image of crashImages(disk, { maxImages: 20 })) {
      const again = await open(image);
      const { messages } = await again.chats.messages("a");
      assert.deepEqual([messages.length, messages[0]?.content], [1, "new"], image.label);
      await again.close();
    }
  });
}
