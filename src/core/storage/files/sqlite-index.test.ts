// What only the index in a file has: changes that wait, a thread, damage, other versions, bytes that must go.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import os from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { type TestContext, test } from "node:test";
import { setImmediate as nextPass } from "node:timers/promises";
import type { Worker } from "node:worker_threads";
import fc from "fast-check";
import { HeldClock } from "../../../../test/support/held-clock.ts";
import { HeldTimers } from "../../../../test/support/held-timers.ts";
import { isThroughlineError } from "../../errors.ts";
import type { Timers } from "../../timers.ts";
import type { LogHead, LogProjection } from "../log-store.ts";
import type { IndexedBatch, LogIndex } from "./log-index.ts";
import { openSqliteIndex, type SqliteIndex, type SqliteIndexOptions } from "./sqlite-index.ts";

const projection: LogProjection = {
  sortedAt: (head) => String(head["at"]),
  labels: (head) => (head["labels"] ?? []) as string[],
  text: ({ text }) => (typeof text === "string" ? text : undefined),
  hides: () => undefined,
};

const windows = process.platform === "win32" && "Windows has no modes and links of this form";

function temporaryHome(t: TestContext): string {
  // Where there is a disk in memory, syncing costs nothing.
  const disk = fs.existsSync("/dev/shm") ? "/dev/shm" : os.tmpdir();
  const home = fs.mkdtempSync(join(disk, "throughline-index-"));
  t.after(() => fs.rmSync(home, { recursive: true, force: true }));
  return home;
}

interface Opened {
  readonly file: SqliteIndex;
  readonly index: LogIndex;
  /** How often everything was lost. */
  losses: number;
}

/** Nothing is written before it has to be, so that no thread is started. */
const never: Timers = { after: () => () => undefined };

function open(t: TestContext, home: string, options: SqliteIndexOptions = {}): Opened {
  const opened = { losses: 0 } as { -readonly [K in keyof Opened]: Opened[K] };
  opened.file = openSqliteIndex(join(home, "index.db"), {
    onLost: () => opened.losses++,
    timers: never,
    ...options,
  });
  opened.index = opened.file.open("chats", projection);
  t.after(() => opened.file.close());
  return opened;
}

/** Opens an index and starts its thread: 64 changes are written to another collection. */
async function openWithThread(t: TestContext, home: string, options: SqliteIndexOptions = {}) {
  const opened = open(t, home, { timers: atOnce, ...options });
  return { ...(await startThread(opened)), opened };
}

/** What waits is written in the next pass of the event loop. */
const atOnce: Timers = {
  after(_, call) {
    const timer = setImmediate(call);
    return () => clearImmediate(timer);
  },
};

async function startThread({ file, index }: Opened) {
  const started = once(process, "worker");
  const others = file.open("others", projection);
  for (let seq = 1; seq <= 64; seq++) others.add(batch("other", seq));
  const [worker] = (await started) as [Worker];
  await file.sync();
  return { file, index, worker };
}

/** Both ways in which an index is written. */
const ways: Record<string, (t: TestContext, home: string) => Promise<Opened>> = {
  "the main thread": async (t, home) => open(t, home),
  "its thread": async (t, home) => (await openWithThread(t, home)).opened,
};

/** Waits until something is so, at most some seconds. */
async function until(isSo: () => boolean): Promise<void> {
  for (const end = performance.now() + 10_000; !isSo(); ) {
    assert.ok(performance.now() < end, "it takes too long");
    await nextPass();
  }
}

/** Counts the threads that are started during a test. */
function countThreads(t: TestContext) {
  const counted = { threads: 0 };
  const count = () => counted.threads++;
  process.on("worker", count);
  t.after(() => process.off("worker", count));
  return counted;
}

/** The files as a kill at this moment leaves them; a thread must not write while they are copied. */
function killedCopy(t: TestContext, home: string): string {
  const copy = temporaryHome(t);
  fs.cpSync(home, copy, { recursive: true });
  return copy;
}

function batch(
  key: string,
  seq: number,
  { head = { at: "2026" }, ...rest }: Partial<IndexedBatch> & { readonly head?: LogHead } = {},
): IndexedBatch {
  const records = [{ id: `m${seq}`, seq, text: `word${seq} hello` }];
  const place = { start: (seq - 1) * 100, end: seq * 100, crc: `${seq}` };
  return { key, seq, ...place, headJson: JSON.stringify(head), damaged: false, records, ...rest };
}

const unavailable = (error: unknown) => isThroughlineError(error, "THROUGHLINE_UNAVAILABLE");

/** Changes the file through another connection, as another program does. */
function execute(home: string, sql: string): void {
  const database = new DatabaseSync(join(home, "index.db"), { defensive: false });
  try {
    database.exec(sql);
  } finally {
    database.close();
  }
}

function addMany(index: LogIndex, key: string, from: number, to: number): void {
  for (let seq = from; seq <= to; seq++) index.add(batch(key, seq));
}

const mostHits = 10_000;
const seqsOf = (index: LogIndex, key: string) =>
  index.search("hello", { limit: mostHits, key }).map(({ seq }) => seq);

const downFrom = (seq: number) => Array.from({ length: seq }, (_, i) => seq - i);

// What waits

test("adding writes nothing; a kill takes what waits, and nothing that was synced", async (t) => {
  const home = temporaryHome(t);
  const { file, index } = open(t, home);
  addMany(index, "a", 1, 2);
  await file.sync();
  const before = bytesOf(home);
  index.add(batch("a", 3));
  assert.equal(bytesOf(home), before);
  assert.equal(index.entry("a")?.seq, 3);
  const { index: left } = open(t, killedCopy(t, home));
  assert.deepEqual(left.entry("a"), { seq: 2, end: 200, crc: "2" });
  assert.deepEqual(seqsOf(left, "a"), [2, 1]);
});

test("behind counts the changes that wait, and the bytes of log in them", async (t) => {
  const { file, index } = open(t, temporaryHome(t));
  assert.deepEqual(file.behind, { batches: 0, bytes: 0 });
  addMany(index, "a", 1, 3);
  assert.deepEqual(file.behind, { batches: 3, bytes: 300 });
  index.remove("a");
  file.open("runs", projection).add(batch("b", 1));
  assert.deepEqual(file.behind, { batches: 5, bytes: 400 });
  await file.sync();
  assert.deepEqual(file.behind, { batches: 0, bytes: 0 });
});

test("a thread is started when 64 changes wait, or one for 250 ms, and not before", async (t) => {
  const counted = countThreads(t);
  for (const changes of [63, 64]) {
    const { index } = open(t, temporaryHome(t));
    addMany(index, "a", 1, changes);
    await nextPass();
    assert.equal(counted.threads, changes === 64 ? 1 : 0);
  }
  const timers = new HeldTimers(new HeldClock());
  const { file, index } = open(t, temporaryHome(t), { timers });
  index.add(batch("a", 1));
  await timers.pass(249);
  assert.equal(counted.threads, 1);
  await timers.pass(1);
  await until(() => file.behind.batches === 0);
  assert.equal(counted.threads, 2);
});

test("an index that is closed soon, or is only read, starts no thread", async (t) => {
  const counted = countThreads(t);
  const home = temporaryHome(t);
  for (let seq = 1; seq <= 63; seq++) {
    const { file, index } = open(t, home);
    if (seq % 20 === 1) addMany(index, "a", seq, Math.min(seq + 19, 63));
    index.search("hello", { limit: 1 });
    await file.close();
  }
  assert.deepEqual(seqsOf(open(t, home).index, "a"), downFrom(63));
  assert.equal(counted.threads, 0);
});

test("what is added while the thread syncs is written too", { timeout: 20_000 }, async (t) => {
  const { file, index } = await openWithThread(t, temporaryHome(t));
  const syncs = [file.sync(), file.sync(), index.erase()];
  await nextPass();
  index.add(batch("a", 1));
  await Promise.all([...syncs, file.sync()]);
  assert.deepEqual(file.behind, { batches: 0, bytes: 0 });
  index.add(batch("a", 2));
  await until(() => file.behind.batches === 0);
});

test("ids are looked up in the log that has the name now: not in one that was removed, nor in a lost file", async (t) => {
  const home = temporaryHome(t);
  const opened = open(t, home);
  const { file, index } = opened;
  const fill = async (key: string, start: number) => {
    index.add(batch(key, 1, { start, end: start + 100 }));
    await file.sync();
    assert.deepEqual(index.find(key, "m1"), { seq: 1, start });
  };
  await fill("a", 0);
  await fill("b", 100);
  index.remove("a");
  assert.equal(index.find("a", "m1"), undefined);
  await fill("a", 200);
  assert.deepEqual(index.find("b", "m1"), { seq: 1, start: 100 });
  index.remove("b");
  await index.erase();
  assert.deepEqual(index.find("a", "m1"), { seq: 1, start: 200 });
  execute(home, "update logs set head = '{' where key = 'a'");
  assert.throws(() => index.list({ limit: 1 }), unavailable);
  assert.equal(opened.losses, 1);
  for (const key of ["c", "d", "e"]) await fill(key, 300);
  assert.equal(index.find("a", "m1"), undefined);
});

for (const [what, count, end] of [
  ["16,384 changes", 16_384, 1],
  ["16 MiB of log", 16, 1024 * 1024],
] as const) {
  test(`there is room until ${what} wait, and again when half of them are written`, async (t) => {
    const { file, index } = await openWithThread(t, temporaryHome(t));
    for (let i = 1; i < count; i++) index.add(batch(`${i}`, 1, { end, records: [] }));
    assert.equal(index.room(), undefined);
    index.add(batch("last", 1, { end, records: [] }));
    const room = index.room();
    assert.ok(room instanceof Promise);
    assert.equal(file.behind.batches, count);
    await room;
    const { batches } = file.behind;
    assert.ok(batches <= count / 2 && batches > count / 4, `${batches} wait`);
    assert.equal(index.room(), undefined);
  });
}

test("a process does not end while it waits for room", async (t) => {
  const program = `
    import { openSqliteIndex } from ${JSON.stringify(new URL("./sqlite-index.ts", import.meta.url))};
    const file = openSqliteIndex(process.argv[2]);
    const shows = { sortedAt: () => "", labels: () => [], text: () => "", hides: () => undefined };
    const index = file.open("chats", shows);
    const of = { seq: 1, start: 0, end: 1_000_000, crc: "1", headJson: "{}", damaged: false };
    const add = (key) => index.add({ key, ...of, records: [] });
    for (let i = 0; i < 64; i++) add("a" + i);
    await file.sync(); // the thread waits for work
    for (let i = 0; i < 64; i++) add("b" + i);
    await index.room();
    console.log("there is room");
  `;
  const { promise, resolve } = Promise.withResolvers<readonly unknown[]>();
  const home = temporaryHome(t);
  const file = join(home, "program.mjs"); // a program in the command line is never unsettled
  fs.writeFileSync(file, program);
  const path = join(home, "index.db");
  execFile(process.execPath, [file, path], (error, stdout) => resolve([error, stdout]));
  assert.deepEqual(await promise, [null, "there is room\n"]);
});

test("a log that is removed and made again while its old batch is on its way is the new one", async (t) => {
  const timers = new HeldTimers(new HeldClock());
  const { file, index } = await openWithThread(t, temporaryHome(t), { timers });
  index.add(batch("a", 1));
  await timers.pass(10);
  index.remove("a");
  index.add(batch("a", 1, { records: [{ id: "new", seq: 1, text: "new" }] }));
  // The thread may have answered by now, seldom.
  await until(() => file.behind.batches < 3);
  for (const isWritten of [false, true]) {
    if (isWritten) await file.sync();
    assert.deepEqual(index.find("a", "new"), { seq: 1, start: 0 });
    assert.equal(index.find("a", "m1"), undefined);
    assert.deepEqual(index.search("new", { limit: 9 }), [{ key: "a", seq: 1 }]);
    assert.deepEqual(index.search("hello", { limit: 9 }), []);
  }
});

test("a page holds the newest of what is written and of what waits, without what is out of date", async (t) => {
  const { file, index } = open(t, temporaryHome(t));
  for (const key of ["a", "b", "c"]) index.add(batch(key, 1, { head: { at: "2026-03" } }));
  for (const key of ["d", "e"]) index.add(batch(key, 1, { head: { at: "2026-02" } }));
  await file.sync();
  for (const key of ["a", "b", "c"]) index.add(batch(key, 2, { head: { at: "2026-01" } }));
  index.add(batch("e", 2, { head: { at: "2026-04" } }));
  const shown = (limit: number) => index.list({ limit }).rows.map(({ key, seq }) => `${key}${seq}`);
  assert.deepEqual(shown(1), ["e2"]);
  assert.deepEqual(shown(9), ["e2", "d1", "a2", "b2", "c2"]);
});

// A clean exit

test("the index is clean after a close, not when it is new and not after a kill", async (t) => {
  const home = temporaryHome(t);
  const first = open(t, home);
  assert.equal(first.file.clean, false);
  first.index.add(batch("a", 1));
  await Promise.all([first.file.close(), first.file.close()]);
  const second = open(t, home);
  assert.equal(second.file.clean, true);
  assert.equal(second.index.entry("a")?.seq, 1);
  assert.equal(open(t, killedCopy(t, home)).file.clean, false);
  second.index.remove("a");
  await second.index.erase(); // the file is written again
  assert.equal(open(t, killedCopy(t, home)).file.clean, false);
  await second.file.close();
  assert.equal(open(t, home).file.clean, true);
});

test("after a kill the index is clean when every collection that no journal covers was used again", async (t) => {
  for (const isJournaled of [false, true]) {
    const home = temporaryHome(t);
    const { file, index } = open(t, home, { isJournaled });
    index.add(batch("a", 1));
    const runs = file.open("runs", projection);
    runs.add(batch("a", 1));
    await file.sync();
    await runs.noteCovered(true);
    const killed = killedCopy(t, home);
    await open(t, killed, { isJournaled }).file.close(); // the chats only
    const next = open(t, killed, { isJournaled });
    assert.equal(next.file.clean, isJournaled);
    next.file.open("runs", projection);
    await next.file.close();
    assert.equal(open(t, killed, { isJournaled }).file.clean, true);
  }
});

for (const [way, opening] of Object.entries(ways)) {
  test(`after close every call says that the index is closed, and the file stays as it is, written by ${way}`, async (t) => {
    const home = temporaryHome(t);
    const opened = await opening(t, home);
    const { file, index } = opened;
    index.add(batch("a", 1));
    await file.close();
    const closed = (error: unknown) => isThroughlineError(error, "THROUGHLINE_CLOSED");
    assert.throws(() => index.entry("a"), closed);
    assert.throws(() => index.find("a", "m1"), closed);
    assert.throws(() => index.list({ limit: 1 }), closed);
    assert.throws(() => index.search("hello", { limit: 1 }), closed);
    await assert.rejects(file.sync(), closed);
    await assert.rejects(index.erase(), closed);
    assert.equal(opened.losses, 0);
    const next = open(t, home);
    assert.deepEqual([next.file.clean, next.index.entry("a")?.seq], [true, 1]);
  });
}

/** Opens an index of two collections, with what it has of them. */
function openTwo(t: TestContext, home: string, options: SqliteIndexOptions = {}) {
  const { file, index: chats } = open(t, home, { isJournaled: true, ...options });
  const runs = file.open("runs", projection);
  return { file, chats, runs, coverage: [chats.coverage, runs.coverage] };
}

test("coverage: nothing is known of a new index, nor after a kill before anything was noted", async (t) => {
  const home = temporaryHome(t);
  const { file, chats, coverage } = openTwo(t, home);
  assert.deepEqual(coverage, ["unknown", "unknown"]);
  chats.add(batch("a", 1));
  await file.sync();
  assert.deepEqual(openTwo(t, killedCopy(t, home)).coverage, ["unknown", "unknown"]);
  await file.close();
  assert.deepEqual(openTwo(t, home).coverage, ["unknown", "unknown"]);
});

test("coverage: a collection that was noted as covered is so after a kill, once all that waited before is written", async (t) => {
  const home = temporaryHome(t);
  const { chats, runs } = openTwo(t, home);
  for (const key of ["a", "b", "c"]) chats.add(batch(key, 1, { end: 400_000 }));
  const noted = chats.noteCovered(true);
  await Promise.resolve();
  assert.deepEqual(openTwo(t, killedCopy(t, home)).coverage, ["unknown", "unknown"]);
  await noted;
  const killed = killedCopy(t, home);
  assert.deepEqual(openTwo(t, killed).coverage, ["covered", "unknown"]);
  assert.deepEqual(openTwo(t, killedCopy(t, killed)).coverage, ["covered", "unknown"]);
  await Promise.all([runs.noteCovered(true), chats.noteCovered(false)]);
  assert.deepEqual(openTwo(t, killedCopy(t, home)).coverage, ["unknown", "covered"]);
});

test("coverage: without a journal nothing is covered before a clean end", async (t) => {
  const home = temporaryHome(t);
  const { index } = open(t, home, { isJournaled: false });
  index.add(batch("a", 1));
  await index.noteCovered(true);
  assert.equal(open(t, killedCopy(t, home)).index.coverage, "unknown");
});

test("a thread that is started while the main thread writes all that waits does not write it again", async (t) => {
  const home = temporaryHome(t);
  const timers = new HeldTimers(new HeldClock());
  const { file, index } = open(t, home, { timers });
  // So many words that writing them takes longer than starting a thread.
  const records = [{ id: "m1", seq: 1, text: "one word and another ".repeat(5_000) }];
  for (let i = 0; i < 59; i++) index.add(batch(`k${i}`, 1, { end: 100_000, records }));
  const written = file.sync();
  await timers.pass(300);
  await written;
  for (let i = 59; i < 61; i++) index.add(batch(`k${i}`, 1, { end: 100_000 }));
  await file.close();
  assert.equal([...open(t, home).index.keys()].length, 61);
});

test("coverage: what a full disk did not take is not covered", async (t) => {
  const home = temporaryHome(t);
  const { file, chats } = openTwo(t, home);
  chats.add(batch("a", 1));
  fillDisk(home);
  await chats.noteCovered(true);
  await assert.rejects(file.sync(), unavailable);
  await nextPass();
  assert.deepEqual(openTwo(t, killedCopy(t, home)).coverage, ["unknown", "unknown"]);
});

test("coverage: after a clean end it is all, or names if the directory changed; after a kill then, covered", async (t) => {
  const home = temporaryHome(t);
  const first = openTwo(t, home);
  first.chats.noteCompared("of the chats");
  first.runs.noteCompared("of the runs");
  await first.file.close();
  const changed = (collection: string) => `of the ${collection}`;
  const onlyRuns = (collection: string) => (collection === "runs" ? "of the runs" : "later");
  for (const [now, coverage] of [
    [changed, ["all", "all"]],
    [onlyRuns, ["names", "all"]],
    [() => undefined, ["names", "names"]],
  ] as const) {
    const second = open(t, home, { isJournaled: true, changed: now });
    assert.equal(second.index.coverage, coverage[0]);
    assert.equal(second.file.coverageOf("runs"), coverage[1]);
    const killed = killedCopy(t, home);
    assert.deepEqual(openTwo(t, killed, { changed: now }).coverage, ["covered", "covered"]);
    await second.file.close(); // what was noted of the other collection still holds
  }
});

test("coverage: without a journal nothing is known after a kill, nor after the run that follows", async (t) => {
  const home = temporaryHome(t);
  const options = { isJournaled: false, changed: () => "now" };
  const first = openTwo(t, home, options);
  for (const each of [first.chats, first.runs]) each.noteCompared("now");
  await first.file.close();
  assert.deepEqual(openTwo(t, home, options).coverage, ["all", "all"]);
  const killed = killedCopy(t, home);
  const next = openTwo(t, killed, options);
  assert.deepEqual(next.coverage, ["unknown", "unknown"]);
  next.chats.noteCompared("now");
  await next.file.close();
  assert.deepEqual(openTwo(t, killed, options).coverage, ["all", "unknown"]);
});

test("coverage: a collection is uncovered at once, and stays so", async (t) => {
  const home = temporaryHome(t);
  const first = openTwo(t, home);
  for (const each of [first.chats, first.runs]) each.noteCompared("now");
  await first.file.close();
  const { file } = open(t, home, { isJournaled: true });
  await file.uncover("runs");
  assert.equal(file.coverageOf("runs"), "unknown");
  assert.deepEqual(openTwo(t, killedCopy(t, home)).coverage, ["covered", "unknown"]);
  await file.close();
  assert.deepEqual(openTwo(t, home).coverage, ["names", "unknown"]);
});

test("coverage: when the index is lost nothing is known any more, whatever was noted before", async (t) => {
  const home = temporaryHome(t);
  const options = { isJournaled: true, changed: () => "now" };
  const first = openTwo(t, home, options);
  for (const each of [first.chats, first.runs]) each.noteCompared("now");
  first.chats.add(batch("a", 1));
  await first.file.close();
  const opened = open(t, home, options);
  const { file, index } = opened;
  assert.equal(index.coverage, "all");
  execute(home, "update logs set head = '{'");
  for (const key of ["b", "c", "d"]) index.add(batch(key, 1, { end: 400_000 }));
  void index.noteCovered(true); // and on the way
  assert.throws(() => index.list({ limit: 9 }), unavailable);
  assert.equal(opened.losses, 1);
  assert.deepEqual([index.coverage, file.coverageOf("runs")], ["unknown", "unknown"]);
  await nextPass();
  await file.sync();
  assert.deepEqual(openTwo(t, killedCopy(t, home), options).coverage, ["unknown", "unknown"]);
  index.noteCompared("now");
  await file.close();
  const next = openTwo(t, home, options);
  assert.deepEqual([next.file.clean, ...next.coverage], [false, "unknown", "unknown"]);
});

for (const [way, opening] of [
  ["the main thread", async (t, home, options) => open(t, home, options)],
  ["its thread", async (t, home, options) => (await openWithThread(t, home, options)).opened],
] as readonly [string, (...of: Parameters<typeof open>) => Promise<Opened>][]) {
  test(`the mark is in the file with the rows before it, 0 after a clean end, written by ${way}`, async (t) => {
    const home = temporaryHome(t);
    let position: number | undefined;
    const first = await opening(t, home, { mark: () => position });
    assert.equal(first.file.mark, 0);
    const markOf = () => open(t, killedCopy(t, home)).file.mark;
    position = 7;
    first.index.add(batch("a", 1));
    await first.file.sync();
    assert.equal(markOf(), 7);
    position = 8;
    assert.equal(markOf(), 7, "nothing was written since");
    position = undefined;
    first.index.add(batch("a", 2));
    await first.file.sync();
    assert.equal(markOf(), 7, "the journal said nothing");
    const killed = killedCopy(t, home);
    assert.equal(open(t, killed).file.mark, 7);
    assert.equal(open(t, killedCopy(t, killed)).file.mark, 0, "it is of the journal before");
    position = 9;
    first.index.add(batch("a", 3));
    await first.file.close();
    assert.equal(open(t, home).file.mark, 0);
  });
}

test("a transaction that leaves something waiting does not move the mark", async (t) => {
  const home = temporaryHome(t);
  const { file, index } = open(t, home, { mark: () => 7 });
  for (const key of ["a", "b", "c"]) index.add(batch(key, 1, { end: 250_000 }));
  const syncing = file.sync();
  const part = open(t, killedCopy(t, home));
  assert.deepEqual([part.file.mark, [...part.index.keys()]], [0, ["a", "b"]]);
  await syncing;
  const whole = open(t, killedCopy(t, home));
  assert.deepEqual([whole.file.mark, [...whole.index.keys()]], [7, ["a", "b", "c"]]);
});

// Files of no use

async function filled(t: TestContext): Promise<string> {
  const home = temporaryHome(t);
  const { file, index } = open(t, home);
  for (let key = 0; key < 40; key++) {
    if (key % 10 === 0) await file.sync();
    const head = { at: `2026-${key}`, labels: ["red"], filling: "x".repeat(key * 100) };
    for (let seq = 1; seq <= 5; seq++) index.add(batch(`k${key}`, seq, { head }));
  }
  await file.close();
  return home;
}

const useless: Record<string, (path: string) => void> = {
  empty: (path) => fs.writeFileSync(path, ""),
  "no database": (path) => fs.writeFileSync(path, "x".repeat(10_000)),
  "cut to half": (path) => fs.truncateSync(path, fs.statSync(path).size / 2),
  "cut to its first page": (path) => fs.truncateSync(path, 4096),
  "of a later version": (path) => {
    const database = new DatabaseSync(path);
    database.exec("pragma user_version = 1000");
    database.close();
  },
  "another program's": (path) => {
    fs.unlinkSync(path);
    const database = new DatabaseSync(path);
    database.exec("create table logs (x); pragma user_version = 1");
    database.close();
  },
  "gone, and its journal left behind": (path) => {
    fs.renameSync(path, `${path}-wal`);
  },
  "a link to another file": (path) => {
    fs.renameSync(path, `${path}.other`);
    fs.symlinkSync(`${path}.other`, path);
  },
  "a second name of another file": (path) => fs.linkSync(path, `${path}.other`),
  "a link to nothing": (path) => {
    fs.unlinkSync(path);
    fs.symlinkSync(`${path}.nothing`, path);
  },
};
for (const [what, spoil] of Object.entries(useless)) {
  test(`a file that is ${what} is thrown away without an error, and begun again`, {
    skip: what.includes("link") && windows,
  }, async (t) => {
    const home = await filled(t);
    const path = join(home, "index.db");
    spoil(path);
    const other = `${path}.other`;
    const before = fs.existsSync(other) ? fs.readFileSync(other) : undefined;
    const { file, index } = open(t, home);
    assert.equal(file.clean, false);
    assert.deepEqual(index.list({ limit: 10 }), { rows: [] });
    index.add(batch("a", 1));
    await file.close();
    assert.ok(fs.lstatSync(path).isFile());
    const next = open(t, home);
    assert.equal(next.file.clean, true);
    assert.equal(next.index.search("hello", { limit: 10 }).length, 1);
    if (before !== undefined) assert.deepEqual(fs.readFileSync(other), before);
  });
}

test("where no file can be, the index works in memory and forgets what it has at the end", async (t) => {
  const home = temporaryHome(t);
  fs.mkdirSync(join(home, "index.db", "full"), { recursive: true });
  const counted = countThreads(t);
  for (let round = 0; round < 2; round++) {
    const { file, index } = open(t, home, { timers: atOnce });
    assert.equal(file.clean, false);
    addMany(index, "a", 1, 100);
    await until(() => file.behind.batches === 0);
    assert.equal(index.search("hello", { limit: 10 }).length, 10);
    index.remove("a");
    await index.erase();
    assert.equal(index.search("hello", { limit: 10 }).length, 0);
    await file.close();
  }
  assert.equal(counted.threads, 0);
});

for (const umask of [0o000, 0o777]) {
  for (const [way, opening] of Object.entries(ways)) {
    test(`index.db and what is beside it have mode 0600 under umask ${umask}, also after erasing, written by ${way}`, {
      skip: windows,
    }, async (t) => {
      const home = temporaryHome(t);
      const before = process.umask(umask);
      try {
        const { file, index } = await opening(t, home);
        for (const isErased of [false, true]) {
          index.add(batch("a", 1));
          await file.sync();
          const names = fs.readdirSync(home).sort();
          assert.deepEqual(names, ["index.db", "index.db-shm", "index.db-wal"]);
          for (const name of names) {
            assert.equal(fs.statSync(join(home, name)).mode & 0o777, 0o600, `${name} ${isErased}`);
          }
          index.remove("a");
          await index.erase();
        }
      } finally {
        process.umask(before);
      }
    });
  }
}

test("an index that others could read is closed to them", { skip: windows }, async (t) => {
  const home = await filled(t);
  fs.chmodSync(join(home, "index.db"), 0o644);
  assert.equal(open(t, home).file.clean, true);
  assert.equal(fs.statSync(join(home, "index.db")).mode & 0o777, 0o600);
});

// Damage that shows only in use

/** Asks everything. @returns whether the index was lost on the way; then it must be empty. */
async function askAll(opened: Opened): Promise<boolean> {
  const { file, index, losses } = opened;
  const questions: readonly (() => unknown)[] = [
    () => index.entry("k3"),
    () => index.find("k3", "m2"),
    () => index.seek("k3", 4),
    () => [...index.keys()],
    () => index.list({ limit: 1_000 }),
    () => index.list({ limit: 1_000, label: "red" }),
    () => index.search("hello", { limit: 1_000 }),
    () => index.search("word3", { limit: 1_000, key: "k3" }),
    () => index.markDamaged("k2", true),
    () => index.add(batch("k3", 6)),
    () => file.sync(),
    () => index.remove("k4"),
    () => index.erase(),
    () => file.sync(),
  ];
  for (const ask of questions) {
    const before = opened.losses;
    try {
      await ask();
    } catch (error) {
      assert.ok(unavailable(error), String(error));
      assert.equal(opened.losses, before + 1);
    }
    if (opened.losses > before) assert.deepEqual([...index.keys()], []);
  }
  return opened.losses > losses;
}

/** Overwrites a page of the file. */
function spoilPage(home: string, page: number): void {
  const handle = fs.openSync(join(home, "index.db"), "r+");
  fs.writeSync(handle, Buffer.alloc(4096, 0xa5), 0, 4096, (page - 1) * 4096);
  fs.closeSync(handle);
}

const pagesOf = (home: string) => fs.statSync(join(home, "index.db")).size / 4096;

test("whichever second page is garbage: a right answer, or one UNAVAILABLE and an index begun again", async (t) => {
  const source = await filled(t);
  const pages = pagesOf(source);
  let lost = 0;
  for (let page = 2; page <= pages; page += 2) {
    const home = killedCopy(t, source);
    spoilPage(home, page);
    const opened = open(t, home);
    if (await askAll(opened)) lost++;
    const { file, index } = opened;
    index.add(batch("new", 1));
    assert.equal(index.search("word1", { limit: 1, key: "new" }).length, 1, `page ${page}`);
    await file.close();
    const next = open(t, home);
    assert.equal(next.file.clean, opened.losses === 0, `page ${page}`);
    await next.file.close();
  }
  assert.ok(lost > pages / 8, `${lost} of ${pages} pages`);
});

test("whichever third page is garbage while bytes have yet to be erased: they go, with the page or with all", async (t) => {
  const source = await filled(t);
  const { file, index: before } = open(t, source);
  before.remove("k4");
  before.noteCompared("now");
  await file.close();
  const pages = pagesOf(source);
  const outcomes = new Set<boolean>();
  for (let page = 2; page <= pages; page += 3) {
    const home = killedCopy(t, source);
    spoilPage(home, page);
    const opened = open(t, home, { changed: () => "now" });
    assert.equal(opened.index.coverage, opened.file.clean ? "all" : "unknown", `page ${page}`);
    const isLost = (await askAll(opened)) || !opened.file.clean;
    await opened.file.close();
    const next = open(t, home);
    if (opened.file.clean) assert.equal(next.file.clean, !isLost, `page ${page}`);
    assert.equal([...next.index.keys()].length, isLost ? 0 : 39, `page ${page}`);
    await next.file.close();
    assert.ok(!bytesOf(home).includes("k4"), `page ${page}`);
    outcomes.add(isLost);
  }
  assert.ok(outcomes.has(true));
});

for (const [column, text] of [
  ["head", "{"],
  ["labels", "["],
] as const) {
  test(`a row whose ${column} is no JSON any more is damage`, async (t) => {
    const home = await filled(t);
    execute(home, `update logs set ${column} = '${text}' where key = 'k3'`);
    const opened = open(t, home);
    assert.ok(await askAll(opened));
    assert.equal(opened.losses, 1);
  });
}

test("an index without its table of words is begun again when it is opened", async (t) => {
  const home = await filled(t);
  execute(home, "drop table words");
  const { file, index } = open(t, home);
  assert.deepEqual([file.clean, [...index.keys()]], [false, []]);
});

test("a table of words that cannot be loaded is damage", async (t) => {
  const home = await filled(t);
  execute(home, "update words_config set v = 99 where k = 'version'");
  const opened = open(t, home);
  assert.throws(() => opened.index.search("word1", { limit: 1 }), unavailable);
  assert.equal(opened.losses, 1);
});

test("a flipped bit is harmless, or the index is begun again: never another error", async (t) => {
  const source = await filled(t);
  const bytes = fs.readFileSync(join(source, "index.db"));
  await fc.assert(
    fc.asyncProperty(fc.nat(bytes.length - 1), fc.nat(7), async (at, bit) => {
      const home = temporaryHome(t);
      const flipped = Buffer.from(bytes);
      flipped[at] = flipped[at]! ^ (1 << bit);
      fs.writeFileSync(join(home, "index.db"), flipped, { mode: 0o600 });
      const opened = open(t, home);
      await askAll(opened);
      await opened.file.close();
      fs.rmSync(home, { recursive: true });
    }),
    { numRuns: 30 },
  );
});

/** Leaves nothing of the file but its first pages, which have the schema. */
function spoil(home: string, kept = 1): void {
  const path = join(home, "index.db");
  const bytes = fs.readFileSync(path);
  bytes.fill(0xa5, 4096 * kept);
  const handle = fs.openSync(path, "r+");
  fs.writeSync(handle, bytes, 0, bytes.length, 0);
  fs.closeSync(handle);
}

test("when the index is lost, every collection begins again, and none in the middle of a log", async (t) => {
  const source = await filled(t);
  spoil(source);
  const opened = open(t, source);
  if (opened.file.clean) assert.fail("the row that says so is garbage");
  const runs = opened.file.open("runs", projection);
  for (const index of [opened.index, runs]) {
    index.add(batch("a", 1));
    index.add(batch("k1", 6));
    assert.equal(index.entry("k1"), undefined);
    await opened.file.sync();
    assert.equal(index.entry("a")?.seq, 1);
    assert.equal(index.entry("k1"), undefined);
  }
});

for (const [way, opening] of Object.entries(ways)) {
  test(`a wrong row that a read finds while much is on its way costs one loss, written by ${way}`, {
    timeout: 20_000,
  }, async (t) => {
    const home = await filled(t);
    const opened = await opening(t, home);
    const { file, index } = opened;
    const many = way === "its thread" ? 200 : 20;
    for (let losses = 1; losses <= 2; losses++) {
      execute(home, "update logs set head = '{' where key in ('k3', 'c')");
      addMany(index, "b", 1, many);
      assert.throws(() => index.list({ limit: 100 }), unavailable);
      assert.equal(opened.losses, losses);
      assert.deepEqual([...index.keys()], []);
      index.add(batch("b", many + 1)); // its beginning is lost
      addMany(index, "c", 1, many);
      await file.sync();
      assert.deepEqual([...index.keys()], ["c"]);
      assert.deepEqual(seqsOf(index, "c"), downFrom(many));
    }
    assert.equal(opened.losses, 2);
    await file.close();
    assert.deepEqual(fs.readdirSync(home), [], "spoilt twice, it is in memory");
  });
}

test("what is on its way to a thread that is being started does not get into a file that is begun again", async (t) => {
  const home = await filled(t);
  const opened = open(t, home);
  const { file, index } = opened;
  execute(home, "update logs set head = '{'");
  addMany(index, "a", 1, 200); // which starts it
  const syncing = file.sync();
  assert.throws(() => index.list({ limit: 1 }), unavailable);
  await syncing;
  addMany(index, "b", 1, 64);
  await file.sync();
  assert.deepEqual([...index.keys()], ["b"]);
  assert.equal(opened.losses, 1);
});

test("garbage that the thread finds costs one loss, and the thread continues with the new file", async (t) => {
  const home = await filled(t);
  const { file, index, worker, opened } = await openWithThread(t, home);
  let isOver = false;
  worker.once("exit", () => {
    isOver = true;
  });
  await index.erase();
  spoil(home);
  for (let key = 0; key < 40; key++) addMany(index, `k${key}`, 6, 10);
  await until(() => opened.losses > 0);
  assert.deepEqual([...index.keys()], []);
  addMany(index, "a", 1, 300);
  await file.sync();
  assert.deepEqual(seqsOf(index, "a"), downFrom(300));
  assert.deepEqual([...index.keys()], ["a"]);
  assert.deepEqual([opened.losses, isOver], [1, false]);
  await file.close();
  const next = open(t, home);
  assert.deepEqual([next.file.clean, [...next.index.keys()]], [false, ["a"]]);
});

test("an index that is spoilt twice is kept in memory, and leaves no file", async (t) => {
  const home = temporaryHome(t);
  const opened = open(t, home);
  const { file, index } = opened;
  const runs = file.open("runs", projection);
  for (let losses = 1; losses <= 2; losses++) {
    addMany(index, "a", 1, 2);
    await file.sync();
    runs.add(batch("b", 1));
    execute(home, "update logs set head = '{'");
    assert.throws(() => index.list({ limit: 1 }), unavailable);
    assert.equal(opened.losses, losses);
    assert.equal(index.entry("a"), undefined);
    assert.equal(runs.entry("b"), undefined, "what waited is lost with the rest");
    assert.equal(fs.existsSync(join(home, "index.db")), losses < 2);
  }
  addMany(index, "a", 1, 100);
  await file.sync();
  assert.deepEqual(seqsOf(index, "a"), downFrom(100));
  await file.close();
  assert.deepEqual(fs.readdirSync(home), []);
});

// A full disk

/**
 * From now on SQLite says that the disk is full whenever a record is written: a trigger inserts a row
 * for which there is no number left, and the code for that is the same.
 *
 * @returns makes room again.
 */
function fillDisk(home: string, when = "true"): () => void {
  execute(
    home,
    `create table numbers (id integer primary key autoincrement);
    insert into numbers values (9223372036854775807);
    create trigger full before insert on ids when ${when} begin insert into numbers values (null); end`,
  );
  return () => execute(home, "drop trigger full");
}

for (const [way, opening] of Object.entries(ways)) {
  test(`on a full disk nothing is lost and every read knows all, written by ${way}`, async (t) => {
    const home = temporaryHome(t);
    const opened = await opening(t, home);
    const { file, index } = opened;
    index.add(batch("a", 1));
    await file.sync();
    const makeRoom = fillDisk(home);
    for (let seq = 2; seq <= 1_500; seq += 500) {
      addMany(index, "a", seq, Math.min(seq + 499, 1_500));
      await assert.rejects(file.sync(), unavailable);
      assert.equal(index.room(), undefined, "waiting would not help");
    }
    index.markDamaged("a", true);
    const check = () => {
      assert.equal(index.entry("a")?.seq, 1_500);
      assert.deepEqual(index.list({ limit: 9 }).rows[0]?.damaged, true);
      assert.ok(index.seek("a", 2) <= 100);
      assert.deepEqual(index.find("a", "m1"), { seq: 1, start: 0 });
      assert.deepEqual(index.find("a", "m777"), { seq: 777, start: 77_600 });
      assert.deepEqual(seqsOf(index, "a"), downFrom(1_500));
    };
    check();
    makeRoom();
    await file.sync();
    check();
    assert.deepEqual([file.behind.batches, opened.losses], [0, 0]);
    await file.close();
    const next = open(t, home);
    assert.equal(next.file.clean, true);
    assert.deepEqual(seqsOf(next.index, "a"), downFrom(1_500));
  });

  test(`what a full disk did not take until the end is not clean, written by ${way}`, async (t) => {
    const home = temporaryHome(t);
    const { file, index } = await opening(t, home);
    index.add(batch("a", 1));
    await file.sync();
    fillDisk(home);
    index.add(batch("a", 2));
    index.noteCompared("now");
    await file.close();
    const next = open(t, home, { changed: () => "now" });
    assert.deepEqual([next.file.clean, next.index.coverage], [false, "unknown"]);
    assert.equal(next.index.entry("a")?.seq, 1);
  });

  test(`what is erased while the disk is full goes with the whole file, written by ${way}`, async (t) => {
    const home = temporaryHome(t);
    const opened = await opening(t, home);
    const { file, index } = opened;
    index.add(batch("a", 1, { records: [{ id: "1", seq: 1, text: "xylophone" }] }));
    await file.sync();
    assert.ok(bytesOf(home).includes("xylophone"));
    fillDisk(home);
    addMany(index, "b", 1, 1_000);
    index.remove("a");
    await index.erase();
    assert.ok(!bytesOf(home).includes("xylophone"));
    assert.equal(opened.losses, 1);
  });
}

test("a full disk is tried again after a second, and nothing overtakes what it did not take", async (t) => {
  const home = temporaryHome(t);
  const timers = new HeldTimers(new HeldClock());
  const { file, index, opened } = await openWithThread(t, home, { timers, mark: () => 7 });
  const makeRoom = fillDisk(home, "new.id = 'first'");
  const half = 400_000; // of a transaction, and a little more
  index.add(batch("a", 1, { end: half, records: [{ id: "first", seq: 1 }] }));
  index.add(batch("b", 1, { end: half }));
  await timers.pass(10); // both are on their way
  index.add(batch("c", 1));
  // After the second time the thread has answered all of the first.
  for (let i = 0; i < 2; i++) await assert.rejects(file.sync(), unavailable);
  const left = open(t, killedCopy(t, home));
  assert.deepEqual([...left.index.keys()], []);
  assert.equal(file.behind.batches, 3);
  makeRoom();
  await timers.pass(999);
  assert.equal(file.behind.batches, 3);
  await timers.pass(1);
  await until(() => file.behind.batches === 0);
  index.add(batch("d", 1));
  await timers.pass(10);
  await until(() => file.behind.batches === 0);
  assert.deepEqual([...index.keys()], ["a", "b", "c", "d"]);
  assert.equal(opened.losses, 0);
});

// The thread dies

const deaths: Record<string, (worker: Worker) => void> = {
  "is terminated": (worker) => void worker.terminate(),
  fails(worker) {
    const isRunning = worker.threadId !== -1;
    if (isRunning) worker.emit("error", new Error("out of memory"));
  },
};
for (const [dies, die] of Object.entries(deaths)) {
  test(`when the thread ${dies}, nothing is lost and the main thread writes what comes`, async (t) => {
    const home = temporaryHome(t);
    const counted = countThreads(t);
    const { file, index, worker, opened } = await openWithThread(t, home);
    const ended = new Promise((resolve) => worker.once("exit", resolve));
    addMany(index, "a", 1, 2_000);
    await until(() => file.behind.batches < 2_000);
    die(worker);
    addMany(index, "b", 1, 100);
    await Promise.all([file.sync(), ended]);
    addMany(index, "b", 101, 200);
    await until(() => file.behind.batches === 0);
    index.remove("a");
    await index.erase();
    addMany(index, "a", 1, 100);
    assert.deepEqual([seqsOf(index, "a"), seqsOf(index, "b")], [downFrom(100), downFrom(200)]);
    await file.close();
    const next = open(t, home);
    assert.equal(next.file.clean, true);
    assert.deepEqual(seqsOf(next.index, "a"), downFrom(100));
    assert.deepEqual(seqsOf(next.index, "b"), downFrom(200));
    assert.deepEqual([opened.losses, counted.threads], [0, 1]);
  });

  test(`when the thread ${dies} while it syncs, erases or ends, that is done all the same`, async (t) => {
    for (const what of ["sync", "erase", "close"] as const) {
      const home = temporaryHome(t);
      const { file, index, worker } = await openWithThread(t, home);
      addMany(index, "a", 1, 300);
      index.add(batch("a", 301, { records: [{ id: "xylophone", seq: 301 }] }));
      index.remove("a");
      addMany(index, "b", 1, 300);
      const doing = what === "erase" ? index.erase() : file[what]();
      await until(() => file.behind.batches === 0);
      await nextPass();
      die(worker);
      await doing;
      if (what === "erase") assert.ok(!bytesOf(home).includes("xylophone"));
      await file.close();
      const next = open(t, home);
      assert.equal(next.file.clean, true, what);
      assert.deepEqual(seqsOf(next.index, "b"), downFrom(300));
      assert.equal(next.index.entry("a"), undefined);
    }
  });
}

// Forgetting. The full-text index keeps a word without what it shares with the one before it, so the
// canaries differ in their first letters, and their ends are looked for.

/** Every byte of every file of a home. */
function bytesOf(home: string): string {
  return fs
    .readdirSync(home, { withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ name }) => fs.readFileSync(join(home, name), "latin1"))
    .join("\0");
}

/** How many of a log's canaries are in the files. */
function countCanaries(home: string, canaries: readonly string[]): number {
  const letters =
    bytesOf(home)
      .match(/[a-z]{10,}/g)
      ?.join(" ") ?? "";
  return canaries.filter((canary) => letters.includes(canary.slice(4))).length;
}

/** Logs that are written in between each other, in heads, keys, ids, labels, instants and words of all sizes. */
async function writeLogs({ file, index }: Opened, seed: number): Promise<Map<string, string[]>> {
  let state = seed * 7_919;
  const random = (below: number) => {
    state = (state * 48_271) % 2_147_483_647;
    return state % below;
  };
  const word = () =>
    Array.from({ length: 14 }, () => "abcdefghijklmnopqrstuvwxyz"[random(26)]).join("");
  const canaries = new Map<string, string[]>();
  const keys = Array.from({ length: 20 }, () => {
    const key = word();
    canaries.set(key, [key]);
    return key;
  });
  const sizes = new Map<string, number>();
  for (let i = 0; i < 400; i++) {
    const key = keys[random(keys.length)]!;
    const seq = (sizes.get(key) ?? 0) + 1;
    sizes.set(key, seq);
    const [at, label, filling, id, text] = [word(), word(), word(), word(), word()];
    canaries.get(key)?.push(at, label, filling, id, text);
    const head = { at, labels: [label], filling: filling.repeat(1 + random(40)) };
    const others = Array.from({ length: random(60) }, word).join(" ");
    const records = [{ id: id + "i".repeat(random(40)), seq, text: `${text} and ${others}` }];
    index.add(batch(key, seq, { head, records }));
    if (i % 50 === 0) await file.sync();
  }
  await file.sync();
  return canaries;
}

for (const [way, opening] of Object.entries(ways)) {
  test(`forgetting leaves no key, id, head, label or word in any file, written by ${way}`, async (t) => {
    const home = temporaryHome(t);
    const opened = await opening(t, home);
    const { file, index } = opened;
    const canaries = await writeLogs(opened, 1);
    const [first = "", second = "", third = "", ...rest] = canaries.keys();
    const found = (key: string) => countCanaries(home, canaries.get(key)!);
    assert.ok([first, second, third].every((key) => found(key) > 10));
    index.remove(first);
    await index.erase();
    assert.equal(found(first), 0);
    for (const key of [second, third]) index.remove(key);
    await file.sync();
    assert.ok(found(second) > 0, "or erasing would have nothing to do");
    // One log comes back, another one gets words of it.
    index.add(batch(third, 1));
    const erasing = Promise.all([index.erase(), index.erase(), index.erase()]);
    for (let seq = 1; seq <= 100; seq++) {
      index.add(batch("busy", seq));
      await nextPass();
    }
    await erasing;
    assert.equal(found(second), 0);
    assert.deepEqual(found(third), 1, "the key of the new log");
    assert.deepEqual(index.find(third, "m1"), { seq: 1, start: 0 });
    for (const key of rest) {
      const all = canaries.get(key)!;
      assert.equal(index.search(all.at(-1)!, { limit: 9 })[0]?.key, key);
    }
    assert.deepEqual(seqsOf(index, "busy"), downFrom(100));
    assert.equal(opened.losses, 0);
  });

  test(`what waits when its log is removed leaves no byte either, written by ${way}`, async (t) => {
    const home = temporaryHome(t);
    const { index } = await opening(t, home);
    for (let seq = 1; seq <= 100; seq++) {
      index.add(batch("a", seq, { records: [{ id: "saxophone", seq, text: "xylophone" }] }));
    }
    index.remove("a");
    await index.erase();
    assert.deepEqual(bytesOf(home).match(/saxophone|xylophone/), null);
    assert.equal(index.entry("a"), undefined);
  });
}

test("erasing a large index is done by the thread, while batches are added and everything is read", async (t) => {
  const home = temporaryHome(t);
  const opened = open(t, home);
  const { file, index } = opened;
  const counted = countThreads(t);
  const text = (key: string, seq: number) =>
    Array.from({ length: 150 }, (_, i) => `${key}${(seq * 7_919 + i * 104_729) % 99_991}`).join(
      " ",
    );
  for (let seq = 1; seq <= 1_200; seq++) {
    for (const key of ["xylo", "saxo"]) {
      index.add(batch(key, seq, { records: [{ id: `${key}${seq}`, seq, text: text(key, seq) }] }));
    }
    if (seq % 30 === 0) await file.sync();
  }
  assert.equal(counted.threads, 0);
  assert.ok(fs.statSync(join(home, "index.db")).size > 1024 * 1024);
  index.remove("xylo");
  let isErased = false;
  const erasing = index.erase().then(() => {
    isErased = true;
  });
  let seq = 0;
  while (!isErased) {
    // As many as one search answers, however long the thread takes.
    if (seq < mostHits) index.add(batch("busy", ++seq));
    assert.equal(index.entry("xylo"), undefined);
    assert.equal(index.list({ limit: 9 }).rows.length, 2);
    assert.deepEqual(index.find("busy", `m${seq}`), { seq, start: (seq - 1) * 100 });
    await nextPass();
  }
  await erasing;
  assert.ok(!bytesOf(home).includes("xylo"));
  assert.equal(counted.threads, 1);
  assert.ok(seq > 5, `others had their turn ${seq} times`);
  await file.sync();
  assert.deepEqual(seqsOf(index, "busy"), downFrom(seq));
  assert.equal(index.find("saxo", "saxo1200")?.seq, 1_200);
  assert.equal(opened.losses, 0);
});

test("bytes that a killed process had yet to erase are gone soon after the next opening", async (t) => {
  const home = temporaryHome(t);
  const opened = open(t, home);
  const canaries = await writeLogs(opened, 1);
  const [key = "", other = ""] = canaries.keys();
  const { file, index } = opened;
  await index.erase();
  assert.ok(fs.statSync(join(home, "index.db")).size < 1024 * 1024, "or a thread erases");
  index.remove(key);
  await file.sync();
  let isErased = false;
  const erasing = index.erase().then(() => {
    isErased = true;
  });
  const copies: string[] = [];
  while (!isErased) {
    copies.push(killedCopy(t, home));
    await nextPass();
  }
  await erasing;
  assert.ok(copies.length > 2);
  for (const killed of copies) {
    const next = open(t, killed);
    assert.equal([...next.index.keys()].length, canaries.size - 1);
    assert.equal(next.index.entry(key), undefined);
    assert.ok(next.index.entry(other) !== undefined);
    await next.file.close();
    assert.equal(countCanaries(killed, canaries.get(key)!), 0);
    assert.deepEqual(fs.readdirSync(killed), ["index.db"]);
  }
});

test("a removed log is erased 1,000 records at a time, and a new one of its name stays", async (t) => {
  const home = temporaryHome(t);
  // Where no thread is, every slice can be seen.
  const { file, index, worker } = await openWithThread(t, home);
  await worker.terminate();
  addMany(index, "a", 1, 3_500);
  index.add(batch("b", 1));
  await file.sync();
  index.remove("a");
  index.add(batch("a", 1));
  assert.deepEqual([...index.keys()].sort(), ["a", "b"]);
  assert.equal(index.find("a", "m7"), undefined);
  assert.deepEqual(index.search("hello", { limit: 9, key: "b" }), [{ key: "b", seq: 1 }]);
  await file.sync();
  const countIds = () => {
    const database = new DatabaseSync(join(home, "index.db"), { readOnly: true });
    try {
      return Number(database.prepare("select count(*) as ids from ids").get()?.["ids"]);
    } finally {
      database.close();
    }
  };
  const counts = new Set<number>();
  let isErased = false;
  const erasing = index.erase().then(() => {
    isErased = true;
  });
  while (!isErased) {
    counts.add(countIds());
    await nextPass();
  }
  await erasing;
  assert.deepEqual([...counts].slice(-4), [2_566, 1_566, 566, 66]);
  assert.deepEqual(index.find("a", "m1"), { seq: 1, start: 0 });
});

test("forgetting in an index that is damaged leaves nothing of it either", async (t) => {
  for (const [way, opening] of Object.entries(ways)) {
    const home = await filled(t);
    const { index } = await opening(t, home);
    spoil(home, 3);
    index.remove("k7");
    await index.erase();
    assert.ok(!bytesOf(home).includes("k7"), way);
  }
});

test("forgetting is refused as long as an index is left that cannot be removed", async (t) => {
  const home = await filled(t);
  const obstacle = join(home, "index.db-wal", "full");
  fs.mkdirSync(obstacle, { recursive: true });
  const { index } = open(t, home);
  index.add(batch("a", 1));
  for (const key of ["a", "k7"]) {
    index.remove(key);
    await assert.rejects(index.erase(), unavailable);
  }
  assert.ok(bytesOf(home).includes("k7"));
  fs.rmSync(join(home, "index.db-wal"), { recursive: true });
  await index.erase();
  assert.deepEqual(fs.readdirSync(home), []);
});
