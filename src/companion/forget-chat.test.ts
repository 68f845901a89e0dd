// C19, U21: after forgetting, no file of the home holds a word of it. Real files, read whole.
import assert from "node:assert/strict";
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { changed } from "../../test/support/changed.ts";
import { HeldClock } from "../../test/support/held-clock.ts";
import { KeptStorage, Machine } from "../../test/support/kept-companion.ts";
import { MemoryPlace, openMemoryProcess } from "../../test/support/memory-place.ts";
import { systemClock } from "../core/clock.ts";
import type { JsonObject } from "../core/json.ts";
import { openThroughline, type Throughline } from "../core/throughline.ts";
import type { Companion } from "./companion.ts";
import { forgetLeft } from "./forget-chat.ts";
import { extendWithCompanion, startCompanion } from "./start-companion.ts";

const parent = mkdtempSync(join(tmpdir(), "throughline-forget-"));
after(() => rm(parent, { recursive: true, force: true }));

const canary = "c4n4ry-words";
const chat = "telegram:c4n4ry";

/** The files below a directory that hold a text. */
function filesWith(text: string, directory: string): string[] {
  if (!existsSync(directory)) return [];
  const names = readdirSync(directory, { recursive: true, encoding: "utf8" });
  return names
    .filter((name) => statSync(join(directory, name)).isFile())
    .filter((name) => readFileSync(join(directory, name)).includes(text))
    .sort();
}

function openHome(home: string): Promise<Throughline> {
  return openThroughline({ home, durability: "process", clock: new HeldClock() });
}

/** Says something in a chat, and hears an answer. */
async function say(t: Throughline, run: Companion, chatId: string, content: string) {
  const [message] = await t.chats.append(chatId, [{ role: "user", content }]);
  run.replied(chatId, `I heard: ${content}`);
  await run.save();
  return message?.id ?? "";
}

const newHome = () => mkdtempSync(join(parent, "home-"));

for (const [says, act] of [
  ["erased", (t: Throughline, id: string) => t.chats.erase(chat, id)],
  ["cleared", (t: Throughline) => t.chats.clear(chat)],
] as const) {
  test(`what is ${says} leaves the document and its backup`, async () => {
    const home = newHome();
    await using t = await openHome(home);
    const run = await startCompanion(t);
    const id = await say(t, run, chat, canary);
    await act(t, id);
    assert.deepEqual(filesWith(canary, join(home, "session")), []);
    await run.save();
    await t.close();
    assert.deepEqual(filesWith(canary, join(home, "session")), []);
  });
}

for (const isRunning of [true, false]) {
  test(`words that left the process and not the disk go too, with ${isRunning ? "a" : "no"} run`, async () => {
    const home = newHome();
    let t = await openHome(home);
    const run = await startCompanion(t);
    await say(t, run, chat, canary);
    // The newest 50 are kept: these push it out.
    for (let i = 0; i < 50; i++) run.personSaid("other", `word ${i}`);
    if (!isRunning) {
      await t.close(); // the backup still holds it
      assert.deepEqual(filesWith(canary, join(home, "session")), ["session.json.bak"]);
      t = await openHome(home);
      await extendWithCompanion(t);
    }
    await t.chats.forget(chat);
    assert.deepEqual(filesWith(canary, home), []);
    await t.close();
  });
}

test("a chat that is forgotten while the companion is not loaded leaves its documents at its next start", async () => {
  const home = newHome();
  const t = await openHome(home);
  const run = await startCompanion(t);
  await say(t, run, chat, canary);
  await say(t, run, "other", "kept");
  await t.close();
  // Killed before the companion is started again: the mark waits.
  const bare = await openHome(home);
  const { unreachable } = await bare.chats.forget(chat);
  assert.deepEqual(unreachable, [
    "companion: kept here, and not loaded in this process; removed when it is next started",
  ]);
  await bare.close();
  assert.notDeepEqual(filesWith(canary, home), []);
  await (await openHome(home)).close();
  await using next = await openHome(home);
  const { report } = await startCompanion(next);
  assert.deepEqual(filesWith(canary, home), []);
  assert.match(readFileSync(join(home, "session/session.json"), "utf8"), /I heard: kept/);
  assert.equal(report.clean, true);
});

for (const ms of [1_000, -3_600_000]) {
  test(`what is said ${ms} ms after a chat was forgotten, by its clock, is heard; what came later stays at the next start`, async () => {
    const machine = new Machine();
    const first = await machine.run();
    await say(first.throughline, first.companion, chat, canary);
    await first.throughline.chats.forget(chat);
    machine.clock.set(new Date(machine.clock.now() + ms).toISOString());
    await say(first.throughline, first.companion, chat, "said since");
    await first.throughline.close();
    assert.match(JSON.stringify(machine.written), /I heard: said since/);
    const { companion } = await machine.run();
    await companion.save();
    // The clock cannot tell words from before the mark, said after it was set back, from what was forgotten.
    assert.equal(JSON.stringify(machine.written).includes("I heard: said since"), ms > 0);
    assert.doesNotMatch(JSON.stringify(machine.written), new RegExp(canary));
  });
}

test("forgetting while no run is up, or when it has ended, keeps how the run ended", async () => {
  const home = newHome();
  const t = await openHome(home);
  const run = await startCompanion(t);
  await say(t, run, chat, canary);
  await say(t, run, "other", "kept");
  run.emotions.event("abuse");
  await run.close();
  const stored = () => JSON.parse(readFileSync(join(home, "session/session.json"), "utf8"));
  const before = stored();
  const { removed } = await t.chats.forget(chat);
  assert.equal(removed.find(({ place }) => place === "companion")?.count, 2);
  assert.deepEqual(filesWith(canary, home), []);
  const after = stored();
  for (const field of ["emotions", "heartbeat", "shutdown_clean", "session_id"]) {
    assert.deepEqual(after[field], before[field], field);
  }
  assert.deepEqual(after.throughline.conversation_chats, ["other", "other"]);
  await t.close();

  const next = await openHome(home);
  await extendWithCompanion(next);
  await next.chats.forget("other");
  assert.deepEqual(filesWith("I heard", home), []);
  await next.close();

  await using last = await openHome(home);
  const { report, emotions } = await startCompanion(last);
  assert.deepEqual([report.kind, report.clean], ["short_break", true]);
  assert.equal(emotions.feeling().wounds.length, 1);
});

test("the id of a forgotten chat is in no file, though it acknowledged a restart", async () => {
  for (const isRunning of [true, false]) {
    const home = newHome();
    let t = await openHome(home);
    let run = await startCompanion(t);
    await say(t, run, chat, canary);
    await t.close();
    t = await openHome(home);
    run = await startCompanion(t);
    const notice = await run.notices.begin(chat, undefined, Number.MAX_SAFE_INTEGER);
    assert.ok(notice);
    assert.match(notice.text, new RegExp(canary));
    run.notices.delivered(chat, notice);
    await run.save();
    assert.deepEqual(filesWith(chat, join(home, "session")), ["session.json", "session.json.bak"]);
    if (!isRunning) {
      await t.close();
      t = await openHome(home);
      await extendWithCompanion(t);
    }
    await t.chats.forget(chat);
    assert.deepEqual(filesWith(chat, join(home, "session")), []);
    assert.deepEqual(filesWith(canary, home), []);
    if (isRunning) assert.deepEqual(await run.notices.look([]), [], "no text quotes it");
    await t.close();
  }
});

test("where an item of the conversation is lost, forgetting drops what may be of it; by the next call if the disk fails", async () => {
  const machine = new Machine();
  const first = await machine.run();
  for (const [id, text] of [
    ["b", "one"],
    [chat, canary],
    ["b", "two"],
  ] as const) {
    first.companion.personSaid(id, text);
  }
  await first.throughline.close();
  const { conversation, ...rest } = machine.written;
  const documents = machine.storage.documents("session");
  await documents.write("session", { ...rest, conversation: conversation.slice(1) });
  const { throughline } = await machine.run();
  machine.storage.fails = { documents: true };
  const { unreachable } = await throughline.chats.forget(chat);
  assert.deepEqual(unreachable, ["companion: not removed; tried again at its next start"]);
  machine.storage.fails = {};
  await throughline.chats.forget(chat);
  const stored = await machine.storage.documents("session").read("session");
  assert.doesNotMatch(JSON.stringify(stored), new RegExp(canary));
});

test("a document of a later version is not touched by forgetting", async () => {
  const storage = new KeptStorage();
  await storage.documents("session").write("session", { version: 2 });
  const t = await openThroughline({ storage });
  await extendWithCompanion(t);
  const { unreachable } = await t.chats.forget(chat);
  assert.deepEqual(unreachable, ["companion: not removed; tried again at its next start"]);
  assert.equal((await storage.documents("session").read("session"))?.revision, 1);
});

/** What becomes of the text of a document, so that its words stay. */
const damages: Readonly<Record<string, (text: string) => string>> = {
  "that was cut": (text) => text.slice(0, -9),
  "with a wrong field": (text) => {
    const { _key, _revision, _crc, ...value } = JSON.parse(text);
    return JSON.stringify({ ...value, total_sessions: "many" });
  },
};
for (const [which, damage] of Object.entries(damages)) {
  for (const copies of [1, 2]) {
    const how = `${copies} damaged, with ${copies === 1 ? "a" : "no"} run`;
    test(`the bytes of a document ${which} go when any chat is forgotten: ${how}`, async () => {
      const home = newHome();
      const first = await openHome(home);
      const run = await startCompanion(first);
      for (let time = 1; time <= 2; time++) await say(first, run, chat, canary);
      await first.close();
      for (const name of ["session.json", "session.json.bak"].slice(0, copies)) {
        const path = join(home, "session", name);
        writeFileSync(path, damage(readFileSync(path, "utf8")));
      }
      const second = await openHome(home);
      await (copies === 1 ? startCompanion(second) : extendWithCompanion(second));
      await second.chats.append("another", [{ role: "user", content: "x" }]);
      await second.chats.forget("another");
      assert.deepEqual(filesWith(canary, join(home, "quarantine")), []);
      await second.chats.forget(chat);
      assert.deepEqual(filesWith(canary, home), []);
      await second.close();
      assert.deepEqual(filesWith(canary, home), []);
    });
  }
}

// The document is changed while nobody keeps the companion, and another process writes it meanwhile.
const said = (role: string, text: string) => ({ role, text, timestamp: 1_772_366_400 });

/** A document that holds these texts, each with its chat. */
const documentOf = (...messages: readonly [chat: string, text: string][]): JsonObject => ({
  version: 1,
  conversation: messages.map(([, text]) => said("USER", text)),
  throughline: { conversation_chats: messages.map(([chat]) => chat) },
});

test("a document that is written while a chat is forgotten in it keeps what is new, without the chat", async () => {
  const place = new MemoryPlace();
  const [mine, other] = [openMemoryProcess({ place }), openMemoryProcess({ place })];
  const documents = other.documents("session");
  await documents.write("session", documentOf(["gone", "secret 1"]));
  const newer = [documentOf(["gone", "secret 1"], ["kept", "Hello"], ["gone", "secret 2"])];
  const inner = mine.documents("session");
  const late = changed(inner, {
    write: async (...args) => {
      for (const document of newer.splice(0)) await documents.write("session", document);
      return inner.write(...args);
    },
  });
  const storage = changed(mine, { documents: () => late });
  assert.equal(await forgetLeft({ storage, clock: systemClock }, "gone"), 2);
  const document = (await documents.read("session"))?.value ?? {};
  assert.deepEqual(document["conversation"], [said("USER", "Hello")]);
  const { conversation_chats } = document["throughline"] as JsonObject;
  assert.deepEqual(conversation_chats, ["kept"]);
});
