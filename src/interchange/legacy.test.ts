import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { judge, resolveFreshness } from "../core/chat/freshness.ts";
import {
  bucketOf,
  humanActed,
  type Period,
  resetProvider,
  rollOver,
  syncTarget,
} from "../core/chat/period.ts";
import { checkJson, type JsonObject } from "../core/json.ts";
import { fromDuctor, type Imported, toDuctor } from "./legacy.ts";

const now = Date.UTC(2026, 2, 1, 12);
const whole = {
  chat_id: 42,
  provider: "codex",
  model: "o9",
  created_at: "2026-01-02T03:04:05.678+00:00",
  last_active: "2026-01-03T03:04:05.678+00:00",
  provider_sessions: {
    claude: { session_id: "c1", message_count: 3, total_cost_usd: 0.25, total_tokens: 400 },
    codex: { session_id: "x1", message_count: 1, total_cost_usd: 0.1, total_tokens: 50 },
  },
};

function read(entry: unknown, key = "42", zone?: string) {
  const imported = fromDuctor(entry, key, now, zone);
  assert.ok(imported.state);
  return { ...imported, state: imported.state };
}

/** The bucket that a turn would run on: id, messages, dollars, tokens. */
function current(state: Period) {
  const bucket = bucketOf(state, state.provider);
  return [bucket.session_id, bucket.message_count, bucket.total_cost_usd, bucket.total_tokens];
}

test("a whole entry is read without a remark", () => {
  const { chatId, state, unknown, notes } = read(whole);
  assert.equal(chatId, "telegram:42");
  assert.deepEqual(notes, []);
  assert.deepEqual(unknown, {});
  assert.deepEqual(state, {
    generation: 1,
    start_seq: 0,
    started_at: "2026-01-02T03:04:05.678Z",
    human_at: "2026-01-03T03:04:05.678Z",
    provider: "codex",
    model: "o9",
    provider_sessions: {
      claude: { ...whole.provider_sessions.claude, generation: 1 },
      codex: { ...whole.provider_sessions.codex, generation: 1 },
    },
  });
});

const keys: readonly [key: string, chatId: string][] = [
  ["42", "telegram:42"],
  ["-1001234567890", "telegram:-1001234567890"],
  ["0", "telegram:0"],
  ["042", "042"],
  ["-0", "-0"],
  ["4.2", "4.2"],
  ["telegram:42", "telegram:42"],
  ["matrix:!room", "matrix:!room"],
  ["__proto__", "__proto__"],
];
for (const [key, chatId] of keys) {
  test(`the entry at ${key} is the chat ${chatId}`, () => {
    assert.equal(fromDuctor({}, key, now).chatId, chatId);
  });
}

const flat = { session_id: "old", message_count: 4, total_cost_usd: 0.5, total_tokens: 70 };
const flatCases: readonly [name: string, entry: object, provider: string, bucket: unknown[]][] = [
  ["absent", { provider: "codex", ...flat }, "codex", ["old", 4, 0.5, 70]],
  ["null", { ...flat, provider_sessions: null }, "claude", ["old", 4, 0.5, 70]],
  ["empty", { ...flat, provider_sessions: {} }, "claude", ["old", 4, 0.5, 70]],
  ["a text", { ...flat, provider_sessions: "x" }, "claude", ["old", 4, 0.5, 70]],
  [
    "without a real bucket",
    { ...flat, provider_sessions: { claude: 5 } },
    "claude",
    ["old", 4, 0.5, 70],
  ],
  [
    "real",
    { ...flat, provider_sessions: { claude: { session_id: "c" } } },
    "claude",
    ["c", 0, 0, 0],
  ],
  ["another provider's", { ...flat, provider_sessions: { x: {} } }, "claude", ["", 0, 0, 0]],
];
for (const [name, entry, provider, bucket] of flatCases) {
  test(`flat fields beside provider_sessions that are ${name} read ${JSON.stringify(bucket)}`, () => {
    const { state } = read(entry);
    assert.equal(state.provider, provider);
    assert.deepEqual(current(state), bucket);
  });
}

test("flat fields that lose against a real bucket are kept aside and written back", () => {
  const entry = { ...whole, ...flat };
  const { chatId, state, unknown } = read(entry);
  assert.deepEqual(unknown, flat);
  assert.deepEqual(toDuctor(chatId, state, unknown).entry, entry);
});

test("an entry without provider, model and stamps gets the original's, and the moment of the import", () => {
  const { state, notes } = read({});
  assert.deepEqual(state, {
    generation: 1,
    start_seq: 0,
    started_at: "2026-03-01T12:00:00.000Z",
    human_at: "2026-03-01T12:00:00.000Z",
    human_at_assumed: true,
    provider: "claude",
    model: "opus",
    provider_sessions: {},
  });
  assert.equal(notes.length, 4);
});

const human = "2026-01-03T03:04:05.678Z";
const imported = "2026-03-01T12:00:00.000Z";
type Stamps = readonly [created: unknown, last: unknown, startedAt: string, humanAt: string];
const stamps: readonly Stamps[] = [
  [undefined, human, human, human],
  [null, human, human, human],
  ["?", human, human, human],
  [human, null, human, imported],
  [human, "", human, imported],
  [human, "yesterday", human, "unreadable"],
  [human, 1_767_323_045, human, "unreadable"],
  [human, {}, human, "unreadable"],
  ["2026-01-03T03:04:05.678901+00:00", "2026-01-03T05:04:05.678999+02:00", human, human],
];
for (const [created_at, last_active, startedAt, humanAt] of stamps) {
  const given = JSON.stringify({ created_at, last_active });
  test(`the stamps ${given} are read as ${startedAt} and ${humanAt}`, () => {
    const { state } = read({ ...whole, created_at, last_active });
    assert.deepEqual([state.started_at, state.human_at], [startedAt, humanAt]);
    assert.equal(state.human_at_assumed, humanAt === imported ? true : undefined);
  });
}

test("an imported text that is no date ends the period at the first look (D6)", () => {
  const { state } = read({ ...whole, last_active: "yesterday" });
  const verdict = judge({ state, provider: "codex", now, rules: resolveFreshness() });
  assert.equal(verdict.reason, "invalid_timestamp");
});

const naive: readonly [stamp: string, zone: string, instant: string][] = [
  ["2026-01-02T03:04:05.678", "UTC", "2026-01-02T03:04:05.678Z"],
  ["2026-01-02T03:04:05", "Europe/Berlin", "2026-01-02T02:04:05.000Z"],
  ["2026-07-02 03:04:05", "Europe/Berlin", "2026-07-02T01:04:05.000Z"],
  ["2026-03-29T03:00:00", "Europe/Berlin", "2026-03-29T01:00:00.000Z"],
  ["2026-03-29T01:59:59", "Europe/Berlin", "2026-03-29T00:59:59.000Z"],
  ["2026-03-08T03:00:00", "America/New_York", "2026-03-08T07:00:00.000Z"],
  ["2026-01-02", "Asia/Kathmandu", "2026-01-01T18:15:00.000Z"],
];
for (const [stamp, zone, instant] of naive) {
  test(`${stamp} without a zone, in a home in ${zone}, is ${instant} and marked`, () => {
    const { state, notes } = read({ ...whole, last_active: stamp }, "42", zone);
    assert.equal(state.human_at, instant);
    assert.equal(state.tz_assumed, true);
    assert.deepEqual(notes, [`last_active has no zone: read in ${zone}`]);
  });
}

const numbers: readonly [given: unknown, count: number, cost: number][] = [
  [5, 5, 5],
  [-1, 0, 0],
  [-0, 0, 0],
  [Number.NaN, 0, 0],
  [Number.POSITIVE_INFINITY, 0, 0],
  [true, 0, 0],
  ["5", 0, 0],
  [null, 0, 0],
  [2.5, 0, 2.5],
  [1e300, 0, 0],
];
for (const [given, count, cost] of numbers) {
  const shown = typeof given === "string" ? `"${given}"` : Object.is(given, -0) ? "-0" : given;
  test(`a counter of ${shown} is read as ${count}, a cost of it as ${cost}, and told if not the same`, () => {
    const bucket = { message_count: given, total_cost_usd: given, total_tokens: given };
    const { state, notes } = read({ ...whole, provider_sessions: { codex: bucket } });
    assert.deepEqual(current(state), ["", count, cost, count]);
    const changed = [count, cost, count].filter((value) => value !== (given as number));
    assert.equal(notes.length, changed.length);
    assert.doesNotThrow(() => checkJson(state, "the state"));
  });
}

for (const entry of [null, undefined, [], 5, "text", true]) {
  test(`an entry that is ${JSON.stringify(entry)} is no period, and says so`, () => {
    const { state, notes } = fromDuctor(entry, "42", now);
    assert.equal(state, undefined);
    assert.equal(notes.length, 1);
  });
}

test("a bucket that is no object is skipped, reported and written back", () => {
  const provider_sessions = { ...whole.provider_sessions, broken: "text", gone: null };
  const { chatId, state, unknown, notes } = read({ ...whole, provider_sessions });
  assert.deepEqual(Object.keys(state.provider_sessions), ["claude", "codex"]);
  assert.deepEqual(notes, ["2 of 4 provider_sessions are not objects: skipped"]);
  assert.deepEqual(toDuctor(chatId, state, unknown).entry["provider_sessions"], provider_sessions);
});

test("an unknown key that cannot be stored is left out and told, and its neighbours stay", () => {
  const { unknown, notes } = read({ ...whole, far: 1e300 * 1e300, near: 1 });
  assert.deepEqual(unknown, { near: 1 });
  assert.equal(notes.length, 1);
});

for (const provider of ["", 5, null, "a\0b", "\ud800", "p".repeat(257)]) {
  test(`a provider ${JSON.stringify(provider).slice(0, 20)} of an entry becomes claude, and a rollover is possible`, () => {
    const { state } = read({ ...whole, provider });
    assert.equal(rollOver(state, { at: now, startSeq: 1 }).provider, "claude");
  });
}

test("a generation in an imported bucket is not ours: it is left out and told", () => {
  const provider_sessions = { codex: { session_id: "x1", generation: 9 } };
  const { state, notes } = read({ ...whole, provider_sessions });
  assert.equal(bucketOf(state, "codex").generation, 1);
  assert.equal(notes.length, 1);
});

test("a key of a bucket by the name of our count of unpriced tokens does not stop that count", () => {
  const provider_sessions = { codex: { session_id: "x1", unpriced_tokens: "many" } };
  const { state, notes } = read({ ...whole, provider_sessions });
  assert.equal(bucketOf(state, "codex").unpriced_tokens, undefined);
  assert.equal(notes.length, 1);
});

test("keys named as a prototype's are data like any other", () => {
  const text = `{"__proto__": {"polluted": 1}, "provider": "__proto__", "model": "m",
    "created_at": "2026-01-02T03:04:05.000+00:00", "last_active": "2026-01-02T03:04:05.000+00:00",
    "provider_sessions": {"__proto__": {"session_id": "p1", "message_count": 2,
      "total_cost_usd": 0, "total_tokens": 0}}, "chat_id": "constructor"}`;
  const { chatId, state, unknown } = read(JSON.parse(text), "constructor");
  assert.deepEqual(current(state), ["p1", 2, 0, 0]);
  assert.deepEqual(toDuctor(chatId, state, unknown).entry, JSON.parse(text));
  assert.equal(Object.hasOwn(Object.prototype, "polluted"), false);
});

test("fields that only a prototype has are not read", () => {
  assert.equal(read(Object.create({ provider: "codex" })).state.provider, "claude");
});

const ids: readonly [key: string, chat_id: unknown][] = [
  ["42", 42],
  ["42", "42"],
  ["42", 43],
  ["42", null],
  ["-7", -7],
  ["matrix:!room", "matrix:!room"],
  ["telegram:x", 5],
  ["99999999999999999999", "99999999999999999999"],
];
for (const [key, chat_id] of ids) {
  test(`a chat_id ${JSON.stringify(chat_id)} at the key "${key}" comes back as both were`, () => {
    const { chatId, state, unknown } = read({ ...whole, chat_id }, key);
    assert.deepEqual(toDuctor(chatId, state, unknown), { key, entry: { ...whole, chat_id } });
  });
}

test("a stamp that could not be read is written back, until a person acts", () => {
  const entry = { ...whole, created_at: 5, last_active: "yesterday" };
  const { chatId, state, unknown } = read(entry);
  const back = toDuctor(chatId, state, unknown).entry;
  assert.equal(back["last_active"], "yesterday");
  const acted = toDuctor(chatId, humanActed(state, now), unknown).entry;
  assert.equal(acted["last_active"], "2026-03-01T12:00:00.000+00:00");
});

test("what happened since is in the export; a reset bucket is gone from it", () => {
  const { chatId, state, unknown } = read(whole);
  const changed = syncTarget(resetProvider(state, "codex"), { provider: "codex", model: "o10" });
  const { entry } = toDuctor(chatId, changed, unknown);
  assert.deepEqual([entry["provider"], entry["model"]], ["codex", "o10"]);
  assert.deepEqual(entry["provider_sessions"], { claude: whole.provider_sessions.claude });
});

test("provider_sessions that were no object are written back while there is no bucket", () => {
  const { chatId, state, unknown } = read({ ...whole, provider_sessions: "text" });
  assert.equal(bucketOf(state, "codex").session_id, "");
  assert.equal(toDuctor(chatId, state, unknown).entry["provider_sessions"], "text");
});

const json = fc.jsonValue({ maxDepth: 2 });

test("any well-formed entry comes back from an import and an export as it was", () => {
  const scalar = fc.oneof(fc.string(), fc.integer(), fc.boolean(), fc.constant(null));
  const stored = fc.oneof(scalar, fc.array(scalar), fc.dictionary(fc.string(), scalar));
  const jsonObject = fc.dictionary(fc.string(), stored, { maxKeys: 5 });
  const name = fc.string({ minLength: 1 });
  const stamp = fc
    .date({ min: new Date(0), max: new Date("2100-01-01T00:00:00Z"), noInvalidDate: true })
    .map((date) => date.toISOString().replace("Z", "+00:00"));
  const bucket = fc
    .tuple(
      jsonObject,
      fc.record({
        session_id: fc.string(),
        message_count: fc.maxSafeNat(),
        total_cost_usd: fc.nat({ max: 10 ** 9 }).map((nanos) => nanos / 1e9),
        total_tokens: fc.maxSafeNat(),
      }),
    )
    .map(([{ generation: _, ...extra }, known]) => ({ ...extra, ...known }));
  const entry = fc
    .tuple(
      jsonObject,
      fc.record({
        chat_id: fc.maxSafeInteger().map((id) => id + 0),
        provider: name,
        model: name,
        created_at: stamp,
        last_active: stamp,
        provider_sessions: fc.dictionary(name, bucket, { maxKeys: 4 }),
      }),
    )
    .map(([extra, known]) => JSON.parse(JSON.stringify({ ...extra, ...known })));
  fc.assert(
    fc.property(entry.filter(hasNoFlatField), (entry: JsonObject) => {
      const { chatId, state, unknown } = read(entry, String(entry["chat_id"]));
      const back = toDuctor(chatId, state, unknown);
      assert.deepEqual(back, { key: String(entry["chat_id"]), entry });
    }),
    { numRuns: 300 },
  );
});

/** Without flat fields, which count as old ones when there is no bucket. */
function hasNoFlatField(entry: Readonly<Record<string, unknown>>): boolean {
  const flat = ["session_id", "message_count", "total_cost_usd", "total_tokens"];
  return !flat.some((name) => Object.hasOwn(entry, name));
}

test("no entry at all makes an import throw, and what it makes can be stored and judged (D5)", () => {
  const known = ["provider", "model", "created_at", "last_active", "session_id", "message_count"];
  const value = fc.oneof(
    json,
    fc.double(),
    fc.constantFrom("2026-01-02T03:04:05", "2099-01-01T00:00:00Z", "0000-01-01", "9999-12-31"),
  );
  const bucket = fc.oneof(
    value,
    fc.dictionary(fc.constantFrom("session_id", "total_tokens"), value),
  );
  const sessions = fc.dictionary(fc.string(), bucket);
  const entry = fc
    .tuple(fc.dictionary(fc.constantFrom(...known), value), fc.oneof(value, sessions))
    .map(([entry, provider_sessions]) => ({ ...entry, provider_sessions }));
  fc.assert(
    fc.property(fc.oneof(value, entry), fc.string(), (entry, key) => {
      const { chatId, state, unknown, notes }: Imported = fromDuctor(entry, key, now, "Asia/Tokyo");
      assert.ok(notes.every((note) => note.length < 120));
      if (state === undefined) return;
      checkJson(state, "the state");
      checkJson(toDuctor(chatId, state, unknown).entry, "the export");
      judge({ state, provider: state.provider, now, rules: resolveFreshness() });
    }),
    { numRuns: 500 },
  );
});
