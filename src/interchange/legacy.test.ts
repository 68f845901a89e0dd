import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { judge, resolveFreshness } from "../core/chat/freshness.ts";
import { bucketOf, type Period, resetProvider, syncTarget } from "../core/chat/period.ts";
import { isThroughlineError } from "../core/errors.ts";
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

const read = (entry: unknown, key = "42", zone?: string) => fromDuctor(entry, key, now, zone);

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
const old = ["old", 4, 0.5, 70];
const flatCases: readonly [name: string, beside: object, bucket: unknown[]][] = [
  ["absent", { provider: "codex" }, old],
  ["null", { provider_sessions: null }, old],
  ["empty", { provider_sessions: {} }, old],
  ["real", { provider_sessions: { claude: { session_id: "c" } } }, ["c", 0, 0, 0]],
  ["another provider's", { provider_sessions: { x: {} } }, ["", 0, 0, 0]],
];
for (const [name, beside, bucket] of flatCases) {
  test(`flat fields beside provider_sessions that are ${name} read ${JSON.stringify(bucket)}`, () => {
    const { state } = read({ ...flat, ...beside });
    assert.equal(state.provider, "provider" in beside ? "codex" : "claude");
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
  assert.deepEqual(notes, ["last_active is missing: assumed", "created_at is missing: assumed"]);
});

const human = "2026-01-03T03:04:05.678Z";
const imported = "2026-03-01T12:00:00.000Z";
type Stamps = readonly [created: unknown, last: unknown, startedAt: string, humanAt: string];
const stamps: readonly Stamps[] = [
  [undefined, human, human, human],
  [null, human, human, human],
  [human, null, human, imported],
  [human, "", human, imported],
  ["2026-01-03T03:04:05.678901+00:00", "2026-01-03T05:04:05.678999+02:00", human, human],
];
test("null is read as absence", () => {
  const parts = { claude: { session_id: null, message_count: 2, total_cost_usd: null } };
  const entry = { ...whole, provider: null, model: null, provider_sessions: parts };
  const { state } = read(entry);
  assert.deepEqual([state.provider, state.model], ["claude", "opus"]);
  const { session_id, message_count, total_cost_usd } = state.provider_sessions["claude"] ?? {};
  assert.deepEqual([session_id, message_count, total_cost_usd], ["", 2, 0]);
});

for (const [created_at, last_active, startedAt, humanAt] of stamps) {
  const given = JSON.stringify({ created_at, last_active });
  test(`the stamps ${given} are read as ${startedAt} and ${humanAt}`, () => {
    const { state } = read({ ...whole, created_at, last_active });
    assert.deepEqual([state.started_at, state.human_at], [startedAt, humanAt]);
    assert.equal(state.human_at_assumed, humanAt === imported ? true : undefined);
  });
}

const naive: readonly [stamp: string, zone: string, instant: string][] = [
  ["2026-01-02T03:04:05.678", "UTC", "2026-01-02T03:04:05.678Z"],
  ["2026-07-02 03:04:05", "Europe/Berlin", "2026-07-02T01:04:05.000Z"],
  ["2026-03-29T03:00:00", "Europe/Berlin", "2026-03-29T01:00:00.000Z"],
  ["2026-03-29T01:59:59", "Europe/Berlin", "2026-03-29T00:59:59.000Z"],
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

const bucket = (fields: object) => ({ ...whole, provider_sessions: { codex: fields } });
const wrong: readonly (readonly [what: string, entry: unknown, says: RegExp])[] = [
  ["null", null, /is not an object/],
  ["a list", [], /is not an object/],
  ["a text", "text", /is not an object/],
  ["with an empty provider", { ...whole, provider: "" }, /entry.provider is missing or/],
  ["with a model that is no text", { ...whole, model: 5 }, /entry.model is missing or/],
  ["with parts that are a text", { ...whole, provider_sessions: "x" }, /provider_sessions must be/],
  ["with a part that is null", { ...whole, provider_sessions: { x: null } }, /sessions.x must be/],
  ["with a negative count", bucket({ message_count: -1 }), /codex.message_count must be/],
  ["with a broken count", bucket({ total_tokens: 2.5 }), /codex.total_tokens must be whole/],
  ["with a cost that is text", bucket({ total_cost_usd: "5" }), /codex.total_cost_usd must be/],
  ["with a cost of 1e300", bucket({ total_cost_usd: 1e300 }), /codex.total_cost_usd must be/],
  ["last active at no date", { ...whole, last_active: "yesterday" }, /last_active is no date/],
  ["that began at a number", { ...whole, created_at: 5 }, /created_at is no date/],
];
for (const [what, entry, says] of wrong) {
  test(`an entry ${what} is refused, and the reason names the place (D5, D6)`, () => {
    const refused = { code: "THROUGHLINE_INVALID", message: says };
    assert.throws(() => fromDuctor(entry, "42", now), refused);
  });
}

test("a generation in an imported bucket is not ours, and a count of unpriced tokens is", () => {
  const { state } = read(bucket({ session_id: "x1", generation: 9, unpriced_tokens: 7 }));
  const { generation, unpriced_tokens } = bucketOf(state, "codex");
  assert.deepEqual([generation, unpriced_tokens], [1, 7]);
});

test("keys named as a prototype's are data like any other, and those of a prototype are none", () => {
  const text = `{"__proto__": {"polluted": 1}, "provider": "__proto__", "model": "m",
    "created_at": "2026-01-02T03:04:05.000+00:00", "last_active": "2026-01-02T03:04:05.000+00:00",
    "provider_sessions": {"__proto__": {"session_id": "p1", "message_count": 2,
      "total_cost_usd": 0, "total_tokens": 0}}, "chat_id": "constructor"}`;
  const { chatId, state, unknown } = read(JSON.parse(text), "constructor");
  assert.deepEqual(current(state), ["p1", 2, 0, 0]);
  assert.deepEqual(toDuctor(chatId, state, unknown).entry, JSON.parse(text));
  assert.equal(Object.hasOwn(Object.prototype, "polluted"), false);
  assert.equal(read(Object.create({ provider: "codex" })).state.provider, "claude");
});

const ids: readonly [key: string, chat_id: unknown][] = [
  ["42", 42],
  ["42", "42"],
  ["42", 43],
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

test("what happened since is in the export; a reset bucket is gone from it", () => {
  const { chatId, state, unknown } = read(whole);
  const changed = syncTarget(resetProvider(state, "codex"), { provider: "codex", model: "o10" });
  const { entry } = toDuctor(chatId, changed, unknown);
  assert.deepEqual([entry["provider"], entry["model"]], ["codex", "o10"]);
  assert.deepEqual(entry["provider_sessions"], { claude: whole.provider_sessions.claude });
});

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
    { numRuns: 100 },
  );
});

/** Without flat fields, which count as old ones when there is no bucket. */
function hasNoFlatField(entry: Readonly<Record<string, unknown>>): boolean {
  const flat = ["session_id", "message_count", "total_cost_usd", "total_tokens"];
  return !flat.some((name) => Object.hasOwn(entry, name));
}

test("whatever stands for an entry is refused, or becomes what can be stored, judged and exported", () => {
  const names = ["provider", "model", "created_at", "last_active", "session_id", "message_count"];
  const value = fc.oneof(
    fc.jsonValue({ maxDepth: 2 }),
    fc.double(),
    fc.constantFrom("2026-01-02T03:04:05", "0000-01-01"),
  );
  const fields = fc.dictionary(fc.constantFrom("session_id", "x"), value);
  const sessions = fc.dictionary(fc.string(), fields);
  const entry = fc
    .tuple(fc.dictionary(fc.constantFrom(...names), value), fc.oneof(value, sessions))
    .map(([entry, provider_sessions]) => ({ ...entry, provider_sessions }));
  fc.assert(
    fc.property(fc.oneof(value, entry), fc.string(), (entry, key) => {
      let found: Imported;
      try {
        found = fromDuctor(entry, key, now, "Asia/Tokyo");
      } catch (error) {
        return assert.ok(isThroughlineError(error, "THROUGHLINE_INVALID"), String(error));
      }
      const { chatId, state, unknown } = found;
      checkJson(state, "the state");
      checkJson(toDuctor(chatId, state, unknown).entry, "the export");
      judge({ state, provider: state.provider, now, rules: resolveFreshness() });
    }),
    { numRuns: 150 },
  );
});
