import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { isThroughlineError } from "../core/errors.ts";
import { prepareDocument } from "../core/storage/batch.ts";
import type { ClientRun } from "./client-runs.ts";
import {
  type CompanionDocument,
  companionDocument,
  readCompanionDocument,
} from "./companion-document.ts";
import { applyEvent, startState } from "./emotion/acts.ts";
import { builtInEmotions } from "./emotion/built-in-emotions.ts";
import type { JudgedRestart } from "./restart.ts";

/** The file of the seed. */
const golden = new URL("../../test/golden/reachy/session.json", import.meta.url);
const original = JSON.parse(readFileSync(golden, "utf8"));

const read = (value: unknown) => {
  const found = readCompanionDocument(value);
  assert.ok("document" in found, JSON.stringify(found));
  return found.document;
};

/** What is wrong with a value; `undefined`: nothing. */
function problemOf(value: unknown): string | undefined {
  const found = readCompanionDocument(value);
  return "problem" in found ? found.problem : undefined;
}

const state = applyEvent(builtInEmotions, startState(builtInEmotions, 1_708_300_000_000), {
  event: "abuse",
  id: "w1",
}).state;
const started = { at: 1_708_300_000_000 };
const restart: JudgedRestart = {
  ...{ kind: "fresh_start", clean: true, totalRuns: 1, certainty: "certain", gapMs: 0 },
  ...{ before: started, judgedAt: started },
};
const client = (name: string): ClientRun => ({
  ...{ client: name, runId: "00c0ffee", startedAt: started, heartbeat: started, isEnded: false },
  ...{ restart, chats: ["local:me"], chatsBefore: [] },
  ...{ previousRunId: "0badcafe", pending: restart },
  injects: [{ id: "i1", text: "say this", queuedAt: "2026" }],
});
const shared: CompanionDocument["shared"] = {
  writers: { "process-1": 7 },
  alive: { "process-1": 1_708_300_000_000 },
  report: {
    ...restart,
    previousRunId: "00c0ffee",
    interrupted: [{ chatId: "local:me", messageId: "m1" }],
    quarantined: 1,
  },
  announced: { Ori: 1_708_299_700_000 },
  forgot: { ["a".repeat(64)]: 1_708_299_800_000 },
  wokenAt: 1_708_300_000_000,
};

const parts: CompanionDocument = {
  ...read(original),
  ...{ startedAt: 1708290000001, runId: "0a1b2c3d", totalRuns: 43, isOriginal: false },
  heartbeat: { at: 1708300000123, bootId: "boot-a", uptimeMs: 5_000.5 },
  ...{ uptimeMs: 10_000_122, shutdownClean: false, sleep: "asleep", told: 43 },
  conversation: read(original).conversation.map((said, i) => {
    return { ...said, chatId: i === 0 ? "local:me" : undefined };
  }),
  clients: [client("robot"), client("lamp")],
  ...{ emotions: state, saved: { at: 1708300000000 }, shared },
  ownOthers: { mood_since: 5, heartbeat: "taken" },
  others: { color: "red", version: 9, _crc: "x" },
};

test("of the conversation the newest 50 are written", () => {
  const [said] = read(original).conversation;
  const all = Array.from({ length: 60 }, (_, i) => ({ ...said!, text: `${i}` }));
  const { conversation } = read(companionDocument({ ...parts, conversation: all }));
  assert.deepEqual([conversation.length, conversation[0]?.text], [50, "10"]);
});

test("what was written has the original's fields first, and reads back equal, with the clocks of its heartbeat", () => {
  const written = JSON.parse(JSON.stringify(companionDocument(parts)));
  assert.deepEqual(Object.keys(written).slice(0, 12), Object.keys(original));
  assert.deepEqual(written.emotions, original.emotions);
  assert.deepEqual(written.conversation, original.conversation);
  const document = read(written);
  const left = { ownOthers: { mood_since: 5 }, others: { color: "red" } };
  assert.deepEqual(document, { ...parts, ...left });
});

test("a heartbeat that somebody else wrote since has no boot or uptime of ours", () => {
  const written = { ...companionDocument(parts), heartbeat: 1708300009.5 };
  assert.deepEqual(read(written).heartbeat, { at: 1708300009500 });
});

// R10.
test("a greater version is refused as newer, by its number", () => {
  for (const version of [2, 1.5, 3, 1e300]) {
    const value = { ...original, version };
    const isTold = (error: unknown) =>
      isThroughlineError(error, "THROUGHLINE_NEWER_FORMAT") && error.message.includes(`${version}`);
    assert.throws(() => readCompanionDocument(value), isTold);
  }
});

test("what has no such version is no document: it is to be set aside", () => {
  const others = [undefined, 0, -1, 0.5, "1", null, true, [1], {}, Number.NaN, 1 / 0];
  const versions = others.map((version) => ({ ...original, version }));
  const values = [undefined, null, 5, "x", true, [], [original], {}, Object.create({ version: 1 })];
  for (const value of [...values, ...versions]) {
    assert.ok(problemOf(value), JSON.stringify(value)?.slice(0, 40));
  }
});

test("nobody seen, and an absent heartbeat as the original writes it, are no damage", () => {
  const never = { ...original, last_person_seen: null, last_person_seen_time: null, heartbeat: 0 };
  const { person, heartbeat } = read(never);
  assert.deepEqual([person, heartbeat], [undefined, undefined]);
});

test("a chat's id is in no report", () => {
  const written = companionDocument(parts);
  const own = written["throughline"] as { readonly shared: object };
  const throughline = { shared: { ...own.shared, forgot: { "my secret": "x" } } };
  const problem = problemOf({ ...written, throughline });
  const instants = "from -9007199254740991 to 9007199254740991";
  assert.equal(problem, `throughline.shared must be a number ${instants}`);
});

test("unknown fields past what a document can hold are left out, so that it can be written", () => {
  const many = Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`f${i}`, i]));
  const othersOf = (more: object) => Object.keys(read({ ...original, ...more }).others);
  assert.equal(othersOf(many).length, 100);
  const wide = { w1: Array(4_900).fill(0), w2: Array(4_900).fill(0) };
  assert.deepEqual(othersOf(wide), ["w1"]);
  const long = { l1: "x".repeat(200_000), l2: "x".repeat(200_000), l3: 1 };
  assert.deepEqual(othersOf(long), ["l1", "l3"]);
  let deep: unknown = 1;
  for (let level = 0; level < 61; level++) deep = [deep];
  const throughline = { ...wide, few: Array(900).fill(0), deep };
  const { ownOthers, others } = read({ ...original, ...wide, deep, throughline });
  prepareDocument("session", companionDocument({ ...parts, ownOthers, others }));
});
