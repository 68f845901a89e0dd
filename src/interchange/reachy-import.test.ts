import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { column, columns } from "../../test/support/columns.ts";
import { HeldClock } from "../../test/support/held-clock.ts";
import { source } from "../../test/support/import-sources.ts";
import { documentKey, readCompanionDocument } from "../companion/companion-document.ts";
import { startCompanion } from "../companion/start-companion.ts";
import { openThroughline } from "../core/throughline.ts";
import { importCompanion } from "./reachy-import.ts";

const golden = readFileSync(new URL("../../test/golden/reachy/session.json", import.meta.url));

async function companion() {
  const clock = new HeldClock("2024-02-18T23:48:30.000Z");
  const throughline = await openThroughline({ storage: "memory", clock });
  const { chats, storage } = throughline;
  const run = (bytes: Uint8Array, extra: object = {}) =>
    importCompanion(source("session.json", bytes), {
      chats,
      clock,
      zone: "UTC",
      chatId: "local:me",
      documents: storage.documents("session"),
      companion: { documentKey, readCompanionDocument },
      ...extra,
    });
  return { ...throughline, clock, run };
}

const withFields = (fields: object) =>
  Buffer.from(JSON.stringify({ ...JSON.parse(String(golden)), ...fields }));

test("a companion of the original comes in: what it said, felt, whom it saw, how often it ran", async () => {
  const c = await companion();
  const report = await c.run(golden);
  assert.equal(report.chats[0]?.messages, 2);
  const { messages } = await c.chats.messages("local:me");
  assert.deepEqual(columns(messages, "role", "content", "timestamp"), [
    ["user", "Tell me about space", "2024-02-18T23:43:20.000Z"],
    ["assistant", "Oh, space is incredible!", "2024-02-18T23:43:22.000Z"],
  ]);
  const self = await startCompanion(c);
  assert.equal(self.report.totalRuns, 43);
  assert.equal(self.report.kind, "short_break");
  assert.equal(self.report.previousRunId, "a1b2c3d4");
  assert.equal(self.person?.name, "Ori");
  const [wound] = self.emotions.feeling().wounds;
  assert.equal(wound?.event, "harsh_criticism");
});

test("importing a companion twice is importing it once, and one with a life of its own keeps it", async () => {
  const c = await companion();
  await c.run(golden);
  const again = await c.run(golden);
  assert.deepEqual([again.chats[0]?.messages, again.chats[0]?.skipped], [0, 2]);
  const other = await c.run(withFields({ last_person_seen: "Eve" }));
  assert.match(other.chats[0]?.notes.at(-1) ?? "", /life of its own/);
  const self = await startCompanion(c);
  assert.equal(self.person?.name, "Ori");
});

for (const act of ["erase", "clear"] as const) {
  test(`after a ${act} a companion can be imported again, and what it removed stays away`, async () => {
    const c = await companion();
    await c.run(golden);
    const [{ id = "" } = {}] = (await c.chats.messages("local:me")).messages;
    await c.chats[act]("local:me", id);
    const before = await Array.fromAsync(c.chats.records("local:me"));
    const again = await c.run(golden);
    assert.deepEqual([again.chats[0]?.messages, again.chats[0]?.skipped], [0, 2]);
    assert.deepEqual(await Array.fromAsync(c.chats.records("local:me")), before);
    assert.deepEqual(await c.chats.search("tell about"), []);
  });
}

for (const [what, bytes] of [
  ["text that is no JSON", Buffer.from("{")],
  ["bytes that are no UTF-8", Buffer.from([0xff, 0xfe])],
  ["version 2", withFields({ version: 2 })],
] as const) {
  test(`${what} is not imported as a companion, and is said`, async () => {
    const c = await companion();
    const report = await c.run(bytes);
    assert.equal(report.failed.length, 1);
    assert.equal(await c.storage.documents("session").read("session"), undefined);
  });
}

test("a conversation that was forgotten comes back only by force", async () => {
  const c = await companion();
  await c.chats.append("local:me", [{ role: "user", content: "x" }]);
  await c.chats.forget("local:me");
  const report = await c.run(golden);
  assert.equal(report.refused[0]?.messages, 2);
  assert.equal((await c.run(golden, { force: true })).chats[0]?.messages, 2);
});

const said = (text: string, timestamp?: number) => ({ role: "USER", text, timestamp });

test("a companion with a damaged field is not imported, and the report names the field", async () => {
  const c = await companion();
  const report = await c.run(withFields({ total_sessions: "many", heartbeat: null }));
  assert.deepEqual(report.chats, []);
  assert.match(report.failed[0]?.reason ?? "", /version 1: total_sessions must be a number/);
  assert.equal((await startCompanion(c)).person, undefined);
});

test("messages that say the same in the same millisecond are each imported, and once", async () => {
  const c = await companion();
  const at = 1_708_299_800;
  const conversation = [said("yes", at), said("yes", at), said("yes", at), said("yes", at + 1)];
  const bytes = withFields({ conversation });
  assert.equal((await c.run(bytes)).chats[0]?.messages, 4);
  const again = await c.run(bytes);
  assert.deepEqual([again.chats[0]?.messages, again.chats[0]?.skipped], [0, 4]);
  const rolled = await c.run(withFields({ conversation: conversation.slice(1) }));
  assert.equal(rolled.chats[0]?.messages, 0);
});

test("a message with a time has the id that it always had", async () => {
  const c = await companion();
  await c.run(golden);
  const { messages } = await c.chats.messages("local:me");
  assert.deepEqual(column(messages, "id"), [
    "reachy:0084916db3640ea5bc191f4e",
    "reachy:493a1390681b4cbf0d6ad56d",
  ]);
});

test("of a buffer that rolled on, without times, only what is new is imported", async () => {
  const c = await companion();
  const texts = ["a", "yes", "b", "yes"];
  await c.run(withFields({ conversation: texts.map((text) => said(text)) }));
  const rolled = [...texts.slice(1), "c", "d"].map((text) => said(text));
  const report = await c.run(withFields({ conversation: rolled }));
  assert.deepEqual([report.chats[0]?.messages, report.chats[0]?.skipped], [2, 3]);
  const { messages } = await c.chats.messages("local:me");
  assert.deepEqual(column(messages, "content"), [...texts, "c", "d"]);
});
