import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { isThroughlineError } from "../core/errors.ts";
import { checkJson, type JsonObject } from "../core/json.ts";
import { prepareDocument } from "../core/storage/batch.ts";
import {
  companionDocument,
  companionLimits,
  type DocumentParts,
  readCompanionDocument,
} from "./companion-document.ts";

/** The file of the seed, word for word. */
const original = {
  version: 1,
  heartbeat: 1708300000.0,
  shutdown_clean: true,
  session_start: 1708290000.0,
  session_id: "a1b2c3d4",
  uptime_seconds: 10000.0,
  total_sessions: 42,
  emotions: {
    levels: { joy: 0.35, sadness: 0.0, anger: 0.0, fear: 0.0, disgust: 0.0 },
    boredom: 0.12,
    current_mood: "happy",
    wounds: [
      {
        id: "e5f6g7h8",
        event: "harsh_criticism",
        floors: { sadness: 0.4 },
        duration: 300,
        heal_rate: 0.001,
        created_at: 1708299500.0,
        remaining_fixed_seconds: 120.0,
      },
    ],
  },
  conversation: [
    { role: "USER", text: "Tell me about space", timestamp: 1708299800.0 },
    { role: "ASSISTANT", text: "Oh, space is incredible!", timestamp: 1708299802.0 },
  ],
  sleep_state: "awake",
  last_person_seen: "Ori",
  last_person_seen_time: 1708299700.0,
};

const read = (value: unknown) => {
  const found = readCompanionDocument(value);
  assert.ok(found, "readable");
  return found;
};

test("the original's file is read whole, and nothing of it has to be repaired", () => {
  const { document, repaired } = read(original);
  assert.deepEqual(repaired, []);
  assert.deepEqual(document, {
    heartbeat: { at: 1708300000000 },
    shutdownClean: true,
    runStartedAt: 1708290000000,
    runId: "a1b2c3d4",
    uptimeMs: 10_000_000,
    totalRuns: 42,
    emotions: original.emotions,
    sleepState: "awake",
    conversation: [
      { role: "USER", text: "Tell me about space", at: 1708299800000 },
      { role: "ASSISTANT", text: "Oh, space is incredible!", at: 1708299802000 },
    ],
    person: { name: "Ori", seenAt: 1708299700000 },
    throughline: {},
    isOriginal: true,
    unknown: {},
  });
});

const parts: DocumentParts = {
  run: { runId: "0a1b2c3d", startedAt: { at: 1708290000001 }, totalRuns: 43 },
  heartbeat: { at: 1708300000123, bootId: "boot-a", uptimeMs: 5_000.5 },
  uptimeMs: 10_000_122,
  shutdownClean: false,
  emotions: original.emotions,
  conversation: read(original).document.conversation,
  sleepState: "asleep",
  person: { name: "Ori", seenAt: 1708299700000 },
  throughline: { mood_since: 5, heartbeat: "taken" },
  unknown: { color: "red", version: 9, _crc: "x" },
};

test("a document is written in the original's fields, instants in seconds with milliseconds", () => {
  const written = companionDocument(parts);
  assert.deepEqual(written, {
    version: 1,
    heartbeat: 1708300000.123,
    shutdown_clean: false,
    session_start: 1708290000.001,
    session_id: "0a1b2c3d",
    uptime_seconds: 10000.122,
    total_sessions: 43,
    emotions: original.emotions,
    conversation: original.conversation,
    sleep_state: "asleep",
    last_person_seen: "Ori",
    last_person_seen_time: 1708299700,
    throughline: {
      mood_since: 5,
      heartbeat: { seconds: 1708300000.123, boot_id: "boot-a", uptime_ms: 5_000.5 },
    },
    color: "red",
  });
  assert.deepEqual(Object.keys(written).slice(0, 12), Object.keys(original));
});

test("what was written reads back equal, with the boot and the uptime of its heartbeat", () => {
  const written = JSON.parse(JSON.stringify(companionDocument(parts)));
  const { document, repaired } = read(written);
  assert.deepEqual(repaired, []);
  assert.equal(document.isOriginal, false);
  assert.deepEqual(document.heartbeat, parts.heartbeat);
  assert.deepEqual([document.runId, document.totalRuns], ["0a1b2c3d", 43]);
  assert.deepEqual([document.runStartedAt, document.uptimeMs], [1708290000001, 10_000_122]);
  assert.deepEqual([document.sleepState, document.shutdownClean], ["asleep", false]);
  assert.deepEqual(document.conversation, parts.conversation);
  assert.deepEqual(document.person, parts.person);
  assert.deepEqual(document.unknown, { color: "red" });
});

test("a heartbeat that somebody else wrote since has no boot or uptime of ours", () => {
  const written = { ...companionDocument(parts), heartbeat: 1708300009.5 };
  assert.deepEqual(read(written).document.heartbeat, { at: 1708300009500 });
});

test("every instant of 2,000 comes back from its seconds to the millisecond", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 253_402_300_799_999 }), (at) => {
      const written = companionDocument({ ...parts, heartbeat: { at } });
      assert.equal(read(JSON.parse(JSON.stringify(written))).document.heartbeat?.at, at);
    }),
    { numRuns: 2_000 },
  );
});

test("of a conversation the last 50 messages are written, each within 10,000 characters", () => {
  const long = Array.from({ length: 60 }, (_, i) => ({
    role: "USER" as const,
    text: `${i}${"\u0000".repeat(20_000)}`,
    at: undefined,
  }));
  const written = companionDocument({ ...parts, conversation: long });
  const conversation = written["conversation"] as { text: string; timestamp: unknown }[];
  assert.equal(conversation.length, companionLimits.conversation);
  assert.match(conversation[0]?.text ?? "", /^10\0/);
  assert.equal(conversation[0]?.timestamp, null);
  prepareDocument("session", written); // what the store would refuse throws here
  assert.deepEqual(
    read(JSON.parse(JSON.stringify(written))).document.conversation[49]?.text.length,
    10_000,
  );
});

// R10.
for (const version of [2, 1.5, 3, 1e300]) {
  test(`version ${version} is refused as newer, by its number`, () => {
    const value = { ...original, version };
    assert.throws(
      () => readCompanionDocument(value),
      (error) => {
        assert.ok(isThroughlineError(error, "THROUGHLINE_NEWER_FORMAT"));
        assert.ok(error.message.includes(String(version)));
        return true;
      },
    );
  });
}

const unreadable: readonly (readonly [what: string, value: unknown])[] = [
  ...[undefined, null, 5, "x", true, [], [original], {}].map(
    (v) => [JSON.stringify(v), v] as const,
  ),
  ...[0, -1, 0.5, "1", null, true, [1], {}, Number.NaN, Number.POSITIVE_INFINITY].map(
    (version) =>
      [`version ${JSON.stringify(version)} (${version})`, { ...original, version }] as const,
  ),
  ["no version", { ...original, version: undefined }],
  ["the version of its prototype", Object.create({ version: 1 })],
];
for (const [what, value] of unreadable) {
  test(`${what} is no document: it is to be set aside`, () => {
    assert.equal(readCompanionDocument(value), undefined);
  });
}

const wrong: readonly unknown[] = [
  ...[undefined, null, true, false, "", "x", "1708300000", [], {}, [1], { a: 1 }],
  ...[Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, -1, -0, 0, 0.5, 1e18, 1e300],
];
const fields = Object.keys(original).filter((name) => name !== "version");
const valueNames: Readonly<Record<string, string>> = {
  heartbeat: "heartbeat",
  shutdown_clean: "shutdownClean",
  session_start: "runStartedAt",
  session_id: "runId",
  uptime_seconds: "uptimeMs",
  total_sessions: "totalRuns",
  emotions: "emotions",
  conversation: "conversation",
  sleep_state: "sleepState",
  last_person_seen: "person",
  last_person_seen_time: "person",
};

// Issue point 3, R9: one damaged field costs no other, whatever is in it.
for (const field of fields) {
  test(`with any of ${wrong.length} wrong values of ${field} every other field is read`, () => {
    const whole: Readonly<Record<string, unknown>> = { ...read(original).document };
    for (const value of [...wrong, "missing"]) {
      const { [field]: _, ...others } = original as Record<string, unknown>;
      const given = value === "missing" ? others : { ...original, [field]: value };
      const { document, repaired } = read(given);
      for (const [name, found] of Object.entries(document)) {
        if (name !== valueNames[field]) assert.deepEqual(found, whole[name], `${name}`);
      }
      assert.ok(repaired.every((note) => note.includes(field)));
      assert.ok(value !== "missing" || repaired.length === 1);
      writable(document);
    }
  });
}

/** A document made of what was read must be one that can be stored. */
function writable(document: ReturnType<typeof read>["document"]): void {
  const { heartbeat, uptimeMs, conversation, sleepState, person, unknown } = document;
  const written = companionDocument({
    ...parts,
    heartbeat: heartbeat ?? { at: undefined },
    uptimeMs,
    conversation,
    sleepState,
    person,
    unknown,
    throughline: {},
  });
  checkJson(written, "the document");
}

const defaults: readonly (readonly [field: string, name: string, otherwise: unknown])[] = [
  ["heartbeat", "heartbeat", undefined],
  ["shutdown_clean", "shutdownClean", true],
  ["session_start", "runStartedAt", undefined],
  ["session_id", "runId", undefined],
  ["uptime_seconds", "uptimeMs", 0],
  ["total_sessions", "totalRuns", undefined],
  ["emotions", "emotions", {}],
  ["conversation", "conversation", []],
  ["sleep_state", "sleepState", "awake"],
  ["last_person_seen", "person", undefined],
];
for (const [field, name, otherwise] of defaults) {
  for (const value of [5.5, "x".repeat(100_000), null].filter((each) => isWrong(field, each))) {
    test(`${field} ${JSON.stringify(value).slice(0, 9)} becomes ${JSON.stringify(otherwise)}, and is reported`, () => {
      const { document, repaired } = read({ ...original, [field]: value });
      assert.deepEqual((document as unknown as Record<string, unknown>)[name], otherwise);
      assert.equal(repaired.length, 1);
      assert.match(repaired[0] ?? "", new RegExp(`^${field} is not .*: set to its default$`));
    });
  }
}

function isWrong(field: string, value: unknown): boolean {
  if (field === "last_person_seen") return value !== null;
  return !(value === 5.5 && ["heartbeat", "session_start", "uptime_seconds"].includes(field));
}

test("nobody seen, and an absent heartbeat as the original writes it, are no damage", () => {
  const never = { ...original, last_person_seen: null, last_person_seen_time: null, heartbeat: 0 };
  const { document, repaired } = read(never);
  assert.deepEqual([document.person, document.heartbeat, repaired], [undefined, undefined, []]);
});

test("messages that cannot be used are left out and counted, the others kept, roles in any case", () => {
  const conversation = [
    ...[
      null,
      5,
      "x",
      [],
      {},
      { role: "USER" },
      { role: "system", text: "x" },
      { role: 5, text: "x" },
    ],
    { role: "user", text: "kept \ud800", timestamp: "yesterday" },
    { role: "Assistant", text: "", timestamp: 5 },
  ];
  const { document, repaired } = read({ ...original, conversation });
  assert.deepEqual(document.conversation, [
    { role: "USER", text: "kept \ufffd", at: undefined },
    { role: "ASSISTANT", text: "", at: 5_000 },
  ]);
  assert.deepEqual(repaired, [
    "items of conversation that cannot be used, left out: 8",
    "times in conversation that cannot be used: 1",
  ]);
});

test("unknown fields are kept, also one named __proto__, as far as they can be written again", () => {
  const extra = JSON.parse(
    '{"__proto__":{"x":1},"color":"red","nested":{"a":[1,2]}}',
  ) as JsonObject;
  const { document, repaired } = read({ ...original, ...extra, far: Number.POSITIVE_INFINITY });
  assert.deepEqual(Object.keys(document.unknown), ["__proto__", "color", "nested"]);
  assert.deepEqual(repaired, ["unknown fields that cannot be kept, left out: 1"]);
  const written = companionDocument({ ...parts, unknown: document.unknown });
  assert.equal(Object.hasOwn(written, "__proto__"), true);
  assert.equal(Object.getPrototypeOf(written), Object.prototype);
});

test("unknown fields past what a document can hold are left out, so that it can be written", () => {
  const many = Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`f${i}`, i]));
  assert.equal(Object.keys(read({ ...original, ...many }).document.unknown).length, 100);
  const wide = {
    w1: Array.from({ length: 4_900 }, () => 0),
    w2: Array.from({ length: 4_900 }, () => 0),
  };
  assert.deepEqual(Object.keys(read({ ...original, ...wide }).document.unknown), ["w1"]);
  const long = { l1: "x".repeat(200_000), l2: "x".repeat(200_000), l3: 1 };
  assert.deepEqual(Object.keys(read({ ...original, ...long }).document.unknown), ["l1", "l3"]);
});

test("no report of a repair holds what was stored", () => {
  const secret = Object.fromEntries(fields.map((field) => [field, ["my secret"]]));
  const { repaired } = read({ version: 1, ...secret, far: [Number.NaN, "my secret"] });
  assert.ok(repaired.length >= fields.length);
  assert.doesNotMatch(repaired.join("\n"), /secret/);
});

test("anything at all under the names of the schema is read without an error, and can be written", () => {
  const anyFields = Object.fromEntries(
    [...fields, "throughline", "more"].map((name) => [name, fc.anything({ maxDepth: 3 })]),
  );
  fc.assert(
    fc.property(fc.record(anyFields, { requiredKeys: [] }), (given) => {
      writable(read({ ...given, version: 1 }).document);
    }),
    { numRuns: 500 },
  );
});
