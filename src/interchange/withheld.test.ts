// What a person hid here does not come back by importing again.
import assert from "node:assert/strict";
import { test } from "node:test";
import { HeldClock } from "../../test/support/held-clock.ts";
import { renderChat } from "../core/chat/render-chat.ts";
import type { JsonObject } from "../core/json.ts";
import { openThroughline, type Throughline } from "../core/throughline.ts";
import { importChats } from "./chat-import.ts";
import { type ExportFormat, exportChats } from "./export.ts";
import type { Form } from "./head-lines.ts";
import type { ImportOptions } from "./import.ts";

const chat = "a:b";
const clock = () => new HeldClock("2026-06-01T00:00:00.000Z");
const offline = { provider: "offline", model: "offline" };
const open = () => openThroughline({ storage: "memory", clock: clock(), ...offline });

type Chats = Throughline["chats"];

type Given = Parameters<typeof tryImport>;

async function importInto(...given: Given) {
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
  const sources = [text].flat().map((each, n) => {
    const bytes = async function* () {
      yield Buffer.from(each);
    };
    const name = n === 0 ? "a_b.jsonl" : `b${n}.jsonl`;
    return { name, bytes: { [Symbol.asyncIterator]: bytes } };
  });
  return importChats(sources, { chats, clock: clock(), zone: "UTC", ...more }, form);
}

async function exported({ chats }: Throughline, format: ExportFormat): Promise<string> {
  let text = "";
  for await (const { pieces } of exportChats(chats, { format, chatId: chat })) {
    for await (const piece of pieces) text += piece;
  }
  return text;
}

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
const say = (chats: Chats) => chats.append(chat, [{ role: "user", content: "said here" }]);

type Act = (throughline: Throughline) => Promise<unknown>;
const redact: Act = async ({ chats }) => chats.redact(chat, await first(chats));
const erase: Act = async ({ chats }) => chats.erase(chat, await first(chats));
const takeBack: Act = async ({ chats }) => chats.takeBack(chat, [await first(chats)]);
const clear: Act = ({ chats }) => chats.clear(chat);

const hiding: readonly (readonly [what: string, act: Act])[] = [
  ["redacted", redact],
  ["taken back", takeBack],
  ["erased", erase],
  ["cleared", clear],
];
const acts: readonly (readonly [what: string, act: Act])[] = [
  ...hiding,
  [
    "redacted, and more was said",
    async (throughline) => {
      await redact(throughline);
      await say(throughline.chats);
    },
  ],
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
  head: (await chats.log.existing(chatId)).head,
});

for (const [what, act] of acts) {
  test(`where a message was ${what}, the unchanged source adds nothing, and a grown one is refused`, async () => {
    await using throughline = await open();
    await importInto(throughline, jsonl(head, password, noted, thanks));
    await act(throughline);
    const before = await allOf(throughline);
    const same = await importInto(throughline, jsonl(head, password, noted, thanks));
    assert.deepEqual(
      same.chats.map(({ chat_id, messages, skipped }) => [chat_id, messages, skipped]),
      [[chat, 0, 3]],
    );
    const other = jsonl({ ...head, key: "c:d" }, bye);
    const grown = jsonl(head, password, noted, thanks, bye);
    for (const dryRun of [true, false]) {
      const { chats, failed } = await tryImport(throughline, [grown, other], "seed", { dryRun });
      assert.deepEqual(
        failed.map(({ source, code }) => [source, code]),
        [["a_b.jsonl", "THROUGHLINE_CONFLICT"]],
      );
      assert.match(failed[0]?.reason ?? "", /"a:b".*--into NEW/);
      assert.deepEqual(
        chats.map(({ chat_id, messages }) => [chat_id, messages]),
        [["c:d", 1]],
      );
    }
    assert.deepEqual(await allOf(throughline), before);
    await assertGone(throughline, [chat, "c:d"]);
  });
}

for (const [what, act] of hiding) {
  const left = what === "cleared" ? 2 : 1;
  const shows = ["noted", "thanks", "bye"].slice(left - 1);
  test(`what was ${what} is left out of a new chat that its grown source is imported into`, async () => {
    await using throughline = await open();
    const { chats } = throughline;
    await importInto(throughline, jsonl(head, password, noted));
    await act(throughline);
    const titled = { ...head, metadata: { title: "hunter2" }, last_consolidated: 2 };
    const grown = jsonl(titled, password, noted, thanks, bye);
    const dry = await importInto(throughline, grown, "seed", { into: "new", dryRun: true });
    assert.deepEqual(await importInto(throughline, grown, "seed", { into: "new" }), dry);
    assert.deepEqual(dry.refused, [
      { chat_id: "new", source: "a_b.jsonl", forgotten_at: undefined, messages: left },
    ]);
    assert.deepEqual(await shown(chats, "new"), shows);
    const is = (await chats.log.existing("new")).head;
    assert.deepEqual(
      [is.title, is.message_count, is.last_consolidated],
      ["thanks", shows.length, 0],
    );
    for (const added of [0, 1]) {
      const more = added === 0 ? [] : [{ ...bye, content: "again" }];
      const report = await importInto(
        throughline,
        jsonl(titled, password, noted, thanks, bye, ...more),
        "seed",
        { into: "new" },
      );
      assert.deepEqual(
        report.chats.map(({ messages, skipped }) => [messages, skipped]),
        [[added, shows.length]],
      );
    }
    await assertGone(throughline, [chat, "new"]);
    await importInto(throughline, grown, "seed", { into: "forced", force: true });
    assert.equal((await shown(chats, "forced"))[0], password["content"]);
  });
}

/** A chat of ours in one home, and its copy in another. */
async function twoHomes() {
  const before = await open();
  await before.chats.append(chat, [{ id: "m1", role: "user", content: "my password is hunter2" }]);
  await before.chats.append(chat, [{ id: "m2", role: "assistant", content: "noted" }]);
  const after = await open();
  const text = await exported(before, "throughline");
  await importInto(after, text, "own");
  const goOn = async () => {
    await before.chats.append(chat, [{ id: "m3", role: "user", content: "thanks" }]);
    await before.chats.compact(chat, 2, "The password hunter2 was said.");
    return exported(before, "throughline");
  };
  return { before, after, text, goOn };
}

test("a file of ours that has grown adds what is new: redactions, removals, clears and sessions too", async () => {
  const { before, after, goOn } = await twoHomes();
  await goOn();
  await redact(before);
  await before.chats.takeBack(chat, ["m2"]);
  await before.chats.clear(chat);
  await before.chats.append(chat, [{ role: "user", content: "after the clear" }]);
  await before.sessions.resolve(chat);
  const text = await exported(before, "throughline");
  for (const _ of [1, 2]) await importInto(after, text, "own");
  assert.equal(await exported(after, "throughline"), text);
});

for (const [what, act] of hiding) {
  test(`of a file of ours what was ${what} here is left out of a new chat, but by force`, async () => {
    const { after, text, goOn } = await twoHomes();
    await act(after);
    const before = await allOf(after);
    assert.equal((await importInto(after, text, "own")).chats[0]?.messages, 0);
    const grown = await goOn();
    const { failed } = await tryImport(after, grown, "own");
    assert.equal(failed[0]?.code, "THROUGHLINE_CONFLICT");
    assert.deepEqual(await allOf(after), before);
    for (const added of [1, 0]) {
      const report = await importInto(after, grown, "own", { into: "new" });
      assert.equal(report.chats[0]?.messages, what === "cleared" ? added : 2 * added);
      assert.equal(report.refused[0]?.messages, what === "cleared" ? 2 : 1);
    }
    await assertGone(after, [chat, "new"]);
    assert.doesNotMatch(JSON.stringify(await allOf(after, "new")), /hunter2/);
    const { message_count } = await after.chats.row("new");
    assert.equal(message_count, (await shown(after.chats, "new")).length);
    await importInto(after, grown, "own", { into: "forced", force: true });
    assert.equal((await shown(after.chats, "forced"))[0], "my password is hunter2");
  });
}

test("a chat from which something is left out keeps what its file hides hidden", async () => {
  const { before, after } = await twoHomes();
  await redact(after);
  await before.chats.append(chat, [{ id: "m3", role: "user", content: "an old story" }]);
  await before.chats.clear(chat);
  await before.chats.append(chat, [{ id: "m4", role: "user", content: "hello" }]);
  await importInto(after, await exported(before, "throughline"), "own", { into: "new" });
  assert.deepEqual(await shown(after.chats, "new"), ["hello"]);
  const row = await after.chats.row("new");
  assert.equal(row.message_count, 1);
  assert.doesNotMatch(row.title, /hunter2/);
});

test("a chat with something of its own is no place for an import, also not as --into", async () => {
  await using throughline = await open();
  await throughline.chats.append("mine", [{ role: "user", content: "said here" }]);
  const text = jsonl(head, noted, thanks);
  const refused = await tryImport(throughline, text, "seed", { into: "mine" });
  assert.equal(refused.failed[0]?.code, "THROUGHLINE_CONFLICT");
  const two = tryImport(throughline, [text, jsonl(bye)], "seed", { into: "new" });
  await assert.rejects(two, { code: "THROUGHLINE_INVALID" });
  assert.deepEqual(
    (await throughline.chats.list()).chats.map(({ chat_id }) => chat_id),
    ["mine"],
  );
});

test("what was forgotten does not come back under another name, but by force", async () => {
  await using throughline = await open();
  const text = jsonl(head, password, noted);
  await importInto(throughline, text);
  await throughline.chats.forget(chat);
  const { refused } = await importInto(throughline, text, "seed", { into: "new" });
  assert.deepEqual(
    refused.map(({ chat_id, messages }) => [chat_id, messages]),
    [["new", 2]],
  );
  assert.ok(refused[0]?.forgotten_at);
  await assertGone(throughline, []);
  await importInto(throughline, text, "seed", { into: "new", force: true });
  const again = await importInto(throughline, text, "seed", { into: "new" });
  assert.deepEqual([again.chats[0]?.skipped, again.refused], [2, []]);
});

test("a trial run of two files of ours, of which the newer hides what the older says, tells the same", async () => {
  const { before, goOn } = await twoHomes();
  const older = await goOn();
  await before.chats.erase(chat, "m1");
  await before.chats.erase(chat, "m3");
  const about = { ...head, updated_at: at(1) };
  const other = jsonl(about, { role: "user", content: "x" }, about);
  const files = [await exported(before, "throughline"), older.replace('"id":"m2"', '"id":"m9"')];
  const dryHome = await open();
  const dry = await importInto(dryHome, [...files, other], "own", { dryRun: true });
  assert.deepEqual(await importInto(dryHome, [...files, other], "own"), dry);
  await assertGone(dryHome, [chat, `${chat}~2`, `${chat}~3`]);
});

for (const [what, act] of [
  ["redacted", redact],
  ["cleared", clear],
] as const) {
  test(`what was ${what} here is left out of another file of the chat, also where its line moved`, async () => {
    await using throughline = await open();
    await importInto(throughline, jsonl(head, noted, password, thanks));
    await throughline.chats.redact(
      chat,
      (await throughline.chats.messages(chat)).messages[1]?.id ?? "",
    );
    await act(throughline);
    const text = jsonl(head, password, bye);
    const report = await importInto(throughline, text, "seed", { into: "new" });
    assert.equal(report.chats[0]?.messages, 1);
    await assertGone(throughline, [chat, "new"]);
    assert.deepEqual(await shown(throughline.chats, "new"), ["bye"]);
  });
}

for (const [what, act] of [
  ["redacted", redact],
  ["erased", erase],
] as const) {
  test(`a message that was ${what} does not come back by an export for nanobot from before`, async () => {
    const { before } = await twoHomes();
    const text = await exported(before, "nanobot");
    await act(before);
    assert.equal((await tryImport(before, text)).failed[0]?.code, "THROUGHLINE_CONFLICT");
    await importInto(before, text, "seed", { into: "new" });
    await assertGone(before, [chat, "new"]);
    assert.deepEqual(await shown(before.chats, "new"), ["noted"]);
  });
}

test("a redaction keeps away also a message of which only the redaction is here", async () => {
  await using throughline = await open();
  const mark = { _type: "metadata", kind: "redaction", target: "m1", timestamp: at(1) };
  const m2 = { ...noted, id: "m2", seq: 2 };
  const damaged = jsonl(head, m2, { id: "redaction:m1", seq: 3, ...mark }, head);
  await importInto(throughline, damaged, "own");
  const whole = jsonl(head, { ...password, id: "m1", seq: 1 }, m2, head);
  for (const into of [undefined, "new"]) await importInto(throughline, whole, "own", { into });
  await assertGone(throughline, [chat, "new"]);
});

test("what was cleared is in no export for nanobot, and the cursor counts what is", async () => {
  await using throughline = await open();
  const { chats } = throughline;
  const large = { metadata: { note: "x".repeat(40_000) } };
  const foreign = { _type: "note", text: "hunter2" };
  await importInto(throughline, jsonl({ ...head, ...large }, password, foreign, noted));
  await chats.clear(chat);
  const lines = (text: string) =>
    text
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
  assert.deepEqual(
    lines(await exported(throughline, "nanobot")).map((line) => line.last_consolidated),
    [0, 0],
  );
  await chats.append(chat, [thanks, bye] as never);
  await chats.setConsolidated(chat, 1);
  const text = await exported(throughline, "nanobot");
  assert.doesNotMatch(text, /hunter2|noted/);
  const [line, one, two, last] = lines(text);
  assert.deepEqual([one.content, two.content], ["thanks", "bye"]);
  assert.deepEqual([line.last_consolidated, last.last_consolidated], [1, 1]);
  assert.deepEqual(last.metadata, large.metadata);
  const rendered = await renderChat(chats, chat, "jsonl", "UTC");
  assert.equal((await Array.fromAsync(rendered)).join(""), text);
  assert.match(await exported(throughline, "throughline"), /hunter2/);
});

test("a file of ours that was cut off is refused, unless it is forced: what redacts may be missing", async () => {
  const before = await open();
  await before.chats.append(chat, [
    { id: "m0", role: "user", content: "my password is hunter2" },
    { id: "m1", role: "assistant", content: "noted" },
  ]);
  await before.chats.redact(chat, "m0");
  const lines = (await exported(before, "throughline")).trimEnd().split("\n");
  for (let count = 1; count < lines.length; count++) {
    await using after = await open();
    const cut = `${lines.slice(0, count).join("\n")}\n`;
    const { failed, chats } = await tryImport(after, cut, "own");
    assert.match(failed[0]?.reason ?? "", /end is missing/);
    assert.deepEqual(chats, []);
    const forced = await importInto(after, cut, "own", { force: true });
    assert.ok(forced.chats[0]?.notes.includes("its end is missing"));
  }
});

test("what is set aside of a line that is too long is counted whole", async () => {
  await using throughline = await open();
  const long = "x".repeat(3 * 1024 * 1024);
  const { quarantined } = await importInto(throughline, `${jsonl(head, noted)}${long}\n`);
  assert.deepEqual(
    quarantined.map(({ bytes }) => bytes),
    [long.length],
  );
});
