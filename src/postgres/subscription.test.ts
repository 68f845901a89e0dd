import assert from "node:assert/strict";
import { test } from "node:test";
import { freedPayload, messagePayloads } from "./notification.ts";
import { Subscription } from "./subscription.ts";

function subscribed() {
  const events: unknown[] = [];
  const subscription = new Subscription("own", {
    message: (text, from) => events.push([from, text]),
    freed: ({ key }) => events.push(key),
    missed: () => events.push("gap"),
  });
  const receiveText = (from: string, n: number, text: string) => {
    for (const payload of messagePayloads(from, n, text)) subscription.receive(payload);
  };
  const receive = (from: string, n: number) => receiveText(from, n, `{"n":${n}}`);
  return { events, subscription, receive, receiveText };
}

/** Of four parts. */
const long = `{"text":"${"密".repeat(10_000)}"}`;
const parts = (from: string, n: number) => messagePayloads(from, n, long);

test("a message that was sent twice is received once, in its place", () => {
  const { events, receive } = subscribed();
  for (const n of [1, 2, 1, 2, 3]) receive("p", n);
  assert.deepEqual(events, [
    ["p", '{"n":1}'],
    ["p", '{"n":2}'],
    ["p", '{"n":3}'],
  ]);
});

test("a number that was left out is a gap before the next message", () => {
  const { events, receive } = subscribed();
  for (const n of [1, 3]) receive("p", n);
  assert.deepEqual(events, [["p", '{"n":1}'], "gap", ["p", '{"n":3}']]);
});

test("the first message of a process is no gap, whatever its number; each process counts for itself", () => {
  const { events, receive } = subscribed();
  receive("p", 5);
  receive("q", 1);
  receive("p", 6);
  assert.deepEqual(events, [
    ["p", '{"n":5}'],
    ["q", '{"n":1}'],
    ["p", '{"n":6}'],
  ]);
});

test("a process receives no message of its own, but the names it frees", () => {
  const { events, subscription, receive } = subscribed();
  receive("own", 1);
  subscription.receive(freedPayload("own", { collection: "chats", key: "a" }));
  assert.deepEqual(events, ["a"]);
});

test("a long message is received whole with its last part, in order with short ones", () => {
  const { events, subscription, receive, receiveText } = subscribed();
  receive("p", 1);
  const [first = "", ...rest] = parts("p", 2);
  subscription.receive(first);
  assert.equal(events.length, 1);
  for (const payload of rest) subscription.receive(payload);
  receive("p", 3);
  receiveText("q", 1, long);
  assert.deepEqual(events, [
    ["p", '{"n":1}'],
    ["p", long],
    ["p", '{"n":3}'],
    ["q", long],
  ]);
});

test("a long message that was sent twice is received once, also if the first time it broke off", () => {
  const { events, subscription } = subscribed();
  for (const payload of parts("p", 1).slice(0, 2)) subscription.receive(payload);
  for (const payload of [...parts("p", 1), ...parts("p", 1)]) subscription.receive(payload);
  assert.deepEqual(events, [["p", long]]);
});

for (const missing of [0, 1, 3]) {
  test(`a long message without part ${missing} of 0 to 3 is a gap before the next message`, () => {
    const { events, subscription, receive } = subscribed();
    receive("p", 1);
    assert.equal(parts("p", 2).length, 4);
    for (const [index, payload] of parts("p", 2).entries()) {
      if (index !== missing) subscription.receive(payload);
    }
    assert.equal(events.length, 1);
    receive("p", 3);
    assert.deepEqual(events.slice(1), ["gap", ["p", '{"n":3}']]);
  });
}

for (const order of [
  [0, 1, 1, 3],
  [0, 1, 3, 2, 3],
  [1, 2, 3],
]) {
  test(`parts ${order.join(", ")} of four are no message`, () => {
    const { events, subscription } = subscribed();
    const payloads = parts("p", 1);
    for (const index of order) subscription.receive(payloads[index] ?? "");
    assert.deepEqual(events, []);
  });
}

test("parts of different messages are never one message", () => {
  const { events, subscription } = subscribed();
  const [first = ""] = parts("p", 1);
  subscription.receive(first);
  for (const payload of parts("p", 2).slice(1)) subscription.receive(payload);
  subscription.receive(first);
  for (const payload of parts("q", 1).slice(1)) subscription.receive(payload);
  assert.deepEqual(events, []);
});

test("the numbers of the 1,000 processes that sent last are known", () => {
  const { events, receive } = subscribed();
  receive("first", 1);
  for (let index = 0; index < 1_000; index++) receive(`p${index}`, 1);
  receive("first", 3); // forgotten: nothing counts as missed
  receive("p999", 3);
  assert.equal(events.filter((event) => event === "gap").length, 1);
});

test("nothing is passed on after closing, also what had begun", () => {
  const { events, subscription, receive } = subscribed();
  const [first = "", ...rest] = parts("p", 1);
  subscription.receive(first);
  subscription.close();
  for (const payload of rest) subscription.receive(payload);
  receive("p", 2);
  assert.deepEqual(events, []);
});
