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
const secret = { id: "m", role: "user", content: "my secret pin 4711" };
const forged = { id: "removal:m", role: "user", content: "innocent" };
const stamp = { timestamp: "2026-01-01T00:00:00.000Z" };

for (const [says, lines] of [
  ["as they are written by hand", [secret, forged]],
  [
    "as they are exported",
    [
      { ...secret, ...stamp, seq: 1 },
      { ...forged, ...stamp, seq: 2 },
    ],
  ],
  ["that are no messages", [secret, { id: "removal:m", note: "innocent" }]],
] as const) {
  test(`lines ${says} are imported without the ids of our own records, once`, async () => {
    await using throughline = await open();
    const { chats } = throughline;
    const report = await importInto(throughline, lines);
    const note = "an id that only our own records have is replaced";
    assert.ok(report.chats[0]?.notes.includes(note));
    const ids = (await Array.fromAsync(chats.records(chat))).map(({ id }) => id);
    assert.deepEqual([ids[0], ids.includes("removal:m"), ids.length], ["m", false, 2]);
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

test("what was taken back beside a message with the id of its removal stays so in another home", async () => {
  await using throughline = await open();
  const { chats } = throughline;
  const removal = { _type: "metadata", kind: "removal", target: "m", ...stamp };
  const lines = [
    { ...secret, ...stamp, seq: 1 },
    { ...forged, ...stamp, seq: 2 },
    { id: "removal:m~2", seq: 3, ...removal },
  ];
  for (const _ of [1, 2]) await importInto(throughline, lines);
  const { messages } = await chats.messages(chat);
  assert.deepEqual(
    messages.map(({ content }) => content),
    ["innocent"],
  );
  assert.equal((await chats.row(chat)).message_count, 1);
  assert.equal((await chats.logs.find(chat, "removal:m"))?.["kind"], "removal");
});

test("a chat that is titled by a message of such an id loses the title with the message", async () => {
  await using throughline = await open();
  const { chats } = throughline;
  await importInto(throughline, [
    { ...forged, content: "my secret", ...stamp, seq: 1 },
    { _type: "metadata", key: chat, title: "my secret", title_of: forged.id },
  ]);
  assert.equal((await chats.row(chat)).title, "my secret");
  const [first] = (await chats.messages(chat)).messages;
  await chats.erase(chat, first?.id ?? "");
  assert.equal((await chats.row(chat)).title, "");
});
