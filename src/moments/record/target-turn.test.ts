import assert from "node:assert/strict";
import { test } from "node:test";
import { bufferedMessage, type NewMessage } from "./messages.ts";
import { type Reaction, targetTurn } from "./target-turn.ts";

/** A message `agoMs` before the reaction; times of an answer: begun and ended then. */
type Said = NewMessage & { readonly agoMs?: number; readonly endedAgoMs?: number };
const nowMs = 1_000_000;

function buffered(said: readonly Said[]) {
  return said.map(({ agoMs = 10_000, endedAgoMs = agoMs, ...message }, index) => {
    const seq = index + 1;
    const atMs = nowMs - agoMs;
    const place = { id: message.id ?? `m${seq}`, seq, atMs };
    return bufferedMessage(message, { ...place, endedMs: nowMs - endedAgoMs });
  });
}

function judge(said: readonly Said[], reaction: Partial<Reaction>) {
  const base = { channel: "other", source: "http", atMs: nowMs } as const;
  const found = targetTurn(buffered(said), { ...base, ...reaction });
  if (found === undefined) return "unknown";
  if (found.judged === null) return found.reason;
  const { message_ids, how, partial, interrupted } = found.judged;
  return [message_ids.join(" "), how, partial && "partial", interrupted && "interrupted"]
    .filter((part) => part !== false)
    .join(", ");
}

type More = Partial<Said>;
const user = (text: string, turnId?: string, more: More = {}): Said => {
  return { role: "USER", text, turnId, ...more };
};
const answer = (text: string, turnId?: string, more: More = {}): Said => {
  return { role: "ASSISTANT", text, turnId, ...more };
};
const joke = [user("a joke", "t1"), answer("why did the cat", "t1")];
const praise = user("haha good", "t2");
const call = answer("", "t2", { toolCalls: [{ name: "remember_positively", arguments: {} }] });
const openAiCall = [{ id: "c", type: "function", function: { name: "remember_negatively" } }];
/** The joke, and an answer that comes out after it. */
const dog = (more: More) => [...joke, user("another", "t2"), answer("so a dog", "t2", more)];
const ended = (endedAgoMs: number) => [
  user("hi", "t1"),
  answer("hello", "t1", { agoMs: 150_000, endedAgoMs }),
];

/** What was said, the reaction, and what it is about: the joke, where nothing else stands. */
type Row = readonly [name: string, said: readonly Said[], of?: Partial<Reaction>, target?: string];
/** Those that a package or an export shows are in `moments-failure-groups.test.ts`. */
const rows: readonly Row[] = [
  [
    "the thank-you in the turn of the tool call is not it",
    [...joke, praise, call, answer("thank you!", "t2")],
    { source: "skill", turnId: "t2" },
  ],
  [
    "without turn ids, as the original feeds it, it is the joke",
    [user("a joke"), answer("why did"), answer("the cat"), user("haha good"), answer("thanks")],
    { source: "skill" },
    "m2 m3, last-assistant",
  ],
  [
    "an earlier turn in which a skill was called is not it",
    [...joke, praise, { ...call, toolCalls: openAiCall }, answer("I will not", "t2")],
    { channel: "touch" },
  ],
  [
    "a touch while an answer has been coming out for 1,000 ms is about that one",
    dog({ live: true, agoMs: 1_000 }),
    { channel: "touch" },
    "m4, answering, partial",
  ],
  [
    "a touch while an answer has been coming out for 999 ms is about the one before",
    dog({ live: true, agoMs: 999 }),
    { channel: "touch" },
  ],
  [
    "words while an answer comes out are about the one before",
    dog({ live: true, agoMs: 5_000 }),
    { channel: "speech" },
  ],
  [
    "words against an answer that they interrupted are about it, though it was stored after them",
    [user("a joke", "t1"), user("no", "t2"), answer("why di", "t1", { interrupted: true })],
    { source: "skill", turnId: "t2", channel: "speech" },
    "m3, last-assistant, interrupted",
  ],
  [
    "a turn after the one in which it was said is not it",
    [...joke, user("bad", "t2", { id: "bad" }), ...["t2", "t3"].map((id) => answer("ok", id))],
    { source: "auto", messageId: "bad" },
  ],
  ["an answer of which nothing was delivered is not it", dog({ delivered: "" })],
  [
    "what a turn did with tools is part of it",
    [
      user("light on", "t1"),
      answer("", "t1", { toolCalls: [{ name: "light" }] }),
      { role: "TOOL", text: "ok", turnId: "t1" },
      answer("it is on", "t1"),
    ],
    {},
    "m2 m3 m4, last-assistant",
  ],
  ["with empty buffers there is none", [], {}, "no_assistant_turn"],
  ["an answer that ended 120,000 ms ago is it", ended(120_000)],
  ["an answer that ended 120,001 ms ago is too old", ended(120_001), {}, "too_old"],
  [
    "the question of a turn names its answer",
    [user("hi", "t1", { id: "q" }), answer("hello", "t1")],
    { targetMessageId: "q" },
    "m2, explicit",
  ],
  ["a message that is not there names nothing", joke, { targetMessageId: "x" }, "unknown"],
  [
    "a message that was injected names nothing",
    [user("hint", "t1", { id: "h", synthetic: "pat_hint" }), answer("mmh", "t1")],
    { targetMessageId: "h" },
    "unknown",
  ],
  [
    "a question without an answer names nothing",
    [user("hi", "t1", { id: "q" })],
    { targetMessageId: "q" },
    "unknown",
  ],
];
for (const [name, said, reaction = {}, target = "m2, last-assistant"] of rows) {
  test(`whose turn is judged: ${name}`, () => {
    assert.equal(judge(said, reaction), target);
  });
}

test("the turn in which praise was said is told with its user message", () => {
  const reaction = { channel: "speech", source: "skill", turnId: "t2" } as const;
  const said = buffered([...joke, praise, call]);
  const found = targetTurn(said, { ...reaction, atMs: nowMs });
  assert.deepEqual(found?.triggerTurn, { turn_id: "t2", message_id: "m3" });
});
