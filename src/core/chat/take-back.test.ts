// The application takes messages back: what is hidden with them, what is counted, and what is refused.
import assert from "node:assert/strict";
import { test } from "node:test";
import { HeldClock } from "../../../test/support/held-clock.ts";
import { scriptedResponder } from "../../../test/support/scripted-responder.ts";
import { openThroughline, type Throughline } from "../throughline.ts";
import type { MessageInput } from "./message-input.ts";

const chat = "telegram:42";
const user = (id: string, content = id): MessageInput => ({ id, role: "user", content });
const notFound = { code: "THROUGHLINE_NOT_FOUND" };

async function companion() {
  const throughline = await openThroughline({ storage: "memory", clock: new HeldClock() });
  const { chats } = throughline;
  const said = async (options = {}) =>
    (await chats.messages(chat, options)).messages.map(({ content }) => content);
  const head = async () => (await chats.existing(chat)).head;
  return { ...throughline, said, head };
}

test("all are taken back or none: an unknown id, a cleared one and one of another kind change nothing", async () => {
  const { chats, said } = await companion();
  await chats.append(chat, [user("old")]);
  await chats.clear(chat);
  await chats.append(chat, [user("a"), user("b")]);
  await chats.takeBack(chat, ["b"]);
  const { seq } = await chats.existing(chat);
  for (const wrong of ["none", "old", "removal:b"]) {
    await assert.rejects(chats.takeBack(chat, ["a", wrong]), notFound, wrong);
  }
  await assert.rejects(chats.takeBack("nowhere", ["a"]), notFound);
  for (const wrong of ["a", [1], undefined]) {
    await assert.rejects(chats.takeBack(chat, wrong as unknown as string[]), {
      code: "THROUGHLINE_INVALID",
    });
  }
  assert.equal((await chats.existing(chat)).seq, seq);
  assert.deepEqual(await said(), ["a"]);
});

test("taking back twice is taking back once, in one append for all", async () => {
  const { chats } = await companion();
  await chats.append(chat, [user("a"), user("b")]);
  await chats.takeBack(chat, ["a", "b", "a"]);
  await chats.takeBack(chat, ["b", "a"]);
  await chats.takeBack(chat, []);
  await chats.append(chat, [user("c"), user("d")]);
  await chats.takeBack(chat, ["a", "c"]);
  const records = await Array.fromAsync(chats.records(chat));
  const removals = records.flatMap(({ id, kind, target }) => (kind ? [[id, kind, target]] : []));
  const expected = ["a", "b", "c"].map((id) => [`removal:${id}`, "removal", id]);
  assert.deepEqual(removals, expected);
  assert.equal((await chats.row(chat)).message_count, 1);
});

test("a title of words that are taken back goes with them, and the next words give one", async () => {
  const { chats } = await companion();
  await chats.append(chat, [user("a", "About moons")]);
  await chats.takeBack(chat, ["a"]);
  assert.equal((await chats.row(chat)).title, "");
  await chats.append(chat, [user("b", "About stars")]);
  assert.equal((await chats.row(chat)).title, "About stars");
});

test("a page is as long as it was asked for, whatever was taken back between", async () => {
  const { chats, said } = await companion();
  await chats.append(
    chat,
    Array.from("abcdef", (id) => user(id)),
  );
  await chats.takeBack(chat, ["b", "d", "e"]);
  const { before } = await chats.messages(chat, { limit: 2 });
  assert.deepEqual(await said({ limit: 2 }), ["c", "f"]);
  assert.deepEqual(await said({ limit: 2, before }), ["a"]);
  assert.equal((await chats.messages(chat, { limit: 2, before })).before, undefined);
});

test("what was taken back is in no count: of messages, of what was cleared, of what was summarised", async () => {
  const { chats, head } = await companion();
  await chats.append(chat, [user("old"), user("older")]);
  await chats.takeBack(chat, ["older"]);
  await chats.clear(chat);
  const counts = async () => {
    const { message_count, cleared_count, last_consolidated } = await head();
    return [message_count, cleared_count, last_consolidated];
  };
  assert.deepEqual(await counts(), [1, 1, 1]);
  await chats.append(
    chat,
    Array.from("abcd", (id) => user(id)),
  );
  await chats.takeBack(chat, ["a"]);
  await chats.setConsolidated(chat, 2); // b and c
  assert.deepEqual(await counts(), [4, 1, 3]);
  await chats.takeBack(chat, ["c", "d"]);
  assert.deepEqual(await counts(), [2, 1, 2]);
  await chats.append(chat, [user("e")]);
  await chats.takeBack(chat, ["e"]);
  assert.deepEqual(await counts(), [2, 1, 2]);
  for (const id of ["a", "d"]) await chats.erase(chat, id); // they were not counted any more
  assert.deepEqual(await counts(), [2, 1, 2]);
  await chats.erase(chat, "b"); // the only one before it, a, is not counted
  assert.deepEqual(await counts(), [1, 1, 1]);
});

test("a message that was taken back can be erased: its bytes are still there, and it leaves no mark", async () => {
  const { chats } = await companion();
  await chats.append(chat, [user("a", "my secret")]);
  await chats.fork(chat, "a", "copy");
  await chats.takeBack(chat, ["a"]);
  assert.match(JSON.stringify(await Array.fromAsync(chats.records(chat))), /my secret/);
  const { erased, copies } = await chats.erase(chat, "a");
  assert.deepEqual([erased, copies], [true, ["copy"]]);
  assert.deepEqual((await chats.messages(chat)).messages, []);
  assert.doesNotMatch(JSON.stringify(await Array.fromAsync(chats.records(chat))), /my secret/);
  await assert.rejects(chats.takeBack(chat, ["a"]), notFound);
  await assert.rejects(chats.erase(chat, "removal:a"), notFound, "it hides what it names");
});

for (const act of ["erase", "takeBack"] as const) {
  const hide = ({ chats }: Pick<Throughline, "chats">, id: string) =>
    act === "erase" ? chats.erase(chat, id) : chats.takeBack(chat, [id]);

  test(`after ${act} no provider resumes a session that remembers the message; what it cost stays`, async () => {
    const c = await companion();
    await c.chats.append(chat, [user("a")]);
    const { period } = await c.sessions.resolve(chat, { provider: "one", model: "m" });
    const used = { turn: "a", provider: "one", model: "m", outcome: "answered" as const };
    const amounts = { messages: 1, cost_usd: 0.5, tokens: 7, session_id: "resp_1" };
    const { generation } = period;
    await c.sessions.update(chat, { ...used, ...amounts, generation, bucket_generation: 1 });
    assert.equal((await c.sessions.active(chat))?.session_id, "resp_1");
    await hide(c, "a");
    const { session_id, total_cost_usd } = (await c.sessions.active(chat)) ?? assert.fail();
    assert.deepEqual([session_id, total_cost_usd], ["", 0.5]);
  });

  test(`a turn whose message is gone by ${act} before its answer leaves no session to resume`, async () => {
    const gate = Promise.withResolvers<void>();
    const session = (id: string) => ({ type: "provider-session", id }) as const;
    const model = scriptedResponder([
      [{ type: "wait", until: gate.promise }, session("resp_1"), "one"],
      [session("resp_2"), "two"],
    ]);
    const { provider, model: name } = model;
    await using throughline = await openThroughline({ storage: "memory", provider, model: name });
    const turns = await throughline.turns({ model });
    const turn = turns.submit(chat, { id: "a", content: "a" });
    for await (const { type } of turn.progress()) if (type === "accepted") break;
    await hide(throughline, "a");
    gate.resolve();
    await turn.done;
    assert.equal((await throughline.sessions.active(chat))?.session_id, "");
    assert.equal((await throughline.chats.existing(chat)).head.reported, undefined);
    await turns.submit(chat, { content: "b" }).done;
    assert.equal(model.requests.at(-1)?.providerSessionId, undefined);
    assert.equal((await throughline.sessions.active(chat))?.session_id, "resp_2");
    const reported = async () => (await throughline.chats.existing(chat)).head.reported;
    assert.notEqual(await reported(), undefined);
    await hide(throughline, "a:answer");
    assert.equal(await reported(), undefined, "what the provider counted had it in it");
  });
}
