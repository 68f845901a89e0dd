import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { checkJson } from "../json.ts";
import { judge, resolveFreshness } from "./freshness.ts";
import { bucketOf, newPeriod, resetProvider, rollOver, withBucket } from "./period.ts";
import { readPeriod } from "./stored-period.ts";

const noon = Date.UTC(2026, 0, 2, 12);
const target = { provider: "claude", model: "opus" };
const begun = newPeriod({ generation: 3, at: noon, startSeq: 7, provider: "codex", model: "" });
const full = {
  ...withBucket(resetProvider(begun, "codex"), "__proto__", {
    ...bucketOf(begun, "p"),
    session_id: "s1",
    message_count: 2,
    total_cost_usd: 0.1,
    total_tokens: 30,
    thread: "x",
  }),
  human_at_assumed: true,
  tz_assumed: true,
  later_version: { a: [1] },
};

test("a state comes back from storage as it was, without a remark", () => {
  assert.deepEqual(readPeriod(JSON.parse(JSON.stringify(full)), 7, target), {
    period: full,
    notes: [],
  });
});

for (const value of [null, undefined, [], "text", 5]) {
  test(`a stored state that is ${JSON.stringify(value)} is none`, () => {
    assert.equal(readPeriod(value, 7, target), undefined);
  });
}

const wrong: readonly [field: string, values: unknown[], becomes: unknown][] = [
  ["generation", [0, -1, 1.5, 2 ** 53, "3", null], 1],
  ["start_seq", [-1, 8, 0.5, Number.NaN, true], 0],
  ["human_at", [5, null, undefined, "x".repeat(65)], "unreadable"],
  ["started_at", [{}, false], "unreadable"],
  ["provider", ["", 5, null, "a\0b", "\ud800", "p".repeat(257)], "claude"],
  ["model", [5, null, "m".repeat(257)], "opus"],
  ["provider_sessions", ["text", [], null], {}],
  ["human_at_assumed", ["yes", 1], undefined],
];
for (const [field, values, becomes] of wrong) {
  for (const value of values) {
    const given = typeof value === "number" ? value : JSON.stringify(value);
    test(`a stored ${field} of ${String(given).slice(0, 20)} is read as ${JSON.stringify(becomes)}`, () => {
      const read = readPeriod({ ...full, [field]: value }, 7, target);
      assert.ok(read);
      assert.deepEqual(read.period[field], becomes);
      assert.equal(read.notes.length, field === "human_at_assumed" ? 0 : 1);
    });
  }
}

test("bad counters and generations of a bucket are put right, and a bad bucket is left out", () => {
  const provider_sessions = {
    p: { session_id: 5, message_count: -1, total_cost_usd: "1", total_tokens: 2, generation: 0 },
    q: "text",
  };
  const read = readPeriod({ ...full, provider_sessions }, 7, target);
  assert.deepEqual(read?.period.provider_sessions, {
    p: { ...bucketOf(begun, "p"), total_tokens: 2 },
  });
  assert.equal(read?.notes.length, 5);
});

test("whatever was stored, what is read can be stored, judged and rolled over", () => {
  const value = fc.oneof(
    fc.jsonValue({ maxDepth: 2 }),
    fc.double(),
    fc.constantFrom("a\0b", "\ud800"),
  );
  const state = fc.record(
    {
      generation: value,
      started_at: value,
      start_seq: value,
      human_at: value,
      provider: value,
      model: value,
      provider_sessions: fc.oneof(value, fc.dictionary(fc.string(), value)),
    },
    { requiredKeys: [] },
  );
  fc.assert(
    fc.property(state, (value) => {
      const read = readPeriod(value, 7, target);
      assert.ok(read);
      checkJson(read.period, "the state");
      judge({ state: read.period, provider: "p", now: noon, rules: resolveFreshness() });
      assert.ok(rollOver(read.period, { at: noon, startSeq: 7 }).generation >= 2);
    }),
    { numRuns: 300 },
  );
});
