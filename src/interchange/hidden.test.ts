// What a person hid here does not come back by importing again.
import assert from "node:assert/strict";
import { test } from "node:test";
import { HeldClock } from "../../test/support/held-clock.ts";
import { renderChat } from "../core/chat/render-chat.ts";
import type { JsonObject } from "../core/json.ts";
import { openThroughline, type Throughline } from "../core/throughline.ts";
import { type ExportFormat, exportChats } from "./export.ts";
import type { Form } from "./head-lines.ts";
import type { ImportOptions } from "./import-options.ts";
import { importChats } from "./nanobot-import.ts";

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
  ...{ role: n % 2 === 0 ? "user" : "assistant", content, timestamp: at(n) },
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
const clear: Act = ({ chats }) => chats.clear(chat);

const acts: readonly (readonly [what: string, act: Act, shows: readonly unknown[]])[] = [
  ["redacted", redact, [null, "noted", "thanks", "bye"]],
  ["erased", erase, ["noted", "thanks", "bye"]],
  ["cleared", clear, ["bye"]],
  [
    "redacted, and more was said",
    async (throughline) => {
      await redact(throughline);
      await say(throughline.chats);
    },
    [null, "noted", "thanks", "said here", "bye"],
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
    ["noted", "thanks", "bye"],
  ],
];
for (const [what, act, shows] of acts) {
  test(`where a message was ${what}, a source that has grown adds what is new, and nothing else`, async () => {
    await using throughline = await open();
    const { chats } = throughline;
    await importInto(throughline, jsonl(head, password, noted, thanks));
    await act(throughline);
    const { title, message_count, metadata } = (await chats.log.existing(chat)).head;
    for (const added of [1, 0]) {
      const report = await importInto(throughline, jsonl(head, password, noted, thanks, bye));
      assert.deepEqual(
        report.chats.map(({ chat_id, messages, skipped }) => [chat_id, messages, skipped]),
        [[chat, added, 4 - added]],
      );
      assert.deepEqual(await shown(chats), shows);
      await assertGone(throughline);
    }
    const is = (await chats.log.existing(chat)).head;
    assert.deepEqual([is.title, is.message_count], [title, message_count + 1]);
    assert.deepEqual(is.metadata, metadata);
  });
}

test("a line that comes after one erased is counted, named and consolidated without that", async () => {
  await using throughline = await open();
  const { chats } = throughline;
  await importInto(throughline, jsonl(head, password, noted));
  await erase(throughline);
  const grown = { ...head, last_consolidated: 2 };
  await importInto(throughline, jsonl(grown, password, noted, thanks));
  const is = (await chats.log.existing(chat)).head;
  assert.deepEqual([is.title, is.message_count, is.last_consolidated], ["thanks", 2, 1]);
  await chats.redact(chat, is.title_of ?? "");
  assert.equal((await chats.row(chat)).title, "");
});

/** A chat of ours in one home, and its copy in another. */
async function twoHomes() {
  const before = await open();
  await before.chats.append(chat, [{ id: "m1", role: "user", content: "my password is hunter2" }]);
  await before.chats.append(chat, [{ id: "m2", role: "assistant", content: "noted" }]);
  const after = await open();
  await importInto(after, await exported(before, "throughline"), "own");
  const goOn = async () => {
    await before.chats.append(chat, [{ id: "m3", role: "user", content: "thanks" }]);
    await before.chats.compact(chat, 2, "The password hunter2 was said.");
    return exported(before, "throughline");
  };
  return { before, after, goOn };
}

for (const [what, act, shows] of [
  ["redacted", redact, [null, "noted", "thanks"]],
  ["erased", erase, ["noted", "thanks"]],
] as const) {
  test(`what was ${what} of a file of ours stays so when the file has grown`, async () => {
    const { after, goOn } = await twoHomes();
    await act(after);
    const { message_count } = await after.chats.row(chat);
    const grown = await goOn();
    for (const added of [1, 0]) {
      const report = await importInto(after, grown, "own");
      assert.deepEqual(
        report.chats.map(({ chat_id, messages }) => [chat_id, messages]),
        [[chat, added]],
      );
      assert.deepEqual(await shown(after.chats), shows);
      await assertGone(after);
    }
    const row = await after.chats.row(chat);
    assert.deepEqual([row.title, row.message_count], ["thanks", message_count + 1]);
    const words = JSON.stringify(await Array.fromAsync(after.chats.records(chat)));
    assert.doesNotMatch(words, /password hunter2 was said/);
  });
}

test("a redaction that was made in both homes is one, and everything points where it did", async () => {
  const { before, after, goOn } = await twoHomes();
  await redact(after);
  await goOn();
  await redact(before);
  await before.chats.clear(chat);
  await before.chats.append(chat, [{ role: "user", content: "anew" }]);
  const seqOf = async ({ chats }: Throughline) => (await chats.message(chat, "m3")).seq;
  const viewFrom = { claude: await seqOf(before) };
  await before.chats.log.change(chat, (draft) => {
    draft.control("metadata", {});
    draft.set({ view_from: viewFrom });
  });
  for (const _ of [1, 2]) await importInto(after, await exported(before, "throughline"), "own");
  await assertGone(after);
  assert.deepEqual(await shown(after.chats), ["anew"]);
  const { head } = await after.chats.log.existing(chat);
  assert.deepEqual(head.view_from, { claude: await seqOf(after) });
  assert.notDeepEqual(head.view_from, viewFrom);
});

for (const [what, act] of [
  ["redacted", redact],
  ["erased", erase],
  ["cleared", clear],
] as const) {
  const note = "what was redacted, erased or cleared here is left out";
  test(`of a file of ours that went on apart what was ${what} here is left out, but by force`, async () => {
    const { after, goOn } = await twoHomes();
    await act(after);
    await say(after.chats);
    const apart = await goOn();
    const second = `${chat}~2`;
    const dry = await importInto(after, apart, "own", { dryRun: true });
    const report = await importInto(after, apart, "own");
    assert.deepEqual(dry, report);
    assert.equal(report.chats[0]?.chat_id, second);
    assert.match(report.chats[0]?.notes.join("\n") ?? "", new RegExp(note));
    const again = await importInto(after, apart, "own");
    assert.equal(again.chats[0]?.messages, 0);
    await assertGone(after, [chat, second]);
    const words = JSON.stringify(await Array.fromAsync(after.chats.records(second)));
    assert.doesNotMatch(words, /hunter2/);
    const { message_count } = await after.chats.row(second);
    assert.equal(message_count, (await shown(after.chats, second)).length);
    await after.chats.forget(second);
    await importInto(after, apart, "own", { force: true });
    assert.equal((await shown(after.chats, second))[0], "my password is hunter2");
  });
}

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
    const report = await importInto(throughline, jsonl(head, password, bye));
    assert.deepEqual(
      report.chats.map(({ chat_id, messages }) => [chat_id, messages]),
      [[`${chat}~2`, 1]],
    );
    await assertGone(throughline, [chat, `${chat}~2`]);
    assert.deepEqual(await shown(throughline.chats, `${chat}~2`), ["bye"]);
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
    await importInto(before, text);
    await assertGone(before, [chat, `${chat}~2`]);
  });
}

test("a redaction keeps away also a message of which only the redaction is here", async () => {
  await using throughline = await open();
  const mark = { _type: "metadata", kind: "redaction", target: "m1", timestamp: at(1) };
  const m2 = { ...noted, id: "m2", seq: 2 };
  const damaged = jsonl(head, m2, { id: "redaction:m1", seq: 3, ...mark }, head);
  await importInto(throughline, damaged, "own");
  await importInto(throughline, jsonl(head, { ...password, id: "m1", seq: 1 }, m2, head), "own");
  await assertGone(throughline, [chat, `${chat}~2`]);
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
