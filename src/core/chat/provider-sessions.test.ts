import assert from "node:assert/strict";
import { test } from "node:test";
import { HeldClock } from "../../../test/support/held-clock.ts";
import { silentLogger } from "../logger.ts";
import { openThroughline, type ThroughlineOptions } from "../throughline.ts";
import { startFor } from "./chat-head.ts";
import type { UsageDelta } from "./period.ts";

const chat = "telegram:42";
const minute = 60_000;

async function companion(options: Partial<ThroughlineOptions> = {}) {
  const clock = new HeldClock();
  const reasons: unknown[] = [];
  const debug = (fields: object) => void reasons.push((fields as { reason?: unknown }).reason);
  const logger = { ...silentLogger, debug };
  const target = { provider: "claude", model: "opus" };
  const given = { storage: "memory", clock, logger, ...target, ...options } as const;
  const throughline = await openThroughline(given);
  return { ...throughline, clock, reasons };
}

const delta = (more: Partial<UsageDelta> = {}): UsageDelta => ({
  turn: "t",
  provider: "claude",
  model: "opus",
  messages: 1,
  cost_usd: 0.01,
  tokens: 10,
  outcome: "answered",
  generation: 1,
  bucket_generation: 1,
  ...more,
});

test("the day of a chat begins in its own zone, before the configured one", async () => {
  const freshness = { dailyReset: true, dailyResetHour: 4, timeZone: "UTC" };
  const { sessions, chats, clock } = await companion({ freshness });
  const zones = ["", "Europe/Berlin", "Pacific/Auckland"];
  clock.set("2026-01-02T03:30Z");
  for (const zone of zones) {
    await sessions.resolve(`a:${zone}`);
    if (zone !== "") await chats.setMetadata(`a:${zone}`, { user_timezone: zone });
  }
  clock.set("2026-01-02T04:01Z"); // 05:01 in Berlin, 17:01 in Auckland
  const ended = zones.map(async (zone) => (await sessions.resolve(`a:${zone}`)).ended);
  assert.deepEqual(await Promise.all(ended), ["period", "nothing", "nothing"]);
  clock.set("2026-01-02T15:01Z"); // 04:01 of the next day in Auckland
  const later = zones.map(async (zone) => (await sessions.resolve(`a:${zone}`)).reason);
  const still = "no_provider_session";
  assert.deepEqual(await Promise.all(later), [still, still, "daily_reset"]);
});

test("an imported zone that is none counts as absent", async () => {
  const freshness = { dailyReset: true, dailyResetHour: 4, timeZone: "Europe/Berlin" };
  const { sessions, chats, clock } = await companion({ freshness });
  clock.set("2026-01-02T02:30Z");
  await sessions.resolve(chat);
  await chats.changeExisting(chat, (transaction) => {
    transaction.control("metadata", { metadata: { user_timezone: "Nowhere/Land" } });
    transaction.set({ metadata: { user_timezone: "Nowhere/Land" } });
  });
  clock.set("2026-01-02T03:00Z");
  assert.equal((await sessions.resolve(chat)).reason, "daily_reset");
});

test("a reset begins a new generation with empty buckets, and the old period stays readable", async () => {
  const { sessions, chats } = await companion();
  await sessions.resolve(chat);
  await sessions.update(chat, delta({ session_id: "s1" }));
  const reset = await sessions.reset(chat, { provider: "codex", model: "gpt" });
  assert.equal(reset.generation, 2);
  assert.deepEqual(reset.provider_sessions, {});
  const records = await Array.fromAsync(chats.records(chat));
  assert.match(JSON.stringify(records.at(-1)), /"event":"reset".*"session_id":"s1"/);
});

test("a chat that had no period begins again behind what was said: for all providers, or for one", async () => {
  for (const [begin, behind] of [
    ["reset", ["claude", "codex"]],
    ["resetProvider", ["claude"]],
  ] as const) {
    const { sessions, chats } = await companion();
    const [said] = await chats.append(chat, [{ role: "user", content: "my PIN is 4711" }]);
    await (begin === "reset"
      ? sessions.reset(chat)
      : sessions.resetProvider(chat, "claude", { isNext: true }));
    const { head } = await chats.existing(chat);
    const gets = (provider: string) => (said?.seq ?? 0) > startFor(head, provider);
    const without = ["claude", "codex"].filter((provider) => !gets(provider));
    assert.deepEqual(without, behind, begin);
  }
});

test("what is no delta is refused, also where no period is left, and stored nowhere", async () => {
  const { chats, sessions } = await companion();
  await chats.append(chat, [{ role: "user", content: "Hello" }]);
  const { seq } = await chats.existing(chat);
  for (const wrong of [
    {},
    { ...delta(), tokens: 0.5 },
    { ...delta(), outcome: "sold" },
    { ...delta(), provider: "" },
    { ...delta(), cost_usd: 1_000_001 },
  ]) {
    await assert.rejects(sessions.update(chat, wrong as UsageDelta), {
      code: "THROUGHLINE_INVALID",
    });
  }
  assert.equal((await chats.existing(chat)).seq, seq);
  await assert.rejects(sessions.update("nobody", delta()), { code: "THROUGHLINE_NOT_FOUND" });
});

test("an update is counted once under its id, which is refused for another one, and not at all once its period ended", async () => {
  const { sessions } = await companion();
  await sessions.resolve(chat);
  const first = { ...delta({ session_id: "s1" }), id: "d1" };
  const refused = { code: "THROUGHLINE_ID_CONFLICT" };
  for (let i = 0; i < 2; i++) assert.equal(await sessions.update(chat, first), true);
  await assert.rejects(sessions.update(chat, { ...first, tokens: 11 }), refused);
  assert.equal((await sessions.active(chat))?.total_tokens, 10);
  await sessions.reset(chat);
  const late = { ...delta(), id: "d2" };
  for (let i = 0; i < 2; i++) assert.equal(await sessions.update(chat, late), false);
});

for (const [what, freshness, minutes, generation] of [
  ["30 idle minutes after 31", { idleTimeoutMinutes: 30 }, 31, 2],
  ["30 idle minutes after 29", { idleTimeoutMinutes: 30 }, 29, 1],
  ["a daily reset at 13:00 UTC", { dailyReset: true, dailyResetHour: 13, timeZone: "UTC" }, 61, 2],
  ["a limit of one message", { maxSessionMessages: 1 }, 0, 1],
] as const) {
  test(`with ${what}, what begins is new, keeps the chosen model, and does not begin again`, async () => {
    const { sessions, clock, reasons } = await companion({ freshness });
    await sessions.resolve(chat, { provider: "codex", model: "o9" });
    await sessions.update(chat, delta({ provider: "codex", session_id: "x1" }));
    clock.pass(minutes * minute);
    const resolutions = [await sessions.resolve(chat), await sessions.resolve(chat)];
    const said = ["no_session", ...resolutions.map(({ reason }) => reason)];
    assert.deepEqual(reasons, said, "each decision is logged at debug");
    for (const { isNew, period } of resolutions) {
      assert.equal(isNew, minutes !== 29);
      const expected = {
        generation,
        provider: "codex",
        model: "o9",
        session_id: isNew ? "" : "x1",
      };
      assert.partialDeepStrictEqual(period, expected);
    }
  });
}

test("a person's act moves the clock of the period, and never back; its start stays", async () => {
  const { sessions, clock } = await companion();
  const { period } = await sessions.resolve(chat);
  for (const [at, last] of [
    ["2026-03-01T12:00:00.001Z", "2026-03-01T12:00:00.001Z"],
    ["2026-03-01T11:00:00.000Z", "2026-03-01T12:00:00.001Z"],
  ] as const) {
    clock.set(at);
    const { created_at, last_active } = await sessions.resetProvider(chat, "claude");
    assert.deepEqual([created_at, last_active], [period.created_at, last]);
  }
});

for (const provider of ["__proto__", "constructor"]) {
  test(`a provider named ${provider} has a part of its own, and no prototype changes`, async () => {
    const { sessions } = await companion();
    assert.equal((await sessions.resolve(chat, { provider })).isNew, true);
    for (const session_id of ["s1", "s2"])
      await sessions.update(chat, delta({ provider, session_id }));
    const { period, isNew } = await sessions.resolve(chat);
    assert.deepEqual([isNew, period.message_count, period.session_id], [false, 2, "s2"]);
    assert.ok(Object.hasOwn(JSON.parse(JSON.stringify(period.provider_sessions)), provider));
    assert.deepEqual((await sessions.resetProvider(chat, provider)).provider_sessions, {});
    assert.equal(Object.hasOwn(Object.prototype, "session_id"), false);
  });
}

for (const [target, code] of [
  [{ provider: "" }, "THROUGHLINE_INVALID"],
  [{ provider: "a\0b" }, "THROUGHLINE_INVALID"],
  [{ provider: "claude", model: "\ud800" }, "THROUGHLINE_INVALID"],
  [{ provider: "p".repeat(257) }, "THROUGHLINE_TOO_LARGE"],
  [{ provider: "p".repeat(256) }, undefined],
  [{ model: "sonnet" }, undefined],
] as const) {
  test(`a target ${JSON.stringify(target).slice(0, 40)} is ${code ?? "taken, and nothing else changes"}`, async () => {
    const { sessions, clock } = await companion({ freshness: { idleTimeoutMinutes: 1 } });
    assert.equal(await sessions.active(chat), undefined);
    const { period } = await sessions.resolve(chat);
    clock.pass(minute);
    const synced = sessions.syncTarget(chat, target);
    if (code !== undefined) await assert.rejects(synced, { code });
    else assert.deepEqual(await synced, { ...period, ...target });
    const active = code === undefined ? await synced : period;
    assert.deepEqual(await sessions.active(chat), active, "it is not judged");
  });
}

test("usage in the background keeps no period alive", async () => {
  const { sessions, clock } = await companion({ freshness: { idleTimeoutMinutes: 60 } });
  await sessions.resolve(chat);
  for (let i = 0; i < 24; i++) {
    clock.pass(10 * minute);
    await sessions.update(chat, delta({ session_id: "c1" }));
  }
  assert.equal((await sessions.resolve(chat)).reason, "idle_timeout");
});
