import assert from "node:assert/strict";
import { test } from "node:test";
import { column, columns } from "../../test/support/columns.ts";
import { HeldClock } from "../../test/support/held-clock.ts";
import { source } from "../../test/support/import-sources.ts";
import { historyView } from "../core/chat/history.ts";
import type { JsonObject } from "../core/json.ts";
import { openThroughline, type Throughline } from "../core/throughline.ts";
import { importChats } from "./chat-import.ts";
import { exportChats } from "./export.ts";
import type { Source } from "./import.ts";

const gpt = { provider: "openai", model: "gpt-5" };
const clock = new HeldClock("2026-06-01T00:00:00.000Z");

const open = () => openThroughline({ storage: "memory", clock });

const importInto = ({ chats }: Throughline, sources: readonly Source[]) =>
  importChats(sources, { chats, clock, zone: "UTC" });

const records = ({ chats }: Throughline, chatId: string) => Array.fromAsync(chats.records(chatId));

async function messages({ chats }: Throughline, chatId: string): Promise<readonly JsonObject[]> {
  return (await chats.messages(chatId)).messages;
}

const head = (metadata: JsonObject) =>
  JSON.stringify({ _type: "metadata", key: "telegram:7", metadata, last_consolidated: 0 });
const line = (role: string, content: string, more: JsonObject = {}) =>
  JSON.stringify({ role, content, timestamp: "2026-03-03T10:00:00Z", ...more });
const fileOf = (...lines: readonly string[]) => source("telegram_7.jsonl", lines.join("\n"));

test("media are attachments: a model gets a note of each, also where nothing else was said", async () => {
  await using throughline = await open();
  const media = [
    "/home/ori/.nanobot/media/cat.jpg",
    "C:\\media\\voice.ogg",
    "https://example.org/a/clip.mp4?token=1",
    "report.pdf",
    "AgACAgIAAx",
    `data:image/png;base64,${"A".repeat(200)}`,
  ];
  const own = { name: "b.png", type: "image/png" };
  const file = fileOf(
    head({}),
    line("user", "", { media }),
    line("assistant", "A cat."),
    line("user", "And this?", { media: ["dog.png"] }),
    line("user", "No media", { media: "cat.jpg" }),
    line("user", "Its own", { media: ["cat.jpg"], attachments: [own] }),
  );
  await importInto(throughline, [file]);
  const view = historyView(await records(throughline, "telegram:7"), gpt);
  assert.deepEqual(column(view.messages, "content"), [
    "[image: cat.jpg]\n[audio: voice.ogg]\n[video: clip.mp4]\n[file: report.pdf]\n" +
      "[image: AgACAgIAAx]\n[image: unnamed]",
    "A cat.",
    "And this?\n\n[image: dog.png]\n\nNo media\n\nIts own\n\n[image: b.png]",
  ]);
  const [first] = await messages(throughline, "telegram:7");
  assert.deepEqual([first?.["content"], first?.["media"]], ["", media], "it is kept as it came");
});

test("what a line has beside a message is kept, also where its own extra has the name", async () => {
  await using throughline = await open();
  const parts = [{ type: "text", text: "Look" }];
  const own = { content: "theirs", timestamp: "theirs" };
  const given = { content: parts, timestamp: "yesterday", extra: own };
  await importInto(throughline, [fileOf(head({}), line("user", "", given))]);
  const [first] = await messages(throughline, "telegram:7");
  assert.equal(first?.["content"], "Look");
  const kept = { content_: parts, timestamp_: "yesterday", ...own };
  assert.deepEqual(first?.["extra"], kept);
});

test("commands and their replies are kept hidden: no model gets them, and they name no chat", async () => {
  await using throughline = await open();
  const file = fileOf(
    head({}),
    line("user", "/status", { _command: true }),
    line("assistant", "All is well", { _command: true }),
    line("user", "Hello", { _command: false }),
  );
  await importInto(throughline, [file]);
  const view = historyView(await records(throughline, "telegram:7"), gpt);
  assert.deepEqual(view.messages, [{ role: "user", content: "Hello" }]);
  assert.equal((await throughline.chats.row("telegram:7")).title, "Hello");
  const found = await messages(throughline, "telegram:7");
  assert.deepEqual(column(found, "hidden"), [true, true, undefined]);
});

test("commands go back to nanobot as they came; an erased one does not", async () => {
  await using throughline = await open();
  const command = line("user", "/status", { _command: true });
  const secret = line("assistant", "My PIN is 4711", { _command: true });
  await importInto(throughline, [fileOf(head({}), command, secret)]);
  const [, reply] = await records(throughline, "telegram:7");
  await throughline.chats.erase("telegram:7", reply?.id ?? "");
  const [file] = await Array.fromAsync(exportChats(throughline.chats, { format: "nanobot" }));
  const text = (await Array.fromAsync(file?.pieces ?? [])).join("");
  const [, ...rows] = (text.match(/[^\n]+/g) ?? []).map((row) => JSON.parse(row));
  assert.deepEqual(columns(rows, "content", "_command", "hidden"), [["/status", true, undefined]]);
});

test("metadata.title is the title, and the last one of a file that grows counts", async () => {
  await using throughline = await open();
  const lines = [line("user", "Hello")];
  const titled = (title: string, ...more: readonly string[]) => {
    lines.push(head({ title }), ...more);
    return importInto(throughline, [fileOf(...lines)]);
  };
  const title = async () => (await throughline.chats.row("telegram:7")).title;
  await titled("  Cats\nand dogs ");
  assert.equal(await title(), "Cats and dogs");
  await titled("Cats", line("user", "1"));
  assert.equal(await title(), "Cats");
  await titled("Dogs", line("user", "2"));
  assert.equal(await title(), "Dogs");
});
