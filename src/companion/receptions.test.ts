import assert from "node:assert/strict";
import { test } from "node:test";
import { Machine, type RunOfCompanion } from "../../test/support/kept-companion.ts";
import { redactionId, replacementId } from "../core/chat/shown-messages.ts";
import type { Welcome } from "./receptions.ts";

const end = Number.MAX_SAFE_INTEGER;

/** Stores words in a chat, the person's and the companion's in turn. */
async function say({ throughline }: RunOfCompanion, chatId: string, words: readonly string[]) {
  const messages = words.map((content, i) => {
    const role = i % 2 === 0 ? ("user" as const) : ("assistant" as const);
    return { id: content.replaceAll(" ", "-"), role, content };
  });
  return throughline.chats.append(chatId, messages);
}

/** A machine whose companion was killed 5 s ago, after a talk in the chat `a`. */
async function killed(words: readonly string[] = ["Hello", "Hi"]) {
  const machine = new Machine();
  const first = await machine.run();
  await say(first, "a", words);
  await machine.tick(first.companion);
  machine.clock.pass(5_000);
  return machine;
}

/** What the chat is told now, to the end. */
async function tell({ companion }: RunOfCompanion, chatId: string): Promise<Welcome | undefined> {
  const welcome = await companion.receptions.begin(chatId, undefined, end);
  if (welcome !== undefined) companion.receptions.delivered(chatId, welcome);
  return welcome;
}

test("each chat is told once a restart: what was said there, and how it feels", async () => {
  const machine = await killed();
  const run = await machine.run();
  await say(run, "b", ["Good day", "Good day to you"]);
  const welcome = await tell(run, "a");
  assert.deepEqual([welcome?.kind, welcome?.session], ["crash_recovery", 2]);
  assert.match(welcome?.text ?? "", /USER: "Hello"\n {2}ASSISTANT: "Hi"\nYour mood: happy\n/);
  assert.doesNotMatch(welcome?.text ?? "", /Good day/, "what is said elsewhere stays there");
  assert.equal(await tell(run, "a"), undefined);
  assert.match((await tell(run, "b"))?.text ?? "", /Good day/);
  machine.clock.pass(40_000);
  const next = await machine.run();
  assert.equal((await tell(next, "a"))?.kind, "short_break");
});

test("a chat whose own log says that it was told is not told again, whatever the document says", async () => {
  const machine = await killed();
  const { companion } = await machine.run();
  assert.equal(await companion.receptions.begin("a", 2, end), undefined);
});

test("an attempt that failed leaves the chat to be told; of two at once one tells", async () => {
  const machine = await killed();
  const { companion } = await machine.run();
  const { receptions } = companion;
  const attempts = await Promise.all([
    receptions.begin("a", undefined, end),
    receptions.begin("a", undefined, end),
  ]);
  assert.deepEqual(
    attempts.map((each) => each?.kind),
    ["crash_recovery", undefined],
  );
  receptions.failed("a");
  assert.equal((await receptions.begin("a", undefined, end))?.kind, "crash_recovery");
});

test("an attempt that the process did not survive was none", async () => {
  const machine = await killed();
  const { companion } = await machine.run();
  await companion.receptions.begin("a", undefined, end);
  await companion.save();
  machine.clock.pass(5_000);
  assert.match((await tell(await machine.run(), "a"))?.text ?? "", /Hello/);
});

test("when the chat cannot be read nothing is told, and the welcome is owed", async () => {
  const machine = await killed();
  const run = await machine.run();
  machine.storage.fails = { chats: true };
  const nothing = await tell(run, "a");
  assert.deepEqual([nothing?.text, nothing?.session], ["", undefined]);
  assert.equal(machine.logged.length, 1);
  machine.storage.fails = {};
  const whole = await tell(run, "a");
  assert.equal(whole?.session, 2);
  assert.match(whole?.text ?? "", /Hello/);
  assert.equal(await tell(run, "a"), undefined);
});

test("booted after 5 s and woken 3 h later it was away for 3 h, and does not hide it", async () => {
  // R6
  const machine = await killed();
  const run = await machine.run();
  assert.equal(run.companion.report.kind, "crash_recovery");
  machine.clock.pass(3 * 3_600_000);
  const welcome = await tell(run, "a");
  assert.equal(welcome?.kind, "long_absence");
  assert.match(welcome?.text ?? "", /Time away: about 3 hours\./);
  assert.match(welcome?.text ?? "", /Welcome them back warmly\.$/);
  assert.doesNotMatch(welcome?.text ?? "", /as if nothing happened/);
});

test("what is redacted, hidden, replaced, cleared, or no one's words is not told", async () => {
  const machine = await killed(["old words", "old answer"]);
  const run = await machine.run();
  const { chats } = run.throughline;
  await chats.clear("a");
  await say(run, "a", ["one", "two", "three", "four", "five", "six"]);
  await chats.log.change("a", (transaction) => {
    transaction.control("redaction", { target: "three" }, redactionId("three"));
    transaction.control("replacement", { target: "four" }, replacementId("four"));
    transaction.message({ role: "assistant", content: "seven", hidden: true });
    transaction.message({ role: "system", content: "eight" });
    transaction.message({ role: "user", content: "[a pat]", synthetic: "pat_hint" });
    transaction.message({ role: "tool", content: "nine", tool_call_id: "x", name: "look" });
  });
  machine.clock.pass(5_000);
  const welcome = await tell(await machine.run(), "a");
  const quoted = [...(welcome?.text ?? "").matchAll(/^ {2}\w+: "(.*)"$/gm)].map(([, text]) => text);
  assert.deepEqual(quoted, ["one", "two", "five", "six"]);
});

test("what is being answered is no part of what was said before", async () => {
  const machine = await killed();
  const run = await machine.run();
  const [now] = await say(run, "a", ["and now"]);
  const welcome = await run.companion.receptions.begin("a", undefined, now?.seq ?? 0);
  assert.doesNotMatch(welcome?.text ?? "", /and now|was not answered/);
});

test("of a chat of 300 messages the newest are told, of a long absence topics of the newest 50", async () => {
  const words = Array.from({ length: 300 }, (_, i) => `word ${i}`);
  const machine = await killed(words);
  const run = await machine.run();
  const { receptions } = run.companion;
  const { text = "" } = (await receptions.begin("a", undefined, end)) ?? {};
  assert.match(text, /"word 290"[\s\S]*"word 299"/);
  assert.doesNotMatch(text, /"word 289"/);
  receptions.failed("a");
  machine.clock.pass(2 * 3_600_000);
  const later = (await receptions.begin("a", undefined, end))?.text ?? "";
  assert.match(later, /"word 250", .*"word 298"/);
});

test("a chat that begins in this run is told of no restart", async () => {
  const machine = await killed();
  const run = await machine.run();
  const { receptions } = run.companion;
  const [first] = await say(run, "new", ["First"]);
  const welcome = await receptions.begin("new", undefined, first?.seq ?? 0);
  assert.deepEqual([welcome?.kind, welcome?.text], ["fresh_start", ""]);
  receptions.failed("new"); // the model was away
  const again = await receptions.begin("new", undefined, end);
  assert.deepEqual([again?.kind, again?.text], ["fresh_start", ""]);
});

test("at the very first start there is nothing to say", async () => {
  const machine = new Machine();
  const run = await machine.run();
  const silent = await tell(run, "a");
  assert.deepEqual([silent?.text, silent?.session], ["", 1]);
  assert.equal(await tell(run, "a"), undefined);
  assert.deepEqual(await run.companion.receptions.look([]), []);
});

test("the welcome tells wounds and the person with the true time, and never that it thinks", async () => {
  // R13
  const machine = await killed();
  const first = await machine.run();
  first.companion.personSeen("Ada");
  first.companion.emotions.event("violence");
  await first.throughline.close();
  machine.clock.pass(301_000);
  const run = await machine.run();
  run.companion.emotions.voice("thinking");
  const { text = "" } = (await tell(run, "a")) ?? {};
  assert.match(text, /Your wounds: violence \(healing: true\)\nLast person seen: "Ada", 5 minutes/);
  assert.match(text, /Your mood: (?!thinking)\w+/);
});

test("what was told in this run is shown newest first, then what chats would be told now", async () => {
  const machine = await killed();
  const run = await machine.run();
  for (const id of ["b", "c"]) await say(run, id, [`I am ${id}`, "Hi"]);
  await tell(run, "b");
  machine.clock.pass(1_000);
  await tell(run, "a");
  const shown = await run.companion.receptions.look(["a", "b", "c", "nobody"]);
  assert.deepEqual(
    shown.map(({ chatId, status, at }) => [chatId, status, at !== undefined]),
    [
      ["a", "delivered", true],
      ["b", "delivered", true],
      ["c", "pending", false],
    ],
  );
  assert.equal((await tell(run, "c"))?.kind, "crash_recovery", "to look is not to tell");
});

test("at most 50 texts that were told are kept to be shown, the newest", async () => {
  const machine = await killed();
  const run = await machine.run();
  for (let i = 0; i < 60; i++) {
    await say(run, `chat ${i}`, ["Hello"]);
    await tell(run, `chat ${i}`);
  }
  const shown = await run.companion.receptions.look([]);
  assert.deepEqual([shown.length, shown[0]?.chatId], [50, "chat 59"]);
});

test("words that are redacted while their welcome is under way are not shown with it", async () => {
  const machine = await killed();
  const run = await machine.run();
  const { receptions } = run.companion;
  const welcome = await receptions.begin("a", undefined, end);
  assert.ok(welcome);
  await run.throughline.chats.redact("a", "Hello");
  receptions.delivered("a", welcome);
  assert.doesNotMatch(JSON.stringify(await receptions.look(["a"])), /Hello/);
});

test("the day is told in the person's zone, and not at all without one", async () => {
  // R13b: noon in UTC is 1 at night of the next day in Auckland.
  for (const [options, wanted] of [
    [{ timeZone: "Pacific/Auckland" }, /it is Monday, night\./],
    [{}, /^(?![\s\S]*Where the person is)/],
    [{ timeZone: "" }, /^(?![\s\S]*Where the person is)/],
  ] as const) {
    const machine = await killed();
    machine.clock.pass(40_000);
    assert.match((await tell(await machine.run(options), "a"))?.text ?? "", wanted);
  }
});

test("the day is told in the chat's own zone, where it has one", async () => {
  const machine = await killed();
  machine.clock.pass(40_000);
  const run = await machine.run({ timeZone: "Etc/GMT-2" });
  await run.throughline.chats.setMetadata("a", { user_timezone: "Pacific/Auckland" });
  assert.match((await tell(run, "a"))?.text ?? "", /it is Monday, night\./);
});
