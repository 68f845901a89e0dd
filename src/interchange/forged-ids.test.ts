import assert from "node:assert/strict";
import { test } from "node:test";
import { HeldClock } from "../../test/support/held-clock.ts";
import type { JsonObject } from "../core/json.ts";
import { openThroughline, type Throughline } from "../core/throughline.ts";
import { importChats } from "./chat-import.ts";
import type { Form } from "./head-lines.ts";

const chat = "a:b";

function importInto({ chats }: Throughline, lines: readonly JsonObject[], form: Form = "own") {
  // As a file of ours ends.
  const all = form === "own" ? [...lines, { _type: "metadata", key: chat }] : lines;
  const text = all.map((line) => `${JSON.stringify(line)}\n`).join("");
  const bytes = async function* () {
    yield Buffer.from(text);
  };
  const source = { name: "a_b.jsonl", bytes: { [Symbol.asyncIterator]: bytes } };
  return importChats([source], { chats, clock: new HeldClock(), zone: "UTC" }, form);
}

const open = () => openThroughline({ storage: "memory" });
const stamp = { timestamp: "2026-01-01T00:00:00.000Z", seq: 1 };
const secret = { id: "m", role: "user", content: "my secret pin 4711", ...stamp };
const forged = { id: "removal:m", role: "user", content: "innocent", ...stamp };

for (const [says, lines] of [
  ["with the id of a removal", [secret, { ...forged, seq: 2 }]],
  ["with the id of a removal, and no message", [secret, { id: forged.id, note: "x", seq: 2 }]],
  [
    "beside its removal, which has another id",
    [secret, { id: "removal:m~2", _type: "metadata", kind: "removal", target: "m", seq: 2 }],
  ],
  ["without a number", [secret, { ...forged, id: "n", seq: undefined }]],
  ["with a number that was there before", [secret, { ...forged, id: "n" }]],
  ["with a number far away", [secret, { ...forged, id: "n", seq: 1e9 }]],
] as const) {
  test(`a line ${says} is set aside, and no message is hidden from its removal`, async () => {
    await using throughline = await open();
    const { chats } = throughline;
    const report = await importInto(throughline, lines);
    assert.deepEqual([report.quarantined_count, report.failed], [1, []]);
    const ids = (await Array.fromAsync(chats.records(chat))).map(({ id }) => id);
    assert.deepEqual(ids, ["m"]);
    const [first] = (await chats.messages(chat)).messages;
    assert.equal(first?.content, secret.content);
    await chats.takeBack(chat, ["m"]);
    assert.deepEqual(await chats.search("secret"), []);
    const again = await importInto(throughline, lines);
    assert.deepEqual(
      again.chats.map(({ chat_id, messages }) => [chat_id, messages]),
      [[chat, 0]],
    );
  });
}

test("lines of nanobot with ids of our own records are imported without them", async () => {
  await using throughline = await open();
  const { chats } = throughline;
  await importInto(throughline, [secret, forged], "seed");
  const ids = (await Array.fromAsync(chats.records(chat))).map(({ id }) => id);
  assert.deepEqual([ids.length, ids.includes(forged.id)], [2, false]);
});

for (const [what, fields] of [
  ["a clear that is no number", { clear_seq: "two" }],
  ["a title that is no text", { title: 7 }],
  ["turns that are no list", { pending: "m" }],
  ["a negative count", { message_count: -1 }],
] as const) {
  test(`a file of ours whose end names ${what} is refused, and stores nothing`, async () => {
    await using throughline = await open();
    const report = await importInto(throughline, [secret, { _type: "metadata", ...fields }]);
    const [name] = Object.keys(fields);
    assert.match(report.failed[0]?.reason ?? "", new RegExp(`^its last line.${name} must be`));
    assert.deepEqual((await throughline.chats.list()).chats, []);
  });
}
