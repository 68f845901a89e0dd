// What only the index in a file has: a queue, damage, other versions, bytes that must go.
import assert from "node:assert/strict";
import fs from "node:fs";
import os from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { type TestContext, test } from "node:test";
import fc from "fast-check";
import { isThroughlineError } from "../../errors.ts";
import type { LogProjection, StoredRecord } from "../log-store.ts";
import type { IndexedBatch, LogIndex } from "./log-index.ts";
import { openSqliteIndex, type SqliteIndex } from "./sqlite-index.ts";

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

function open(t: TestContext, home: string, shows: LogProjection = projection): Opened {
  const opened = { losses: 0 } as { -readonly [K in keyof Opened]: Opened[K] };
  opened.file = openSqliteIndex(join(home, "index.db"), { onLost: () => opened.losses++ });
  opened.index = opened.file.open("chats", shows);
  t.after(() => opened.file.close());
  return opened;
}

/** The state of the files at this moment, as a kill leaves it. */
function killedCopy(t: TestContext, home: string): string {
  const copy = temporaryHome(t);
  fs.cpSync(home, copy, { recursive: true });
  return copy;
}

function batch(key: string, seq: number, rest: Partial<IndexedBatch> = {}): IndexedBatch {
  const records = [{ id: `m${seq}`, seq, text: `word${seq} hello` }];
  const place = { start: (seq - 1) * 100, end: seq * 100, crc: `${seq}` };
  const ids = (rest.records ?? records).map(({ id }) => id);
  return { key, seq, ...place, head: { at: "2026" }, damaged: false, ids, records, ...rest };
}

const unavailable = (error: unknown) => isThroughlineError(error, "THROUGHLINE_UNAVAILABLE");

// The queue

/** A batch that counts how often its records are read. */
function countedBatch(key: string, seq: number, bytes = 100) {
  const counted = { ...batch(key, seq), end: (seq - 1) * 100 + bytes, reads: 0 };
  const { records } = counted;
  return Object.defineProperty(counted, "records", {
    get(): readonly StoredRecord[] {
      counted.reads++;
      return records;
    },
  });
}

test("adding reads no record and writes nothing; each record is read once, when it is written", (t) => {
  const { index } = open(t, temporaryHome(t));
  const batches = Array.from({ length: 255 }, (_, i) => countedBatch("a", i + 1));
  for (const each of batches) index.add(each);
  const reads = () => batches.reduce((sum, each) => sum + each.reads, 0);
  assert.equal(reads(), 0);
  index.drain(8);
  assert.equal(reads(), 8);
  assert.deepEqual(index.find("a", "m200"), { seq: 200, start: 19_900 });
  assert.equal(index.seek("a", 200), 19_900);
  assert.equal(index.list({ limit: 1 }).rows[0]?.seq, 255);
  index.drain(248);
  assert.equal(reads(), 8, "fewer wait than that");
  index.drain(247);
  assert.equal(reads(), 255);
});

test("looking for an id reads no record of another log", (t) => {
  const { index } = open(t, temporaryHome(t));
  const other = countedBatch("b", 1);
  index.add(other);
  assert.equal(index.find("a", "m1"), undefined);
  assert.equal(other.reads, 0);
});

test("ids are looked up in the log that has the name now: not in one that was dropped, nor in a lost file", (t) => {
  const home = temporaryHome(t);
  const opened = open(t, home);
  const { index } = opened;
  const fill = (key: string, start: number) => {
    index.add(batch(key, 1, { start, end: start + 100 }));
    index.flush();
    assert.deepEqual(index.find(key, "m1"), { seq: 1, start });
  };
  fill("a", 0);
  fill("b", 100);
  index.remove("a", "later");
  assert.equal(index.find("a", "m1"), undefined);
  fill("a", 200);
  assert.deepEqual(index.find("b", "m1"), { seq: 1, start: 100 });
  index.remove("b");
  assert.deepEqual(index.find("a", "m1"), { seq: 1, start: 200 });
  fs.writeFileSync(join(home, "index.db"), Buffer.alloc(100_000, 1));
  assert.throws(() => index.find("a", "m1"), unavailable);
  assert.equal(opened.losses, 1);
  for (const key of ["c", "d", "e"]) fill(key, 300);
  assert.equal(index.find("a", "m1"), undefined);
});

/** Adds batches until the queue holds 16 MiB, which it never does. @returns how often each was read. */
function fillQueue(t: TestContext, count: number): readonly number[] {
  const { index } = open(t, temporaryHome(t));
  const bytes = (16 * 1024 * 1024) / count;
  const batches = Array.from({ length: count }, (_, i) => countedBatch("a", i + 1, bytes));
  for (const each of batches.slice(0, -1)) index.add(each);
  assert.equal(batches[0]?.reads, 0, "one fewer is not full");
  index.add(batches.at(-1)!);
  const reads = batches.map((each) => each.reads);
  const next = countedBatch("b", 1, 1);
  index.add(next);
  assert.equal(next.reads, 0, "there is room again");
  return reads;
}

for (const [count, written] of [
  [512, 4],
  [16, 1],
] as const) {
  test(`a queue that is full of ${count} batches writes out 128 KiB of them, at least one`, (t) => {
    const reads = fillQueue(t, count);
    assert.deepEqual(reads, [...new Array(written).fill(1), ...new Array(count - written).fill(0)]);
  });
}

test("a queue of small batches holds no more than 16 MiB when large ones follow", (t) => {
  const { index } = open(t, temporaryHome(t));
  const kibibytes = (n: number) => n * 1024;
  for (let seq = 1; seq < 2_000; seq++) index.add(countedBatch("a", seq, kibibytes(8)));
  for (let seq = 2_000; seq < 2_010; seq++) {
    index.add(countedBatch("a", seq, kibibytes(1_024)));
    assert.ok(index.waitingBytes() < kibibytes(16 * 1_024), `${index.waitingBytes()} wait`);
  }
});

test("a page holds the newest of what is written and of what waits, without what is out of date", (t) => {
  const { index } = open(t, temporaryHome(t));
  for (const key of ["a", "b", "c"]) index.add(batch(key, 1, { head: { at: "2026-03" } }));
  for (const key of ["d", "e"]) index.add(batch(key, 1, { head: { at: "2026-02" } }));
  index.flush();
  for (const key of ["a", "b", "c"]) index.add(batch(key, 2, { head: { at: "2026-01" } }));
  index.add(batch("e", 2, { head: { at: "2026-04" } }));
  const shown = (limit: number) => index.list({ limit }).rows.map(({ key, seq }) => `${key}${seq}`);
  assert.deepEqual(shown(1), ["e2"]);
  assert.deepEqual(shown(9), ["e2", "d1", "a2", "b2", "c2"]);
});

test("a log of which only the middle is known is not listed while it waits either", (t) => {
  const { index } = open(t, temporaryHome(t));
  index.add(batch("a", 2));
  index.add(batch("b", 2, { damaged: true }));
  const keys = () => index.list({ limit: 9 }).rows.map(({ key }) => key);
  assert.deepEqual(keys(), ["b"]);
  index.flush();
  assert.deepEqual(keys(), ["b"]);
});

test("a dropped log leaves its place in the queue to others", (t) => {
  const { index } = open(t, temporaryHome(t));
  for (let seq = 1; seq <= 7; seq++) index.add(countedBatch("a", seq, 2 * 1024 * 1024));
  index.remove("a");
  const others = [1, 2, 3].map((seq) => countedBatch("b", seq, 20 * 1024));
  for (const each of others) index.add(each);
  assert.deepEqual(
    others.map(({ reads }) => reads),
    [0, 0, 0],
  );
  index.drain(3);
  assert.deepEqual(
    others.map(({ reads }) => reads),
    [1, 1, 1],
  );
});

test("what was drained survives a kill, what was queued does not", (t) => {
  const home = temporaryHome(t);
  const { index } = open(t, home);
  for (let seq = 1; seq <= 3; seq++) index.add(batch("a", seq));
  index.drain(2);
  const { index: left } = open(t, killedCopy(t, home));
  assert.deepEqual(left.entry("a"), { seq: 2, end: 200, crc: "2" });
  assert.deepEqual(
    left.search("hello", { limit: 9 }).map(({ seq }) => seq),
    [2, 1],
  );
});

// A clean exit

test("the index is clean after a close, not when it is new and not after a kill", (t) => {
  const home = temporaryHome(t);
  const first = open(t, home);
  assert.equal(first.file.clean, false);
  first.index.add(batch("a", 1));
  first.file.close();
  first.file.close();
  const second = open(t, home);
  assert.equal(second.file.clean, true);
  assert.equal(second.index.entry("a")?.seq, 1);
  assert.equal(open(t, killedCopy(t, home)).file.clean, false);
  second.index.remove("a"); // the file is another one now
  assert.equal(open(t, killedCopy(t, home)).file.clean, false);
  second.file.close();
  assert.equal(open(t, home).file.clean, true);
});

test("after a kill the index is clean only when every collection in it was used again", (t) => {
  const home = temporaryHome(t);
  const { file, index } = open(t, home);
  index.add(batch("a", 1));
  const runs = file.open("runs", projection);
  runs.add(batch("a", 1));
  for (const each of [index, runs]) each.flush();
  const killed = killedCopy(t, home);
  open(t, killed).file.close(); // the chats only
  const next = open(t, killed);
  assert.equal(next.file.clean, false);
  next.file.open("runs", projection);
  next.file.close();
  const after = open(t, killed);
  assert.equal(after.file.clean, true);
  after.file.close(); // the chats only, but nothing was behind
  assert.equal(open(t, killed).file.clean, true);
});

test("what was noted of the names is there after a close, also of a collection not used since; not after a kill", (t) => {
  const home = temporaryHome(t);
  const first = open(t, home);
  const runs = first.file.open("runs", projection);
  assert.deepEqual([first.index.notedNames, runs.notedNames], [undefined, undefined]);
  first.index.noteNames("some chats");
  runs.noteNames("some runs");
  first.file.close();
  const second = open(t, home);
  assert.equal(second.index.notedNames, "some chats");
  second.index.noteNames("other chats");
  const killed = killedCopy(t, home);
  second.file.close();
  const third = open(t, home);
  assert.equal(third.index.notedNames, "other chats");
  assert.equal(third.file.open("runs", projection).notedNames, "some runs");
  third.index.noteNames(undefined); // not all of them were compared
  third.file.close();
  assert.equal(open(t, home).index.notedNames, undefined);
  const crashed = open(t, killed);
  assert.equal(crashed.index.notedNames, undefined);
  crashed.file.close();
  assert.equal(open(t, killed).index.notedNames, undefined, "nor after the run that follows");
});

test("after close every call says that the index is closed", (t) => {
  const { file, index } = open(t, temporaryHome(t));
  file.close();
  const closed = (error: unknown) => isThroughlineError(error, "THROUGHLINE_CLOSED");
  assert.throws(() => index.entry("a"), closed);
  assert.throws(() => index.find("a", "m1"), closed);
  assert.throws(() => index.list({ limit: 1 }), closed);
  assert.throws(() => index.erase(), closed);
});

// Files of no use

function filled(t: TestContext): string {
  const home = temporaryHome(t);
  const { file, index } = open(t, home);
  for (let key = 0; key < 40; key++) {
    const head = { at: `2026-${key}`, labels: ["red"], filling: "x".repeat(key * 100) };
    for (let seq = 1; seq <= 5; seq++) index.add(batch(`k${key}`, seq, { head }));
  }
  file.close();
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
  }, (t) => {
    const home = filled(t);
    const path = join(home, "index.db");
    spoil(path);
    const other = `${path}.other`;
    const before = fs.existsSync(other) ? fs.readFileSync(other) : undefined;
    const { file, index } = open(t, home);
    assert.equal(file.clean, false);
    assert.deepEqual(index.list({ limit: 10 }), { rows: [] });
    index.add(batch("a", 1));
    file.close();
    assert.ok(fs.lstatSync(path).isFile());
    const next = open(t, home);
    assert.equal(next.file.clean, true);
    assert.equal(next.index.search("hello", { limit: 10 }).length, 1);
    if (before !== undefined) assert.deepEqual(fs.readFileSync(other), before);
  });
}

test("where no file can be, the index works in memory and forgets what it has at the end", (t) => {
  const home = temporaryHome(t);
  fs.mkdirSync(join(home, "index.db", "full"), { recursive: true });
  for (let round = 0; round < 2; round++) {
    const { file, index } = open(t, home);
    assert.equal(file.clean, false);
    index.add(batch("a", 1));
    assert.equal(index.search("hello", { limit: 10 }).length, 1);
    index.remove("a");
    assert.equal(index.search("hello", { limit: 10 }).length, 0);
    file.close();
  }
});

test("index.db and what is beside it have mode 0600 under any umask, also after a removal", {
  skip: windows,
}, (t) => {
  for (const umask of [0o000, 0o777]) assertModes(t, umask);
});

function assertModes(t: TestContext, umask: number): void {
  const home = temporaryHome(t);
  const before = process.umask(umask);
  try {
    const { index } = open(t, home);
    for (const isRemoved of [false, true]) {
      index.add(batch("a", 1));
      index.flush();
      for (const name of fs.readdirSync(home)) {
        assert.equal(fs.statSync(join(home, name)).mode & 0o777, 0o600, `${name} ${isRemoved}`);
      }
      index.remove("a");
    }
  } finally {
    process.umask(before);
  }
}

test("an index that others could read is closed to them", { skip: windows }, (t) => {
  const home = filled(t);
  fs.chmodSync(join(home, "index.db"), 0o644);
  assert.equal(open(t, home).file.clean, true);
  assert.equal(fs.statSync(join(home, "index.db")).mode & 0o777, 0o600);
});

// Damage that shows only in use

/** Asks everything. @returns whether the index was lost on the way; then it must be empty. */
function askAll({ index, losses }: Opened, opened: Opened): boolean {
  const questions = [
    () => index.entry("k3"),
    () => index.find("k3", "m2"),
    () => index.seek("k3", 4),
    () => [...index.keys()],
    () => index.list({ limit: 1_000 }),
    () => index.list({ limit: 1_000, label: "red" }),
    () => index.search("hello", { limit: 1_000 }),
    () => index.search("word3", { limit: 1_000, key: "k3" }),
    () => index.add(batch("k3", 6)),
    () => index.remove("k4"),
    () => index.flush(),
  ];
  for (const ask of questions) {
    const before = opened.losses;
    try {
      ask();
    } catch (error) {
      assert.ok(unavailable(error), String(error));
      assert.equal(opened.losses, before + 1);
    }
    if (opened.losses > before) assert.deepEqual([...index.keys()], []);
  }
  return opened.losses > losses;
}

test("whichever second page is garbage: a right answer, or one UNAVAILABLE and an index begun again", (t) => {
  const source = filled(t);
  const pages = fs.statSync(join(source, "index.db")).size / 4096;
  let lost = 0;
  for (let page = 2; page <= pages; page += 2) {
    const home = killedCopy(t, source);
    const handle = fs.openSync(join(home, "index.db"), "r+");
    fs.writeSync(handle, Buffer.alloc(4096, 0xa5), 0, 4096, (page - 1) * 4096);
    fs.closeSync(handle);
    const opened = open(t, home);
    if (askAll({ ...opened }, opened)) lost++;
    const { file, index } = opened;
    index.add(batch("new", 1));
    assert.equal(index.search("word1", { limit: 1, key: "new" }).length, 1, `page ${page}`);
    file.close();
    const next = open(t, home);
    assert.equal(next.file.clean, opened.losses === 0, `page ${page}`);
    next.file.close();
  }
  assert.ok(lost > pages / 8, `${lost} of ${pages} pages`);
});

test("whichever third page is garbage while a removal is pending: clean and whole, or begun again", (t) => {
  const source = filled(t);
  const { file, index: before } = open(t, source);
  before.remove("k4", "later");
  before.noteNames("39 chats");
  file.close();
  const pages = fs.statSync(join(source, "index.db")).size / 4096;
  const outcomes = new Set<boolean>();
  for (let page = 2; page <= pages; page += 3) {
    const home = killedCopy(t, source);
    const handle = fs.openSync(join(home, "index.db"), "r+");
    fs.writeSync(handle, Buffer.alloc(4096, 0xa5), 0, 4096, (page - 1) * 4096);
    fs.closeSync(handle);
    const opened = open(t, home);
    const count = [...opened.index.keys()].length;
    assert.equal(count, opened.file.clean ? 39 : 0, `page ${page}`);
    assert.equal(opened.index.notedNames, opened.file.clean ? "39 chats" : undefined);
    outcomes.add(opened.file.clean);
  }
  assert.ok(outcomes.has(false));
});

for (const [column, text] of [
  ["head", "{"],
  ["labels", "["],
] as const) {
  test(`a row whose ${column} is no JSON any more is damage`, (t) => {
    const home = filled(t);
    const database = new DatabaseSync(join(home, "index.db"));
    database.prepare(`update logs set ${column} = ? where key = 'k3'`).run(text);
    database.close();
    const opened = open(t, home);
    assert.ok(askAll({ ...opened, losses: 0 }, opened));
    assert.equal(opened.losses, 1);
  });
}

test("an index without one of its parts of words is begun again when it is opened", (t) => {
  const home = filled(t);
  const database = new DatabaseSync(join(home, "index.db"));
  database.exec("drop table words7");
  database.close();
  const { file, index } = open(t, home);
  assert.deepEqual([file.clean, [...index.keys()]], [false, []]);
});

test("a part of words that cannot be loaded is damage", (t) => {
  const home = filled(t);
  const database = new DatabaseSync(join(home, "index.db"), { defensive: false });
  for (let part = 0; part < 16; part++) {
    database.exec(`update words${part}_config set v = 99 where k = 'version'`);
  }
  database.close();
  const opened = open(t, home);
  assert.throws(() => opened.index.search("word1", { limit: 1 }), unavailable);
  assert.equal(opened.losses, 1);
});

test("a flipped bit is harmless, or the index is begun again: never another error", (t) => {
  const source = filled(t);
  const bytes = fs.readFileSync(join(source, "index.db"));
  fc.assert(
    fc.property(fc.nat(bytes.length - 1), fc.nat(7), (at, bit) => {
      const home = temporaryHome(t);
      const flipped = Buffer.from(bytes);
      flipped[at] = flipped[at]! ^ (1 << bit);
      fs.writeFileSync(join(home, "index.db"), flipped, { mode: 0o600 });
      const opened = open(t, home);
      askAll({ ...opened }, opened);
      opened.file.close();
      fs.rmSync(home, { recursive: true });
    }),
    { numRuns: 30 },
  );
});

test("when the index is lost, every collection begins again, and none in the middle of a log", (t) => {
  const source = filled(t);
  const path = join(source, "index.db");
  const bytes = fs.readFileSync(path);
  fs.writeFileSync(
    path,
    Buffer.concat([bytes.subarray(0, 4096), Buffer.alloc(bytes.length - 4096, 0xa5)]),
  );
  // The first page has the schema; where the tables are is garbage.
  const opened = open(t, source);
  if (opened.file.clean) assert.fail("the row that says so is garbage");
  const runs = opened.file.open("runs", projection);
  for (const index of [opened.index, runs]) {
    index.add(batch("a", 1));
    index.add(batch("k1", 6));
    index.flush();
    assert.equal(index.entry("a")?.seq, 1);
    assert.equal(index.entry("k1"), undefined);
  }
});

/** A real error of SQLite's. */
function errorOf(path: string, sql: string): unknown {
  const database = new DatabaseSync(path);
  try {
    database.exec(sql);
  } catch (error) {
    return error;
  } finally {
    database.close();
  }
  return assert.fail("there was no error");
}

const fullDisk = () =>
  errorOf(
    ":memory:",
    "pragma max_page_count = 2; create table t (x); insert into t values (zeroblob(100000))",
  );

test("an index that is spoilt twice goes on in memory, and leaves no file", (t) => {
  const home = temporaryHome(t);
  fs.writeFileSync(join(home, "garbage"), "x".repeat(5_000));
  const garbage = errorOf(join(home, "garbage"), "create table t (x)");
  fs.unlinkSync(join(home, "garbage"));
  let isSpoilt = false;
  const opened = open(t, home, {
    ...projection,
    text(record) {
      if (isSpoilt) throw garbage;
      return projection.text(record);
    },
  });
  const { file, index } = opened;
  const runs = file.open("runs", projection);
  for (let losses = 1; losses <= 3; losses++) {
    for (const seq of [1, 2]) index.add(batch("a", seq));
    assert.equal(index.list({ limit: 9 }).rows.length, 1);
    runs.add(batch("b", 1));
    isSpoilt = true;
    index.add(batch("a", 3));
    assert.throws(() => index.search("hello", { limit: 1 }), unavailable);
    isSpoilt = false;
    assert.equal(opened.losses, losses);
    assert.equal(index.entry("a"), undefined);
    assert.equal(runs.entry("b"), undefined, "what was queued is lost with the rest");
    assert.equal(fs.existsSync(join(home, "index.db")), losses < 2);
  }
  file.close();
  assert.deepEqual(fs.readdirSync(home), []);
});

test("on a full disk nothing is lost: a search waits, lists do not, and all is there later", (t) => {
  const home = temporaryHome(t);
  let isFull = false;
  const opened = open(t, home, {
    ...projection,
    text(record) {
      if (isFull) throw fullDisk();
      return projection.text(record);
    },
  });
  const { file, index } = opened;
  index.add(batch("a", 1));
  index.flush();
  isFull = true;
  index.add(batch("a", 2));
  index.drain(1);
  index.flush();
  index.markDamaged("b", true);
  assert.throws(() => index.search("hello", { limit: 1 }), unavailable);
  assert.equal(index.list({ limit: 1 }).rows[0]?.seq, 2);
  assert.equal(index.seek("a", 2), 100);
  assert.deepEqual(index.find("a", "m1"), { seq: 1, start: 0 });
  assert.deepEqual(index.find("a", "m2"), { seq: 2, start: 100 });
  assert.equal(index.entry("a")?.seq, 2);
  isFull = false;
  assert.equal(index.list({ limit: 1 }).rows[0]?.seq, 2);
  assert.equal(index.search("hello", { limit: 9 }).length, 2);
  isFull = true;
  index.add(batch("a", 3));
  file.close();
  assert.equal(opened.losses, 0);
  const next = open(t, home);
  assert.equal(next.file.clean, false);
  assert.equal(next.index.entry("a")?.seq, 2);
});

test("an error of a projection goes to whoever reads, and throws nothing away", (t) => {
  let isBroken = true;
  const opened = open(t, temporaryHome(t), {
    ...projection,
    sortedAt(head) {
      if (isBroken) throw new TypeError("no instant");
      return projection.sortedAt(head);
    },
  });
  opened.index.add(batch("a", 1));
  assert.throws(() => opened.index.list({ limit: 1 }), TypeError);
  assert.throws(() => opened.index.search("hello", { limit: 1 }), TypeError);
  isBroken = false;
  assert.equal(opened.index.list({ limit: 1 }).rows.length, 1);
  assert.equal(opened.losses, 0);
});

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

/** Logs that are written all at once, in heads, keys, ids, labels, instants and words of all sizes. */
function writeLogs(index: LogIndex, seed: number): Map<string, string[]> {
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
  for (let i = 0; i < 600; i++) {
    const key = keys[random(keys.length)]!;
    const seq = (sizes.get(key) ?? 0) + 1;
    sizes.set(key, seq);
    const [at, label, filling, id, text] = [word(), word(), word(), word(), word()];
    canaries.get(key)?.push(at, label, filling, id, text);
    const head = { at, labels: [label], filling: filling.repeat(1 + random(40)) };
    const others = Array.from({ length: random(60) }, word).join(" ");
    const records = [{ id: id + "i".repeat(random(40)), seq, text: `${text} and ${others}` }];
    index.add(batch(key, seq, { head, records }));
    if (random(4) === 0) index.drain(8);
  }
  index.flush();
  return canaries;
}

for (let seed = 1; seed <= 2; seed++) {
  test(`forgetting leaves no key, id, head, label or word in any file, seed ${seed}`, (t) => {
    const home = temporaryHome(t);
    const { index } = open(t, home);
    const canaries = writeLogs(index, seed);
    const [first = "", second = "", third = "", ...rest] = canaries.keys();
    const found = (key: string) => countCanaries(home, canaries.get(key)!);
    assert.ok([first, second, third].every((key) => found(key) > 20));
    index.remove(first);
    assert.equal(found(first), 0);
    index.remove(second, "later");
    index.remove(third, "later");
    assert.ok(found(second) > 0, "or the slices would have nothing to do");
    for (let slices = 0; index.erase(); slices++) {
      assert.ok(slices < 1_000);
      index.add(batch("busy", slices + 1));
      index.drain(1);
    }
    for (const key of [first, second, third]) assert.equal(found(key), 0);
    for (const key of rest) {
      const all = canaries.get(key)!;
      assert.equal(index.search(all.at(-1)!, { limit: 9 })[0]?.key, key);
    }
    assert.equal(index.erase(), false);
  });
}

test("a dropped log is removed in slices of 1,000 records, which a kill between them takes nothing from", (t) => {
  const home = temporaryHome(t);
  const { index } = open(t, home);
  for (let seq = 1; seq <= 3_500; seq++) index.add(batch("a", seq));
  index.add(batch("b", 1));
  index.flush();
  index.remove("a", "later");
  assert.deepEqual([...index.keys()], ["b"]);
  assert.equal(index.find("a", "m7"), undefined);
  assert.deepEqual(index.search("hello", { limit: 9 }), [{ key: "b", seq: 1 }]);
  const left = (place: string) => {
    const database = new DatabaseSync(join(place, "index.db"), { readOnly: true });
    try {
      return database.prepare("select count(*) as ids from ids").get()?.["ids"];
    } finally {
      database.close();
    }
  };
  const ids: unknown[] = [];
  for (let slice = 1; slice <= 4; slice++) {
    assert.equal(index.erase(), true);
    ids.push(left(killedCopy(t, home)));
  }
  assert.deepEqual(ids, [2_501, 1_501, 501, 1]);
  const killed = killedCopy(t, home);
  index.add(batch("a", 1));
  index.flush();
  while (index.erase());
  assert.deepEqual(index.find("a", "m1"), { seq: 1, start: 0 }, "the new log of that key stays");
  open(t, killed).file.close();
  assert.equal(left(killed), 1);
});

test("bytes that a killed process had yet to remove are gone when the index is opened", (t) => {
  const home = temporaryHome(t);
  const { index } = open(t, home);
  const canaries = writeLogs(index, 1);
  const [key = ""] = canaries.keys();
  index.remove(key, "later");
  let killed: string;
  do {
    killed = killedCopy(t, home);
    const { file, index: opened } = open(t, killed);
    assert.equal(countCanaries(killed, canaries.get(key)!), 0);
    assert.equal([...opened.keys()].length, canaries.size - 1);
    file.close();
  } while (index.erase());
  assert.deepEqual(fs.readdirSync(killed), ["index.db"]);
});

test("a copy that a killed process did not finish is swept", (t) => {
  const home = temporaryHome(t);
  for (const name of ["index.db.tmp-abc", "index.db.tmp-abc-journal"]) {
    fs.writeFileSync(join(home, name), "x");
  }
  open(t, home).file.close();
  assert.deepEqual(fs.readdirSync(home), ["index.db"]);
});

test("forgetting in an index that is damaged leaves nothing of it either", (t) => {
  const home = filled(t);
  const path = join(home, "index.db");
  const bytes = fs.readFileSync(path);
  fs.writeFileSync(
    path,
    Buffer.concat([bytes.subarray(0, 4096 * 3), Buffer.alloc(bytes.length, 0xa5)]),
  );
  const { index } = open(t, home);
  index.remove("k7");
  assert.ok(!bytesOf(home).includes("k7"));
});

test("forgetting is refused as long as an index is left that cannot be removed", (t) => {
  const home = filled(t);
  const obstacle = join(home, "index.db-wal", "full");
  fs.mkdirSync(obstacle, { recursive: true });
  const { index } = open(t, home);
  index.add(batch("a", 1));
  assert.throws(() => index.remove("a"), unavailable);
  assert.throws(() => index.remove("k7"), unavailable);
  assert.ok(bytesOf(join(home)).includes("k7"));
  fs.rmSync(join(home, "index.db-wal"), { recursive: true });
  index.remove("k7");
  assert.deepEqual(fs.readdirSync(home), []);
});
