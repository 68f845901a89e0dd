// "Homes of version 0.1 open unchanged": each home in golden/homes-0.1, opened with today's code, holds
// what 0.1 itself found in it, and what 0.1 had stored is still there byte for byte.
import assert from "node:assert/strict";
import fs from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { StoredMessage } from "../src/core/chat/message.ts";
import {
  assertHolds,
  assertOnlyAppended,
  chatsOf,
  committed,
  copyOf,
  expected,
  filesIn,
  notEmpty,
  openAt,
  original,
  throughline,
} from "./support/golden-homes.ts";

/** A minute after the last run ended. */
const soon = "2026-03-04T09:52:23.400Z";

test("chats of 0.1: every message, session, title and hit, and not a byte of them changes", async (t) => {
  const home = copyOf(t, "memories");
  const { list, chats, found } = expected("memories")[soon];
  await using memories = await openAt(soon, { home });
  assertHolds(await chatsOf(memories), { list, chats, found });
  assert.deepEqual(memories.storage.repairs(), []);
  assert.deepEqual(
    await memories.storage.documents("robot").read("settings"),
    expected("memories")[soon].robot,
  );
  await memories.close();
  const now = filesIn(home);
  for (const [name, bytes] of original("memories")) assert.deepEqual(now.get(name), bytes, name);
});

test("chats of 0.1 are the same without the index that 0.1 left", async (t) => {
  const home = copyOf(t, "memories");
  fs.rmSync(join(home, "index.db"));
  const { list, chats, found } = expected("memories")[soon];
  await using memories = await openAt(soon, { home });
  assertHolds(await chatsOf(memories), { list, chats, found });
});

for (const format of ["throughline", "nanobot", "ductor"] as const) {
  test(`a home of 0.1 is exported as ${format} as 0.1 did it`, async (t) => {
    const home = copyOf(t, "memories");
    const out = join(home, "../out");
    await throughline(home, "export", "--format", format, "--out", out);
    const files = [...filesIn(out)].map(([name, bytes]) => [name, bytes.toString()]);
    assert.deepEqual(Object.fromEntries(files), expected("memories").exports[format]);
  });
}

test("the command line lists the chats that 0.1 listed", async (t) => {
  const home = copyOf(t, "memories");
  const { list, chats } = expected("memories")[soon];
  assertHolds(JSON.parse(await throughline(home, "sessions", "list", "--json")).chats, list);
  const show = ["sessions", "show", "telegram:42", "--messages", "1000", "--json"];
  const shown = await throughline(home, ...show);
  // What only the provider of a message can read is in the exports, and no longer here.
  const read = ({ provider_data: _, ...message }: StoredMessage) => message;
  const { messages, ...rest } = chats["telegram:42"];
  assertHolds(JSON.parse(shown), { ...rest, messages: messages.map(read) });
});

test("a message that waited under 0.1 is answered today, once", async (t) => {
  for (const [name, chatId, content] of [
    ["memories", "local:me", "I wait behind that"],
    ["killed", "telegram:7", "And this is the last thing"],
  ] as const) {
    const home = copyOf(t, name);
    await throughline(home, "sessions", "answer", chatId, "--model", "offline");
    const shown = await throughline(home, "sessions", "show", chatId, "--json");
    const { chat, messages } = JSON.parse(shown);
    const [question, answer] = messages.slice(-2);
    assert.deepEqual([question.role, question.content], ["user", content]);
    const isSaid = (message: { readonly content: string }) => message.content === content;
    assert.equal(messages.filter(isSaid).length, 1);
    assert.deepEqual([answer.role, answer.turn], ["assistant", question.turn]);
    assert.equal(chat.unanswered, false);
    assertOnlyAppended(home, original(name));
  }
});

test("a chat that was forgotten under 0.1 is not imported again", async (t) => {
  const home = copyOf(t, "memories");
  const lines = [
    { _type: "metadata", key: "secret:gone", created_at: "2026-03-01T08:00:00Z" },
    { role: "user", content: "Back again", timestamp: "2026-03-01T08:00:10Z" },
  ];
  const file = join(home, "../secret_gone.jsonl");
  fs.writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
  const said = await throughline(home, "import", file, "--from", "nanobot", "--json");
  const [refused] = JSON.parse(said).refused;
  assert.deepEqual([refused.chat_id, refused.messages], ["secret:gone", 1]);
});

const byKey = (a: { readonly key: string }, b: { readonly key: string }) =>
  a.key < b.key ? -1 : 1;

/** 20 s after the kill. */
const atOnce = "2026-03-05T12:30:20.000Z";

test("a home of a killed 0.1: whole answers stay, half ones are set aside, questions wait", async (t) => {
  const home = copyOf(t, "killed");
  const before = original("killed");
  const { list, chats, found, repairs, left } = expected("killed")[atOnce];
  const memories = await openAt(atOnce, { home });
  t.after(() => memories.close());
  assertHolds(await chatsOf(memories), { list, chats, found });
  // The index of this version is filled again, in whichever order the folder is listed.
  assertHolds(memories.storage.repairs().toSorted(byKey), repairs.toSorted(byKey));
  await memories.close();
  const now = filesIn(home);
  const logs = assertOnlyAppended(home, before).filter((name) => name.startsWith("chats/"));
  for (const name of notEmpty(logs)) {
    const all = String(before.get(name)?.toString("latin1"));
    const kept = committed(before.get(name) ?? Buffer.of());
    assert.equal(now.get(name)?.toString("latin1"), kept, `${name} ends with its last commit`);
    // What was cut off lies in quarantine, but for the space that 0.1 had preallocated.
    const cut = all.slice(kept.length).replace(/\0+$/, "");
    const isAside = ([path]: readonly [string, Buffer]) =>
      path.startsWith(`quarantine/${name.replace("/", "-")}`) && path.endsWith(".bytes");
    const aside = [...now].filter(isAside).map(([, bytes]) => bytes.toString("latin1"));
    assert.deepEqual(aside, cut === "" ? [] : [cut], name);
  }
  const reported = [...now.keys()].filter((path) => path.startsWith("quarantine/chats-"));
  const listed = left.quarantine.filter((name: string) => name.startsWith("chats-"));
  assert.deepEqual(
    reported,
    notEmpty(listed).map((name) => `quarantine/${name}`),
  );
});
