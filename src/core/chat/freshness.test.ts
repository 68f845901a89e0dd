import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  ageNote,
  type FreshnessOptions,
  judge,
  resolveFreshness,
  type Verdict,
} from "./freshness.ts";
import {
  bucketOf,
  humanActed,
  newPeriod,
  type Period,
  resetProvider,
  withBucket,
} from "./period.ts";
import { stampOf } from "./stamp.ts";

const at = (stamp: string) => Date.parse(stamp);
const begun = newPeriod({
  generation: 1,
  at: at("2026-01-02T12:00Z"),
  startSeq: 0,
  provider: "claude",
  model: "opus",
});
/** A period that claude can resume, with so many messages. */
const resumable = withMessages(begun, "claude", 1);

function withMessages(state: Period, provider: string, count: number): Period {
  const bucket = bucketOf(state, provider);
  return withBucket(state, provider, { ...bucket, session_id: "s", message_count: count });
}

function verdictOf(
  state: Period | undefined,
  now: number | string,
  options: FreshnessOptions = {},
  more: { readonly provider?: string } = {},
): Verdict {
  const rules = resolveFreshness(options, () => "UTC");
  const ms = typeof now === "string" ? at(now) : now;
  return judge({ state, provider: "claude", now: ms, rules, ...more });
}

const noon = "2026-01-02T12:00Z";
/** With the daily reset. */
const daily = (timeZone = "UTC", hour = 4, quiet = 0): FreshnessOptions => {
  return { dailyReset: true, dailyResetHour: hour, timeZone, dailyResetQuietMinutes: quiet };
};
/** One that claude can resume, begun and last acted in at these instants. */
const since = (started: string, acted = started): Period => {
  return { ...resumable, started_at: stampOf(at(started)), human_at: stampOf(at(acted)) };
};
const full = withMessages(begun, "claude", 3);
const all = { maxSessionMessages: 3, idleTimeoutMinutes: 1, dailyReset: true };
const idle = { idleTimeoutMinutes: 30 };

const judged: readonly (readonly [
  state: Period | undefined,
  now: string,
  options: FreshnessOptions,
  reason: Verdict["reason"],
])[] = [
  // Without limits nothing ends, also after a year.
  [undefined, noon, {}, "no_session"],
  [undefined, "2027-01-02T12:00Z", {}, "no_session"],
  [begun, noon, {}, "no_provider_session"],
  [begun, "2027-01-02T12:00Z", {}, "no_provider_session"],
  [resumable, noon, {}, "still_valid"],
  [resumable, "2046-01-02T12:00Z", {}, "still_valid"],
  // Idleness, from 12:00 on.
  [resumable, "2026-01-02T12:29:59.999Z", idle, "still_valid"],
  [resumable, "2026-01-02T12:30:00.000Z", idle, "idle_timeout"],
  [resumable, "2026-01-02T11:55:00.000Z", idle, "still_valid"],
  // The daily reset.
  [since("2026-01-02T03:30Z"), "2026-01-02T04:01Z", daily(), "daily_reset"],
  [since("2026-01-02T04:00Z"), "2026-01-03T03:59:59.999Z", daily(), "still_valid"],
  [since("2026-01-02T04:00Z"), "2026-01-03T04:00Z", daily(), "daily_reset"],
  [since("2026-01-01T02:00Z"), "2026-01-02T01:00Z", daily(), "daily_reset"],
  [since("2026-01-02T03:30Z"), "2026-01-02T04:01Z", daily("Europe/Berlin"), "still_valid"],
  [since("2026-01-02T02:30Z"), "2026-01-02T03:00Z", daily("Europe/Berlin"), "daily_reset"],
  [since("2026-10-25T00:00Z"), "2026-10-25T01:30Z", daily("Europe/Berlin", 2), "still_valid"],
  // It asks when the period began, and may wait for quiet minutes since somebody last acted.
  [since("2026-01-01T12:00Z", noon), "2026-01-02T12:00:00.000Z", daily(), "daily_reset"],
  [
    since("2026-01-01T12:00Z", noon),
    "2026-01-02T12:14:59.999Z",
    daily("UTC", 4, 15),
    "still_valid",
  ],
  [
    since("2026-01-01T12:00Z", noon),
    "2026-01-02T12:15:00.000Z",
    daily("UTC", 4, 15),
    "daily_reset",
  ],
  // The first rule that fails names the reason: stamp, limit, idleness, day, missing id.
  [{ ...full, human_at: "?" }, "2026-02-02T12:00Z", all, "invalid_timestamp"],
  [full, "2026-02-02T12:00Z", all, "max_messages"],
  [begun, "2026-02-02T12:00Z", all, "idle_timeout"],
  [begun, "2026-02-02T12:00Z", { dailyReset: true }, "daily_reset"],
  [begun, "2026-02-02T12:00Z", {}, "no_provider_session"],
  // A last act that cannot be read ends the period (D6).
  [{ ...resumable, human_at: "yesterday" }, noon, {}, "invalid_timestamp"],
  [{ ...resumable, human_at: "2026-02-30T00:00:00Z" }, noon, {}, "invalid_timestamp"],
  [{ ...resumable, human_at: "" }, noon, {}, "invalid_timestamp"],
];
const ending: Partial<Record<Verdict["reason"], Verdict["ends"]>> = {
  max_messages: "provider",
  invalid_timestamp: "period",
  idle_timeout: "period",
  daily_reset: "period",
};
for (const [state, now, options, reason] of judged) {
  const { started_at = "none", human_at } = state ?? {};
  const rules = JSON.stringify(options);
  test(`a period from ${started_at}, last acted in at "${human_at}", is ${reason} at ${now} by ${rules}`, () => {
    const verdict = { reason, ends: ending[reason] ?? "nothing", clock: "certain", state };
    assert.deepEqual(verdictOf(state, now, options), verdict);
    const off = verdictOf(state, now, { ...options, dailyReset: false });
    assert.notEqual(off.reason, "daily_reset");
  });
}

test("a limit reached on claude ends claude's bucket and leaves codex's untouched (D10)", () => {
  const both = withMessages(full, "codex", 2);
  const options = { maxSessionMessages: 3 };
  const verdict = verdictOf(both, "2026-01-02T12:01Z", options);
  assert.deepEqual(verdict, {
    reason: "max_messages",
    ends: "provider",
    clock: "certain",
    state: both,
  });
  const codex = { provider: "codex" };
  assert.equal(verdictOf(both, "2026-01-02T12:01Z", options, codex).reason, "still_valid");
  const reset = resetProvider(both, "claude");
  assert.deepEqual(bucketOf(reset, "codex"), bucketOf(both, "codex"));
  assert.equal(verdictOf(reset, "2026-01-02T12:01Z", options).reason, "no_provider_session");
});

const ahead: readonly [ms: number, clock: Verdict["clock"]][] = [
  [1, "certain"],
  [300_000, "certain"],
  [300_001, "uncertain"],
];
for (const [ms, clock] of ahead) {
  test(`a last act ${ms} ms in the future is ${clock}`, () => {
    const now = at("2026-01-02T12:00Z") - ms;
    const verdict = verdictOf(resumable, now, { idleTimeoutMinutes: 1 });
    assert.equal(verdict.reason, "still_valid");
    assert.equal(verdict.clock, clock);
    const human_at = clock === "uncertain" ? stampOf(now) : resumable.human_at;
    assert.equal(verdict.state?.human_at, human_at);
  });
}

test("a last act in 2099 is clamped once; idleness and the daily reset work again (D6)", () => {
  const stamp = "2099-01-01T00:00:00.000Z";
  const broken = { ...resumable, started_at: stamp, human_at: stamp };
  const options = { idleTimeoutMinutes: 60, dailyReset: true };
  const verdict = verdictOf(broken, "2026-01-02T12:00Z", options);
  assert.deepEqual(verdict, {
    reason: "still_valid",
    ends: "nothing",
    clock: "uncertain",
    state: {
      ...broken,
      human_at: "2026-01-02T12:00:00.000Z",
      started_at: "2026-01-02T12:00:00.000Z",
    },
  });
  const state = verdict.state as Period;
  const again = verdictOf(state, "2026-01-02T12:01Z", options);
  assert.equal(again.clock, "certain");
  assert.equal(again.state, state);
  assert.equal(verdictOf(state, "2026-01-02T13:00Z", options).reason, "idle_timeout");
  const busy = humanActed(state, at("2026-01-03T04:00Z"));
  assert.equal(verdictOf(busy, "2026-01-03T04:01Z", options).reason, "daily_reset");
});

for (const started of ["?", "2099-01-01T00:00:00.000Z"]) {
  test(`a start "${started}" is put at the last act, for the daily reset to ask`, () => {
    const state = { ...resumable, started_at: started };
    const verdict = verdictOf(state, "2026-01-03T12:00Z", { dailyReset: true });
    assert.equal(verdict.reason, "daily_reset");
    assert.equal(verdict.clock, "uncertain");
    assert.equal(verdict.state?.started_at, "2026-01-02T12:00:00.000Z");
  });
}

test("a clock at 1970 ends nothing, and says that it is uncertain", () => {
  const verdict = verdictOf(resumable, 0, { idleTimeoutMinutes: 1, dailyReset: true });
  assert.equal(verdict.reason, "still_valid");
  assert.equal(verdict.clock, "uncertain");
});

for (const now of [Number.NaN, 8.64e15]) {
  test(`with a clock at ${now} no rule about time applies, and the limit still does`, () => {
    const options = { idleTimeoutMinutes: 1, dailyReset: true, maxSessionMessages: 3 };
    const verdict = verdictOf(resumable, now, options);
    assert.deepEqual([verdict.reason, verdict.clock], ["still_valid", "uncertain"]);
    assert.equal(verdict.state, resumable);
    assert.equal(verdictOf(full, now, options).reason, "max_messages");
  });
}

test("whatever the clock and the stamps, judging and correcting ends in a state that needs no more correction", () => {
  const stamp = fc.oneof(
    fc.integer({ min: 0, max: at("2100-01-01T00:00Z") }).map(stampOf),
    fc.constantFrom("", "?", "1970-01-01T00:00:00.000Z", "9999-12-31T23:59:59.999Z"),
  );
  const now = fc.integer({ min: -1, max: at("2100-01-01T00:00Z") });
  fc.assert(
    fc.property(stamp, stamp, now, (human_at, started_at, now) => {
      const state = { ...resumable, human_at, started_at };
      const options = { idleTimeoutMinutes: 60, dailyReset: true, timeZone: "Europe/Berlin" };
      const verdict = verdictOf(state, now, options);
      const again = verdictOf(verdict.state, now, options);
      assert.equal(again.state, verdict.state);
      assert.equal(again.reason, verdict.reason);
    }),
    { numRuns: 150 },
  );
});

const start = Date.UTC(2026, 0, 2);
const hourMs = 3_600_000;
const opened = newPeriod({ generation: 1, at: start, startSeq: 0, provider: "p", model: "m" });
const afterMessages = (message_count: number) =>
  withBucket(opened, "p", { ...bucketOf(opened, "p"), message_count });

const rows: readonly [warning: number, age: number, count: number, said: string | undefined][] = [
  [12, 12, 10, "12 hours"],
  [12, 12 - 1 / hourMs, 10, undefined],
  [12, 13, 11, undefined],
  [12, 13, 20, "13 hours"],
  [12, 48 - 1 / hourMs, 10, "47 hours"],
  [12, 48, 10, "2 days"],
  [0, 240, 10, undefined],
  [1, 1, 10, "1 hour"],
  [0.5, 0.5, 10, "less than an hour"],
  [12, -13, 10, undefined],
  [12, Number.NaN, 10, undefined],
];
for (const [warning, age, count, said] of rows) {
  test(`a period of ${age} h with ${count} messages, warning from ${warning} h: ${said ?? "nothing"} is said`, () => {
    const rules = resolveFreshness({ sessionAgeWarningHours: warning });
    const note = ageNote(afterMessages(count), "p", start + age * hourMs, rules);
    const wanted =
      said && `This session is ${said} old. A reset begins a new one and keeps this one readable.`;
    assert.equal(note, wanted);
  });
}

test("only the provider that answered is counted", () => {
  const now = start + 20 * hourMs;
  assert.equal(ageNote(afterMessages(10), "other", now, resolveFreshness()), undefined);
  assert.ok(ageNote(afterMessages(10), "p", now, resolveFreshness()));
});

const zones: readonly [configured: string, host: string, used: string][] = [
  ["", "", "UTC"],
  ["", "Asia/Tokyo", "Asia/Tokyo"],
  ["", "Etc/Unknown", "UTC"],
  ["", ":/etc/localtime", "UTC"],
  ["Europe/Berlin", "Asia/Tokyo", "Europe/Berlin"],
];
for (const [timeZone, host, used] of zones) {
  test(`zone "${timeZone}" configured on a host in "${host}" is ${used}`, () => {
    assert.equal(resolveFreshness({ timeZone }, () => host).timeZone, used);
  });
}

test("without options no rule ends a period", () => {
  assert.deepEqual(
    resolveFreshness({}, () => ""),
    {
      idleTimeoutMinutes: 0,
      dailyReset: false,
      dailyResetHour: 4,
      dailyResetQuietMinutes: 0,
      maxSessionMessages: null,
      timeZone: "UTC",
      sessionAgeWarningHours: 12,
      timeAwayMinutes: 30,
    },
  );
});
