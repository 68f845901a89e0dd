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
  const nothing = { chatId: null };
  const base = { channel: "other", source: "skill", atMs: nowMs, ...nothing } as const;
  const found = targetTurn(buffered(said), { ...base, ...reaction });
  if (found === undefined) return "unknown";
  if (found.judged === null) return found.reason;
  const { message_ids, how, partial, interrupted } = found.judged;
  return [message_ids.join(" "), how, partial && "partial", interrupted && "interrupted"]
    .filter((part) => part !== false)
    .join(", ");
}

const user = (text: string, rest: Partial<Said> = {}): Said => ({ role: "USER", text, ...rest });
const answer = (text: string, rest: Partial<Said> = {}): Said => ({
  role: "ASSISTANT",
  text,
  ...rest,
});
const t = (turnId: string) => ({ turnId });
const joke = [user("a joke", t("t1")), answer("why did the cat", t("t1"))];
const praise = user("haha good", t("t2"));
const call = answer("", {
  ...t("t2"),
  toolCalls: [{ name: "remember_positively", arguments: {} }],
});
const openAiCall = [{ id: "c", type: "function", function: { name: "remember_negatively" } }];

/** Those that a package or an export shows are in `moments-failure-groups.test.ts`. */
const rows: readonly [
  name: string,
  said: readonly Said[],
  reaction: Partial<Reaction>,
  target: string,
][] = [
  [
    "the thank-you in the turn of the tool call is not it",
    [...joke, praise, call, answer("thank you!", t("t2"))],
    { turnId: "t2" },
    "m2, last-assistant",
  ],
  [
    "without turn ids, as the original feeds it, it is the joke",
    [user("a joke"), answer("why did"), answer("the cat"), user("haha good"), answer("thanks")],
    {},
    "m2 m3, last-assistant",
  ],
  [
    "an earlier turn in which a skill was called is not it",
    [...joke, praise, { ...call, toolCalls: openAiCall }, answer("I will not", t("t2"))],
    { source: "http", channel: "touch" },
    "m2, last-assistant",
  ],
  [
    "a touch while an answer has been coming out for 1,000 ms is about that one",
    [
      ...joke,
      user("another", t("t2")),
      answer("so a dog", { ...t("t2"), live: true, agoMs: 1_000 }),
    ],
    { source: "http", channel: "touch" },
    "m4, answering, partial",
  ],
  [
    "a touch while an answer has been coming out for 999 ms is about the one before",
    [...joke, user("another", t("t2")), answer("so a dog", { ...t("t2"), live: true, agoMs: 999 })],
    { source: "http", channel: "touch" },
    "m2, last-assistant",
  ],
  [
    "words while an answer comes out are about the one before",
    [
      ...joke,
      user("another", t("t2")),
      answer("so a dog", { ...t("t2"), live: true, agoMs: 5_000 }),
    ],
    { source: "http", channel: "speech" },
    "m2, last-assistant",
  ],
  [
    "words against an answer that they interrupted are about it, though it was stored after them",
    [
      user("a joke", t("t1")),
      user("no, stop", t("t2")),
      answer("why di", { ...t("t1"), interrupted: true }),
    ],
    { turnId: "t2", channel: "speech" },
    "m3, last-assistant, interrupted",
  ],
  [
    "a turn after the one in which it was said is not it",
    [
      ...joke,
      user("bad", { ...t("t2"), id: "bad" }),
      answer("ok", t("t2")),
      ...[user("x", t("t3")), answer("y", t("t3"))],
    ],
    { source: "auto", messageId: "bad" },
    "m2, last-assistant",
  ],
  [
    "an answer of which nothing was delivered is not it",
    [...joke, user("another", t("t2")), answer("so a dog", { ...t("t2"), delivered: "" })],
    { source: "http" },
    "m2, last-assistant",
  ],
  [
    "what a turn did with tools is part of it",
    [
      user("light on", t("t1")),
      answer("", { ...t("t1"), toolCalls: [{ name: "light" }] }),
      { role: "TOOL", text: "ok", ...t("t1") },
      answer("it is on", t("t1")),
    ],
    { source: "http" },
    "m2 m3 m4, last-assistant",
  ],
  [
    "an answer in another chat is not it",
    [
      ...joke.map((said) => ({ ...said, chatId: "a" })),
      user("hi", { ...t("t9"), chatId: "b" }),
      answer("hello", { ...t("t9"), chatId: "b" }),
    ],
    { source: "http", chatId: "a" },
    "m2, last-assistant",
  ],
  ["with empty buffers there is none", [], { source: "http" }, "no_assistant_turn"],
  [
    "an answer that ended 120,000 ms ago is it",
    [user("hi", t("t1")), answer("hello", { ...t("t1"), agoMs: 150_000, endedAgoMs: 120_000 })],
    { source: "http" },
    "m2, last-assistant",
  ],
  [
    "an answer that ended 120,001 ms ago is too old",
    [user("hi", t("t1")), answer("hello", { ...t("t1"), agoMs: 150_000, endedAgoMs: 120_001 })],
    { source: "http" },
    "too_old",
  ],
  [
    "the question of a turn names its answer",
    [user("hi", { ...t("t1"), id: "q" }), answer("hello", t("t1"))],
    { targetMessageId: "q", source: "http" },
    "m2, explicit",
  ],
  ["a message that is not there names nothing", joke, { targetMessageId: "x" }, "unknown"],
  [
    "a message that was injected names nothing",
    [user("hint", { ...t("t1"), id: "h", synthetic: "pat_hint" }), answer("mmh", t("t1"))],
    { targetMessageId: "h" },
    "unknown",
  ],
  [
    "a question without an answer names nothing",
    [user("hi", { ...t("t1"), id: "q" })],
    { targetMessageId: "q" },
    "unknown",
  ],
];
for (const [name, said, reaction, target] of rows) {
  test(`whose turn is judged: ${name}`, () => {
    assert.equal(judge(said, reaction), target);
  });
}

test("the turn in which praise was said is told with its user message", () => {
  const found = targetTurn(buffered([...joke, praise, call]), {
    channel: "speech",
    source: "skill",
    atMs: nowMs,
    chatId: null,
    turnId: "t2",
  });
  assert.deepEqual(found?.triggerTurn, { turn_id: "t2", message_id: "m3" });
});
