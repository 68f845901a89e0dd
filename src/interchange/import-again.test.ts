// What a person hid here does not come back by importing again.

import assert from "node:assert/strict";
import { test } from "node:test";
import { column, columns } from "../../test/support/columns.ts";
import { HeldClock } from "../../test/support/held-clock.ts";
import { exported as exportedFiles, source } from "../../test/support/import-sources.ts";
import { renderChat } from "../core/chat/render-chat.ts";
import type { JsonObject } from "../core/json.ts";
import { openThroughline, type Throughline } from "../core/throughline.ts";
import type { Form } from "./chat-import.ts";
import { importChats } from "./chat-import.ts";
import type { ExportFormat } from "./export.ts";
import type { ImportOptions } from "./import.ts";

const chat = "a:b";
const clock = () => new HeldClock("2026-06-01T00:00:00.000Z");
const offline = { provider: "offline", model: "offline" };
const open = () => openThroughline({ storage: "memory", clock: clock(), ...offline });

type Chats = Throughline["chats"];

async function importInto(...given: Parameters<typeof tryImport>) {
  const report = await tryImport(...given);
  assert.deepEqual(report.failed, []);
  return report;
}

async function tryImport(
  { chats }: Throughline,
  text: string | readonly string[],
  form: Form = "seed",
  more: Partial<ImportOptions> = {},
) {
  const sources = [text]
    .flat()
    .map((each, n) => source(n === 0 ? "a_b.jsonl" : `b${n}.jsonl`, each));
  return importChats(sources, { chats, clock: clock(), zone: "UTC", ...more }, form);
}

const exported = async (throughline: Throughline, format: ExportFormat) =>
  [...(await exportedFiles(throughline, { format, chatId: chat })).values()].join("");

const at = (second: number) => `2026-03-03T10:00:0${second}.000Z`;
const jsonl = (...lines: readonly JsonObject[]) =>
  lines.map((line) => `${JSON.stringify(line)}\n`).join("");
const head = { _type: "metadata", key: chat, updated_at: at(0) };
const said = ["my password is hunter2", "noted", "thanks", "bye"].map((content, n) => ({
  role: n % 2 === 0 ? "user" : "assistant",
  content,
  timestamp: at(n),
}));
const [password = {}, noted = {}, thanks = {}, bye = {}]: readonly JsonObject[] = said;

async function shown(chats: Chats, chatId = chat): Promise<readonly unknown[]> {
  const { messages } = await chats.messages(chatId);
  return messages.map(({ content, redacted }) => (redacted ? null : content));
}

async function assertGone(throughline: Throughline, ids: readonly string[] = [chat]) {
  const { chats } = throughline;
  const rows = (await chats.list()).chats;
  assert.deepEqual(rows.map(({ chat_id }) => chat_id).sort(), ids);
  for (const { chat_id, title } of rows) {
    assert.doesNotMatch(title, /hunter2/);
    assert.doesNotMatch(JSON.stringify(await shown(chats, chat_id)), /hunter2/);
  }
  assert.deepEqual(await chats.search("hunter2"), []);
}

const first = async (chats: Chats) => (await chats.messages(chat)).messages[0]?.id ?? "";

type Act = (throughline: Throughline) => Promise<unknown>;
const erase: Act = async ({ chats }) => chats.erase(chat, await first(chats));
const takeBack: Act = async ({ chats }) => chats.takeBack(chat, [await first(chats)]);
const clear: Act = ({ chats }) => chats.clear(chat);

const hiding: readonly (readonly [what: string, act: Act])[] = [
  ["taken back", takeBack],
  ["erased", erase],
  ["cleared", clear],
];
const acts: readonly (readonly [what: string, act: Act])[] = [
  ...hiding,
  [
    "erased, and the chat named, its metadata set and a session begun",
    async (throughline) => {
      const { chats, sessions } = throughline;
      await erase(throughline);
      await chats.rename(chat, "Mine");
      await chats.setMetadata(chat, { mine: 1 });
      await sessions.resolve(chat);
    },
  ],
];

const allOf = async ({ chats }: Throughline, chatId = chat) => ({
  records: await Array.fromAsync(chats.records(chatId)),
  head: (await chats.existing(chatId)).head,
});

for (const [what, act] of acts) {
  test(`where a message was ${what}, the unchanged source adds nothing, and a grown one is refused`, async () => {
    await using throughline = await open();
    await importInto(throughline, jsonl(head, password, noted, thanks));
    await act(throughline);
    const before = await allOf(throughline);
    const same = await importInto(throughline, jsonl(head, password, noted, thanks));
    assert.deepEqual(columns(same.chats, "chat_id", "messages", "skipped"), [[chat, 0, 3]]);
    const other = jsonl({ ...head, key: "c:d" }, bye);
    const grown = jsonl(head, password, noted, thanks, bye);
    const { chats, failed } = await tryImport(throughline, [grown, other]);
    assert.deepEqual(columns(failed, "source", "code"), [["a_b.jsonl", "THROUGHLINE_CONFLICT"]]);
    assert.match(failed[0]?.reason ?? "", /"a:b".*--into NEW/);
    assert.deepEqual(columns(chats, "chat_id", "messages"), [["c:d", 1]]);
    assert.deepEqual(await allOf(throughline), before);
    await assertGone(throughline, [chat, "c:d"]);
  });
}

for (const [what, more, failure] of [
  ["is whole now", "\n", undefined],
  ["cannot be read now, because another one follows in it", "", "THROUGHLINE_CONFLICT"],
] as const) {
  test(`of a grown source whose last line ${what}, no new line is passed over`, async () => {
    const before = jsonl({ _type: "metadata", key: chat }, ...said.slice(0, 2)).trimEnd();
    await using throughline = await open();
    await importInto(throughline, before);
    const { failed } = await tryImport(throughline, before + more + jsonl(...said.slice(2)));
    assert.equal(failed[0]?.code, failure);
    const { messages } = await throughline.chats.messages(chat);
    assert.equal(messages.length, failure === undefined ? 4 : 2);
  });
}

test("a source that grew by metadata alone brings these, and then adds nothing", async () => {
  await using throughline = await open();
  const { chats } = throughline;
  const before = jsonl(head, password, noted);
  await importInto(throughline, before);
  const grown = (note: string, second: number) =>
    jsonl({ ...head, updated_at: at(second), metadata: { note } });
  for (const [more, note] of [
    [grown("new", 5), "new"],
    [grown("new", 5) + grown("newer", 6), "newer"],
  ]) {
    await importInto(throughline, before + more);
    const { head: stored, seq } = await chats.existing(chat);
    assert.deepEqual([stored.metadata, stored.message_count], [{ note }, 2]);
    await importInto(throughline, before + more);
    assert.equal((await chats.existing(chat)).seq, seq);
  }
  await importInto(throughline, before + grown("new", 5) + grown("newer", 6) + jsonl(thanks));
  assert.deepEqual(await shown(chats), [password["content"], noted["content"], thanks["content"]]);
});

test("a source that was read while its last line was half written is imported again once it is whole", async () => {
  const whole = jsonl({ _type: "metadata", key: chat }, ...said);
  await using throughline = await open();
  const half = await importInto(throughline, whole.slice(0, -20));
  assert.equal(half.quarantined_count, 1);
  await importInto(throughline, whole);
  assert.deepEqual(await shown(throughline.chats), column(said, "content"));
});

test("a chat with something of its own is no place for an import, also not as --into", async () => {
  await using throughline = await open();
  await throughline.chats.append("mine", [{ role: "user", content: "said here" }]);
  const text = jsonl(head, noted, thanks);
  const refused = await tryImport(throughline, text, "seed", { into: "mine" });
  assert.equal(refused.failed[0]?.code, "THROUGHLINE_CONFLICT");
  const two = tryImport(throughline, [text, jsonl(bye)], "seed", { into: "new" });
  await assert.rejects(two, { code: "THROUGHLINE_INVALID" });
  assert.deepEqual(column((await throughline.chats.list()).chats, "chat_id"), ["mine"]);
});

test("what was forgotten does not come back under another name, but by force", async () => {
  await using throughline = await open();
  const text = jsonl(head, password, noted);
  await importInto(throughline, text);
  await throughline.chats.forget(chat);
  const { refused } = await importInto(throughline, text, "seed", { into: "new" });
  assert.deepEqual(columns(refused, "chat_id", "messages"), [["new", 2]]);
  assert.ok(refused[0]?.forgotten_at);
  await assertGone(throughline, []);
  await importInto(throughline, text, "seed", { into: "new", force: true });
  const again = await importInto(throughline, text, "seed", { into: "new" });
  assert.deepEqual([again.chats[0]?.skipped, again.refused], [2, []]);
});

test("what was cleared is in no export for nanobot, and the cursor counts what is", async () => {
  await using throughline = await open();
  const { chats } = throughline;
  const own = { metadata: { note: "mine" } };
  const foreign = { _type: "note", text: "hunter2" };
  await importInto(throughline, jsonl({ ...head, ...own }, password, foreign, noted));
  await chats.clear(chat);
  const lines = (text: string) => text.match(/[^\n]+/g)?.map((line) => JSON.parse(line)) ?? [];
  const [only, ...none] = lines(await exported(throughline, "nanobot"));
  assert.deepEqual([only.last_consolidated, none], [0, []]);
  await chats.append(chat, [thanks, bye] as never);
  await chats.setConsolidated(chat, 1);
  const text = await exported(throughline, "nanobot");
  assert.doesNotMatch(text, /hunter2|noted/);
  const [line, one, two, last = line] = lines(text);
  assert.deepEqual([one.content, two.content], ["thanks", "bye"]);
  assert.deepEqual([line.last_consolidated, last.last_consolidated], [1, 1]);
  assert.deepEqual(last.metadata, own.metadata);
  const rendered = await renderChat(chats, chat, "jsonl", "UTC");
  assert.equal((await Array.fromAsync(rendered)).join(""), text);
  assert.match(await exported(throughline, "throughline"), /hunter2/);
});

test("a file of ours that was cut off is refused, wherever: what hides may be missing", async () => {
  const before = await open();
  await before.chats.append(chat, [
    { id: "m0", role: "user", content: "my password is hunter2" },
    { id: "m1", role: "assistant", content: "noted" },
  ]);
  await before.chats.takeBack(chat, ["m0"]);
  const lines = (await exported(before, "throughline")).trimEnd().split("\n");
  for (let count = 1; count < lines.length; count++) {
    await using after = await open();
    const cut = `${lines.slice(0, count).join("\n")}\n`;
    const { failed, chats } = await tryImport(after, cut, "own", { force: true });
    assert.match(failed[0]?.reason ?? "", /end is missing/);
    assert.deepEqual(chats, []);
  }
});
