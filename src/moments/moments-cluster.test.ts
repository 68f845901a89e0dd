// What several processes remember of chats that one of them forgets: by a message, or by asking.
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { changed } from "../../test/support/changed.ts";
import { mortal, until } from "../../test/support/cluster-world.ts";
import { faultyDisk } from "../../test/support/faulty-disk.ts";
import { HeldClock } from "../../test/support/held-clock.ts";
import { HeldTimers } from "../../test/support/held-timers.ts";
import { MemoryPlace, openMemoryProcess } from "../../test/support/memory-place.ts";
import { momentOf, openPackages } from "../../test/support/package-workload.ts";
import { SimulatedDisk } from "../../test/support/simulated-disk.ts";
import { ThroughlineError } from "../core/errors.ts";
import { realDisk } from "../core/storage/disk/disk.ts";
import type { LogProjection, LogStore } from "../core/storage/log-store.ts";
import { openThroughline } from "../core/throughline.ts";
import type { Timers } from "../core/timers.ts";
import type { Selection } from "./directory/whose.ts";
import { forgetPackagesOf } from "./record/forget-forgotten.ts";
import { startMoments } from "./start-moments.ts";

const software = { name: "throughline", version: "0.0.0" };
const liked = { sentiment: "positive", what: "the joke", source: "http" } as const;

/** One server: a storage of the place, a home beside it, and moments in that. */
async function server(t: TestContext, place: MemoryPlace, timers?: Timers) {
  const own = mortal(openMemoryProcess({ place }));
  let isAway = false;
  const logs = (collection: string, projection: LogProjection): LogStore => {
    const store = own.logs(collection, projection);
    return changed(store, {
      read: (...args) => {
        if (isAway) throw new ThroughlineError("away", { code: "THROUGHLINE_UNAVAILABLE" });
        return store.read(...args);
      },
    });
  };
  const path = mkdtempSync(join(tmpdir(), "throughline-cluster-"));
  const ownHome = { path, assertWriter: () => undefined };
  const throughline = await openThroughline({ storage: { ...own, ownHome, logs }, timers });
  const moments = await startMoments(throughline, { sessionId: "a1b2c3d4", software });
  t.after(async () => {
    await throughline.close(); // which may write
    rmSync(path, { recursive: true, force: true });
  });
  const { recorder, packages } = moments;
  const { chats } = throughline;
  /** Said in a chat that is stored, heard by the buffers, and remembered. */
  const say = async (chatId: string, content: string) => {
    const [stored] = await chats.append(chatId, [{ role: "user", content }]);
    recorder.message({ role: "user", text: content, id: stored!.id, chatId });
    recorder.message({ role: "assistant", text: "Ha", id: `${stored!.id}:answer`, chatId });
  };
  const saved = async (chatId: string) => {
    const receipt = recorder.record({ ...liked, chatId });
    await receipt.whenDurable();
  };
  const waiting = (chatId: string) => recorder.record({ ...liked, chatId, postRollMs: 30_000 });
  const packaged = async () =>
    (await packages.list()).packages.map(({ manifest }) => manifest?.chat_id).sort();
  const away = (is: boolean) => {
    isAway = is;
  };
  const { deafen, gap } = own;
  const controls = { deafen, gap, away, moments };
  return { ...controls, home: path, chats, recorder, say, saved, waiting, packaged };
}

async function two(t: TestContext) {
  const place = new MemoryPlace();
  const [a, b] = [await server(t, place), await server(t, place)];
  for (const chatId of ["gone", "kept"]) {
    await b.say(chatId, `words of ${chatId}`);
    await b.saved(chatId);
    b.waiting(chatId);
  }
  assert.deepEqual([...b.recorder.chatIds].sort(), ["gone", "kept"]);
  return { a, b };
}

/** Nothing of the one chat is left, and everything of the other: its two moments, of which one goes on, and its words. */
async function settled(b: Awaited<ReturnType<typeof server>>): Promise<void> {
  const isForgotten = async () => {
    const left = [...b.recorder.chatIds, ...(await b.packaged())];
    return !left.includes("gone");
  };
  await until(isForgotten);
  assert.deepEqual([...b.recorder.chatIds], ["kept"]);
  assert.deepEqual([await b.packaged(), b.recorder.stats.waiting], [["kept"], 1]);
  assert.equal(b.recorder.stats.messages, 2);
}

test("a chat that one process forgets is in no buffer, no waiting moment and no package of another", async (t) => {
  const { a, b } = await two(t);
  await a.chats.forget("gone");
  await settled(b);
});

test("what one process erases or clears is in no buffer of another, and the rest of its chat is", async (t) => {
  const { a, b } = await two(t);
  const [said] = (await a.chats.messages("gone")).messages;
  const buffered = () => b.recorder.stats.messages;
  assert.equal(buffered(), 4);
  await a.chats.erase("gone", said!.id);
  await until(() => buffered() === 3);
  await a.chats.clear("kept");
  await until(() => buffered() === 1);
  assert.ok((await b.packaged()).includes("kept"), "a clear leaves packages");
  assert.equal(b.recorder.lastAnswer("gone")?.text, "Ha");
});

test("what one process erases is in no package of another, and the receipt says what it cannot know", async (t) => {
  const { a, b } = await two(t);
  const [said] = (await a.chats.messages("gone")).messages;
  const { unreachable } = await a.chats.erase("gone", said!.id);
  assert.match(unreachable.join(), /^packages at other servers/);
  await until(async () => (await b.packaged()).join() === "kept");
});

const wording = "I keep what you show me.";

test("what is agreed to at one process holds at another, and what is withdrawn leaves its buffers", async (t) => {
  const { a, b } = await two(t);
  await a.moments.agree({ messages: true, frames: true, wording, by: "Ann" });
  await until(() => b.recorder.consent.frames);
  assert.deepEqual(b.recorder.consent, a.recorder.consent);
  await a.moments.agree({ messages: false });
  await until(() => !b.recorder.consent.messages);
  assert.equal(b.recorder.stats.messages, 0);
  const path = join(b.home, "consent.json");
  const kept = () => (existsSync(path) ? JSON.parse(readFileSync(path, "utf8")) : {}); // it is written a moment later
  await until(() => kept().messages === false && kept().frames === false);
});

test("what is withdrawn at a process holds at another whose clock is an hour ahead", async (t) => {
  const { a, b } = await two(t);
  const ahead = Date.now() / 1_000 + 3_600;
  const agreed = { messages: true, frames: true, audio: false, upload: false, export: false };
  const published = { ...agreed, wording, by: null, timestamp: ahead };
  await Promise.all([a.moments.agreedElsewhere(published), b.moments.agreedElsewhere(published)]);
  assert.equal(b.recorder.consent.frames, true);
  await a.moments.agree({ messages: true });
  await until(() => !b.recorder.consent.frames);
});

test("of what was agreed to at two processes the later one holds at both, and no consent is none", async (t) => {
  const { a, b } = await two(t);
  a.deafen(true);
  await a.moments.agree({ messages: true, audio: true, wording });
  b.deafen(true);
  await b.moments.agree({ messages: false });
  const earlier = { ...a.recorder.consent, timestamp: (b.recorder.consent.timestamp ?? 0) - 1 };
  await b.moments.agreedElsewhere(earlier);
  assert.equal(b.recorder.consent.audio, false);
  const timestamp = (b.recorder.consent.timestamp ?? 0) + 1;
  for (const { moments, recorder } of [a, b]) {
    await moments.agreedElsewhere({ ...recorder.consent, timestamp });
  }
  await Promise.all([
    a.moments.agreedElsewhere(b.recorder.consent),
    b.moments.agreedElsewhere(a.recorder.consent),
  ]);
  assert.deepEqual(a.recorder.consent, b.recorder.consent);
  await assert.rejects(a.moments.agreedElsewhere({ audio: true }), { code: "THROUGHLINE_INVALID" });
});

test("who missed that a chat was forgotten forgets its moments once it knows of the gap, and no others", async (t) => {
  const { a, b } = await two(t);
  b.deafen(true);
  await a.chats.forget("gone");
  await setImmediate();
  assert.equal(b.recorder.chatIds.has("gone"), true);
  b.deafen(false);
  b.gap();
  await settled(b);
});

test("who missed that a chat was forgotten and begun again forgets what is from before", async (t) => {
  const { a, b } = await two(t);
  b.deafen(true);
  await a.chats.forget("gone");
  await a.chats.append("gone", [{ role: "user", content: "Hello again" }]);
  b.deafen(false);
  b.gap();
  await settled(b);
  // It is known by then: what is said since stays.
  await b.say("gone", "new words");
  await b.say("nowhere", "words");
  await b.chats.logs.delete("nowhere");
  b.gap();
  await until(() => !b.recorder.chatIds.has("nowhere"));
  assert.deepEqual([...b.recorder.chatIds], ["kept", "gone"]);
});

for (const [what, left] of [
  ["a package alone", (b) => b.saved("gone")],
  ["a moment alone that is still recorded", (b) => b.waiting("gone")],
] satisfies [string, (b: Awaited<ReturnType<typeof server>>) => unknown][]) {
  test(`who missed that a chat was forgotten of which ${what} is left forgets that too`, async (t) => {
    const place = new MemoryPlace();
    const [a, b] = [await server(t, place), await server(t, place)];
    await b.say("gone", "words");
    await left(b);
    b.recorder.forgetWords();
    assert.equal(b.recorder.stats.messages, 0);
    b.deafen(true);
    await a.chats.forget("gone");
    b.deafen(false);
    b.gap();
    const { recorder } = b;
    await until(async () => recorder.stats.waiting === 0 && (await b.packaged()).length === 0);
    await setImmediate();
    assert.deepEqual(await b.packaged(), []);
  });
}

test("after a gap words of a chat that is nowhere leave the buffers, and its packages stay", async (t) => {
  const { b } = await two(t);
  b.recorder.message({ role: "user", text: "words", id: "x1", chatId: "voice" });
  b.recorder.message({ role: "assistant", text: "Ha", id: "x2", chatId: "voice" });
  await b.saved("voice");
  b.gap();
  await until(() => !b.recorder.chatIds.has("voice"));
  assert.deepEqual([...b.recorder.chatIds].sort(), ["gone", "kept"]);
  assert.deepEqual(await b.packaged(), ["gone", "kept", "voice"]);
});

test("while nobody can tell what was forgotten, words of chats leave the buffers, and the next gap asks again", async (t) => {
  const { a, b } = await two(t);
  b.recorder.message({ role: "system", text: "of no chat", id: "s1" });
  b.deafen(true);
  await a.chats.forget("gone");
  b.away(true);
  b.deafen(false);
  b.gap();
  await until(() => b.recorder.stats.messages === 1);
  assert.equal(b.recorder.stats.waiting, 2);
  b.away(false);
  b.gap();
  await until(async () => b.recorder.stats.waiting === 1 && !(await b.packaged()).includes("gone"));
  assert.deepEqual(await b.packaged(), ["kept"]);
  assert.deepEqual([...b.recorder.chatIds], ["kept"]);
});

test("where a disk refuses to delete a package of a forgotten chat, the others go, and it is asked again", async () => {
  await using throughline = await openThroughline({ storage: "memory" });
  const moments = [1, 2, 3].map((number) => momentOf(number, { frames: 0, samples: 0 }));
  const [first = "", kept = ""] = moments.map(({ record }) => record.name);
  const fault = { fault: "EIO", at: 1, call: "unlink", path: new RegExp(first) } as const;
  const { packages } = await openPackages(faultyDisk(new SimulatedDisk(), fault));
  for (const moment of moments) await packages.save(moment);
  const forget = (selection: Selection) => packages.delete(selection);
  const at = (chatId: string) => (chatId === "chat:1" ? Date.now() : undefined);
  const forgotten = { at, holds: () => false, begun: new Map(), isEmpty: false, end: 1 };
  const again = () => forgetPackagesOf({ packages, forget }, throughline.chats, forgotten);
  await assert.rejects(again(), { code: "THROUGHLINE_UNAVAILABLE" });
  const left = async () => (await packages.list()).packages.map(({ name }) => name);
  assert.deepEqual(await left(), [kept], "what is deleted in part is no package any more");
  await again();
  assert.deepEqual((await packages.delete({ chatId: "chat:1" })).deleted, []);
  assert.deepEqual(await left(), [kept]);
});

test("what a disk refuses to delete when another process forgets a chat is deleted later", async (t) => {
  const place = new MemoryPlace();
  const timers = new HeldTimers(new HeldClock());
  const [a, b] = [await server(t, place), await server(t, place, timers)];
  await b.say("gone", "words");
  await b.saved("gone");
  let failures = 2;
  const { unlink } = realDisk;
  t.mock.method(realDisk, "unlink", (path: string) => {
    const isRefused = path.startsWith(b.home) && path.endsWith("messages.json") && failures-- > 0;
    return isRefused ? Promise.reject(new Error("EIO")) : unlink(path);
  });
  await a.chats.forget("gone");
  const left = () => readdirSync(join(b.home, "feedback"));
  await until(() => failures === 1);
  assert.match(left().join(), /partial/);
  await until(async () => {
    await timers.pass(60_000);
    return left().length === 0;
  });
  assert.equal(failures, -1);
});
