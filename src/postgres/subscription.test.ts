import assert from "node:assert/strict";
import { test } from "node:test";
import { freedPayload, messagePayloads } from "./notification.ts";
import { Subscription } from "./subscription.ts";

function hearing() {
  const events: unknown[] = [];
  const heard = new Subscription({
    processId: "own",
    message: (text, from) => events.push([from, text]),
    freed: ({ key }) => events.push(key),
    missed: () => events.push("gap"),
  });
  const hearText = (from: string, n: number, text: string) => {
    for (const payload of messagePayloads(from, n, text)) heard.receive(payload);
  };
  const hear = (from: string, n: number) => hearText(from, n, `{"n":${n}}`);
  return { events, heard, hear, hearText };
}

/** Of four parts. */
const long = `{"text":"${"密".repeat(10_000)}"}`;
const parts = (from: string, n: number) => messagePayloads(from, n, long);

test("a message that was sent twice is heard once, in its place", () => {
  const { events, hear } = hearing();
  for (const n of [1, 2, 1, 2, 3]) hear("p", n);
  assert.deepEqual(events, [
    ["p", '{"n":1}'],
    ["p", '{"n":2}'],
    ["p", '{"n":3}'],
  ]);
});

test("a number that was left out is a gap before the next message", () => {
  const { events, hear } = hearing();
  for (const n of [1, 3]) hear("p", n);
  assert.deepEqual(events, [["p", '{"n":1}'], "gap", ["p", '{"n":3}']]);
});

test("the first message of a process is no gap, whatever its number; each process counts for itself", () => {
  const { events, hear } = hearing();
  hear("p", 5);
  hear("q", 1);
  hear("p", 6);
  assert.deepEqual(events, [
    ["p", '{"n":5}'],
    ["q", '{"n":1}'],
    ["p", '{"n":6}'],
  ]);
});

test("a process hears no message of its own, but what it frees", () => {
  const { events, heard, hear } = hearing();
  hear("own", 1);
  heard.receive(freedPayload("own", { collection: "chats", key: "a" }));
  assert.deepEqual(events, ["a"]);
});

test("a long message is heard whole with its last part, in order with short ones", () => {
  const { events, heard, hear, hearText } = hearing();
  hear("p", 1);
  const [first = "", ...rest] = parts("p", 2);
  heard.receive(first);
  assert.equal(events.length, 1);
  for (const payload of rest) heard.receive(payload);
  hear("p", 3);
  hearText("q", 1, long);
  assert.deepEqual(events, [
    ["p", '{"n":1}'],
    ["p", long],
    ["p", '{"n":3}'],
    ["q", long],
  ]);
});

test("a long message that was sent twice is heard once, also if the first time it broke off", () => {
  const { events, heard } = hearing();
  for (const payload of parts("p", 1).slice(0, 2)) heard.receive(payload);
  for (const payload of [...parts("p", 1), ...parts("p", 1)]) heard.receive(payload);
  assert.deepEqual(events, [["p", long]]);
});

for (const missing of [0, 1, 3]) {
  test(`a long message without part ${missing} of 0 to 3 is a gap before the next message`, () => {
    const { events, heard, hear } = hearing();
    hear("p", 1);
    assert.equal(parts("p", 2).length, 4);
    for (const [index, payload] of parts("p", 2).entries()) {
      if (index !== missing) heard.receive(payload);
    }
    assert.equal(events.length, 1);
    hear("p", 3);
    assert.deepEqual(events.slice(1), ["gap", ["p", '{"n":3}']]);
  });
}

for (const order of [
  [0, 1, 1, 3],
  [0, 1, 3, 2, 3],
  [1, 2, 3],
]) {
  test(`parts ${order.join(", ")} of four are no message`, () => {
    const { events, heard } = hearing();
    const payloads = parts("p", 1);
    for (const index of order) heard.receive(payloads[index] ?? "");
    assert.deepEqual(events, []);
  });
}

test("parts of different messages are never one message", () => {
  const { events, heard } = hearing();
  const [first = ""] = parts("p", 1);
  heard.receive(first);
  for (const payload of parts("p", 2).slice(1)) heard.receive(payload);
  heard.receive(first);
  for (const payload of parts("q", 1).slice(1)) heard.receive(payload);
  assert.deepEqual(events, []);
});

test("the numbers of the 1,000 processes heard last are known", () => {
  const { events, hear } = hearing();
  hear("first", 1);
  for (let index = 0; index < 1_000; index++) hear(`p${index}`, 1);
  hear("first", 3); // forgotten: no gap is told
  hear("p999", 3);
  assert.equal(events.filter((event) => event === "gap").length, 1);
});

test("nothing is passed on after closing, also what had begun", () => {
  const { events, heard, hear } = hearing();
  const [first = "", ...rest] = parts("p", 1);
  heard.receive(first);
  heard.close();
  for (const payload of rest) heard.receive(payload);
  hear("p", 2);
  assert.deepEqual(events, []);
});
