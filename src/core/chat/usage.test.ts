import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  applyUsage,
  bucketOf,
  humanActed,
  newPeriod,
  type Period,
  periodLimits,
  resetProvider,
  rollOver,
  syncTarget,
  type UsageDelta,
} from "./period.ts";

const noon = Date.UTC(2026, 0, 2, 12);
const first = newPeriod({
  generation: 1,
  at: noon,
  startSeq: 0,
  provider: "claude",
  model: "opus",
});
const answer: UsageDelta = {
  turn: "t1",
  provider: "claude",
  model: "opus",
  messages: 1,
  cost_usd: 0.01,
  tokens: 10,
  outcome: "answered",
  generation: 1,
  bucket_generation: 1,
};

function apply(state: Period, ...deltas: readonly Partial<UsageDelta>[]): Period {
  return deltas.reduce((state, delta) => {
    const counted = applyUsage(state, { ...answer, ...delta });
    assert.ok(typeof counted !== "string");
    return counted;
  }, state);
}

/** A bucket as messages, dollars, tokens. */
function totals(state: Period, provider = "claude") {
  const bucket = bucketOf(state, provider);
  return [bucket.message_count, bucket.total_cost_usd, bucket.total_tokens];
}

test("tokens whose cost is unknown are counted apart, and the known costs stay", () => {
  const priced = apply(first, answer);
  assert.equal("unpriced_tokens" in bucketOf(priced, "claude"), false);
  const state = apply(priced, { cost_usd: null }, { cost_usd: null, tokens: 5 }, answer);
  assert.deepEqual(totals(state), [4, 0.02, 35]);
  assert.equal(bucketOf(state, "claude").unpriced_tokens, 15);
  const less = apply(state, { cost_usd: null, tokens: -99 });
  assert.equal(bucketOf(less, "claude").unpriced_tokens, 0);
});

const nothing = { messages: 0, cost_usd: 0, tokens: 0 };
const counts: readonly [string, readonly Partial<UsageDelta>[], readonly number[]][] = [
  ["two updates made from equal snapshots are both counted (D13)", [{}, {}], [2, 0.02, 20]],
  [
    "a refund makes the totals fall (D13)",
    [{ cost_usd: 0.05 }, { messages: -1, cost_usd: -0.02, tokens: -5 }],
    [0, 0.03, 5],
  ],
  [
    "no correction takes a total below 0, and none is owed",
    [{}, { messages: -9, cost_usd: -9, tokens: -90 }, {}],
    [1, 0.01, 10],
  ],
  [
    "a failed attempt counts its cost and tokens, and no message",
    [{ outcome: "failed" }],
    [0, 0.01, 10],
  ],
];
for (const [says, deltas, expected] of counts) {
  test(says, () => assert.deepEqual(totals(apply(first, ...deltas)), expected));
}

test("a failed attempt that used nothing stores an id that arrived, and leaves the period else untouched", () => {
  assert.equal(apply(first, { ...nothing, messages: 1, outcome: "failed" }), first);
  const state = apply(first, { ...nothing, outcome: "failed", session_id: "s1" });
  assert.equal(bucketOf(state, "claude").session_id, "s1");
  assert.deepEqual(totals(state), [0, 0, 0]);
  assert.equal(apply(state, { ...nothing, outcome: "failed", session_id: "s1" }), state);
  // An error keeps what the next message resumes.
  assert.equal(apply(state, { ...nothing, outcome: "failed" }), state);
});

test("a late result of an ended period never reaches the newer one (D7, D8)", () => {
  const next = rollOver(first, { at: noon + 1, startSeq: 5 });
  assert.equal(applyUsage(next, answer), "ended_generation");
  assert.deepEqual(totals(apply(next, { generation: 2 })), [1, 0.01, 10]);
});

test("totals stop at what a number can count exactly", () => {
  const most = { messages: periodLimits.count, tokens: periodLimits.count, cost_usd: 1_000_000 };
  const state = apply(first, most, most, answer);
  assert.deepEqual(totals(state), [periodLimits.count, 1_000_000, periodLimits.count]);
});

test("dollars add up to the nano-dollar for any amounts, up to a million", () => {
  const nanos = fc.integer({ min: 0, max: 10 ** 14 });
  fc.assert(
    fc.property(fc.array(nanos, { maxLength: 10 }), (amounts) => {
      const state = apply(first, ...amounts.map((amount) => ({ cost_usd: amount / 1e9 })));
      const sum = amounts.reduce((total, amount) => total + amount, 0);
      assert.equal(bucketOf(state, "claude").total_cost_usd, sum / 1e9);
    }),
  );
});

// A model beside the machine: plain counters in a Map, thrown away and begun again as told.
const provider = fc.constantFrom("claude", "codex", "__proto__");
const tokens = fc.integer({ min: -20, max: 100 });
const kind = <T extends string>(...names: T[]) => fc.constantFrom(...names);
const step = fc.oneof(
  fc.record({ do: kind("usage"), provider, tokens, late: fc.nat(2) }),
  fc.record({ do: kind("reset", "switch"), provider }),
  fc.record({ do: kind("roll over", "act") }),
);

test("after any sequence of usage, resets, switches and rollovers the totals are those of a plain count", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const seen = [{ state: first, sessions: 1, resets: new Map<string, number>() }];
      let count = new Map<string, number>();
      let [target, humanAt] = ["claude", noon];
      for (const [index, step] of steps.entries()) {
        const { state, sessions, resets } = seen.at(-1)!;
        const at = noon + index;
        if (step.do === "usage") {
          // The attempt began up to two steps ago.
          const begun = seen.at(-1 - step.late) ?? seen[0]!;
          const counted = applyUsage(state, {
            ...answer,
            provider: step.provider,
            tokens: step.tokens,
            generation: begun.state.generation,
            bucket_generation: bucketOf(begun.state, step.provider).generation,
          });
          const isReset = begun.resets.get(step.provider) !== resets.get(step.provider);
          assert.equal(typeof counted === "string", begun.sessions !== sessions || isReset);
          if (typeof counted === "string") continue;
          seen.push({ state: counted, sessions, resets });
          const before = count.get(step.provider) ?? 0;
          count.set(step.provider, Math.max(0, before + step.tokens));
        } else if (step.do === "reset") {
          const { provider } = step;
          const times = new Map(resets).set(provider, (resets.get(provider) ?? 0) + 1);
          seen.push({ state: resetProvider(state, provider), sessions, resets: times });
          count.delete(provider);
        } else if (step.do === "switch") {
          seen.push({ state: syncTarget(state, { provider: step.provider }), sessions, resets });
          target = step.provider;
        } else if (step.do === "roll over") {
          const next = rollOver(state, { at, startSeq: index });
          seen.push({ state: next, sessions: sessions + 1, resets });
          count = new Map();
          humanAt = at;
        } else {
          seen.push({ state: humanActed(state, at), sessions, resets });
          humanAt = at;
        }
        const after = seen.at(-1)!;
        assert.equal(after.state.generation, after.sessions);
        assert.equal(after.state.provider, target);
        assert.equal(Date.parse(after.state.human_at), humanAt);
        for (const name of ["claude", "codex", "__proto__"]) {
          assert.equal(bucketOf(after.state, name).total_tokens, count.get(name) ?? 0, name);
        }
      }
    }),
    { numRuns: 100 },
  );
});
