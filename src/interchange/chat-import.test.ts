import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import fc from "fast-check";
import { column } from "../../test/support/columns.ts";
import { HeldClock } from "../../test/support/held-clock.ts";
import { source } from "../../test/support/import-sources.ts";
import { randomText } from "../../test/support/random-text.ts";
import type { JsonObject } from "../core/json.ts";
import type { StoredRecord } from "../core/storage/log-store.ts";
import { openThroughline, type Throughline } from "../core/throughline.ts";
import { importChats } from "./chat-import.ts";
import type { ImportOptions, Source } from "./import.ts";

const golden = join(import.meta.dirname, "../../test/golden/nanobot");
const isFull = process.env["THROUGHLINE_FULL"] === "1";
const clock = () => new HeldClock("2026-06-01T00:00:00.000Z");

const goldenSource = (name: string) => source(name, readFileSync(join(golden, name)));

function open(): Promise<Throughline> {
  return openThroughline({ storage: "memory", clock: clock() });
}

function importInto(
  { chats }: Throughline,
  sources: readonly Source[],
  more: Partial<ImportOptions> = {},
) {
  return importChats(sources, { chats, clock: clock(), zone: "Europe/Berlin", ...more });
}

async function records({ chats }: Throughline, chatId: string): Promise<StoredRecord[]> {
  return await Array.fromAsync(chats.records(chatId));
}

async function messages(throughline: Throughline, chatId: string): Promise<JsonObject[]> {
  const page = await throughline.chats.messages(chatId, { limit: 1_000 });
  return page.messages.map(({ id: _, seq: __, ...rest }) => rest);
}

test("a file that another chat replaces while it is read is refused, and stores nothing", async () => {
  await using throughline = await open();
  const files = ["a:1", "b:2"].map((key) => {
    const lines = [JSON.stringify({ _type: "metadata", key }), line(`I am ${key}`)];
    return Buffer.from(lines.join("\n"));
  });
  const pieces = async function* () {
    yield files.length > 1 ? files.shift() : files[0];
  };
  const bytes = { [Symbol.asyncIterator]: pieces } as AsyncIterable<Uint8Array>;
  const { failed } = await importInto(throughline, [{ name: "a.jsonl", bytes }]);
  assert.match(failed[0]?.reason ?? "", /^a.jsonl changed while it was read/);
  assert.deepEqual((await throughline.chats.list()).chats, []);
});

test("a nanobot file becomes its chat: stamps without a zone are read in the home's and marked", async () => {
  await using throughline = await open();
  const report = await importInto(throughline, [goldenSource("telegram_42.jsonl")]);
  assert.deepEqual(await messages(throughline, "telegram:42"), [
    {
      role: "user",
      content: "Wo ist der Leuchtturm? 🗼",
      timestamp: "2026-03-03T09:00:01.500Z",
      tz_assumed: true,
    },
    {
      role: "assistant",
      content: "Auf der Klippe.",
      timestamp: "2026-03-03T09:00:05.000Z",
      tz_assumed: true,
      tools_used: ["map"],
    },
    { role: "user", content: "Danke", timestamp: "2026-03-03T10:00:00.000Z" },
  ]);
  const { head } = await throughline.chats.existing("telegram:42");
  assert.equal(head.created_at, "2026-03-03T09:00:00.123Z");
  assert.equal(head.updated_at, "2026-03-03T09:05:00.000Z");
  assert.deepEqual(head.metadata, { lang: "de" });
  assert.equal(head.last_consolidated, 2);
  assert.equal(head.message_count, 3);
  assert.equal(head.title, "Wo ist der Leuchtturm? 🗼");
  const [chat] = report.chats;
  assert.equal(chat?.messages, 3);
  assert.ok(chat?.notes.includes("a time without a zone was read in Europe/Berlin (2 times)"));
});

test("tool calls and their results come as they were, content of other kinds as text", async () => {
  await using throughline = await open();
  await importInto(throughline, [goldenSource("cli_direct.jsonl")]);
  const found = await messages(throughline, "cli:direct");
  const [, call, result, look, seen, bare] = found;
  assert.equal(found.length, 6);
  assert.equal(call?.["content"], "");
  assert.equal(call?.["reasoning_content"], "hm");
  assert.deepEqual(call?.["tool_calls"], [
    { id: "c1", type: "function", function: { name: "weather", arguments: '{"city":"Bonn"}' } },
  ]);
  assert.equal(result?.["tool_call_id"], "c1");
  assert.deepEqual(look?.["tool_calls"], [
    { id: "c2", function: { name: "look", arguments: '{"x":1}' } },
  ]);
  assert.equal(seen?.["content"], "a cat\n[image]");
  assert.deepEqual((seen!["extra"] as JsonObject)["content"], [
    { type: "text", text: "a cat" },
    { type: "image_url", image_url: { url: "data:," } },
  ]);
  assert.equal(bare?.["content"], "");
});

test("every oddity has its result, and nothing is dropped silently", async () => {
  await using throughline = await open();
  const report = await importInto(throughline, [goldenSource("oddities.jsonl")]);
  const found = await messages(throughline, "odd:1");
  const begins = found.map(({ content }) => String(content).split(" ", 1)[0]);
  assert.deepEqual(begins, ["m1", "m5", "m6", "m6b", "m7", "m8", "m9", "m10", "m11", "m12"]);
  const by = (start: string) => found.find(({ content }) => String(content).startsWith(start))!;
  assert.equal(by("m1 ")["role"], "user");
  assert.equal(by("m5")["timestamp"], "");
  assert.deepEqual(by("m6")["extra"], { id: "mine", _type: "note", seq: 7, kind: "commit" });
  assert.equal(by("m6b")["role"], "system");
  assert.deepEqual(by("m6b")["extra"], { role: "narrator" });
  assert.equal(by("m7")["role"], "system");
  assert.deepEqual(by("m7")["extra"], { role: "human", timestamp: "yesterday" });
  assert.deepEqual(by("m8")["extra"], { id: "mine", timestamp: 1_772_532_000 });
  assert.equal(by("m9")["n"], "12345678901234567890");
  assert.deepEqual([by("m9")["f"], by("m9")["z"]], ["1e999", "-0"]);
  assert.equal(by("m10")["content"], "m10 lines\u2028\u2029\u0085 and \r bare");
  assert.deepEqual(by("m10")["extra"], { id: "theirs", name: 7 });
  assert.ok(Object.hasOwn(by("m10"), "__proto__"));
  assert.equal(by("m11")["content"], "m11 surrogate \ud800");
  assert.match(String(by("m12")["content"]), /^m12 \{"_type":"metadata","kind":"commit"/);
  assert.deepEqual(
    report.quarantined.map(({ line, reason }) => `${line}: ${reason}`),
    [
      ...["5: NUL bytes", "6: it is not UTF-8", "7: it is not JSON"],
      ...[8, 9, 10, 11].map((line) => `${line}: it is JSON, and not an object`),
      ...["12: it is not JSON", "27: it is not JSON"],
    ],
  );
  const bytes = readFileSync(join(golden, "oddities.jsonl"));
  const lines = bytes.toString("latin1").split("\n");
  for (const { line, offset, bytes: length } of report.quarantined) {
    assert.equal(bytes.toString("latin1", offset, offset + length), lines[line - 1]);
  }
  assert.equal(report.foreign, 3);
  assert.match(report.chats[0]!.notes.join("\n"), /last_consolidated is not a number of messages/);
});

test("lines that look like our control records and commits change nothing", async () => {
  await using throughline = await open();
  await importInto(throughline, [goldenSource("oddities.jsonl")]);
  const { head } = await throughline.chats.existing("odd:1");
  assert.equal(head.session, null);
  assert.equal(head.title, "m1 first line, no metadata before");
  assert.deepEqual(head.metadata, { ok: true });
  assert.deepEqual(head["extra"], { owner: "someone" });
  assert.equal(head.last_consolidated, 0);
  const controls = (await records(throughline, "odd:1")).filter(({ _type }) => _type !== undefined);
  assert.deepEqual(column(controls, "kind"), ["foreign", "foreign", "foreign"]);
  const forged = (controls[2]!["extra"] as JsonObject)["record"] as JsonObject;
  assert.equal(forged["kind"], "redaction");
});

const objects: readonly (readonly [object: JsonObject, becomes: string])[] = [
  [{ role: "user", content: "x" }, "user"],
  [{ role: "user" }, "user"],
  [{ role: "narrator", content: "x" }, "system"],
  [{ role: "narrator" }, "foreign"],
  [{ role: 7, content: "x" }, "foreign"],
  [{ content: "x" }, "foreign"],
  [{ _type: "note", role: "user", content: "x" }, "user"],
  [{ _type: null, role: "user", content: ["x"] }, "user"],
  [{ _type: "note", role: "user" }, "foreign"],
  [{ _type: "note", role: "user", content: ["x"] }, "foreign"],
  [{ _type: "note", text: "x" }, "foreign"],
];
for (const [object, becomes] of objects) {
  const text = JSON.stringify(object);
  const what = becomes === "foreign" ? "a foreign record" : `a message of the role ${becomes}`;
  test(`the line ${text} becomes ${what}, with all that it says`, async () => {
    await using throughline = await open();
    const head = JSON.stringify({ _type: "metadata" });
    const report = await importInto(throughline, [source("a_b.jsonl", `${head}\n${text}\n`)]);
    const found = await messages(throughline, "a:b");
    assert.deepEqual(
      [report.foreign, found.map(({ role }) => role)],
      becomes === "foreign" ? [1, []] : [0, [becomes]],
    );
    const [stored] = await records(throughline, "a:b");
    const extra = (stored!["extra"] ?? {}) as JsonObject;
    if (becomes === "foreign") assert.deepEqual(extra["record"], object);
    else assert.deepEqual({ ...stored, ...extra, ...object }, { ...stored, ...extra });
  });
}

test("a file without a metadata line is the chat that its name says", async () => {
  await using throughline = await open();
  const names = ["matrix_!room_server.jsonl", "discord_zero.jsonl"];
  const report = await importInto(throughline, names.map(goldenSource));
  const ids = report.chats.map(({ chat_id }) => chat_id).sort();
  assert.deepEqual(ids, ["discord:zero", "matrix:!room:server"]);
});

const all = readdirSync(golden).sort();
test(`importing all of ${all.length} files twice changes nothing the second time`, async () => {
  await using throughline = await open();
  const state = async () => {
    const { chats } = await throughline.chats.list();
    return Promise.all(chats.map(async (row) => [row, await records(throughline, row.chat_id)]));
  };
  const first = await importInto(throughline, all.map(goldenSource));
  const before = await state();
  const readable = all.filter((name) => name !== "slack_garbage.jsonl");
  const second = await importInto(throughline, readable.map(goldenSource));
  assert.deepEqual(await state(), before);
  const sum = (key: "messages" | "skipped", report: typeof first) =>
    report.chats.reduce((total, chat) => total + chat[key], 0);
  assert.equal(sum("messages", second), 0);
  assert.equal(sum("skipped", second), sum("messages", first));
});

const line = (content: string, at = "2026-03-03T10:00:00Z") =>
  `${JSON.stringify({ role: "user", content, timestamp: at })}\n`;

test("a source that has grown adds what is new, and keeps the title", async () => {
  await using throughline = await open();
  await importInto(throughline, [source("a_b.jsonl", line("one") + line("two"))]);
  const grown = line("one") + line("two") + line("three");
  const report = await importInto(throughline, [source("a_b.jsonl", grown)]);
  assert.deepEqual([report.chats[0]?.messages, report.chats[0]?.skipped], [1, 2]);
  assert.deepEqual(column(await messages(throughline, "a:b"), "content"), ["one", "two", "three"]);
  const row = await throughline.chats.row("a:b");
  assert.deepEqual([row.title, row.message_count], ["one", 3]);
});

test("a trial run reports the same and stores nothing", async () => {
  await using throughline = await open();
  const dry = await importInto(throughline, all.map(goldenSource), { dryRun: true });
  assert.deepEqual((await throughline.chats.list()).chats, []);
  assert.deepEqual(await importInto(throughline, all.map(goldenSource)), dry);
});

test("of two files of one chat the one changed last is the chat; the other is refused, but with into", async () => {
  await using throughline = await open();
  const head = `${JSON.stringify({ _type: "metadata", key: "c:1" })}\n`;
  const older = source("a.jsonl", head + line("older"), { modifiedAt: 1 });
  const newer = source("new.jsonl", head + line("newer"), { modifiedAt: 2 });
  for (const added of [1, 0]) {
    const { chats, failed } = await importInto(throughline, [older, newer]);
    assert.deepEqual(
      [...chats.map((chat) => [chat.source, chat.messages]), failed[0]?.source, failed[0]?.code],
      [["new.jsonl", added], "a.jsonl", "THROUGHLINE_CONFLICT"],
    );
  }
  await importInto(throughline, [older], { into: "c:2" });
  assert.equal((await messages(throughline, "c:1"))[0]?.["content"], "newer");
  assert.equal((await messages(throughline, "c:2"))[0]?.["content"], "older");
});

test("what a person had forgotten stays forgotten, also what is younger; force brings it back", async () => {
  await using throughline = await open();
  await importInto(throughline, [source("a_b.jsonl", line("old"))]);
  await throughline.chats.forget("a:b");
  const grown = source("a_b.jsonl", line("old") + line("young", "2026-07-01T00:00:00Z"));
  for (const dryRun of [true, false]) {
    const { refused, chats } = await importInto(throughline, [grown], { dryRun });
    assert.deepEqual([refused[0]?.messages, chats], [2, []]);
  }
  assert.deepEqual((await throughline.chats.list()).chats, []);
  await importInto(throughline, [grown], { force: true });
  assert.equal((await messages(throughline, "a:b")).length, 2);
});

const many = Array.from({ length: 600 }, (_, n) => line(`line ${n}`)).join("");
/** A source that gives other bytes the nth time that it is read, and may break off after them. */
function changing(nth: number, whole: string, other: string, breaksOff = true) {
  let readings = 0;
  const bytes = async function* () {
    const isWhole = ++readings !== nth;
    yield Buffer.from(isWhole ? whole : other);
    if (isWhole || !breaksOff) return;
    throw Object.assign(new Error("EIO: the disk is gone"), { syscall: "read" });
  };
  const given = { name: "a_b.jsonl", bytes: { [Symbol.asyncIterator]: bytes } };
  return { given, readings: () => readings };
}

for (const [what, other] of [
  ["changes", many.replace("line 599", "line 000")],
  ["breaks off", many.slice(0, 30_000)],
] as const) {
  test(`a source that ${what} while it is stored leaves no chat, and can be imported again`, async () => {
    await using throughline = await open();
    const { given, readings } = changing(2, many, other, what === "breaks off");
    const report = await importInto(throughline, [given, source("c_d.jsonl", line("fine"))]);
    assert.equal(readings(), 2);
    assert.equal(report.failed.length, 1);
    const { chats } = await throughline.chats.list();
    assert.deepEqual(column(chats, "chat_id"), ["c:d"]);
    const again = await importInto(throughline, [given]);
    assert.equal(again.chats[0]?.messages, 600);
  });
}

test("a grown source that breaks off is continued where it stopped, once each", async () => {
  await using throughline = await open();
  await importInto(throughline, [source("a_b.jsonl", line("first"))]);
  const grown = line("first") + many;
  const { given } = changing(3, grown, grown.slice(0, -10));
  assert.equal((await importInto(throughline, [given])).failed.length, 1);
  const stored = (await throughline.chats.row("a:b")).message_count;
  assert.ok(stored > 1 && stored < 601, `${stored} messages`);
  const { chats } = await importInto(throughline, [given]);
  assert.deepEqual([chats[0]?.messages, chats[0]?.skipped], [601 - stored, stored]);
  const found = (await records(throughline, "a:b")).map(({ content }) => content);
  assert.deepEqual(found, ["first", ...Array.from({ length: 600 }, (_, n) => `line ${n}`)]);
});

test("a message up to 16 MiB is imported cut, and all of it is its file; a longer line is left out and reported", async () => {
  await using throughline = await open();
  const picture = { type: "image_url", image_url: { url: `data:,${randomText(1_200_000)}` } };
  const raw = randomText(isFull ? 15_000_000 : 1_200_000);
  const large: readonly JsonObject[] = [
    { role: "user", content: randomText(1_500_000), name: "Ada" },
    { role: "user", content: [{ type: "text", text: "what is this?" }, picture] },
    { role: "tool", content: "found", tool_call_id: "c1", raw },
  ];
  const long = randomText(1_700_000).repeat(10);
  const lines = [...large.map((each) => `${JSON.stringify(each)}\n`), line(long), line("two")];
  const file = source("a_b.jsonl", lines.join(""));
  const report = await importInto(throughline, [file]);
  const left = report.quarantined.map(({ bytes }) => bytes);
  assert.deepEqual([report.quarantined_count, left], [1, [line(long).length - 1]]);
  const cut = "a message longer than 1 MiB is cut, and attached whole as message.json (3 times)";
  assert.ok(report.chats[0]?.notes.includes(cut), String(report.chats[0]?.notes));
  const { chats } = throughline;
  const { messages } = await chats.messages("a:b");
  assert.deepEqual(column(messages, "content"), [
    String(large[0]?.["content"]).slice(0, 65_536),
    "what is this?\n[image]",
    "found",
    "two",
  ]);
  assert.deepEqual([messages[0]?.["name"], messages[2]?.tool_call_id], ["Ada", "c1"]);
  for (const [index, message] of messages.slice(0, 3).entries()) {
    const [{ name, sha256 } = { name: "", sha256: "" }] = message.attachments ?? [];
    const bytes = await chats.attachment("a:b", String(sha256));
    assert.equal(name, "message.json");
    assert.deepEqual(JSON.parse(Buffer.from(bytes).toString()), large[index]);
  }
  assert.equal((await importInto(throughline, [file])).chats[0]?.messages, 0);
  for (const { id } of messages.slice(0, 3)) await chats.erase("a:b", id);
  assert.deepEqual(await chats.files.list("a:b"), []);
});

for (const name of ["telegram_42.jsonl", "oddities.jsonl"]) {
  const bytes = readFileSync(join(golden, name));
  test(`whatever is cut from ${name} or changed in it, what stands on other lines is read`, async () => {
    const damage = fc.record({
      from: fc.nat(bytes.length),
      to: fc.nat(bytes.length),
      at: fc.nat(bytes.length - 1),
      byte: fc.nat(255),
    });
    await fc.assert(
      fc.asyncProperty(damage, async ({ from, to, at, byte }) => {
        await using throughline = await open();
        const changed = Buffer.from(bytes);
        changed[at] = byte;
        const part = changed.subarray(Math.min(from, to), Math.max(from, to));
        await importInto(throughline, [source(name, part)]);
        const found = new Set<unknown>();
        for (const { chat_id } of (await throughline.chats.list()).chats) {
          for (const { content } of await messages(throughline, chat_id)) found.add(content);
        }
        for (const text of wholeMessages(part)) assert.ok(found.has(text), text);
      }),
      { numRuns: isFull ? 40 : 10 },
    );
  });
}

/** The contents that any reader of lines finds, in Python's terms. */
function wholeMessages(bytes: Uint8Array): string[] {
  const texts: string[] = [];
  for (const text of Buffer.from(bytes).toString("latin1").split("\n")) {
    try {
      const decoded = new TextDecoder("utf-8", { fatal: true }).decode(Buffer.from(text, "latin1"));
      const { _type, role, content } = JSON.parse(decoded);
      const isMessage = _type !== "metadata" && /^(user|assistant|tool|system)$/i.test(role);
      if (isMessage && typeof content === "string") texts.push(content);
    } catch {
      // not a line that anyone reads
    }
  }
  return texts;
}
