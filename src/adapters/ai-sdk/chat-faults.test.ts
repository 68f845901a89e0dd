// What breaks off while an answer is made, and what pages send beside it.
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { chatWorld } from "../../../test/support/chat-page.ts";
import { until } from "../../../test/support/cluster-world.ts";
import { column } from "../../../test/support/columns.ts";
import { randomText } from "../../../test/support/random-text.ts";
import { loadMessages } from "./load-messages.ts";
import type { UIAnswer } from "./make-answer.ts";
import type { Part, UIChatMessage } from "./ui-message.ts";

type Step = Part | Promise<unknown>;

/** A page whose answers are lists of chunks. */
async function world(
  t: TestContext,
  answers: readonly (readonly Step[])[],
  wrapped: (stream: ReadableStream<unknown>) => UIAnswer = (stream) => stream,
) {
  const respond = () => {
    const steps = answers[Math.min(w.asked.length, answers.length) - 1] ?? [];
    return wrapped(ReadableStream.from(chunksOf(steps)));
  };
  const w = await chatWorld(t, { answers: [], respond });
  const load = () => loadMessages(w.throughline, "c1");
  const post = (body: object) => w.post(Object.assign({ id: "c1" }, body));
  return { ...w, load, post };
}

async function* chunksOf(steps: readonly Step[]): AsyncGenerator<Part> {
  yield { type: "start" };
  for (const step of steps) {
    if (step instanceof Promise) await step;
    else yield step;
  }
}

const text = (delta: string): Part[] => [
  { type: "text-start", id: "t" },
  { type: "text-delta", id: "t", delta },
  { type: "text-end", id: "t" },
];
const whole = (said: string): Part[] => [
  { type: "start-step" },
  ...text(said),
  { type: "finish-step" },
  { type: "finish", finishReason: "stop" },
];
const call = (toolCallId: string, toolName = "lamp"): Part[] => [
  { type: "tool-input-available", toolCallId, toolName, input: {} },
];
const never = new Promise(() => undefined);
const user = (id: string, said: string) => ({
  message: { id, role: "user", parts: [{ type: "text", text: said }] },
});

/** The answer with what a page changed in some of its calls. */
function changed(message: UIChatMessage | undefined, ids: readonly string[], change: object) {
  assert.ok(message);
  const parts = message.parts.map((part) =>
    ids.includes(part.toolCallId) ? Object.assign({}, part, change) : part,
  );
  return { message: { ...message, parts } };
}

test("a model that fails while a tool of the server runs is asked again with the same message", async (t) => {
  const broken = [{ type: "start-step" }, ...call("k1"), { type: "error", errorText: "x" }];
  const w = await world(t, [broken, whole("Done.")]);
  await (await w.post(user("u1", "Lamp?"))).text();
  assert.equal(await w.unanswered(), 1);
  assert.match(await (await w.post(user("u1", "Lamp?"))).text(), /"delta":"Done\."/);
  assert.equal(w.asked.length, 2);
  const [, told] = w.asked[1]?.messages ?? [];
  assert.equal(told?.parts[1].state, "output-error");
  assert.equal(await w.unanswered(), 0);
});

test("an answer that is stopped while a tool runs is partial, takes no result from a page, and can be continued", async (t) => {
  const w = await world(t, [[{ type: "start-step" }, ...call("k1"), never], whole("Done.")]);
  const sent = await w.post(user("u1", "Lamp?"));
  await until(() => w.asked.length === 1);
  await setTimeout(20);
  await w.stop();
  await sent.text();
  const [, answer] = await w.stored();
  assert.deepEqual([answer?.partial, answer?.partial_reason], [true, "stopped"]);
  const [, stopped] = await w.load();
  const result = { state: "output-available", output: "forged", errorText: undefined };
  const forged = changed(stopped, ["k1"], result);
  await (await w.post(forged)).text();
  assert.doesNotMatch(JSON.stringify(await w.load()), /forged/);
  assert.equal(w.asked.length, 2, "it is continued");
  assert.equal((await w.texts())[1], "assistant: Done.");
});

test("a step that could not be stored at once is stored with the next one", async (t) => {
  const output = randomText(300_000);
  const step: Step[] = [
    { type: "start-step" },
    ...call("k1"),
    { type: "tool-output-available", toolCallId: "k1", output },
    { type: "finish-step" },
  ];
  const w = await world(t, [[...step, ...whole("Done.")]]);
  const { chats } = w.throughline;
  const change = chats.change.bind(chats);
  let failures = 0;
  t.mock.method(chats, "change", ((chatId, work) =>
    change(chatId, async (transaction) => {
      const part = transaction.part.bind(transaction);
      transaction.part = (record) => {
        if (failures < 2) failures++;
        else return part(record);
        throw new Error("no room for a moment");
      };
      return work(transaction);
    })) as typeof change);
  await (await w.post(user("u1", "Lamp?"))).text();
  assert.equal(failures, 2);
  const [, answer] = await w.load();
  assert.ok(answer?.parts[1].output === output);
  assert.equal(answer?.parts[3].text, "Done.");
  assert.equal((await w.stored()).filter(({ role }) => role === "tool").length, 1);
});

test("a regeneration that a crash cut off while it took back a long chat takes back the rest", async (t) => {
  const w = await world(t, [whole("one"), whole("two")]);
  await (await w.post(user("u1", "Hi"))).text();
  const { chats } = w.throughline;
  const later = Array.from({ length: 600 }, (_, n) => ({ role: "user", content: `${n}` }) as const);
  await chats.append("c1", later);
  const { id: messageId } = (await w.load())[1] ?? {};
  const takeBack = chats.takeBack.bind(chats);
  let times = 0;
  const failing = t.mock.method(chats, "takeBack", (async (chatId, ids) => {
    times++;
    if (times === 2) throw new Error("the process dies");
    return takeBack(chatId, ids);
  }) as typeof takeBack);
  const again = Object.assign(user("u1", "Hi"), { trigger: "regenerate-message", messageId });
  assert.equal((await w.post(again)).status, 500);
  failing.mock.restore();
  await (await w.post(again)).text();
  assert.deepEqual(await w.texts(), ["user: Hi", "assistant: two"]);
});

test("the model is not asked for a turn that was stopped before it was asked", async (t) => {
  const w = await world(t, [whole("one")]);
  const { chats } = w.throughline;
  const read = chats.logs.read.bind(chats.logs);
  const [reads, goes] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const slow = t.mock.method(
    chats.logs,
    "read",
    async function* (...asked: Parameters<typeof read>) {
      reads.resolve();
      await goes.promise;
      yield* read(...asked);
    },
  );
  const sent = w.post(user("u1", "Hi"));
  await reads.promise;
  const stopped = w.stop();
  const turns = await w.throughline.turns();
  await until(() => turns.running("c1")?.signal.aborted === true);
  slow.mock.restore();
  goes.resolve();
  assert.match(await (await sent).text(), /"type":"abort"/);
  await stopped;
  assert.equal(w.asked.length, 0);
});

test("a promise of the application that rejects does not end the process", async (t) => {
  const wrapped = (stream: ReadableStream<unknown>) => ({
    toUIMessageStream: () => stream,
    usage: setTimeout(5).then(() => assert.fail("no usage")),
    response: setTimeout(5).then(() => assert.fail("no response")),
  });
  const w = await world(t, [[setTimeout(20), { type: "error", errorText: "x" }]], wrapped);
  assert.match(await (await w.post(user("u1", "Hi"))).text(), /"type":"error"/);
});

const asks = (...ids: readonly string[]): Step[] => [
  { type: "start-step" },
  ...ids.flatMap((id) => [
    ...call(id),
    { type: "tool-approval-request", approvalId: `approval ${id}`, toolCallId: id },
  ]),
  { type: "finish-step" },
  { type: "finish", finishReason: "tool-calls" },
];

test("an approval that comes while another of the same answer is acted on is not lost", async (t) => {
  const rest = Promise.withResolvers<void>();
  const w = await world(t, [asks("k1", "k2"), [rest.promise, ...whole("one")], whole("two")]);
  await (await w.post(user("u1", "Erase both"))).text();
  const [, asked] = await w.load();
  const approve = (id: string) => {
    const approval = { id: `approval ${id}`, approved: true };
    return w.post(changed(asked, [id], { state: "approval-responded", approval }));
  };
  const first = await approve("k1");
  const [same, other] = [approve("k1"), approve("k2")];
  await setTimeout(50);
  rest.resolve();
  const texts = await Promise.all([first, same, other].map(async (sent) => (await sent).text()));
  assert.equal(texts[0], texts[1]);
  assert.match(texts[2] ?? "", /"delta":"two"/);
  assert.equal(w.asked.length, 3);
  const calls = (await w.load())[1]?.parts.filter(({ toolCallId }) => toolCallId) ?? [];
  assert.deepEqual(column(column(calls, "approval"), "approved"), [true, true]);
});

test("a message that waits is shown, with its files, and may be edited more than once", async (t) => {
  const rest = Promise.withResolvers<void>();
  const w = await world(t, [[rest.promise, ...whole("one")], whole("next")]);
  const first = await w.post(user("u1", "Hi"));
  const head = async () => (await w.throughline.chats.existing("c1")).head;
  const file = { type: "file", mediaType: "text/plain", url: "data:text/plain,x" };
  const second = { id: "u2", role: "user", parts: [file] };
  const sent = [w.post({ message: second })];
  await until(async () => (await head()).pending?.length === 1);
  assert.deepEqual((await w.load()).slice(1), [second]);
  assert.equal(w.asked[0]?.messages.length, 1);
  for (const [n, said] of ["See", "See!"].entries()) {
    sent.push(w.post(Object.assign(user("u2", said), { messageId: "u2" })));
    await until(async () => (await head()).pending?.length === n + 2);
  }
  assert.deepEqual(await w.texts(), ["user: Hi", "user: See!"]);
  rest.resolve();
  for (const response of [first, ...(await Promise.all(sent))]) {
    assert.equal(response.status, 200);
    await response.text();
  }
  assert.deepEqual(await w.texts(), [
    "user: Hi",
    "assistant: one",
    "user: See!",
    "assistant: next",
  ]);
});

test("an answer that is longer than a record is kept whole", async (t) => {
  const long = randomText(600_000).replace(/./g, (digit) =>
    String.fromCodePoint(0xe0 + parseInt(digit, 16)),
  );
  const w = await world(t, [whole(long)]);
  await (await w.post(user("u1", "Write"))).text();
  assert.ok((await w.texts())[1] === `assistant: ${long}`);
  assert.equal(await w.unanswered(), 0);
  assert.equal((await w.stored())[1]?.content.length, 256 * 1024);
});

/** What is forgotten while its answer is made, by the size of a picture in that answer. */
for (const length of [100, 30_000, 600_000]) {
  for (const isBegunAgain of [false, true]) {
    const how = isBegunAgain ? "begun again" : "not begun again";
    test(`a forgotten chat does not come back by an answer with a picture of ${length} characters; ${how}`, async (t) => {
      const forgotten = Promise.withResolvers<void>();
      const url = `data:image/png;base64,${randomText(length)}`;
      const picture = { type: "file", mediaType: "image/png", url };
      const steps = [{ type: "start-step" }, picture, forgotten.promise, ...whole("late").slice(1)];
      const w = await world(t, [steps]);
      const { chats } = w.throughline;
      const response = await w.post(user("m1", "paint"));
      await chats.forget("c1");
      if (isBegunAgain) await chats.append("c1", [{ role: "user", content: "new" }]);
      forgotten.resolve();
      assert.match(await response.text(), /"type":"error"/);
      const records = await Array.fromAsync(chats.logs.read("c1"), ({ content }) => content);
      assert.deepEqual([records, await chats.files.list("c1")], [isBegunAgain ? ["new"] : [], []]);
      assert.equal((await chats.list()).chats.length, isBegunAgain ? 1 : 0);
    });
  }
}
