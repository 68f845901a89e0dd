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

const noLimits: readonly [name: string, state: Period | undefined, Partial<Verdict>][] = [
  ["no session", undefined, { reason: "no_session", ends: "nothing" }],
  ["no id", begun, { reason: "no_provider_session", ends: "nothing" }],
  ["an id", resumable, { reason: "still_valid", ends: "nothing" }],
];
for (const [name, state, wanted] of noLimits) {
  test(`with no limits, ${name} is ${wanted.reason}, also after a year`, () => {
    const verdict = { ...wanted, clock: "certain", state };
    assert.deepEqual(verdictOf(state, "2026-01-02T12:00Z"), verdict);
    assert.deepEqual(verdictOf(state, "2027-01-02T12:00Z"), verdict);
  });
}

const idle: readonly [minutes: number, now: string, reason: string][] = [
  [30, "2026-01-02T12:29:59.999Z", "still_valid"],
  [30, "2026-01-02T12:30:00.000Z", "idle_timeout"],
  [0, "2046-01-02T12:00:00.000Z", "still_valid"],
  [30, "2026-01-02T11:55:00.000Z", "still_valid"],
];
for (const [minutes, now, reason] of idle) {
  test(`${minutes} minutes idle from 12:00: at ${now} it is ${reason}`, () => {
    const verdict = verdictOf(resumable, now, { idleTimeoutMinutes: minutes });
    assert.equal(verdict.reason, reason);
    assert.equal(verdict.ends, reason === "idle_timeout" ? "period" : "nothing");
  });
}

test("a limit reached on claude ends claude's bucket and leaves codex's untouched (D10)", () => {
  const both = withMessages(withMessages(begun, "claude", 3), "codex", 2);
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

const daily: readonly [started: string, now: string, zone: string, hour: number, string][] = [
  ["2026-01-02T03:30Z", "2026-01-02T04:01Z", "UTC", 4, "daily_reset"],
  ["2026-01-02T04:00Z", "2026-01-03T03:59:59.999Z", "UTC", 4, "still_valid"],
  ["2026-01-02T04:00Z", "2026-01-03T04:00Z", "UTC", 4, "daily_reset"],
  ["2026-01-01T02:00Z", "2026-01-02T01:00Z", "UTC", 4, "daily_reset"],
  ["2026-01-02T03:30Z", "2026-01-02T04:01Z", "Europe/Berlin", 4, "still_valid"],
  ["2026-01-02T02:30Z", "2026-01-02T03:00Z", "Europe/Berlin", 4, "daily_reset"],
  ["2026-10-25T00:00Z", "2026-10-25T01:30Z", "Europe/Berlin", 2, "still_valid"],
];
for (const [started, now, zone, hour, reason] of daily) {
  test(`begun ${started}, daily reset at ${hour}:00 in ${zone}: at ${now} it is ${reason}`, () => {
    const state = {
      ...resumable,
      started_at: stampOf(at(started)),
      human_at: stampOf(at(started)),
    };
    const options = { dailyReset: true, dailyResetHour: hour, timeZone: zone };
    const verdict = verdictOf(state, now, options);
    assert.equal(verdict.reason, reason);
    assert.equal(verdict.ends, reason === "daily_reset" ? "period" : "nothing");
    const off = { ...options, dailyReset: false };
    assert.equal(verdictOf(state, now, off).reason, "still_valid", "and with it off it is valid");
  });
}

test("the daily reset asks when the period started, not when somebody last acted", () => {
  const acted = humanActed(
    { ...resumable, started_at: "2026-01-01T12:00:00.000Z" },
    at("2026-01-02T12:00Z"),
  );
  assert.equal(verdictOf(acted, "2026-01-02T12:01Z", { dailyReset: true }).reason, "daily_reset");
});

const quiet: readonly [minutes: number, now: string, reason: string][] = [
  [0, "2026-01-02T12:00:00.000Z", "daily_reset"],
  [15, "2026-01-02T12:14:59.999Z", "still_valid"],
  [15, "2026-01-02T12:15:00.000Z", "daily_reset"],
];
for (const [minutes, now, reason] of quiet) {
  test(`an act at 12:00, a reset due that waits for ${minutes} quiet minutes: at ${now} it is ${reason}`, () => {
    const state = { ...resumable, started_at: "2026-01-01T12:00:00.000Z" };
    const options = { dailyReset: true, dailyResetQuietMinutes: minutes };
    assert.equal(verdictOf(state, now, options).reason, reason);
  });
}

test("the first rule that fails names the reason: stamp, limit, idleness, day, missing id", () => {
  const options = { maxSessionMessages: 3, idleTimeoutMinutes: 1, dailyReset: true };
  const now = "2026-02-02T12:00Z";
  const full = withMessages(begun, "claude", 3);
  const reason = (state: Period, options: FreshnessOptions) =>
    verdictOf(state, now, options).reason;
  assert.equal(reason({ ...full, human_at: "?" }, options), "invalid_timestamp");
  assert.equal(reason(full, options), "max_messages");
  assert.equal(reason(begun, options), "idle_timeout");
  assert.equal(reason(begun, { dailyReset: true }), "daily_reset");
  assert.equal(reason(begun, {}), "no_provider_session");
});

for (const stamp of ["yesterday", "2026-02-30T00:00:00Z", ""]) {
  test(`a last act stamped "${stamp}" ends the period (D6)`, () => {
    const state = { ...resumable, human_at: stamp };
    assert.deepEqual(verdictOf(state, "2026-01-02T12:00Z"), {
      reason: "invalid_timestamp",
      ends: "period",
      clock: "certain",
      state,
    });
  });
}

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
    const full = withMessages(begun, "claude", 3);
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
