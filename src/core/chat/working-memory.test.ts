import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { Clock } from "../clock.ts";
import { isThroughlineError } from "../errors.ts";
import type { NewInteraction } from "./summary.ts";
import { fieldBytes, WorkingMemory } from "./working-memory.ts";

const noon = Date.UTC(2026, 2, 1, 12);

function heldClock() {
  const clock = { wallMs: noon, monotonicMs: 5_000 };
  return {
    now: () => clock.wallMs,
    monotonic: () => clock.monotonicMs,
    advance(ms: number) {
      clock.wallMs += ms;
      clock.monotonicMs += ms;
    },
    setWall(ms: number) {
      clock.wallMs = ms;
    },
    setMonotonic(ms: number) {
      clock.monotonicMs = ms;
    },
  } satisfies Clock & Record<string, unknown>;
}

function said(utterance: string, rest: Partial<NewInteraction> = {}): NewInteraction {
  return {
    utterance,
    intent: "unknown",
    response: `re: ${utterance}`,
    outcome: "answered",
    ...rest,
  };
}

function filled(capacity: number, utterances: readonly string[]): WorkingMemory {
  const memory = new WorkingMemory({ capacity, clock: heldClock() });
  for (const utterance of utterances) memory.append(said(utterance));
  return memory;
}

test("a new working memory is empty, not full, and has no summary", () => {
  const memory = new WorkingMemory();
  assert.equal(memory.count, 0);
  assert.equal(memory.isEmpty, true);
  assert.equal(memory.isFull, false);
  assert.deepEqual(memory.all(), []);
  assert.equal(memory.summary(), "");
  assert.equal(memory.promptBlock(), "");
});

test("an appended interaction is kept with its turn, its time and its upper-case intent", () => {
  const memory = new WorkingMemory({ clock: heldClock() });
  const kept = memory.append({
    utterance: "Hello",
    intent: "greeting",
    response: "Hi there!",
    outcome: "answered",
  });
  assert.deepEqual(kept, {
    turn: 1,
    timestamp: "2026-03-01T12:00:00.000Z",
    utterance: "Hello",
    intent: "GREETING",
    response: "Hi there!",
    outcome: "answered",
  });
  assert.deepEqual(memory.all(), [kept]);
});

test("A2: the fourth append into 3 leaves turns 2, 3, 4 under their own numbers, in order", () => {
  const memory = filled(3, ["First", "Second", "Third", "Fourth"]);
  assert.deepEqual(
    memory.all().map(({ turn }) => turn),
    [2, 3, 4],
  );
  assert.deepEqual(memory.summary().match(/Turn \d+/g), ["Turn 2", "Turn 3", "Turn 4"]);
  assert.equal(memory.isFull, true);
});

const limits: readonly [n: number | undefined, newest: readonly string[]][] = [
  [undefined, ["Fourth", "Third", "Second", "First"]],
  [100, ["Fourth", "Third", "Second", "First"]],
  [4, ["Fourth", "Third", "Second", "First"]],
  [2, ["Fourth", "Third"]],
  [1, ["Fourth"]],
  [0, []],
  [-1, []],
];
for (const [n, newest] of limits) {
  test(`A1: the ${n} most recent of First to Fourth are [${newest}], in each of three lists`, () => {
    const memory = filled(4, ["First", "Second", "Third", "Fourth"]);
    assert.deepEqual(memory.recentUtterances(n), newest);
    assert.equal(memory.recentIntents(n).length, newest.length);
    assert.deepEqual(
      memory.recentResponses(n),
      newest.map((utterance) => `re: ${utterance}`),
    );
  });
}

for (const list of ["recentUtterances", "recentIntents", "recentResponses"] as const) {
  test(`${list} refuses an n of 1.5`, () => {
    const memory = filled(3, ["First"]);
    assert.throws(
      () => memory[list](1.5),
      (error) => isThroughlineError(error, "THROUGHLINE_INVALID"),
    );
  });
}

test("the prompt block is a line Context:, the summary and a blank line", () => {
  const memory = filled(3, ["Hello"]);
  assert.equal(
    memory.promptBlock(),
    "Context:\nTurn 1: You said 'Hello' (classified as UNKNOWN). I responded 're: Hello'.\n\n",
  );
});

test("what came of one message is remembered once, under a new turn number", () => {
  const memory = new WorkingMemory();
  memory.append(said("Hello"));
  const before = memory.append(said("Why?", { response: "as I said" }), "m1");
  memory.append(said("Why?"));
  const list = memory.all();
  memory.append(said("Why?", { response: "because" }), "m1");
  assert.deepEqual(
    memory.all().map(({ turn, response }) => `${turn} ${response}`),
    ["1 re: Hello", "3 re: Why?", "4 because"],
  );
  assert.deepEqual([list[1], Object.keys(before).includes("id")], [before, false]);
  assert.throws(() => memory.append(said("Why?", { intent: "" }), "m1"));
  assert.equal(memory.count, 3, "what is refused drops nothing");
});

test("a summary can leave one message out, and names the others by their turns", () => {
  const memory = new WorkingMemory();
  memory.append(said("One"), "m1");
  memory.append(said("Two"));
  assert.match(memory.summary("m1"), /^Turn 2: You said 'Two'/);
  assert.equal(memory.summary("other"), memory.summary());
});

test("clear empties; the age and the turn numbers go on", () => {
  const clock = heldClock();
  const memory = new WorkingMemory({ clock });
  memory.append(said("First"));
  memory.append(said("Second"));
  clock.advance(2_000);
  memory.clear();
  assert.deepEqual(memory.all(), []);
  assert.equal(memory.isEmpty, true);
  assert.equal(memory.summary(), "");
  clock.advance(1_000);
  assert.deepEqual(memory.stats(), {
    capacity: 3,
    count: 0,
    full: false,
    empty: true,
    session_age_seconds: 3,
    last_turn: 2,
  });
  assert.equal(memory.append(said("Third")).turn, 3);
});

test("stats count what is held", () => {
  const clock = heldClock();
  const memory = new WorkingMemory({ capacity: 2, clock });
  memory.append(said("Hé", { intent: "question", response: "😀" }));
  clock.advance(45_318);
  const expected = { capacity: 2, count: 1, full: false, empty: false, last_turn: 1 };
  assert.deepEqual(memory.stats(), { ...expected, session_age_seconds: 45.32 });
});

test("A7: the age is never below 0 and does not follow the wall clock back", () => {
  const clock = heldClock();
  const memory = new WorkingMemory({ clock });
  clock.advance(1_500);
  clock.setWall(noon - 86_400_000);
  assert.equal(memory.stats().session_age_seconds, 1.5);
  clock.setMonotonic(0);
  assert.equal(memory.stats().session_age_seconds, 0);
});

for (const outcome of ["answered", "interrupted", "failed"] as const) {
  test(`A7: a turn that was ${outcome} is kept as ${outcome}, with the response so far`, () => {
    const memory = new WorkingMemory();
    memory.append(said("Tell me", { response: "Once up", outcome }));
    assert.equal(memory.all()[0]!.outcome, outcome);
    assert.deepEqual(memory.recentResponses(), ["Once up"]);
  });
}

const notCapacities = [0, -1, 1_001, 1e9, 2.5, Number.NaN, Infinity, "3", true, null, [3], 3n];
for (const capacity of notCapacities) {
  test(`a capacity of ${typeof capacity} ${capacity} is refused at construction`, () => {
    assert.throws(() => new WorkingMemory({ capacity: capacity as number }), {
      code: "THROUGHLINE_CONFIGURATION",
    });
  });
}

const secret = "my secret";
const wrong: readonly [field: keyof NewInteraction, values: readonly unknown[]][] = [
  ["utterance", [42, undefined, null, [secret]]],
  ["response", [42, undefined, { text: secret }]],
  ["intent", [42, undefined, "", "UNKNOWN\n", `${secret}). I responded 'yes'`, "i".repeat(65)]],
  ["outcome", ["spoken", undefined, secret]],
];
for (const [field, values] of wrong) {
  test(`an interaction with a wrong ${field} is refused, unquoted, and changes nothing`, () => {
    const memory = filled(3, ["First"]);
    const before = memory.stats();
    for (const value of values) {
      assert.throws(
        () => memory.append(said("Second", { [field]: value })),
        (error: Error) =>
          isThroughlineError(error, "THROUGHLINE_INVALID") && !error.message.includes(secret),
      );
    }
    assert.deepEqual(memory.stats(), before);
    assert.equal(memory.append(said("Second")).turn, 2);
  });
}

test("a text of any code units is kept whole, or cut to a prefix of 8 KiB and a …", () => {
  const unit = fc.nat({ max: 0xffff }).map((n) => String.fromCharCode(n));
  const text = fc
    .tuple(fc.integer({ min: fieldBytes - 20, max: fieldBytes }), fc.string({ unit }))
    .map(([length, end]) => `\ufeff${"a".repeat(length - 20)}${end}`);
  fc.assert(
    fc.property(text, (utterance) => {
      const kept = new WorkingMemory().append(said(utterance)).utterance;
      assert.ok(Buffer.byteLength(kept) <= fieldBytes);
      if (Buffer.byteLength(utterance) <= fieldBytes) assert.equal(kept, utterance);
      else assert.ok(utterance.toWellFormed().startsWith(kept.replace(/…$/, "")));
    }),
  );
});

test("A3: what a reader does to a record or a list leaves the memory as it was", () => {
  const memory = filled(3, ["First", "Second"]);
  const before = JSON.stringify([memory.all(), memory.recentUtterances(), memory.summary()]);
  const record = memory.all()[0]! as { -readonly [key in keyof NewInteraction]: string };
  assert.throws(() => {
    record.utterance = "forged";
  }, TypeError);
  for (const list of ["recentUtterances", "recentIntents", "recentResponses", "all"] as const) {
    const items = memory[list]() as unknown[];
    assert.throws(() => items.push("forged"), TypeError);
    assert.throws(() => items.reverse(), TypeError);
  }
  assert.equal(JSON.stringify([memory.all(), memory.recentUtterances(), memory.summary()]), before);
});

test("A3: the caller's object is not the record: changing it later changes nothing", () => {
  const memory = new WorkingMemory();
  const mine = {
    utterance: "Hi",
    intent: "greeting",
    response: "Hi!",
    outcome: "answered" as const,
  };
  memory.append(mine);
  mine.utterance = "forged";
  assert.deepEqual(memory.recentUtterances(), ["Hi"]);
});

test("A5: of a 2 MB utterance and response 8 KiB each are kept, and 2,000 characters of summary", () => {
  const memory = filled(3, ["First", "Second"]);
  const kept = memory.append(said("u".repeat(2_000_000), { response: "😀".repeat(500_000) }));
  assert.deepEqual(kept, memory.all()[2]);
  assert.equal(kept.utterance, `${"u".repeat(8_189)}…`);
  assert.equal(kept.response, `${"😀".repeat(2_047)}…`);
  assert.ok(memory.summary().length <= 2_000);
  assert.match(memory.summary(), /^Turn 1: .*Turn 3: You said 'u/);
});

test("for any capacity, appends and clears, the newest are all.slice(-capacity).reverse()", () => {
  const step = fc.option(fc.string({ maxLength: 5 }), { nil: "clear" as const, freq: 8 });
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 9 }), fc.array(step), (capacity, steps) => {
      const memory = new WorkingMemory({ capacity });
      let all: string[] = [];
      let turns = 0;
      for (const utterance of steps) {
        if (utterance === "clear") {
          memory.clear();
          all = [];
          continue;
        }
        assert.equal(memory.append(said(utterance)).turn, ++turns);
        all.push(utterance);
        assert.deepEqual(memory.recentUtterances(), all.slice(-capacity).reverse());
      }
      const held = all.slice(-capacity);
      assert.equal(memory.count, held.length);
      assert.equal(memory.isFull, held.length === capacity);
      assert.deepEqual(
        memory.all().map(({ turn, utterance }) => [turn, utterance]),
        held.map((utterance, index) => [turns - held.length + 1 + index, utterance]),
      );
    }),
  );
});
