// The test suite of the original session manager, told again with our rules: what it promised its
// users still holds.

import assert from "node:assert/strict";
import { test } from "node:test";
import { type FreshnessOptions, judge, resolveFreshness } from "./freshness.ts";
import { fromDuctor } from "./legacy.ts";
import {
  applyUsage,
  bucketOf,
  isNew,
  newPeriod,
  type Period,
  resetProvider,
  rollOver,
  syncTarget,
  type UsageDelta,
} from "./period.ts";

const at = (stamp: string) => Date.parse(stamp);

/** What a resolve does with a verdict: nothing, a rollover, or the reset of one bucket. */
function resolve(
  before: Period | undefined,
  now: string,
  options: FreshnessOptions = {},
  target: { readonly provider?: string; readonly model?: string } = {},
): { readonly state: Period; readonly isNew: boolean } {
  const provider = target.provider ?? before?.provider ?? "claude";
  const model = target.model ?? before?.model ?? "opus";
  const next = { at: at(now), startSeq: 0 };
  const rules = resolveFreshness({ timeZone: "UTC", ...options });
  const verdict = judge({ state: before, provider, now: at(now), rules });
  if (before === undefined) {
    return { state: newPeriod({ ...next, generation: 1, provider, model }), isNew: true };
  }
  let state = syncTarget(verdict.state ?? before, { provider, model });
  if (verdict.ends === "period") state = rollOver(state, next);
  if (verdict.ends === "provider") state = resetProvider(state, provider);
  assert.equal(verdict.reason === "still_valid", !isNew(state, provider));
  return { state, isNew: isNew(state, provider) };
}

function update(state: Period, usage: Partial<UsageDelta> = {}, snapshot = state) {
  const provider = usage.provider ?? snapshot.provider;
  const outcome = applyUsage(state, {
    turn: "t",
    provider,
    model: snapshot.model,
    messages: 1,
    cost_usd: 0,
    tokens: 0,
    outcome: "answered",
    generation: snapshot.generation,
    bucket_generation: bucketOf(snapshot, provider).generation,
    ...usage,
  });
  assert.ok("state" in outcome);
  return outcome.state;
}

/** A period begun and updated at an instant, with the id "first". */
function begunAt(stamp: string): Period {
  return update(resolve(undefined, stamp).state, { session_id: "first" });
}

function metrics(state: Period, provider: string) {
  const bucket = bucketOf(state, provider);
  return [bucket.message_count, bucket.total_cost_usd, bucket.total_tokens];
}

const daily = { dailyReset: true, dailyResetHour: 4 };
const times: readonly [begun: string, now: string, options: FreshnessOptions, isNew: boolean][] = [
  ["2026-01-02T12:00Z", "2026-01-02T12:29Z", { idleTimeoutMinutes: 30 }, false],
  ["2026-01-02T12:00Z", "2026-01-02T12:31Z", { idleTimeoutMinutes: 30 }, true],
  ["2026-01-02T03:30Z", "2026-01-02T04:01Z", daily, true],
  ["2026-01-01T02:00Z", "2026-01-02T01:00Z", daily, true],
  ["2026-01-01T06:00Z", "2026-01-02T01:00Z", daily, false],
  ["2026-01-02T03:30Z", "2026-01-02T04:01Z", { ...daily, dailyReset: false }, false],
  ["2026-01-01T02:00Z", "2026-01-02T01:00Z", { ...daily, dailyReset: false }, false],
];
for (const [begun, now, options, fresh] of times) {
  test(`with ${JSON.stringify(options)}, from ${begun} to ${now}: ${fresh ? "a new period" : "the same id"}`, () => {
    const { state, isNew } = resolve(begunAt(begun), now, options);
    assert.equal(isNew, fresh);
    assert.equal(bucketOf(state, "claude").session_id, fresh ? "" : "first");
    assert.equal(state.generation, fresh ? 2 : 1);
  });
}

test("resolved twice without an id, it is new both times and the same period", () => {
  const once = resolve(undefined, "2026-01-02T12:00Z");
  const twice = resolve(once.state, "2026-01-02T12:00Z");
  assert.deepEqual([once.isNew, twice.isNew], [true, true]);
  assert.equal(twice.state, once.state);
});

const limits: readonly [limit: number | null, messages: number, isNew: boolean][] = [
  [3, 3, true],
  [5, 4, false],
  [null, 101, false],
];
for (const [limit, messages, fresh] of limits) {
  test(`limit ${limit} after ${messages} messages: ${fresh ? "new" : "the same id"}`, () => {
    let state = begunAt("2026-01-02T12:00Z");
    for (let more = 1; more < messages; more++) state = update(state);
    const options = { maxSessionMessages: limit };
    const resolved = resolve(state, "2026-01-02T12:01Z", options);
    assert.equal(resolved.isNew, fresh);
    assert.equal(bucketOf(resolved.state, "claude").message_count, fresh ? 0 : messages);
  });
}

test("one update and ten at once, of 0.01 and 10 tokens, are 11 messages, 0.10 and 100", () => {
  const first = begunAt("2026-01-02T12:00Z");
  let state = first;
  for (let turn = 0; turn < 10; turn++) {
    state = update(state, { cost_usd: 0.01, tokens: 10 }, first);
  }
  assert.deepEqual(metrics(state, "claude"), [11, 0.1, 100]);
});

test("claude (1, 0.2, 400) and codex (1, 0.1, 50) are kept apart through switches, and switching back resumes", () => {
  const now = "2026-01-02T12:00Z";
  const start = resolve(undefined, now).state;
  const claude = update(start, { session_id: "c1", cost_usd: 0.2, tokens: 400 });
  const away = resolve(claude, now, {}, { provider: "codex", model: "o9" });
  assert.equal(away.isNew, true);
  const codex = update(away.state, { session_id: "x1", cost_usd: 0.1, tokens: 50 });
  const back = resolve(codex, now, {}, { provider: "claude", model: "opus" });
  assert.equal(back.isNew, false);
  assert.equal(bucketOf(back.state, back.state.provider).session_id, "c1");
  assert.deepEqual(metrics(back.state, "claude"), [1, 0.2, 400]);
  assert.deepEqual(metrics(back.state, "codex"), [1, 0.1, 50]);
});

test("another model of the same provider is not new", () => {
  const state = begunAt("2026-01-02T12:00Z");
  const { state: changed, isNew } = resolve(state, "2026-01-02T12:00Z", {}, { model: "sonnet" });
  assert.deepEqual([isNew, changed.model], [false, "sonnet"]);
});

test("two stale snapshots, one after the other, are 3 messages, 0.03 and 30", () => {
  const usage = { cost_usd: 0.01, tokens: 10 };
  const snapshot = update(resolve(undefined, "2026-01-02T12:00Z").state, usage);
  const state = update(update(snapshot, usage, snapshot), usage, snapshot);
  assert.deepEqual(metrics(state, "claude"), [3, 0.03, 30]);
});

test("a legacy flat entry without model and stamps is not new, keeps its id, and gets a model", () => {
  const entry = { chat_id: 42, provider: "claude", session_id: "old", message_count: 4 };
  const imported = fromDuctor(entry, "42", at("2026-01-02T12:00Z"));
  assert.ok(imported.state);
  const { state, isNew } = resolve(imported.state, "2026-01-02T12:00Z", { idleTimeoutMinutes: 30 });
  assert.equal(isNew, false);
  assert.equal(bucketOf(state, "claude").session_id, "old");
  assert.equal(state.model, "opus");
  const stale = resolve(state, "2026-01-02T12:30Z", { idleTimeoutMinutes: 30 });
  assert.equal(stale.isNew, true, "its assumed last act ages from the import");
});

test("a rolled period keeps the chosen model, and is not rolled again at the next turn (U4)", () => {
  const chosen = syncTarget(begunAt("2026-01-02T03:30Z"), { provider: "codex", model: "o9" });
  const rolled = resolve(chosen, "2026-01-02T04:01Z", daily);
  assert.deepEqual([rolled.state.provider, rolled.state.model], ["codex", "o9"]);
  const answered = update(rolled.state, { session_id: "x2" });
  assert.equal(resolve(answered, "2026-01-02T04:02Z", daily).state.generation, 2);
});
