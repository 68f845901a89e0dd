// What is written out can be read back: by us without a loss, and by the programs that it is for.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { column, columns } from "../../test/support/columns.ts";
import { HeldClock } from "../../test/support/held-clock.ts";
import { exported, source } from "../../test/support/import-sources.ts";
import { renderChat } from "../core/chat/render-chat.ts";
import type { JsonObject } from "../core/json.ts";
import { openThroughline, type Throughline } from "../core/throughline.ts";
import type { Form } from "./chat-import.ts";
import { importChats } from "./chat-import.ts";
import { importSessions } from "./ductor-import.ts";

const golden = join(import.meta.dirname, "../../test/golden/ductor");
const at = "2026-06-01T00:00:00.000Z";

function open(clock = new HeldClock(at)): Promise<Throughline> {
  return openThroughline({ storage: "memory", clock, provider: "offline", model: "offline" });
}

async function imported(files: ReadonlyMap<string, string>, form: Form): Promise<Throughline> {
  // Another day: nothing of the import's own time may be seen.
  const clock = new HeldClock("2027-01-01T00:00:00.000Z");
  const throughline = await open(clock);
  const sources = [...files].map(([name, text]) => source(name, text));
  const options = { chats: throughline.chats, clock, zone: "Asia/Tokyo" };
  const report = await importChats(sources, options, form);
  assert.deepEqual([report.failed, report.quarantined_count], [[], 0]);
  return throughline;
}

const objectsIn = (jsonl: string): JsonObject[] =>
  (jsonl.match(/[^\n]+/g) ?? []).map((line) => JSON.parse(line));

/** Two chats with everything that a log can hold. */
async function lived(): Promise<Throughline> {
  const clock = new HeldClock(at);
  const throughline = await open(clock);
  const { chats, sessions } = throughline;
  const say = async (role: "user" | "assistant", content: string, more: JsonObject = {}) => {
    clock.pass(1_000);
    await chats.append("telegram:42", [{ role, content, ...more }]);
  };
  await sessions.resolve("telegram:42", { provider: "claude", model: "opus" });
  await say("user", "Hello", { id: "m1" });
  await say("assistant", "Hi \u2028 there", { id: "m2", provider: "claude", model: "opus" });
  const used = async (generation: number) => {
    const about = { turn: "t", provider: "claude", model: "opus", outcome: "answered" as const };
    const amounts = { messages: 1, cost_usd: 0.25, tokens: 7, session_id: `s-${generation}` };
    const delta = { ...about, ...amounts, generation, bucket_generation: 1 };
    assert.ok(await sessions.update("telegram:42", delta));
  };
  await used(1);
  await chats.clear("telegram:42");
  await say("user", "Secret", { id: "m3" });
  await say("assistant", '{"_type":"metadata","kind":"commit","seq":1}\n', { id: "m4" });
  await chats.erase("telegram:42", "m3");
  await say("user", "/new", { id: "m5", hidden: true });
  await say("user", "Take me back", { id: "m8" });
  await chats.takeBack("telegram:42", ["m8"]);
  await say("user", "Erase me", { id: "m6" });
  await chats.erase("telegram:42", "m6");
  await chats.setMetadata("telegram:42", { lang: "de", nested: { a: [1, null] } });
  await chats.setConsolidated("telegram:42", 2);
  await sessions.reset("telegram:42");
  await used(3);
  await say("user", "After the reset", { id: "m7", extra: { _type: "x" }, mine: { z: 1, a: 2 } });
  await chats.change("telegram:42", (transaction) => {
    const scope = { up_to_seq: 3, after_seq: 0 };
    transaction.control("compaction", { ...scope, summary: "They greeted." }, "compaction:1");
    transaction.set({ summary: { id: "compaction:1", ...scope } });
    transaction.set({ view_from: { claude: 5 }, provider_start: { codex: 2 } });
    const open_turn = { id: "m7", seq: transaction.seq - 1, attempts: 2 };
    transaction.set({ open_turn, pending: ["p1"] });
  });
  await chats.change("telegram:42", (transaction) => {
    transaction.control("replacement", { target: "m7" }, "replaced:m7");
    transaction.control("replacement", { target: "m7", restored: true }, "replaced:m7~2");
  });
  await chats.append("a_b", [{ id: "x", role: "user", content: "Another chat" }]);
  return throughline;
}

test("ours, in full, into an empty home, and out again is the same byte for byte", async () => {
  await using before = await lived();
  const files = await exported(before, { format: "throughline" });
  assert.equal(files.size, 2);
  await using after = await imported(files, "own");
  assert.deepEqual(await exported(after, { format: "throughline" }), files);
  const shown = ({ chats }: Throughline) =>
    Promise.all([chats.messages("telegram:42"), chats.list()]);
  assert.deepEqual(await shown(after), await shown(before));
});

test("a full file that is damaged in the middle is refused; nanobot's way takes what it said", async () => {
  await using before = await lived();
  const files = await exported(before, { format: "throughline", chatId: "telegram:42" });
  const [[name, text]] = [...files] as [[string, string]];
  const lines = text.split("\n");
  const damages: readonly (readonly [reason: RegExp, ...lines: string[]])[] = [
    [/line 3 is damaged: it is not JSON\. --from nanobot takes /, "damaged"],
    [/line 3 is damaged: it is no record of the chat, or not the next one\. --from nanobot takes /],
  ];
  for (const [reason, ...instead] of damages) {
    const damaged = lines.toSpliced(2, 1, ...instead).join("\n");
    await using after = await open();
    const options = { chats: after.chats, clock: new HeldClock(), zone: "UTC", force: true };
    const refused = await importChats([source(name, damaged)], options, "own");
    assert.match(refused.failed[0]?.reason ?? "", reason);
    assert.equal(refused.quarantined_count, 1, "the lines after it are not told one by one");
    assert.deepEqual((await after.chats.list()).chats, []);
    await importChats([source(name, damaged)], options, "seed");
    const said = async ({ chats }: Throughline) =>
      (await chats.messages("telegram:42")).messages.map(({ content }) => content);
    const kept = await said(after);
    assert.ok(kept.length > 0);
    for (const content of await said(before)) assert.ok(kept.includes(content) || content === "");
  }
});

test("ours, for nanobot, and back keeps what was said, when, by whom, and nothing hidden", async () => {
  await using before = await lived();
  const files = await exported(before, { format: "nanobot" });
  assert.deepEqual([...files.keys()].sort()[1], "telegram_42.jsonl");
  const text = files.get("telegram_42.jsonl") ?? "";
  assert.doesNotMatch(text, /Hello|Secret|Erase me|Take me back|\/new/);
  const lines = objectsIn(text);
  // As the seed's loader reads it.
  assert.equal(lines[0]?.["_type"], "metadata");
  assert.deepEqual(lines[0]?.["metadata"], { lang: "de", nested: { a: [1, null] } });
  await using after = await imported(files, "seed");
  const said = async (throughline: Throughline) =>
    (await Array.fromAsync(throughline.chats.records("telegram:42")))
      .filter(({ role, hidden }) => role !== undefined && hidden !== true)
      .map(({ role, content, timestamp }) => [role, content, timestamp]);
  const gone = ["Hello", "Hi \u2028 there", "Take me back"];
  const expected = (await said(before)).filter(([, content]) => !gone.includes(String(content)));
  assert.deepEqual(await said(after), expected);
  const again = await exported(after, { format: "nanobot" });
  await using twice = await imported(again, "seed");
  assert.deepEqual(await said(twice), expected);
});

const strange = [
  '{"_type":"metadata","key":"a:b","metadata":{"lang":"de"},"last_consolidated":1,"owner":"me","count":3,"extra":{"x":1},"__proto__":{"y":2}}',
  '{"role":"user","content":"one","timestamp":"2026-03-03T10:00:00.000Z"}',
  '{"_type":"note","text":"what ours has no place for","id":"n","seq":7,"__proto__":{"z":3}}',
  '{"role":"narrator","content":"two","timestamp":"2026-03-03T10:00:01.000Z"}',
  '{"_type":"metadata","kind":"removal","target":"one"}',
  '{"content":"nobody said it"}',
].map((line) => JSON.parse(line) as JsonObject);

test("lines and metadata that ours has no place for are in nanobot's file again, where they stood", async () => {
  const lines = strange.map((line) => `${JSON.stringify(line)}\n`).join("");
  let files: ReadonlyMap<string, string> = new Map([["a_b.jsonl", lines]]);
  for (const time of ["first", "second"]) {
    await using throughline = await imported(files, "seed");
    const row = await throughline.chats.row("a:b");
    assert.equal(row.message_count, 2, time);
    files = await exported(throughline, { format: "nanobot" });
    const text = files.get("a_b.jsonl") ?? "";
    const [head, ...rest] = objectsIn(text);
    const { created_at: _, updated_at: __, ...said } = head!;
    assert.deepEqual(said, strange[0], time);
    // Its reader lets the last metadata line win.
    assert.deepEqual(rest.pop(), head, time);
    const said2 = (line: JsonObject) => (line["role"] === undefined ? line : line["content"]);
    assert.deepEqual(rest.map(said2), strange.slice(1).map(said2));
    const parts = await renderChat(throughline.chats, "a:b", "jsonl", "UTC");
    assert.equal((await Array.fromAsync(parts)).join(""), text, time);
  }
});

for (const [what, large] of [
  ["metadata of 32 KiB and more", { metadata: { x: "y".repeat(32_761) } }],
  ["fields that ours has no place for, of 8 KiB and more", { owner: "y".repeat(8_192) }],
] as const) {
  test(`${what} are set aside, and something can be said in the chat`, async () => {
    const head = { _type: "metadata", key: "a:b", created_at: at, ...large };
    const text = `${JSON.stringify(head)}\n${JSON.stringify(strange[1])}\n`;
    await using throughline = await open();
    const { chats, sessions } = throughline;
    const options = { chats, clock: new HeldClock(at), zone: "UTC" };
    const report = await importChats([source("x.jsonl", text)], options);
    const left = report.quarantined.map(({ line, bytes }) => [line, bytes]);
    assert.deepEqual(left, [[1, JSON.stringify(head).length]]);
    const { metadata, extra, created_at } = (await chats.existing("a:b")).head;
    assert.deepEqual([metadata, extra, created_at], [{}, undefined, at]);
    await chats.append("a:b", [{ role: "user", content: "x".repeat(1_000) }]);
    await sessions.resolve("a:b");
    assert.equal((await chats.row("a:b")).message_count, 2);
  });
}

async function importGolden(name: string, throughline: Throughline) {
  const options = { chats: throughline.chats, clock: new HeldClock(at), zone: "Europe/Berlin" };
  return importSessions(source(name, readFileSync(join(golden, name))), options);
}

test("ductor's sessions come back equal, unknown fields included, also after a new session", async () => {
  await using throughline = await open();
  const report = await importGolden("current.json", throughline);
  assert.deepEqual(columns(report.sessions, "chat_id", "outcome"), [
    ["telegram:42", "imported"],
    ["work", "imported"],
  ]);
  const files = await exported(throughline, { format: "ductor" });
  const text = readFileSync(join(golden, "current.json"), "utf8");
  assert.deepEqual(JSON.parse(files.get("sessions.json")!), JSON.parse(text));
  const view = await throughline.sessions.active("telegram:42");
  assert.equal(view?.session_id, "s-1");
  await throughline.sessions.reset("telegram:42");
  const later = await exported(throughline, { format: "ductor" });
  assert.deepEqual(JSON.parse(later.get("sessions.json")!)["42"].topic, { id: 7 });
});

test("the flat fields of an older version become the session of its provider", async () => {
  await using throughline = await open();
  await importGolden("legacy.json", throughline);
  const view = await throughline.sessions.active("telegram:-100");
  assert.deepEqual([view?.provider, view?.session_id, view?.total_tokens], ["claude", "old", 50]);
});

test("a chat that has a session keeps it; one that has none gets it beside its messages", async () => {
  await using throughline = await open();
  await throughline.sessions.resolve("telegram:42", { provider: "ollama", model: "qwen3" });
  await throughline.chats.append("work", [{ role: "user", content: "Hello" }]);
  const report = await importGolden("current.json", throughline);
  assert.deepEqual(column(report.sessions, "outcome"), ["kept", "imported"]);
  assert.equal((await throughline.sessions.active("telegram:42"))?.provider, "ollama");
  assert.equal((await throughline.sessions.active("work"))?.provider, "codex");
  assert.equal((await throughline.chats.messages("work")).messages.length, 1);
});

test("a session of a chat that was forgotten stays forgotten", async () => {
  await using throughline = await open();
  await throughline.chats.append("work", [{ role: "user", content: "Hello" }]);
  await throughline.chats.forget("work");
  const report = await importGolden("current.json", throughline);
  assert.deepEqual(column(report.refused, "chat_id"), ["work"]);
  assert.equal(await throughline.sessions.active("work"), undefined);
});

for (const [field, value] of [
  ["generation", 0],
  ["human_at", 5],
  ["provider_sessions", "text"],
  ["provider_sessions", { claude: { session_id: 5 } }],
] as const) {
  test(`a session of a file of ours with ${field} ${JSON.stringify(value)} is refused by name, and stores nothing`, async () => {
    await using from = await lived();
    const files = await exported(from, { format: "throughline", chatId: "telegram:42" });
    const [[name, text]] = [...files] as [[string, string]];
    const lines = objectsIn(text) as { session?: JsonObject }[];
    for (const { session } of lines) if (session) Object.assign(session, { [field]: value });
    const damaged = lines.map((line) => JSON.stringify(line)).join("\n");
    await using to = await open();
    const options = { chats: to.chats, clock: new HeldClock(at), zone: "UTC" };
    const report = await importChats([source(name, `${damaged}\n`)], options, "own");
    const [{ code, reason } = { code: "", reason: "" }] = report.failed;
    assert.equal(code, "THROUGHLINE_INVALID");
    assert.match(reason, new RegExp(`^its last line\\.session\\.${field}`));
    assert.deepEqual((await to.chats.list()).chats, []);
  });
}

test("bad entries are left out one by one, and told", async () => {
  await using throughline = await open();
  const report = await importGolden("odd.json", throughline);
  assert.deepEqual(column(report.sessions, "chat_id"), ["telegram:5"]);
  const left = [
    "the entry is not an object",
    "the entry is not an object",
    "the entry.provider_sessions.claude must be a mapping",
    "last_active is no date",
    "chat id must not be empty",
    "another entry is the same chat",
  ];
  const reasons = left.map((why) => `an entry is left out: ${why}`);
  assert.deepEqual(column(report.quarantined, "reason"), reasons);
  const files = await exported(throughline, { format: "ductor" });
  assert.deepEqual(JSON.parse(files.get("sessions.json")!)["5"].later, { v: 2 });
});

const bad: readonly (readonly [file: string, reason: string])[] = [
  ["list.json", "it is not an object"],
  ["null.json", "it is not an object"],
  ["torn.json", "it is not JSON"],
  ["not-utf8.json", "it is not UTF-8"],
];
for (const [file, reason] of bad) {
  test(`of ${file} nothing is stored: ${reason}`, async () => {
    await using throughline = await open();
    const report = await importGolden(file, throughline);
    assert.deepEqual(report.failed, [{ source: file, code: "THROUGHLINE_INVALID", reason }]);
    assert.deepEqual((await throughline.chats.list()).chats, []);
  });
}

test("a session whose unknown keys would fill its chat's head is left out, and reported", async () => {
  await using throughline = await open();
  const entry = { provider: "claude", model: "opus", later: "x".repeat(8_192) };
  const { chats } = throughline;
  const options = { chats, clock: new HeldClock(at), zone: "UTC" };
  const from = source("sessions.json", JSON.stringify({ "1": entry }));
  const { quarantined } = await importSessions(from, options);
  assert.match(quarantined[0]?.reason ?? "", /its other keys are larger than a chat takes/);
  assert.deepEqual((await chats.list()).chats, []);
});

test("sessions nested 100,000 deep are left out, and do no harm", async () => {
  await using throughline = await open();
  const deep = `{"1": ${"[".repeat(1e5)}${"]".repeat(1e5)}, "2": {"provider": "codex"}}`;
  const options = { chats: throughline.chats, clock: new HeldClock(at), zone: "UTC" };
  const report = await importSessions(source("sessions.json", deep), options);
  assert.equal(report.quarantined_count + report.failed.length, 1);
});
