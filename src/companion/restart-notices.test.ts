import assert from "node:assert/strict";
import { test } from "node:test";
import { column } from "../../test/support/columns.ts";
import { Machine, type RunOfCompanion } from "../../test/support/kept-companion.ts";
import { controlId } from "../core/chat/record-ids.ts";
import type { RestartNotice } from "./restart-notices.ts";

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

/** Delivers the notice that the chat would get now, as a turn does. */
async function deliver(
  { companion, throughline }: RunOfCompanion,
  chatId: string,
): Promise<RestartNotice | undefined> {
  const { chats } = throughline;
  const { head } = await chats.state(chatId);
  const notice = await companion.notices.begin(chatId, head?.told_session, end);
  if (notice?.run !== undefined) {
    const told = { told_session: notice.run };
    await chats.change(chatId, (transaction) => {
      transaction.control("metadata", told);
      transaction.set(told);
    });
  }
  if (notice !== undefined) companion.notices.delivered(chatId, notice);
  return notice;
}

for (const left of ["kept", "lost"] as const) {
  test(`restarts while nobody spoke are told as one, of runs that saved nothing, the document ${left}`, async () => {
    const machine = await killed();
    assert.equal((await deliver(await machine.run(), "a"))?.kind, "crash_recovery");
    for (const awayMs of [10_000, 20_000, 5_000]) {
      machine.clock.pass(awayMs);
      await machine.run();
    }
    if (left === "lost") await machine.storage.documents("session").delete("session");
    machine.clock.pass(1_000);
    const run = await machine.run();
    assert.equal(run.companion.report.gapMs, 1_000);
    const notice = await deliver(run, "a");
    assert.deepEqual([notice?.kind, notice?.run], ["short_break", 6]);
    assert.match(notice?.text ?? "", /^short_break\. Time away: 36 seconds\./m);
    assert.equal(await deliver(run, "a"), undefined);
  });
}

test("when the chat cannot be read there is no notice, and it stays pending", async () => {
  const machine = await killed();
  const run = await machine.run();
  machine.storage.fails = { chats: true };
  const nothing = await deliver(run, "a");
  assert.deepEqual([nothing?.text, nothing?.run], ["", undefined]);
  assert.equal(machine.logged.length, 1);
  machine.storage.fails = {};
  const whole = await deliver(run, "a");
  assert.equal(whole?.run, 2);
  assert.match(whole?.text ?? "", /Hello/);
  assert.equal(await deliver(run, "a"), undefined);
});

test("what is taken back, erased, hidden, replaced, cleared, or no one's words is not quoted", async () => {
  const machine = await killed(["old words", "old answer"]);
  const run = await machine.run();
  const { chats } = run.throughline;
  await chats.clear("a");
  await say(run, "a", ["one", "two", "three", "four", "five", "six"]);
  await chats.change("a", (transaction) => {
    transaction.control("removal", { target: "three" }, "removal:three");
    transaction.control("replacement", { target: "four" }, controlId("replacement", "four"));
    transaction.message({ role: "assistant", content: "seven", hidden: true });
    transaction.message({ role: "system", content: "eight" });
    transaction.message({ role: "user", content: "[a pat]", synthetic: "pat_hint" });
    transaction.message({ role: "tool", content: "nine", tool_call_id: "x", name: "look" });
  });
  await chats.erase("a", "six");
  machine.clock.pass(5_000);
  const notice = await deliver(await machine.run(), "a");
  const quoted = [...(notice?.text ?? "").matchAll(/^ {2}\w+: "(.*)"$/gm)].map(([, text]) => text);
  assert.deepEqual(quoted, ["one", "two", "five"]);
});

test("of a chat of 300 messages the newest are quoted, of a long absence topics of the newest 50", async () => {
  const words = Array.from({ length: 300 }, (_, i) => `word ${i}`);
  const machine = await killed(words);
  const run = await machine.run();
  const { notices } = run.companion;
  const { text = "" } = (await notices.begin("a", undefined, end)) ?? {};
  assert.match(text, /"word 290"[\s\S]*"word 299"/);
  assert.doesNotMatch(text, /"word 289"/);
  machine.clock.pass(2 * 3_600_000);
  const later = (await notices.begin("a", undefined, end))?.text ?? "";
  assert.match(later, /"word 250", .*"word 298"/);
});

test("a chat that begins in this run gets no notice of a restart", async () => {
  const machine = await killed();
  const run = await machine.run();
  const { notices } = run.companion;
  const [first] = await say(run, "new", ["First"]);
  const notice = await notices.begin("new", undefined, first?.seq ?? 0);
  assert.deepEqual([notice?.kind, notice?.text], ["fresh_start", ""]);
  // The model was away.
  const again = await notices.begin("new", undefined, end);
  assert.deepEqual([again?.kind, again?.text], ["fresh_start", ""]);
});

test("the notice names wounds and the person with the true time, and never that it thinks", async () => {
  // R13
  const machine = await killed();
  const first = await machine.run();
  first.companion.personSeen("Ada");
  first.companion.emotions.event("violence");
  await first.throughline.close();
  machine.clock.pass(301_000);
  const run = await machine.run();
  run.companion.emotions.voice("thinking");
  const { text = "" } = (await deliver(run, "a")) ?? {};
  assert.match(text, /Your wounds: violence \(healing: true\)\nLast person seen: "Ada", 5 minutes/);
  assert.match(text, /Your mood: (?!thinking)\w+/);
});

test("delivered notices are shown newest first, then pending ones", async () => {
  const machine = await killed();
  const run = await machine.run();
  for (const id of ["b", "c"]) await say(run, id, [`I am ${id}`, "Hi"]);
  await deliver(run, "b");
  machine.clock.pass(1_000);
  await deliver(run, "a");
  const shown = await run.companion.notices.look(["a", "b", "c", "nobody"]);
  assert.deepEqual(
    shown.map(({ chatId, status, at }) => [chatId, status, at !== undefined]),
    [
      ["a", "delivered", true],
      ["b", "delivered", true],
      ["c", "pending", false],
    ],
  );
  assert.equal((await deliver(run, "c"))?.kind, "crash_recovery", "to look is not to deliver");
});

test("of delivered notices the newest 50 are shown", async () => {
  const run = await (await killed()).run();
  for (let i = 0; i < 60; i++) {
    await say(run, `chat ${i}`, ["Hello"]);
    await deliver(run, `chat ${i}`);
  }
  const shown = await run.companion.notices.look([]);
  assert.deepEqual([shown.length, shown[0]?.chatId], [50, "chat 59"]);
});

for (const removed of ["its words", "another chat"] as const) {
  test(`a notice is ${removed === "its words" ? "not " : ""}shown as delivered if ${removed} went while it was under way`, async () => {
    const { throughline, companion } = await (await killed()).run();
    const { chats } = throughline;
    const notice = await companion.notices.begin("a", undefined, end);
    assert.ok(notice);
    await chats.append("other", [{ role: "user", content: "Hello" }]);
    await (removed === "its words" ? chats.erase("a", "Hello") : chats.forget("other"));
    companion.notices.delivered("a", notice);
    const [shown] = await companion.notices.look(["a"]);
    assert.equal(shown?.status, removed === "its words" ? "pending" : "delivered");
    assert.equal(shown?.text.includes("Hello"), removed !== "its words");
  });
}

test("the day is named in the zone of the chat, else of the person, and not at all without one", async () => {
  // R13b: noon in UTC is 1 at night of the next day in Auckland.
  const [night, none] = [/it is Monday, night\./, /^(?![\s\S]*Where the person is)/];
  for (const [timeZone, user_timezone, wanted] of [
    ["Pacific/Auckland", undefined, night],
    ["Etc/GMT-2", "Pacific/Auckland", night],
    [undefined, undefined, none],
    ["", undefined, none],
  ] as const) {
    const machine = await killed();
    machine.clock.pass(40_000);
    const run = await machine.run({ timeZone });
    if (user_timezone !== undefined) {
      await run.throughline.chats.setMetadata("a", { user_timezone });
    }
    assert.match((await deliver(run, "a"))?.text ?? "", wanted);
  }
});

/** Two chats of a client, after a kill, of which one cannot be read: its file is something else now. */
async function halfUnread() {
  const machine = new Machine();
  const first = await machine.run();
  await first.companion.clients.begin("nova");
  for (const chatId of ["good", "bad"]) {
    await say(first, chatId, ["Hi", `of the ${chatId} chat`]);
    await first.companion.clients.appended("nova", chatId);
  }
  machine.clock.pass(5_000);
  const run = await machine.run();
  await run.companion.clients.begin("nova");
  const { chats } = run.throughline;
  const state = chats.state.bind(chats);
  chats.state = async (chatId, limit) => {
    if (chatId === "bad") throw new Error("EISDIR");
    return state(chatId, limit);
  };
  return { ...run, chats, machine };
}

test("a chat that cannot be read takes the restart from no other one, and is passed over", async (t) => {
  const { throughline, companion, chats } = await halfUnread();
  t.after(() => throughline.close());
  const { clients, notices } = companion;
  const { status, text } = await clients.restartText("nova");
  assert.equal(status, "pending");
  assert.match(text, /of the good chat/);
  assert.deepEqual(column(await notices.look(["bad", "good"]), "chatId"), ["good"]);
  await clients.delivered("nova");
  assert.equal((await clients.restartText("nova")).status, "delivered");
  assert.equal((await chats.existing("good")).head.told_session, 2);
});

test("where no chat can be read, or not the log of runs, a restart is not taken for told", async (t) => {
  const { throughline, companion, machine } = await halfUnread();
  t.after(() => throughline.close());
  const { clients } = companion;
  machine.storage.fails = { chats: true };
  const chats = throughline.chats.state;
  throughline.chats.state = async () => Promise.reject(new Error("EIO"));
  const refused = { code: "THROUGHLINE_UNAVAILABLE" };
  await assert.rejects(clients.restartText("nova"), refused);
  throughline.chats.state = chats;
  machine.storage.fails = {};
  assert.match((await clients.restartText("nova")).text, /of the good chat/);
  await clients.delivered();
  const logs = machine.storage.logs.bind(machine.storage);
  const later = await machine.run();
  t.after(() => later.throughline.close());
  machine.storage.logs = (collection, projection) => {
    const inner = logs(collection, projection);
    return collection === "" ? { ...inner, tail: () => Promise.reject(new Error("EIO")) } : inner;
  };
  await assert.rejects(later.companion.clients.restartText(), { message: "EIO" });
  machine.storage.logs = logs;
  assert.equal((await later.companion.clients.restartText()).status, "pending");
});
