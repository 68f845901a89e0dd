// Method: two runs leave a companion. One place in what they stored then holds anything at all, and
// the next run begins on it: it boots, says what it put right, saves every other field as it would
// have, and leaves what the run after it reads without a repair. In memory for every place, and from a
// real file for the fields at the top, with some of the values each; with THROUGHLINE_FULL=1 in memory
// with all values, and from a real file for every place.
import assert from "node:assert/strict";
import fs from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, type TestContext, test } from "node:test";
import { readCompanionDocument } from "../src/companion/companion-document.ts";
import { runsProjection } from "../src/companion/runs.ts";
import { chatProjection } from "../src/core/chat/chat-head.ts";
import { isThroughlineError } from "../src/core/errors.ts";
import { isJsonObject, type Json, type JsonObject } from "../src/core/json.ts";
import type { DocumentStore } from "../src/core/storage/document-store.ts";
import { openMemoryStorage } from "../src/core/storage/memory/memory-storage.ts";
import type { Storage } from "../src/core/storage/storage.ts";
import type { ThroughlineOptions } from "../src/core/throughline.ts";
import { fakeIo, runCli, temporaryDirectory } from "./support/command-line.ts";
import {
  chatsOf,
  documentIn,
  editDocument,
  filesOf,
  HeldBootClock,
  talk,
  up,
} from "./support/companion-home.ts";
import { kept } from "./support/kept-storage.ts";

const isFull = process.env["THROUGHLINE_FULL"] === "1";
const chat = "local:me";
const awayMs = 100_000;

/** The second run ended in order 100 s ago: wounded, under an override, after somebody was seen. */
async function twoRuns(place: ThroughlineOptions): Promise<HeldBootClock> {
  const clock = new HeldBootClock();
  const first = await up({ ...place, clock });
  await talk(first, clock, chat, ["the first thing", "the second"]);
  await first.throughline.close();
  clock.pass(600_000);
  const second = await up({ ...place, clock });
  await talk(second, clock, "local:other", ["another chat"]);
  await talk(second, clock, chat, ["you are trash"]);
  second.companion.personSeen("Ori");
  clock.pass(10_000);
  second.companion.emotions.event("abuse");
  second.companion.emotions.override("proud", 600);
  await second.companion.injections.save([{ id: "i1", text: "say this", queuedAt: "2026" }]);
  clock.pass(5_000);
  await second.throughline.close();
  clock.pass(awayMs);
  return clock;
}

const template = fs.mkdtempSync(join(tmpdir(), "throughline-fields-"));
after(() => fs.rmSync(template, { recursive: true, force: true }));
const clockAfter = await twoRuns({ home: template });
const whole: JsonObject = { ...documentIn(template), color: "red" };
const memory = openMemoryStorage();
await twoRuns({ storage: kept(memory) });

/** The clock as it was when the third run began. */
function clockThen(): HeldBootClock {
  const clock = new HeldBootClock(new Date(clockAfter.now()).toISOString());
  clock.upSince = clockAfter.uptimeMs();
  return clock;
}

const logsLeft = [
  ["chats", chat],
  ["chats", "local:other"],
  ["", "runs"],
  ["", "moods"],
] as const;
const logsIn = (storage: Storage, collection: string) =>
  storage.logs(collection, collection === "chats" ? chatProjection : runsProjection);
const contents = await Promise.all(
  logsLeft.map(async ([collection, key]) => {
    const { head, records } = (await logsIn(memory, collection).tail(key, 1_000))!;
    return { collection, key, head, records: records.map(({ seq: _, ...record }) => record) };
  }),
);

type Change = (log: (typeof contents)[number]) => (typeof contents)[number];

/** What the two runs left, in memory, with another document and other logs. */
async function left(document: JsonObject, change: Change = (log) => log): Promise<Storage> {
  const storage = openMemoryStorage();
  for (const { collection, key, head, records } of contents.map(change)) {
    await logsIn(storage, collection).append(key, records, { head });
  }
  const store = storage.documents("session");
  let unwritten: JsonObject | undefined = document;
  const session: DocumentStore = {
    read: async (key) =>
      key === "session" && unwritten ? { value: unwritten, revision: 0 } : store.read(key),
    write: async (key, value) => {
      const revision = await store.write(key, value);
      if (key === "session") unwritten = undefined;
      return revision;
    },
    delete: (key) => store.delete(key),
    forgetCopies: (key) => store.forgetCopies(key),
    keys: () => store.keys(),
  };
  return kept({ ...kept(storage), documents: () => session });
}

/** A run on what was left: how it woke, what it warned of, and what it saved. */
async function nextRun(place: ThroughlineOptions) {
  const { throughline, companion, warnings } = await up({ ...place, clock: clockThen() });
  const { report } = companion;
  const from = clockAfter.now() - 7_200_000;
  await companion.moodCourse({ from, to: clockAfter.now(), points: 20 });
  await companion.save();
  const [copy] = (await throughline.storage.documents("session").keys()).filter((key) =>
    key.startsWith("repaired-"),
  );
  const { value: saved } = (await throughline.storage.documents("session").read("session"))!;
  await throughline.close();
  assert.deepEqual(readCompanionDocument(saved)?.repaired, [], "what is saved is whole");
  return { report, warnings: warnings(), saved, hasCopy: copy !== undefined };
}

/** The home as the two runs left it, with the document as an editor would save it. */
function homeWith(t: TestContext, text: string): string {
  const home = join(temporaryDirectory(t), "home");
  fs.cpSync(template, home, { recursive: true, mode: fs.constants.COPYFILE_FICLONE });
  fs.chmodSync(home, 0o700);
  editDocument(home, text);
  return home;
}

type Path = readonly (string | number)[];
/** JSON text, whose numbers may be too large for a number and whose names may be any. */
const texts: readonly string[] = [
  ...["null", "true", '""', '"x"', '"1708300000"', "-1", "0.5", "1e300", "-1e300", "1e999", "[]"],
  ...["-1e999", "[[]]", "{}", '{"__proto__":{"at":5},"constructor":[1]}', '[null,5,"x",{}]'],
  ...[`"${"y".repeat(20_000)}"`, '"\\ud800"', '"__proto__"', '"2026-03-01"', "[1e999]"],
  `${"[".repeat(200)}${"]".repeat(200)}`,
];
const missing = "missing";

/** Every place in a value; of a list its first item. */
function placesIn(value: Json | undefined, path: Path = []): readonly Path[] {
  const own = path.length === 0 ? [] : [path];
  const entries = Array.isArray(value)
    ? value.slice(0, 1).map((item, i) => [i, item] as const)
    : Object.entries(isJsonObject(value) ? value : {});
  return [...own, ...entries.flatMap(([name, item]) => placesIn(item, [...path, name]))];
}

function valueAt(value: Json | undefined, path: Path): Json | undefined {
  return path.reduce<Json | undefined>((at, name) => (at as JsonObject)?.[name], value);
}

/** The text of a value with one place changed to another text. */
function textWith(value: JsonObject, path: Path, text: string): string {
  const copy = JSON.parse(JSON.stringify(value));
  const holder = valueAt(copy, path.slice(0, -1)) as Record<string | number, Json>;
  const name = path.at(-1)!;
  if (text !== missing) holder[name] = "@here@";
  else if (Array.isArray(holder)) holder.splice(name as number, 1);
  else delete holder[name];
  return JSON.stringify(copy).replace('"@here@"', () => text);
}

const kindOf = (value: unknown) =>
  value === null ? "null" : Array.isArray(value) ? "list" : typeof value;

/** Whether a text may stand in a place, so that nobody can tell that it is wrong. */
function isPossible(path: Path, text: string): boolean {
  const [top, field, ...rest] = path;
  const name = path.at(-1);
  // Another program's heartbeat, if it is not what stands at the top.
  if (top === "color" || name === "seconds") return true;
  if (text === missing) {
    // An item that is not there is not missed; nor is a field of ours that a file does not have.
    const isOne = typeof name === "number" || (top === "throughline" && rest.length === 0);
    if (top === "throughline" && field === undefined) return true; // a file of the original
    if (name === "cause") return true; // a file of an earlier version
    // Not every machine tells all of them, and not every program all times.
    const optional = ["at", "boot_id", "uptime_ms", "gap_ms", "before", "timestamp"];
    if (field !== "emotions" && optional.includes(String(name))) return true;
    return isOne || path.includes("heardAt") || path.includes("floors") || path.includes("told");
  }
  const value: unknown = JSON.parse(text);
  if (value === null && field === "conversation_chats" && name === 0) return true;
  if (value === null)
    return ["last_person_seen", "last_person_seen_time", "override", "cause", "timestamp"].includes(
      String(name),
    );
  if (field === "conversation_chats") return text === "[]" || typeof value === "string";
  const isSame = kindOf(value) === kindOf(valueAt(whole, path));
  if (typeof value !== "number" || !isSame) return isSame && text !== "[1e999]";
  // An instant of the emotions' own clock may lie before it began.
  return Math.abs(value) < 1e20 && (value >= 0 || top === "throughline");
}

/** All single values of a document, by their places, but for the id of the run that wrote it. */
function leavesOf(document: JsonObject): ReadonlyMap<string, Json | undefined> {
  const leaves = new Map<string, Json | undefined>();
  const visit = (value: Json | undefined, path: string) => {
    if (typeof value !== "object" || value === null) leaves.set(path, value);
    else for (const [name, item] of Object.entries(value)) visit(item, `${path}.${name}`);
  };
  visit({ ...document, session_id: null }, "");
  return leaves;
}

/** Fields that stand for each other: with one of them damaged, both may be as by default. */
const together: Readonly<Record<string, readonly string[]>> = {
  ".last_person_seen": [".last_person_seen", ".last_person_seen_time"],
  ".conversation": [".conversation", ".throughline.conversation_chats"],
  // The same is stored twice: from what is left of it, all of it comes back.
  ".emotions": [],
};

/** What may be lost with a place: its own field. */
function lostWith([top, field]: Path): readonly string[] {
  if (top === "throughline") return [field === undefined ? ".throughline" : `.${top}.${field}`];
  return together[`.${top}`] ?? [`.${top}`];
}

const undamaged = await nextRun({ storage: await left(whole) });

function assertElseKept(saved: JsonObject, lost: readonly string[], what: string): void {
  const found = leavesOf(saved);
  for (const [place, value] of leavesOf(undamaged.saved)) {
    if (lost.some((each) => place === each || place.startsWith(`${each}.`))) continue;
    assert.equal(found.get(place), value, `${what}: ${place}`);
  }
}

test("what two runs left is read by the third without a repair", () => {
  const { report, warnings, hasCopy } = undamaged;
  assert.deepEqual([report.kind, report.clean, report.certainty], ["short_break", true, "certain"]);
  assert.deepEqual([report.totalRuns, report.gapMs], [3, awayMs]);
  assert.deepEqual([warnings, hasCopy], ["", false]);
});

/** Of all values those that are due in this place: every one of them in some place. */
function due<T>(values: readonly T[], index: number, among: number): readonly T[] {
  const found = values.filter((_, i) => (i + index) % among === 0);
  return found.length > 0 ? found : values.slice(index % values.length).slice(0, 1);
}
/** In memory, in a real file, and in a log: one value of so many. */
const among = isFull ? { memory: 1, file: 11, log: 4 } : { memory: 11, file: 11, log: 16 };

// Point 3 of what the companion must show; R9, R14.
for (const [index, path] of placesIn(whole).entries()) {
  if (path[0] === "version") continue; // told apart by `readCompanionDocument`, whose tests say how
  const wrong = [missing, ...texts].filter((text) => !isPossible(path, text));
  if (wrong.length === 0) continue; // anything may stand there
  const name = path.join(".");
  test(`with any of ${wrong.length} wrong values of ${name} a run begins, says so, and keeps all else`, async (t) => {
    for (const value of due(wrong, index, among.memory)) {
      const what = `${name} ${value.slice(0, 30)}`;
      const text = textWith(whole, path, value);
      const { report, ...next } = await nextRun({ storage: await left(JSON.parse(text)) });
      assert.deepEqual([report.kind, report.totalRuns], ["short_break", 3], what);
      assertElseKept(next.saved, lostWith(path), what);
      // The part of the emotions that other readers know is not looked at while ours is whole.
      if (path[0] !== "emotions" || path.length === 1)
        assert.match(next.warnings, /repaired/, what);
    }
    if (path.length > 1 && !isFull) return;
    for (const value of due(wrong, index + 1, among.file)) {
      await fromFile(t, textWith(whole, path, value), path, `${name} ${value.slice(0, 30)}`);
    }
  });
}

/** The same from a real file: no byte of the chats is touched, and the run after it finds all whole. */
async function fromFile(t: TestContext, text: string, path: Path, what: string): Promise<void> {
  const home = homeWith(t, text);
  const chats = chatsOf(home);
  const next = await nextRun({ home });
  assert.deepEqual([next.report.kind, next.report.totalRuns], ["short_break", 3], what);
  assertElseKept(next.saved, lostWith(path), what);
  assert.equal(next.hasCopy, next.warnings.includes("a copy of it was kept"), what);
  assert.deepEqual(chatsOf(home), chats, what);
  const after = await nextRun({ home });
  assert.deepEqual([after.report.totalRuns, after.warnings], [4, ""], what);
}

/** A change to the newest record of a kind in one of the logs. */
function inRecord(key: string, kind: string, path: Path, text: string): Change {
  return (log) => {
    const index = log.records.findLastIndex((record) => record["kind"] === kind);
    if (log.key !== key || index < 0) return log;
    const record = log.records[index]!;
    const damaged = JSON.parse(textWith(record, path, text));
    return { ...log, records: log.records.with(index, damaged) };
  };
}

/** What a log takes: whatever else is there was written by nobody. */
const storable = [missing, ...texts].filter((text) => {
  if (text === missing) return true;
  return !/1e|\[{5}|__proto__":/.test(text);
});

for (const [key, kind] of [
  ["runs", "run_start"],
  ["runs", "run_end"],
  ["moods", "up"],
  ["moods", "felt"],
  ["moods", "down"],
] as const) {
  const log = contents.find((each) => each.key === key)!;
  const record = log.records.findLast((each) => each["kind"] === kind) as JsonObject;
  const places = placesIn(record).filter(([name]) => name !== "id");
  test(`any of ${storable.length} values of each of ${places.length} fields of the newest ${kind} in ${key}.jsonl lets a run begin, and loses nothing`, async () => {
    for (const [index, path] of places.entries()) {
      for (const value of due(storable, index, among.log)) {
        const what = `${path.join(".")} ${value.slice(0, 30)}`;
        const change = inRecord(key, kind, path, value);
        const { report, saved } = await nextRun({ storage: await left(whole, change) });
        assert.equal(report.totalRuns, 3, what);
        assert.ok(report.gapMs === undefined || report.gapMs >= 0, what);
        assert.notEqual(report.kind, "fresh_start", what);
        if (key === "moods") assert.deepEqual(report.before, undamaged.report.before, what);
        // How the run before ended is what the record said.
        assertElseKept(saved, key === "runs" ? [".throughline.deliveries.restarts"] : [], what);
      }
    }
  });
}

test(`any of ${storable.length} values in the head of runs.jsonl counts the third session`, async () => {
  for (const [index, name] of ["run_id", "total_sessions"].entries()) {
    for (const value of due(storable, index, isFull ? 1 : 3)) {
      const change: Change = (log) =>
        log.key === "runs" ? { ...log, head: JSON.parse(textWith(log.head, [name], value)) } : log;
      const { report, saved } = await nextRun({ storage: await left(whole, change) });
      assert.equal(report.totalRuns, 3, `${name} ${value}`);
      assertElseKept(saved, [], `${name} ${value}`);
    }
  }
});

for (const name of ["runs.jsonl", "moods.jsonl"] as const) {
  test(`a newest record of ${name} that is damaged on the disk is set aside, and nothing else is lost`, async (t) => {
    const home = homeWith(t, JSON.stringify(whole));
    const path = join(home, name);
    const bytes = fs.readFileSync(path, "utf8");
    const at = bytes.lastIndexOf('"kind":"', bytes.lastIndexOf('{"id"') + 60);
    fs.writeFileSync(path, `${bytes.slice(0, at)}"kind":5,"x":"${bytes.slice(at + 14)}`);
    const { report, saved, warnings } = await nextRun({ home });
    assert.deepEqual([report.kind, report.totalRuns], ["short_break", 3]);
    // Nobody looks into the moods at the boot.
    assert.equal(report.quarantined, name === "runs.jsonl" ? 1 : 0);
    // Without its end the run before is known to have begun, and not to have ended.
    assert.equal(report.clean, name === "moods.jsonl");
    assert.match(warnings, new RegExp(name.replace(".jsonl", "")));
    assertElseKept(saved, [".throughline.deliveries.restarts"], name);
    assert.ok([...filesOf(join(home, "quarantine")).values()].some((kept) => kept.length > 0));
  });
}

// R10.
test("a document of version 2 is refused by name; not a byte of session/ changes, nor a run begins", async (t) => {
  const home = homeWith(t, JSON.stringify({ ...whole, version: 2, more: { of: "it" } }));
  fs.writeFileSync(join(home, "session/session.json.bak"), '{"version":2,"older":true}');
  const before = filesOf(home);
  await assert.rejects(up({ home, clock: clockThen() }), (error) => {
    assert.ok(isThroughlineError(error, "THROUGHLINE_NEWER_FORMAT"));
    assert.match(error.message, /the companion document has version 2; this program reads 1/);
    return true;
  });
  const { code, out, err } = await runCli(["serve", "--port", "0"], { home, io: fakeIo() });
  assert.deepEqual([code, out], [1, ""]);
  assert.match(err, /error: the companion document has version 2; this program reads 1/);
  assert.match(err, /THROUGHLINE_NEWER_FORMAT/);
  const after = filesOf(home);
  for (const [name, bytes] of before) {
    if (/^(?:session|chats)\/|\.jsonl$/.test(name)) assert.deepEqual(after.get(name), bytes, name);
  }
  const sessions = [...after.keys()].filter((name) => name.startsWith("session/"));
  assert.deepEqual(sessions, ["session/session.json", "session/session.json.bak"]);
});

// R3.
test("a corrupt session.json with a good .bak: two boots and more later all is there, the bytes set aside", async (t) => {
  const home = homeWith(t, JSON.stringify(whole));
  const path = join(home, "session/session.json");
  const corrupt = fs.readFileSync(path).subarray(0, 700);
  fs.renameSync(path, `${path}.bak`);
  fs.writeFileSync(path, corrupt);
  for (const total of [3, 4]) {
    // Killed before it saved.
    const { throughline, companion } = await up({ home, clock: clockThen() });
    assert.deepEqual([companion.report.totalRuns, companion.person?.name], [total, "Ori"]);
    assert.deepEqual(
      companion.emotions.feeling().wounds.map(({ event }) => event),
      ["abuse"],
    );
    await throughline.storage.close();
    assert.deepEqual(JSON.parse(fs.readFileSync(`${path}.bak`, "utf8")), whole, "the good copy");
  }
  const { saved } = await nextRun({ home });
  assertElseKept(saved, [".total_sessions", ".throughline.deliveries"], "after the third boot");
  const quarantined = [...filesOf(join(home, "quarantine")).values()];
  assert.ok(
    quarantined.some((bytes) => bytes.equals(corrupt)),
    "the corrupt bytes are kept",
  );
});

test("a session.json whose only copy is corrupt is no fresh start: chats and sessions count on", async (t) => {
  const home = homeWith(t, '{"version": 1, "total_sess');
  const { report, saved } = await nextRun({ home });
  assert.deepEqual([report.kind, report.clean, report.totalRuns], ["short_break", true, 3]);
  assert.equal(saved["total_sessions"], 3);
});

test("numbers of a session.json that Python wrote and JSON does not know cost their fields alone", async (t) => {
  const { throughline: _, ...seeds } = whole;
  const text = JSON.stringify(seeds)
    .replace(/"boredom":[\d.]+/, '"boredom":NaN')
    .replace(/"uptime_seconds":[\d.]+/, '"uptime_seconds":Infinity');
  assert.throws(() => JSON.parse(text));
  const home = homeWith(t, text);
  fs.rmSync(join(home, "runs.jsonl"));
  const { throughline, companion, warnings } = await up({ home, clock: clockThen() });
  assert.deepEqual([companion.report.totalRuns, companion.person?.name], [3, "Ori"]);
  const { wounds, boredom } = companion.emotions.feeling();
  assert.deepEqual(
    wounds.map(({ event }) => event),
    ["abuse"],
  );
  assert.ok(boredom >= 0);
  assert.equal(companion.report.quarantined, 0);
  assert.match(warnings(), /repaired/);
  await throughline.close();
  assert.ok(Number.isFinite((documentIn(home)["emotions"] as JsonObject)["boredom"]));
});
