import assert from "node:assert/strict";
import { test } from "node:test";
import { isThroughlineError } from "../errors.ts";
import { checkJson } from "../json.ts";
import {
  applyUsage,
  bucketOf,
  humanActed,
  isNew,
  newPeriod,
  openBuckets,
  type Period,
  resetProvider,
  rollOver,
  syncTarget,
  withBucket,
} from "./period.ts";

const noon = Date.UTC(2026, 0, 2, 12);
const minuteMs = 60_000;
const first = newPeriod({
  generation: 1,
  at: noon,
  startSeq: 7,
  provider: "claude",
  model: "opus",
});

/** The state after one answered message on a provider, with an id. */
function used(state: Period, provider: string, id = `${provider}-1`): Period {
  const outcome = applyUsage(state, {
    turn: "t",
    provider,
    model: "m",
    messages: 1,
    cost_usd: 0.5,
    tokens: 20,
    outcome: "answered",
    session_id: id,
    generation: state.generation,
    bucket_generation: bucketOf(state, provider).generation,
  });
  assert.ok("state" in outcome);
  return outcome.state;
}

test("a new period has no buckets, and its start is its first human act", () => {
  assert.deepEqual(first, {
    generation: 1,
    started_at: "2026-01-02T12:00:00.000Z",
    start_seq: 7,
    human_at: "2026-01-02T12:00:00.000Z",
    provider: "claude",
    model: "opus",
    provider_sessions: {},
  });
});

test("a state is JSON as it is", () => {
  assert.doesNotThrow(() => checkJson(used(first, "claude"), "the state"));
});

test("a bucket that is not there reads as an empty one, and is not created by reading", () => {
  assert.deepEqual(bucketOf(first, "codex"), {
    session_id: "",
    message_count: 0,
    total_cost_usd: 0,
    total_tokens: 0,
    generation: 1,
  });
  assert.equal(isNew(first, "codex"), true);
  assert.deepEqual(first.provider_sessions, {});
});

for (const name of ["__proto__", "constructor", "toString", "hasOwnProperty"]) {
  test(`a provider named ${name} has a bucket of its own, and no prototype changes`, () => {
    assert.equal(isNew(first, name), true);
    assert.equal(bucketOf(first, name).message_count, 0);
    const state = used(used(first, name), name);
    assert.equal(bucketOf(state, name).message_count, 2);
    assert.equal(bucketOf(JSON.parse(JSON.stringify(state)), name).session_id, `${name}-1`);
    assert.equal(Object.getPrototypeOf(state.provider_sessions), Object.prototype);
    assert.equal(Object.hasOwn(openBuckets(state), name), true);
    assert.equal(bucketOf(resetProvider(state, name), name).generation, 2);
    assert.equal(Object.hasOwn(Object.prototype, "session_id"), false);
  });
}

test("a rollover has its own start and no buckets, and keeps the chosen provider and model", () => {
  const imported = { ...used(first, "claude"), human_at_assumed: true, tz_assumed: true } as const;
  const next = rollOver(syncTarget(imported, { provider: "codex", model: "o9" }), {
    at: noon + minuteMs,
    startSeq: 40,
  });
  assert.deepEqual(next, {
    generation: 2,
    started_at: "2026-01-02T12:01:00.000Z",
    start_seq: 40,
    human_at: "2026-01-02T12:01:00.000Z",
    provider: "codex",
    model: "o9",
    provider_sessions: {},
  });
  assert.equal(bucketOf(imported, "claude").session_id, "claude-1", "the old one stays readable");
});

test("a reset of one provider leaves the others, the start and the person's clock alone", () => {
  const both = used(used(first, "claude"), "codex");
  assert.equal(bucketOf(both, "claude").session_id, "claude-1");
  const reset = resetProvider(syncTarget(both, { provider: "codex", model: "o9" }), "codex");
  assert.equal(isNew(reset, "codex"), true);
  assert.deepEqual(bucketOf(reset, "claude"), bucketOf(both, "claude"));
  assert.deepEqual([reset.provider, reset.model], ["codex", "o9"]);
  assert.equal(reset.generation, both.generation);
  assert.equal(reset.started_at, both.started_at);
  assert.equal(reset.human_at, both.human_at);
});

test("every reset of a provider counts, also of one without a bucket", () => {
  const twice = resetProvider(resetProvider(first, "claude"), "claude");
  assert.equal(bucketOf(twice, "claude").generation, 3);
  assert.deepEqual(openBuckets(twice), {}, "nothing of it is shown");
  assert.equal(bucketOf(used(twice, "claude"), "claude").generation, 3);
  assert.deepEqual(Object.keys(openBuckets(used(twice, "claude"))), ["claude"]);
  const onlyAnId = withBucket(twice, "claude", { ...bucketOf(twice, "claude"), session_id: "s" });
  assert.deepEqual(Object.keys(openBuckets(onlyAnId)), ["claude"]);
});

test("switching to what is the target already changes nothing at all", () => {
  assert.equal(syncTarget(first), first);
  assert.equal(syncTarget(first, { provider: "claude", model: "opus" }), first);
});

const acts: readonly [ms: number, stamp: string][] = [
  [1, "2026-01-02T12:00:00.001Z"],
  [0, "2026-01-02T12:00:00.000Z"],
  [-minuteMs, "2026-01-02T12:00:00.000Z"],
];
for (const [ms, stamp] of acts) {
  test(`an act ${ms} ms after the last one makes it ${stamp}: the person's clock never goes back`, () => {
    assert.equal(humanActed(first, noon + ms).human_at, stamp);
  });
}

test("an act makes a stamp that was assumed or unreadable a known one", () => {
  const assumed: Period = { ...first, human_at_assumed: true };
  assert.deepEqual(humanActed(assumed, noon + 1), {
    ...first,
    human_at: "2026-01-02T12:00:00.001Z",
  });
  assert.equal(humanActed({ ...first, human_at: "unreadable" }, 0).human_at.slice(0, 4), "1970");
});

const refused: readonly [name: string, call: () => unknown][] = [
  ["a start that is no instant", () => newPeriod({ ...wanted, at: Number.NaN })],
  ["an act that is no instant", () => humanActed(first, Number.POSITIVE_INFINITY)],
  ["an empty provider", () => syncTarget(first, { provider: "" })],
  ["a provider with NUL", () => resetProvider(first, "a\0b")],
  ["a model of half a character", () => syncTarget(first, { provider: "claude", model: "\ud800" })],
  ["a rollover at no instant", () => rollOver(first, { at: 1e300, startSeq: 1 })],
];
const wanted = { generation: 1, at: noon, startSeq: 0, provider: "claude", model: "" };
for (const [name, call] of refused) {
  test(`${name} is refused as invalid`, () => {
    assert.throws(call, (error) => isThroughlineError(error, "THROUGHLINE_INVALID"));
  });
}

test("a provider's name of 256 bytes is accepted, one of 257 is too large", () => {
  assert.equal(syncTarget(first, { provider: "p".repeat(256) }).provider.length, 256);
  assert.throws(
    () => syncTarget(first, { provider: "p".repeat(257) }),
    (error) => isThroughlineError(error, "THROUGHLINE_TOO_LARGE"),
  );
});

test("no function changes the state that it is given", () => {
  const frozen = deepFreeze(used(used(first, "claude"), "codex"));
  rollOver(frozen, { at: noon, startSeq: 9 });
  resetProvider(frozen, "claude");
  syncTarget(frozen, { provider: "codex", model: "m" });
  humanActed(frozen, noon + 1);
  assert.notEqual(used(frozen, "claude"), frozen);
});

function deepFreeze<T>(value: T): T {
  if (typeof value === "object" && value !== null) Object.values(value).forEach(deepFreeze);
  return Object.freeze(value);
}
