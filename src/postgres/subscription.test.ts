import assert from "node:assert/strict";
import { test } from "node:test";
import { freedPayload, messagePayloads } from "./notification.ts";
import { Subscription } from "./subscription.ts";

/** Of four parts. */
const long = `{"text":"${"密".repeat(10_000)}"}`;

/**
 * What is told of what came, in short: `p1` is message 1 of the process p, `p1.0` the first part of it as a long
 * one, and `p long` that message whole.
 */
function told(received: string): string {
  const events: string[] = [];
  const subscription = new Subscription("own", {
    message: (text, from) =>
      events.push(from + (text === long ? " long" : String(JSON.parse(text).n))),
    freed: ({ key }) => events.push(key),
    missed: () => events.push("gap"),
  });
  for (const word of received.split(", ")) {
    const [, from = "", n = "", part] = /^(\D+)(\d+)(?:\.(\d))?$/.exec(word) ?? [];
    if (word === "close") subscription.close();
    else if (word === "free") {
      subscription.receive(freedPayload({ collection: "chats", key: "freed" }));
    } else {
      const text = part === undefined ? `{"n":${n}}` : long;
      const payloads = messagePayloads(from, Number(n), text);
      assert.equal(payloads.length, part === undefined ? 1 : 4);
      subscription.receive(payloads[Number(part ?? 0)] ?? "");
    }
  }
  return events.join(", ");
}

const whole = (name: string) => [0, 1, 2, 3].map((part) => `${name}.${part}`).join(", ");

const rows: readonly (readonly [says: string, received: string, events: string])[] = [
  ["a message sent twice is received once, in its place", "p1, p2, p1, p2, p3", "p1, p2, p3"],
  ["a number that was left out is a gap before the next message", "p1, p3", "p1, gap, p3"],
  ["the first message of a process is no gap; each counts for itself", "p5, q1, p6", "p5, q1, p6"],
  ["a process receives no message of its own, but the names it frees", "own1, free", "freed"],
  [
    "a long message is received whole, in order with short ones",
    `p1, ${whole("p2")}, p3, ${whole("q1")}`,
    "p1, p long, p3, q long",
  ],
  [
    "a long message sent twice is received once, also if it broke off first",
    `p1.0, p1.1, ${whole("p1")}, ${whole("p1")}`,
    "p long",
  ],
  ["a long message is a gap without its part 0", "p1, p2.1, p2.2, p2.3, p3", "p1, gap, p3"],
  ["a long message is a gap without its part 1", "p1, p2.0, p2.2, p2.3, p3", "p1, gap, p3"],
  ["a long message is a gap without its last part", "p1, p2.0, p2.1, p2.2, p3", "p1, gap, p3"],
  ["a part that comes twice makes no message", "p1.0, p1.1, p1.1, p1.3", ""],
  ["parts in another order are no message", "p1.0, p1.1, p1.3, p1.2, p1.3", ""],
  ["parts without the first are no message", "p1.1, p1.2, p1.3", ""],
  [
    "parts of different messages are never one",
    "p1.0, p2.1, p2.2, p2.3, p1.0, q1.1, q1.2, q1.3",
    "",
  ],
  [
    "nothing is passed on after closing, also what had begun",
    "p1.0, close, p1.1, p1.2, p1.3, p2",
    "",
  ],
];

for (const [says, received, events] of rows) {
  test(says, () => assert.equal(told(received), events));
}

test("the numbers of the 1,000 processes that sent last are known", () => {
  const others = Array.from({ length: 1_000 }, (_, i) => `${"x".repeat(i + 1)}1`);
  // The first one is forgotten: nothing counts as missed.
  const events = told(["first1", ...others, "first3", `${"x".repeat(1_000)}3`].join(", "));
  assert.equal(events.split(", ").filter((event) => event === "gap").length, 1);
});
