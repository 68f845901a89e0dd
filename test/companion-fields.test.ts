// Method: two runs leave a companion. One place in what they stored then holds anything at all, and
// the next run begins on it: it boots, and goes on with what can be read. A document that is damaged is
// set aside and reported; the copy before it counts, else feelings and person begin fresh, and the gap and
// the number of sessions come from the log of runs. With some of the values in each place, and with
// THROUGHLINE_FULL=1 with all of them.
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
import { openMemoryStorage } from "../src/core/storage/memory/memory-storage.ts";
import type { Storage } from "../src/core/storage/storage.ts";
import { openThroughline, type ThroughlineOptions } from "../src/core/throughline.ts";
import { changed } from "./support/changed.ts";
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
  // Of one client alone the seed's fields would tell.
  for (const client of ["robot", "lamp", "door"]) await second.companion.clients.begin(client);
  await second.companion.clients.inject("robot", "say this");
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
  const session = changed(store, {
    read: async (key, damageIn) => {
      const value = key === "session" ? unwritten : undefined;
      if (value === undefined) return store.read(key, damageIn);
      if (damageIn?.(value) === undefined) return { value, revision: 0 };
      unwritten = undefined;
      return undefined;
    },
    write: async (key, value) => {
      const revision = await store.write(key, value);
      if (key === "session") unwritten = undefined;
      return revision;
    },
  });
  return changed(kept(storage), { documents: () => session });
}

/** A run on what was left: how it woke, what it warned of, and what it saved. */
async function nextRun(place: ThroughlineOptions) {
  const { throughline, companion, warnings } = await up({ ...place, clock: clockThen() });
  const { report } = companion;
  const from = clockAfter.now() - 7_200_000;
  await companion.moodCourse({ from, to: clockAfter.now(), points: 20 });
  await companion.save();
  const { value: saved } = (await throughline.storage.documents("session").read("session"))!;
  await throughline.close();
  assert.ok("document" in readCompanionDocument(saved), "what is saved is whole");
  return { report, warnings: warnings(), saved };
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

/** Fields that say the same, or follow from each other. */
const together: readonly (readonly string[])[] = [
  ["last_person_seen", "last_person_seen_time"],
  ["conversation", "own conversation_chats"],
  // What is felt now is what was felt then, and the time that has passed.
  ["heartbeat", "emotions", "own emotions", "own saved", "own heartbeat"],
];

/** What may be lost with a place: its own field, and what follows from it. */
function lostWith([top, field]: Path): readonly string[] {
  if (top === "emotions") return []; // ours is whole
  const own = top === "throughline" && field !== undefined ? `own ${field}` : `${top}`;
  return together.find((fields) => fields.includes(own)) ?? [own];
}

const undamaged = await nextRun({ storage: await left(whole) });

/** A document but for the id of the run that wrote it, and what may be lost. */
function elseOf({ session_id: _, throughline, ...document }: JsonObject, lost: readonly string[]) {
  const own = Object.entries(throughline ?? {}).map(([name, value]) => [`own ${name}`, value]);
  const all: Record<string, unknown> = { ...document, ...Object.fromEntries(own) };
  for (const name of lost.includes("throughline") ? Object.keys(all) : lost) delete all[name];
  return all;
}

function assertElseKept(saved: JsonObject, lost: readonly string[], what: string): void {
  assert.partialDeepStrictEqual(elseOf(saved, lost), elseOf(undamaged.saved, lost), what);
}

test("what two runs left is read by the third", () => {
  const { report, warnings } = undamaged;
  assert.deepEqual([report.kind, report.clean, report.certainty], ["short_break", true, "certain"]);
  assert.deepEqual([report.totalRuns, report.gapMs, warnings], [3, awayMs, ""]);
});

/** Of all values those that are due in this place: every one of them in some place. */
function due<T>(values: readonly T[], index: number, among: number): readonly T[] {
  const found = values.filter((_, i) => (i + index) % among === 0);
  return found.length > 0 ? found : values.slice(index % values.length).slice(0, 1);
}
/** Of a document and of a log: one value of so many. */
const among = isFull ? { document: 1, log: 4 } : { document: 23, log: 24 };

// Point 3 of what the companion must show; R9, R14.
for (const [index, path] of placesIn(whole).entries()) {
  if (path[0] === "version") continue; // told apart by `readCompanionDocument`, whose tests say how
  const name = path.join(".");
  test(`with any value of ${name} a run begins: it keeps all else, or sets the document aside`, async () => {
    for (const text of due([missing, ...texts], index, among.document)) {
      const what = `${name} ${text.slice(0, 30)}`;
      const value = JSON.parse(textWith(whole, path, text)) as JsonObject;
      const read = readCompanionDocument(value);
      const { report, saved, warnings } = await nextRun({ storage: await left(value) });
      assert.deepEqual([report.kind, report.totalRuns], ["short_break", 3], what);
      if ("document" in read) assertElseKept(saved, lostWith(path), what);
      else {
        assert.deepEqual([saved["last_person_seen"], report.quarantined], [null, 1], what);
        assert.ok(warnings.includes(read.problem.split(" ", 1)[0]!), what);
        assert.ok(!/yyy|1708300000/.test(warnings), `${what}: no value is quoted`);
      }
    }
  });
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
        assertElseKept(saved, [], what);
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
    assertElseKept(saved, [], name);
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

/** What becomes of the file: bytes that were cut, and JSON with a wrong field. */
const damages: Readonly<Record<string, string>> = {
  "that was cut": JSON.stringify(whole).slice(0, 700),
  "with a wrong field": JSON.stringify({ ...whole, total_sessions: "many" }),
};
for (const [which, corrupt] of Object.entries(damages)) {
  /** Whether doctor still asks somebody to look at it. */
  const isUnconfirmed = async (home: string, ...confirm: string[]) => {
    const { out } = await runCli(["doctor", ...confirm], { home, io: fakeIo() });
    return out.includes("DAMAGED  session/session: unreadable_document");
  };

  // R3.
  test(`a session.json ${which} with a good .bak: two boots and more later all is there, the bytes set aside`, async (t) => {
    const home = homeWith(t, JSON.stringify(whole));
    const path = join(home, "session/session.json");
    fs.renameSync(path, `${path}.bak`);
    fs.writeFileSync(path, corrupt);
    const chats = chatsOf(home);
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
    assertElseKept(saved, ["total_sessions"], "after the third boot");
    const quarantined = [...filesOf(join(home, "quarantine")).values()];
    assert.ok(
      quarantined.some((bytes) => bytes.equals(Buffer.from(corrupt))),
      "the corrupt bytes are kept",
    );
    assert.deepEqual(chatsOf(home), chats);
    assert.equal(await isUnconfirmed(home), true);
  });

  test(`with both copies ${which} it is no fresh start: sessions count on, and report and doctor say so until confirmed`, async (t) => {
    const home = homeWith(t, corrupt);
    fs.writeFileSync(join(home, "session/session.json.bak"), `${corrupt} `);
    const chats = chatsOf(home);
    const next = await nextRun({ home });
    const warnings = which === "that was cut" ? /unreadable_document/ : /damaged and was set aside/;
    assert.match(next.warnings, warnings);
    assert.deepEqual([next.report.kind, next.report.clean], ["short_break", true]);
    assert.deepEqual([next.report.totalRuns, next.report.gapMs], [3, awayMs]);
    assert.equal(next.report.quarantined, 2);
    assert.equal(next.saved["last_person_seen"], null);
    assert.deepEqual(chatsOf(home), chats);
    const again = await nextRun({ home });
    assert.deepEqual([again.report.totalRuns, again.report.quarantined], [4, 2]);
    assert.equal(await isUnconfirmed(home), true);
    const { repairs } = JSON.parse(
      (await runCli(["doctor", "--json"], { home, io: fakeIo() })).out,
    );
    await isUnconfirmed(home, ...repairs.flatMap(({ id }: { id: string }) => ["--confirm", id]));
    assert.equal(await isUnconfirmed(home), false);
    assert.equal((await nextRun({ home })).report.quarantined, 0);
  });

  test(`where a chat was forgotten without the companion, a session.json ${which} and a good .bak begin a run without it`, async (t) => {
    const home = homeWith(t, JSON.stringify(whole));
    const path = join(home, "session/session.json");
    const bare = await openThroughline({ home, durability: "process", clock: clockThen() });
    await bare.chats.forget("local:other");
    await bare.close();
    fs.renameSync(path, `${path}.bak`);
    fs.writeFileSync(path, corrupt);
    const { saved, report } = await nextRun({ home });
    assert.deepEqual([report.totalRuns, saved["last_person_seen"]], [3, "Ori"]);
    for (const [name, bytes] of filesOf(home)) {
      if (/^(?:session|quarantine)\//.test(name)) assert.ok(!bytes.includes("another chat"), name);
    }
  });
}

test("where both copies are damaged after a kill, the time away counts from what was felt last", async (t) => {
  const home = homeWith(t, JSON.stringify(whole));
  const clock = clockThen();
  const { throughline, companion } = await up({ home, clock });
  clock.pass(7_200_000);
  companion.emotions.event("pat_level1");
  await companion.save();
  await throughline.storage.close(); // killed
  for (const name of ["session.json", "session.json.bak"]) {
    fs.writeFileSync(join(home, "session", name), '{"version":1,"heartbeat":');
  }
  clock.pass(20_000);
  const next = await up({ home, clock });
  await next.throughline.close();
  const { kind, gapMs, certainty, clean } = next.companion.report;
  assert.deepEqual([kind, gapMs, certainty, clean], ["crash_recovery", 20_000, "clock", false]);
});

test("numbers of an original's session.json that Python wrote and JSON does not know cost their fields alone", async (t) => {
  const { throughline: _, ...seeds } = whole;
  const text = JSON.stringify(seeds)
    .replace(/"boredom":[\d.]+/, '"boredom":NaN')
    .replace(/"uptime_seconds":[\d.]+/, '"uptime_seconds":Infinity');
  assert.throws(() => JSON.parse(text));
  const home = homeWith(t, text);
  // An original has neither runs of ours nor an index, which would tell of them.
  for (const name of ["runs.jsonl", "index.db", "index.db-wal", "index.db-shm"]) {
    fs.rmSync(join(home, name), { force: true });
  }
  const { throughline, companion } = await up({ home, clock: clockThen() });
  assert.deepEqual([companion.report.totalRuns, companion.person?.name], [3, "Ori"]);
  const { wounds, boredom } = companion.emotions.feeling();
  assert.deepEqual(
    wounds.map(({ event }) => event),
    ["abuse"],
  );
  assert.ok(boredom >= 0);
  assert.equal(companion.report.quarantined, 0);
  await throughline.close();
  assert.ok(Number.isFinite((documentIn(home)["emotions"] as JsonObject)["boredom"]));
});
