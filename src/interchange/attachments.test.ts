// What an export of a chat has of its attachments, an import has again.

import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { column } from "../../test/support/columns.ts";
import { exported as exportedFiles, source } from "../../test/support/import-sources.ts";
import { systemClock } from "../core/clock.ts";
import { hashOf } from "../core/storage/file-store.ts";
import { openThroughline, type Throughline } from "../core/throughline.ts";
import { importChats } from "./chat-import.ts";
import type { ImportOptions } from "./import.ts";

const chat = "telegram:42";
const small = Buffer.from("a small picture");
/** Three lines of an export. */
const large = Buffer.alloc(1_200_000, "a large picture ");
const empty = Buffer.alloc(0);

async function opened(t: TestContext) {
  const throughline = await openThroughline({ storage: "memory" });
  t.after(() => throughline.close());
  return throughline;
}

async function send({ chats }: Throughline, id: string, files: readonly Buffer[]) {
  const attachments = [];
  for (const bytes of files) {
    const sha256 = await chats.files.put(chat, bytes);
    attachments.push({ name: id, type: "image/png", size: bytes.length, sha256 });
  }
  await chats.append(chat, [{ id, role: "user", content: `see ${id}`, attachments }]);
}

async function talk(t: TestContext) {
  const throughline = await opened(t);
  await throughline.chats.append(chat, [{ id: "m0", role: "user", content: "Hello" }]);
  await send(throughline, "m1", [small, large]);
  await send(throughline, "m2", [small, empty]);
  await throughline.chats.setMetadata(chat, { mood: "glad" });
  return throughline;
}

const exported = async (throughline: Throughline, format: "nanobot" | "throughline") =>
  [...(await exportedFiles(throughline, { format, chatId: chat })).values()].join("");

const imported = (
  { chats }: Throughline,
  text: string,
  form: "seed" | "own",
  more: Partial<ImportOptions> = {},
) => {
  const options = { chats, zone: "UTC", clock: systemClock, ...more };
  return importChats([source("telegram_42.jsonl", text)], options, form);
};

const hashes = async ({ chats }: Throughline) =>
  (await chats.files.list(chat)).map(({ sha256 }) => sha256);
const all = [small, large, empty].map(hashOf).sort();

for (const [format, form] of [
  ["nanobot", "seed"],
  ["throughline", "own"],
] as const) {
  test(`attachments come through an export and an import in the format ${format}`, async (t) => {
    const source = await talk(t);
    const text = await exported(source, format);
    const target = await opened(t);
    const report = await imported(target, text, form);
    assert.deepEqual([report.failed, report.foreign, report.quarantined], [[], 0, []]);
    assert.deepEqual(await hashes(target), all);
    const bytes = await target.chats.files.get(chat, hashOf(large));
    assert.ok(Buffer.from(bytes ?? []).equals(large));
    const { messages } = await target.chats.messages(chat);
    assert.deepEqual(column(messages, "content"), ["Hello", "see m1", "see m2"]);
    // Again, it adds nothing.
    const again = await imported(target, text, form);
    assert.deepEqual(again.chats[0]?.messages, 0);
    assert.deepEqual(await hashes(target), all);
  });

  test(`an import in the format ${format} with a damaged attachment is refused, and stores nothing`, async (t) => {
    const text = await exported(await talk(t), format);
    const lines = text.split("\n");
    const nth = lines.findIndex((line) => line.includes('"offset":524288'));
    const line = lines[nth] ?? "";
    for (const broken of [
      lines.with(nth, line.replace(/"data":"..../, '"data":"AAAA')),
      lines.toSpliced(nth, 1),
    ]) {
      const target = await opened(t);
      const { failed } = await imported(target, broken.join("\n"), form);
      assert.equal(failed[0]?.code, "THROUGHLINE_CORRUPT");
      assert.match(failed[0]?.reason ?? "", /^the attachment \w{64} in it is damaged/);
      assert.deepEqual(await hashes(target), []);
      assert.equal((await target.chats.state(chat)).head, undefined);
    }
  });
}

test("an attachment is before the first message that refers to it, once, and no line is longer than 1 MiB", async (t) => {
  const lines = (await exported(await talk(t), "throughline")).trimEnd().split("\n");
  const kinds = lines.map((line) => {
    const { kind, id, sha256, offset } = JSON.parse(line);
    return kind === "attachment" ? `${all.indexOf(sha256)}+${offset}` : id;
  });
  const [one, two, three] = [small, large, empty].map((bytes) => all.indexOf(hashOf(bytes)));
  const [, ...records] = kinds.slice(0, kinds.indexOf("m2") + 1);
  assert.deepEqual(records, [
    ...["m0", `${one}+0`, `${two}+0`, `${two}+524288`, `${two}+1048576`],
    ...["m1", `${three}+0`, "m2"],
  ]);
  for (const line of lines) assert.ok(line.length < 1024 * 1024);
});

test("the attachments of a message that was taken back are in the full form of an export alone", async (t) => {
  const throughline = await talk(t);
  await throughline.chats.takeBack(chat, ["m1"]);
  const secret = large.subarray(0, 600).toString("base64");
  assert.ok(!(await exported(throughline, "nanobot")).includes(secret));
  assert.ok((await exported(throughline, "throughline")).includes(secret));
});

test("what must not come back comes back without its attachments; forced, it has them", async (t) => {
  const throughline = await talk(t);
  const text = await exported(throughline, "throughline");
  await throughline.chats.forget(chat);
  const { refused } = await imported(throughline, text, "own");
  assert.equal(refused.length, 1);
  assert.deepEqual(await hashes(throughline), []);
  await imported(throughline, text, "own", { force: true });
  assert.deepEqual(await hashes(throughline), all);
});

test("a trial run stores no attachment, and one that is missing or damaged at the source is noted", async (t) => {
  const source = await talk(t);
  const text = await exported(source, "throughline");
  const target = await opened(t);
  await imported(target, text, "own", { dryRun: true });
  assert.deepEqual(await hashes(target), []);
  await source.chats.files.delete(chat, [hashOf(large)]);
  const report = await imported(target, await exported(source, "throughline"), "own");
  assert.deepEqual(report.chats[0]?.notes, ["an attachment of a message is not in the file"]);
  assert.deepEqual(await hashes(target), [small, empty].map(hashOf).sort());
});

test("an import into a chat that came into being during it leaves the attachments of that chat", async (t) => {
  const source = await talk(t);
  const text = await exported(source, "throughline");
  const target = await opened(t);
  const put = target.chats.files.put.bind(target.chats.files);
  let isFirst = true;
  target.chats.files.put = async (...args) => {
    const hash = await put(...args);
    if (isFirst) {
      isFirst = false;
      // As another process does it.
      await target.chats.logs.append(chat, [{ id: "other" }]);
      await put(chat, Buffer.from("other"));
    }
    return hash;
  };
  const { failed } = await imported(target, text, "own");
  assert.equal(failed[0]?.code, "THROUGHLINE_CONFLICT");
  assert.ok((await hashes(target)).includes(hashOf(Buffer.from("other"))));
});
