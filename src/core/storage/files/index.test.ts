// The index file under its storage: killed, damaged, on a full disk, without its thread, and what forgetting leaves
// in it. What it answers is the contract of log stores.
import assert from "node:assert/strict";
import fs from "node:fs";
import { basename, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { type TestContext, test } from "node:test";
import { setImmediate as nextPass } from "node:timers/promises";
import type { Worker } from "node:worker_threads";
import { HeldClock } from "../../../../test/support/held-clock.ts";
import { HeldTimers } from "../../../../test/support/held-timers.ts";
import {
  atOnce,
  homeFolder,
  killedCopy,
  never,
  openIndexed,
} from "../../../../test/support/indexed-home.ts";
import {
  saidProjection as projection,
  slowProjection,
} from "../../../../test/support/projections.ts";
import { seededRandom } from "../../../testing/random.ts";
import { isThroughlineError } from "../../errors.ts";
import type { Timers } from "../../timers.ts";
import type { LogStore } from "../log-store.ts";

const isFull = process.env["THROUGHLINE_FULL"] === "1";
const windows = process.platform === "win32" && "Windows has no modes and links of this form";

async function open(
  home: string,
  timers: Timers = never,
  segmentBytes = 65_536,
  homeTimers?: Timers,
) {
  const options = homeTimers === undefined ? {} : { homeTimers };
  const opened = await openIndexed(home, { timers, segmentBytes, ...options });
  const { storage, index, coverage } = opened;
  const close = () => storage.close();
  return { storage, index, coverage, logs: storage.logs("chats", projection), close };
}

/** Opens a home whose index has its thread: something of another collection is written. */
async function openWithThread(home: string, homeTimers?: Timers) {
  const started = new Promise<Worker>((resolve) => process.once("worker", resolve));
  const opened = await open(home, atOnce, 65_536, homeTimers);
  await say(opened.storage.logs("others", projection), "other", "o1");
  const worker = await started;
  await opened.index.sync();
  return { ...opened, worker };
}

/** Both ways in which an index is written. */
const ways = {
  "the main thread": (home: string, homeTimers?: Timers) => open(home, never, 65_536, homeTimers),
  "its thread": openWithThread,
};

const say = (logs: LogStore, key: string, id: string, content = `word${id} hello`) =>
  logs.append(key, [{ id, content }], { head: { at: "2026", labels: ["red"] } });

async function sayMany(logs: LogStore, key: string, from: number, to: number): Promise<void> {
  const ids = Array.from({ length: to - from + 1 }, (_, n) => `m${from + n}`);
  await Promise.all(ids.map((id) => say(logs, key, id)));
}

/** Where the index is begun again under a call, that call is refused once. */
async function asked<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    assert.ok(isThroughlineError(error, "THROUGHLINE_UNAVAILABLE"), String(error));
    return ask();
  }
}

/** Asserts that lists, searches and ids have these logs with so many messages, and no other. */
async function checkHas(logs: LogStore, counts: Record<string, number>, says = ""): Promise<void> {
  for (const label of [undefined, "red"]) {
    const { rows } = await asked(() => logs.list({ limit: 1_000, label }));
    const listed = Object.fromEntries(rows.map(({ key, seq }) => [key, seq]));
    assert.deepEqual(listed, counts, says);
  }
  const hits = await asked(() => logs.search("hello", { limit: 1_000 }));
  const found = Object.values(counts).reduce((sum, count) => sum + count, 0);
  assert.equal(hits.length, Math.min(found, 1_000), says);
  for (const [key, count] of Object.entries(counts)) {
    const last = await asked(() => logs.find(key, `m${count}`));
    assert.equal(last?.seq, count, `${says} ${key}`);
  }
}

/** Every byte of every file of a home. */
function bytesOf(home: string): string {
  const entries = fs.readdirSync(home, { withFileTypes: true, recursive: true });
  const files = entries.filter((entry) => entry.isFile());
  return files
    .map((entry) => fs.readFileSync(join(entry.parentPath, entry.name), "latin1"))
    .join("\0");
}

test("nothing is written into the room that an index makes before the work in it is done", async (t) => {
  const home = homeFolder(t);
  const { index, logs, close } = await open(home);
  await sayMany(logs, "a", 1, 20);
  await index.catchUp();
  const work = Promise.withResolvers<void>();
  const done = index.makeRoomFor(1, () => work.promise);
  assert.ok(done);
  let isWritten = false;
  const written = index.cover("chats", false).then(() => {
    isWritten = true;
  });
  for (let pass = 0; pass < 20; pass++) await nextPass();
  assert.equal(isWritten, false);
  work.resolve();
  await Promise.all([done, written]);
  await checkHas(logs, { a: 20 });
  await close();
});

/** Changes the index through another connection, as another program does. */
function execute(home: string, sql: string): void {
  const database = new DatabaseSync(join(home, "index.db"), { defensive: false });
  try {
    database.exec(sql);
  } finally {
    database.close();
  }
}

// Kills

test("killed while the index takes in what was said, the next start has all that was acknowledged", async (t) => {
  const seed = 20_260_301;
  t.diagnostic(`seed ${seed}`);
  const random = seededRandom(seed);
  const home = homeFolder(t);
  const { logs, index } = await open(home, never, 2 ** 24);
  await logs.list({ limit: 1 });
  const counts: Record<string, number> = {};
  const copies: { readonly copy: string; readonly least: Record<string, number> }[] = [];
  for (let round = 0; round < (isFull ? 5 : 3); round++) {
    for (let n = 0; n < 6; n++) {
      const key = `k${random(5)}`;
      const seq = (counts[key] ?? 0) + 1;
      // Some are so large that they are written in transactions of their own.
      const text = `hello ${random(2) === 0 ? "word ".repeat(20_000) : "word"}`;
      await say(logs, key, `m${seq}`, text);
      counts[key] = seq;
    }
    const least = { ...counts };
    const syncing = index.sync();
    for (let pass = 0; pass < 3; pass++) {
      copies.push({ copy: killedCopy(t, home), least });
      await nextPass();
    }
    await syncing;
  }
  const coverages = new Set<string>();
  for (const [n, { copy, least }] of copies.entries()) {
    const next = await open(copy);
    coverages.add(next.coverage);
    await checkHas(next.logs, least, `kill ${n}`);
    await next.close();
    fs.rmSync(copy, { recursive: true });
  }
  assert.ok(coverages.has("covered"), "or no start trusts its index");
});

test("a thread is started after 1,024 groups, or after a second; a home that is open for a moment starts none", async (t) => {
  let threads = 0;
  const count = () => void threads++;
  process.on("worker", count);
  t.after(() => process.off("worker", count));
  const home = homeFolder(t);
  for (let n = 0; n < 3; n++) {
    const { logs, close } = await open(home);
    await sayMany(logs, "a", n * 20 + 1, n * 20 + 20);
    await logs.search("hello", { limit: 1 });
    await close();
  }
  assert.equal(threads, 0);
  const timers = new HeldTimers(new HeldClock());
  const { logs, index } = await open(homeFolder(t), timers);
  await say(logs, "a", "m1");
  await timers.pass(999);
  assert.equal(threads, 0);
  await timers.pass(1);
  await index.sync();
  assert.equal(threads, 1);
  const next = await open(home, never, 2 ** 24);
  for (let n = 1; n < 1_023; n++) await say(next.logs, "b", `m${n}`);
  assert.equal(threads, 1);
  for (let n = 1_023; n < 1_030; n++) await say(next.logs, "b", `m${n}`);
  await nextPass();
  assert.equal(threads, 2);
  await next.index.sync();
});

test("an index that is far behind delays appends, which bounds the journal", async (t) => {
  const home = homeFolder(t);
  const options = { segmentBytes: 2 ** 26, mostBehindBytes: 2 ** 20 };
  const { storage, index } = await openIndexed(home, options);
  const logs = storage.logs("chats", slowProjection);
  await logs.list({ limit: 1 });
  let most = 0;
  for (let n = 1; n <= 40; n++) {
    await say(logs, "a", `m${n}`, `hello ${"x".repeat(100_000)}`);
    most = Math.max(most, index.behind.bytes);
  }
  assert.ok(most > 2 ** 20 && most < 1.2 * 2 ** 20, `${most} bytes behind`);
  assert.equal((await logs.search("hello", { limit: 100 })).length, 40);
});

test("where there is no thread the index keeps up by itself", async (t) => {
  const options = { timers: never, segmentBytes: 2 ** 26 };
  const { storage, index } = await openIndexed(homeFolder(t), options);
  const logs = storage.logs("chats", { ...projection, module: undefined });
  for (let n = 1; n <= 40; n++) await say(logs, "a", `m${n}`, "x".repeat(100_000));
  for (let pass = 0; index.behind.bytes > 2 ** 20 && pass < 10_000; pass++) await nextPass();
  assert.ok(index.behind.bytes <= 2 ** 20, `${index.behind.bytes} bytes behind`);
});

test("an index that is lost has a thread again, also if logs were added to it while it had one", async (t) => {
  const waiting = new Set<() => void>();
  const timers: Timers = {
    after(_, call) {
      waiting.add(call);
      return () => waiting.delete(call);
    },
  };
  const { storage, index } = await openIndexed(homeFolder(t), { timers, segmentBytes: 2 ** 26 });
  const logs = storage.logs("chats", projection);
  const pass = async () => {
    const started = new Promise<Worker>((resolve) => process.once("worker", resolve));
    await say(logs, "a", `m${waiting.size}${index.losses}`);
    assert.equal(waiting.size, 1);
    for (const call of [...waiting]) {
      waiting.delete(call);
      call();
    }
    await started;
  };
  await pass();
  await index.add({ collection: "chats", key: "b", damaged: false, batches: [], from: 0 });
  for (const call of [...waiting]) {
    waiting.delete(call);
    call();
  }
  index.lose();
  await logs.list({ limit: 1 });
  await pass();
});

test("the keys of a collection are read in their order, without a look at those of others", async (t) => {
  const home = homeFolder(t);
  const { index } = await open(home);
  const database = new DatabaseSync(join(home, "index.db"));
  const plan = database.prepare(`explain query plan ${index.sql.keys.sourceSQL}`);
  const details = plan.all("chats", "", 9).map(({ detail }) => String(detail));
  database.close();
  assert.match(details.join(), /^SEARCH logs USING INDEX \S+ \(collection=\? AND path>\?\)$/);
});

test("the logs of a collection are found by the name that it was opened by, not by that of their folder", async (t) => {
  const home = homeFolder(t);
  const first = await open(home);
  await say(first.storage.logs(".", projection), "a", "m1");
  await first.close();
  const { storage, close } = await open(home);
  const { rows } = await storage.logs(".", projection).list({ limit: 2 });
  assert.deepEqual(
    rows.map(({ key, seq }) => [key, seq]),
    [["a", 1]],
  );
  await close();
});

// Damage

/** A home in which a process was that ended in order: so few logs that no start needs a thread for them. */
async function filled(t: TestContext): Promise<string> {
  const home = homeFolder(t);
  const { logs, close } = await open(home);
  for (let n = 0; n < 12; n++) {
    const head = { at: "2026", labels: ["red"], filling: "x".repeat(n * 300) };
    const records = [1, 2, 3, 4].map((seq) => ({ id: `m${seq}`, content: `word${seq} hello` }));
    await logs.append(`k${n}`, records, { head });
  }
  await close();
  return home;
}

const countsOfFilled = Object.fromEntries(Array.from({ length: 12 }, (_, n) => [`k${n}`, 4]));

/** Overwrites bytes of the index file. */
function overwrite(home: string, at: number, bytes: Uint8Array): void {
  const handle = fs.openSync(join(home, "index.db"), "r+");
  fs.writeSync(handle, bytes, 0, bytes.length, at);
  fs.closeSync(handle);
}

const links = new Set([
  "a link to another file",
  "a second name of another file",
  "a link to nothing",
]);
const useless: Record<string, (path: string, home: string) => void> = {
  empty: (path) => fs.writeFileSync(path, ""),
  "no database": (path) => fs.writeFileSync(path, "x".repeat(10_000)),
  "cut to half": (path) => fs.truncateSync(path, fs.statSync(path).size / 2),
  "cut to its first page": (path) => fs.truncateSync(path, 4096),
  "of a later version": (_, home) => execute(home, "delete from logs; pragma user_version = 1000"),
  "another program's": (path, home) => {
    fs.unlinkSync(path);
    execute(home, "create table logs (x); pragma user_version = 1");
  },
  "gone, and its journal left behind": (path) => fs.renameSync(path, `${path}-wal`),
  "a link to another file": (path) => {
    fs.renameSync(path, `${path}.other`);
    fs.symlinkSync(`${path}.other`, path);
  },
  "a second name of another file": (path) => fs.linkSync(path, `${path}.other`),
  "a link to nothing": (path) => {
    fs.unlinkSync(path);
    fs.symlinkSync(`${path}.nothing`, path);
  },
  "without its table of words": (_, home) => execute(home, "drop table words"),
  "with words that cannot be loaded": (_, home) =>
    execute(home, "update words_config set v = 99 where k = 'version'"),
  "with a head that is no JSON": (_, home) =>
    execute(home, "update logs set head = '{' where key = 'k3'"),
  "with labels that are no JSON": (_, home) =>
    execute(home, "update logs set labels = '[' where key = 'k3'"),
  "all garbage but its first page": (path, home) =>
    overwrite(home, 4096, Buffer.alloc(fs.statSync(path).size - 4096, 0xa5)),
};
for (const [what, spoil] of Object.entries(useless)) {
  test(`an index that is ${what} costs no answer, and is begun again`, {
    skip: links.has(what) && windows,
  }, async (t) => {
    const home = await filled(t);
    const path = join(home, "index.db");
    spoil(path, home);
    const other = `${path}.other`;
    const before = fs.existsSync(other) ? fs.readFileSync(other) : undefined;
    const { logs, close } = await open(home);
    await checkHas(logs, countsOfFilled);
    await asked(() => say(logs, "k3", "m5"));
    await close();
    assert.ok(fs.lstatSync(path).isFile());
    await checkHas((await open(home)).logs, { ...countsOfFilled, k3: 5 });
    if (before !== undefined) assert.deepEqual(fs.readFileSync(other), before);
  });
}

test("whatever page is garbage, every answer is right, and what is deleted leaves no byte; whatever bit is flipped, no log suffers", async (t) => {
  const seed = 1 + Math.floor(Math.random() * 1e6);
  t.diagnostic(`seed ${seed}`);
  const random = seededRandom(seed);
  const source = await filled(t);
  const { size } = fs.statSync(join(source, "index.db"));
  const { k4: _, ...others } = countsOfFilled;
  let lost = 0;
  const spoils: (readonly [what: string, at: number, bytes: Buffer])[] = [];
  const step = isFull ? 1 : 4;
  for (let page = 1 + random(step); page < size / 4096; page += step) {
    spoils.push([`page ${page}`, page * 4096, Buffer.alloc(4096, 0xa5)]);
  }
  const bytes = fs.readFileSync(join(source, "index.db"));
  for (let n = 0; n < (isFull ? 40 : 6); n++) {
    const at = random(size);
    spoils.push([`byte ${at}`, at, Buffer.from([(bytes[at] ?? 0) ^ (1 << random(8))])]);
  }
  for (const [what, at, garbage] of spoils) {
    const home = killedCopy(t, source);
    overwrite(home, at, garbage);
    const { index, logs, close } = await open(home);
    if (!index.clean) lost++;
    // SQLite has no checksums: a bit within a word or a number of the file is not found out.
    const isSure = garbage.length > 1;
    const check = (counts: Record<string, number>) => checkHas(logs, counts, what);
    await asked(() => logs.delete("k4"));
    if (isSure) await check(others);
    await asked(() => say(logs, "new", "m1"));
    if (isSure) await check({ ...others, new: 1 });
    await asked(() => logs.list({ limit: 100 }));
    await asked(() => logs.search("hello", { limit: 100 }));
    for (const key of [...Object.keys(others), "new"]) {
      const ids = (await Array.fromAsync(logs.read(key))).map(({ id }) => id);
      assert.deepEqual(ids, key === "new" ? ["m1"] : ["m1", "m2", "m3", "m4"], what);
    }
    lost += index.losses;
    await close();
    if (isSure) assert.ok(!bytesOf(home).includes("k4"), what);
    fs.rmSync(home, { recursive: true });
  }
  assert.ok(lost > spoils.length / 8, `${lost} of ${spoils.length}`);
});

for (const [way, opening] of Object.entries(ways)) {
  test(`an index that is spoilt while much is on its way to it is begun again, and the second time in memory, written by ${way}`, async (t) => {
    const home = await filled(t);
    const { logs, index, close } = await opening(home);
    const counts: Record<string, number> = { ...countsOfFilled };
    for (let losses = 1; losses <= 2; losses++) {
      await index.sync();
      execute(home, "update logs set head = '{' where key like 'k%'");
      const from = (counts["b"] ?? 0) + 1;
      counts["b"] = from + 99;
      const saying = sayMany(logs, "b", from, from + 99);
      await assert.rejects(logs.list({ limit: 100 }), { code: "THROUGHLINE_UNAVAILABLE" });
      await saying;
      await checkHas(logs, counts, `loss ${losses}`);
    }
    await index.sync();
    await close();
    assert.equal(fs.existsSync(join(home, "index.db")), false);
    await checkHas((await open(home)).logs, counts);
  });
}

test("where no file can be, the index works in memory", async (t) => {
  const home = homeFolder(t);
  fs.mkdirSync(join(home, "index.db", "full"), { recursive: true });
  for (let round = 1; round <= 2; round++) {
    const { logs, index, close } = await open(home, atOnce);
    assert.equal(index.clean, false);
    await sayMany(logs, "a", 1, 100);
    await checkHas(logs, { a: 100 });
    await logs.delete("a");
    await checkHas(logs, {});
    await close();
  }
});

test("forgetting is refused as long as an index is left that cannot be removed", async (t) => {
  const home = await filled(t);
  const obstacle = join(home, "index.db-wal");
  fs.mkdirSync(join(obstacle, "full"), { recursive: true });
  const { logs } = await open(home);
  await assert.rejects(logs.delete("k7"), { code: "THROUGHLINE_OUTCOME_UNKNOWN" });
  assert.ok(bytesOf(home).includes("k7"));
  fs.rmSync(obstacle, { recursive: true });
  await logs.delete("k7");
  assert.ok(!bytesOf(home).includes("k7"));
});

for (const umask of [0o000, 0o777]) {
  for (const [way, opening] of Object.entries(ways)) {
    test(`index.db and what is beside it have mode 0600 under umask ${umask}, also after erasing, written by ${way}`, {
      skip: windows,
    }, async (t) => {
      const home = homeFolder(t);
      const before = process.umask(umask);
      try {
        const { logs, index } = await opening(home);
        await say(logs, "k3", "m1");
        await index.sync();
        for (const isErased of [false, true]) {
          const names = ["index.db", "index.db-shm", "index.db-wal"];
          for (const name of names) {
            assert.equal(fs.statSync(join(home, name)).mode & 0o777, 0o600, `${name} ${isErased}`);
          }
          await logs.delete("k3");
          await index.sync();
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
  await open(home);
  assert.equal(fs.statSync(join(home, "index.db")).mode & 0o777, 0o600);
});

// A full disk

/**
 * From now on SQLite says that the disk is full whenever a record is written: a trigger inserts a row
 * for which there is no number left, and the code for that is the same.
 *
 * @returns makes room again.
 */
function fillDisk(home: string): () => void {
  execute(
    home,
    `create table if not exists numbers (id integer primary key autoincrement);
    insert or ignore into numbers values (9223372036854775807);
    create trigger full before update on logs begin insert into numbers values (null); end`,
  );
  return () => execute(home, "drop trigger full");
}

for (const [way, opening] of Object.entries(ways)) {
  test(`on a full disk every answer knows all, a kill loses nothing, and what is deleted leaves no byte, written by ${way}`, async (t) => {
    const home = homeFolder(t);
    const { logs, index, close } = await opening(home);
    await say(logs, "gone", "m1", "hello xylophone");
    await sayMany(logs, "a", 1, 2);
    await index.sync();
    const makeRoom = fillDisk(home);
    const full = { code: "THROUGHLINE_UNAVAILABLE" };
    for (let from = 3; from < 90; from += 30) {
      await sayMany(logs, "a", from, from + 29);
      await assert.rejects(index.sync(), full);
      const { rows } = await logs.list({ limit: 9 });
      assert.deepEqual(new Map(rows.map(({ key, seq }) => [key, seq])).get("a"), from + 29);
      assert.equal((await logs.find("a", `m${from}`))?.seq, from);
    }
    await checkHas((await open(killedCopy(t, home))).logs, { a: 92, gone: 1 });
    makeRoom();
    await asked(() => index.sync()); // a write that is on its way was refused before
    assert.equal(index.behind.bytes, 0);
    assert.equal(index.losses, 0);
    // A search needs all that was said: the index is begun again for it.
    for (let losses = 1; losses <= 2; losses++) {
      fillDisk(home);
      await sayMany(logs, "b", losses * 20 - 19, losses * 20);
      await checkHas(logs, { a: 92, b: losses * 20, gone: 1 });
      assert.equal(index.losses, losses);
    }
    await asked(() => logs.delete("gone"));
    assert.ok(!bytesOf(home).includes("xylophone"));
    await close();
    await checkHas((await open(home)).logs, { a: 92, b: 40 });
  });
}

for (const [way, opening] of Object.entries(ways)) {
  test(`on a full disk a log that the index lacks is read, found and appended to, written by ${way}`, async (t) => {
    const home = homeFolder(t);
    const { logs, index, close } = await opening(home);
    await sayMany(logs, "a", 1, 2);
    await index.sync();
    fillDisk(home);
    await sayMany(logs, "a", 3, 90);
    await say(logs, "b", "m1");
    await say(logs, "gone", "m1");
    await logs.delete("gone"); // which empties the journal
    await checkHas(logs, { a: 90, b: 1 }, "emptied");
    for (const [key, id, seq] of [
      ["a", "m1", 1],
      ["a", "m3", 3],
      ["a", "m90", 90],
      ["b", "m1", 1],
    ] as const) {
      assert.equal(await say(logs, key, id), seq, "it is stored already");
    }
    await sayMany(logs, "a", 91, 120);
    await sayMany(logs, "b", 2, 3);
    await checkHas(logs, { a: 120, b: 3 }, "appended to");
    const hits = await logs.search("wordm37 hello", { limit: 9, key: "a" });
    assert.deepEqual(
      hits.map(({ record }) => record.seq),
      [37],
    );
    await checkHas((await open(killedCopy(t, home))).logs, { a: 120, b: 3 }, "killed");
    await close();
    const next = await open(home);
    await checkHas(next.logs, { a: 120, b: 3 }, "the next start");
  });
}

test("a start on a full disk that has to read a log for its index begins it again, and refuses nothing", async (t) => {
  const home = await filled(t);
  execute(home, "delete from logs where key = 'k3'; delete from covered");
  fillDisk(home);
  const { logs, index } = await open(home);
  const { rows } = await logs.list({ limit: 100 });
  assert.equal(rows.length, 12);
  assert.equal(index.losses, 1);
});

test("a full disk is tried again after a second", async (t) => {
  const home = homeFolder(t);
  const { logs, index } = await openWithThread(home);
  await say(logs, "a", "m1");
  await index.sync();
  const makeRoom = fillDisk(home);
  await sayMany(logs, "a", 2, 9);
  await assert.rejects(index.sync(), { code: "THROUGHLINE_UNAVAILABLE" });
  makeRoom();
  assert.ok(index.behind.bytes > 0);
  while (index.behind.bytes > 0) await nextPass();
});

test("on a full disk appends do not wait for the thread of an index that is far behind", async (t) => {
  const home = homeFolder(t);
  const options = { timers: atOnce, segmentBytes: 2 ** 26, mostBehindBytes: 2 ** 20 };
  const { storage, index } = await openIndexed(home, options);
  const logs = storage.logs("chats", projection);
  const started = new Promise<Worker>((resolve) => process.once("worker", resolve));
  await say(logs, "a", "m1");
  await started;
  await index.sync();
  const makeRoom = fillDisk(home);
  let tries = 0;
  const ask = index.ask.bind(index);
  index.ask = (...args) => {
    tries++;
    return ask(...args);
  };
  for (let n = 2; n <= 30; n++) await say(logs, "a", `m${n}`, `hello ${"x".repeat(100_000)}`);
  assert.ok(index.behind.bytes > 2 ** 21, `${index.behind.bytes} bytes behind`);
  assert.ok(tries < 10, `${tries} tries, and each append waits for one`);
  makeRoom();
  await asked(() => index.sync());
  assert.equal(index.behind.bytes, 0);
  await checkHas(logs, { a: 30 });
});

// A journal that cannot be read

for (const [code, syscall] of [
  ["EMFILE", "open"],
  ["ENFILE", "open"],
  ["EIO", "read"],
  ["ENOENT", "open"],
] as const) {
  const loses = code === "ENOENT";
  test(`${code} where the journal is read ${loses ? "begins the index again, which a search waits for" : "refuses a search, and costs the index nothing"}`, async (t) => {
    const home = homeFolder(t);
    const { logs, index } = await open(home);
    await sayMany(logs, "a", 1, 9);
    const paths = new Set(fs.readdirSync(join(home, "journal"), { encoding: "utf8" }));
    const call = `${syscall}Sync` as const;
    const real = fs[call] as (...given: unknown[]) => unknown;
    const mock = t.mock.method(fs, call, (...given: unknown[]) => {
      if (syscall === "open" && !paths.has(basename(String(given[0])))) return real(...given);
      throw Object.assign(new Error(code), { code, syscall });
    });
    const refused = { code: "THROUGHLINE_UNAVAILABLE" };
    const search = logs.search("hello", { limit: 9 });
    if (loses) assert.equal((await search).length, 9);
    else {
      await assert.rejects(search, refused);
      await assert.rejects(index.sync(), refused);
    }
    mock.mock.restore();
    assert.equal(index.losses, loses ? 1 : 0);
    await index.sync();
    await checkHas(logs, { a: 9 });
  });
}

test("a search under way as the storage closes is refused, where the index is begun again", async (t) => {
  const home = homeFolder(t);
  const { logs, close } = await open(home);
  await sayMany(logs, "a", 1, 9);
  const paths = new Set(fs.readdirSync(join(home, "journal"), { encoding: "utf8" }));
  const real = fs.openSync as (...given: unknown[]) => number;
  t.mock.method(fs, "openSync", (...given: unknown[]) => {
    if (!paths.has(basename(String(given[0])))) return real(...given);
    throw Object.assign(new Error("gone"), { code: "ENOENT", syscall: "open" });
  });
  const search = logs.search("hello", { limit: 9 });
  const closing = close();
  await assert.rejects(search, { code: "THROUGHLINE_CLOSED" });
  await closing;
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
  for (const during of ["sync", "delete", "close"] as const) {
    test(`when the thread ${dies} during a ${during}, nothing is lost, and what was deleted leaves no byte`, async (t) => {
      const home = homeFolder(t);
      const { logs, index, worker, close } = await openWithThread(home);
      await sayMany(logs, "a", 1, 100);
      await say(logs, "gone", "m1", "hello xylophone");
      await index.sync();
      await sayMany(logs, "b", 1, 50);
      // It dies before it gets this; what it had to do before may be done or not.
      const asks = { sync: "sync", delete: "erase", close: "sync" }[during];
      const post = worker.postMessage.bind(worker);
      let isDead = false;
      worker.postMessage = (message: { readonly request?: { readonly do: string } }) => {
        if (isDead || message.request?.do !== asks) return post(message);
        isDead = true;
        die(worker);
      };
      await { sync: () => index.sync(), delete: () => logs.delete("gone"), close }[during]();
      assert.ok(isDead);
      if (during === "delete") assert.ok(!bytesOf(home).includes("xylophone"));
      if (during !== "close") {
        await sayMany(logs, "b", 51, 70);
        await logs.delete("gone");
        assert.ok(!bytesOf(home).includes("xylophone"));
        await checkHas(logs, { a: 100, b: 70 });
        await close();
      }
      const next = await open(home);
      assert.equal(next.index.clean, true);
      const counts: Record<string, number> =
        during === "close" ? { a: 100, b: 50, gone: 1 } : { a: 100, b: 70 };
      await checkHas(next.logs, counts);
    });
  }
}

test("where no thread can be started, appends go on, and the main thread writes the index", async (t) => {
  const load = process.getBuiltinModule;
  let refused = 0;
  class Thread {
    constructor() {
      refused++;
      throw Object.assign(new Error("no more threads"), { code: "ERR_WORKER_INIT_FAILED" });
    }
  }
  t.mock.method(process, "getBuiltinModule", (name: string) =>
    name === "node:worker_threads" ? { Worker: Thread } : load(name),
  );
  const { logs, index } = await open(homeFolder(t), never, 2 ** 24);
  for (let n = 1; n <= 1_030; n++) await say(logs, "a", `m${n}`);
  assert.equal(refused, 1);
  await index.sync();
  assert.equal(index.behind.bytes, 0);
  await checkHas(logs, { a: 1_030 });
});

// Forgetting. The full-text index keeps a word without what it shares with the one before it, so the
// canaries differ in their first letters, and their ends are looked for.

function countCanaries(home: string, canaries: readonly string[]): number {
  const letters =
    bytesOf(home)
      .match(/[a-z]{10,}/g)
      ?.join(" ") ?? "";
  return canaries.filter((canary) => letters.includes(canary.slice(4))).length;
}

/** Logs that are written in between each other, in heads, keys, ids, labels, instants and words of all sizes. */
async function writeLogs(logs: LogStore, sync: () => Promise<void>) {
  const random = seededRandom(7_919);
  const word = () =>
    Array.from({ length: 14 }, () => "abcdefghijklmnopqrstuvwxyz"[random(26)]).join("");
  const canaries = new Map<string, string[]>();
  const keys = Array.from({ length: 20 }, word);
  for (let i = 0; i < 200; i++) {
    const key = keys[i % 20]!;
    const [at, label, filling, id, text] = [word(), word(), word(), word(), word()];
    canaries.set(key, [...(canaries.get(key) ?? [key]), at, label, filling, id, text]);
    const head = { at, labels: [label], filling: filling.repeat(1 + random(40)) };
    const others = Array.from({ length: random(60) }, word).join(" ");
    const record = { id: id + "i".repeat(random(40)), content: `${text} and ${others}` };
    await logs.append(key, [record], { head });
    if (i % 50 === 0) await sync();
  }
  await sync();
  return canaries;
}

for (const [way, opening] of Object.entries(ways)) {
  test(`forgetting leaves no key, id, head, label or word in any file, written by ${way}`, async (t) => {
    const home = homeFolder(t);
    const { logs, index } = await opening(home);
    const canaries = await writeLogs(logs, () => index.sync());
    const [first = "", second = "", third = "", ...rest] = canaries.keys();
    const found = (key: string) => countCanaries(home, canaries.get(key)!);
    assert.ok([first, second, third].every((key) => found(key) > 10));
    await logs.delete(first);
    assert.equal(found(first), 0);
    // Two at once, while others are written; one of them comes back.
    const deleting = [second, third].map((key) => logs.delete(key));
    for (let n = 1; n <= 50; n++) await say(logs, "busy", `m${n}`);
    await Promise.all(deleting);
    await say(logs, third, "m1");
    assert.deepEqual([found(second), found(third)], [0, 1], "the key of the new log");
    assert.equal((await logs.find(third, "m1"))?.seq, 1);
    // What waits when its log is deleted.
    for (let n = 1; n <= 100; n++) await say(logs, "waits", `saxophone${n}`, "xylophone");
    await logs.delete("waits");
    assert.doesNotMatch(bytesOf(home), /saxophone|xylophone/);
    for (const key of rest) {
      const word = canaries.get(key)!.at(-1)!;
      assert.equal((await logs.search(word, { limit: 9 }))[0]?.key, key);
    }
    assert.equal((await logs.search("hello", { limit: 99, key: "busy" })).length, 50);
  });
}

test("bytes that a killed process had yet to erase are gone soon after the next opening", async (t) => {
  const home = homeFolder(t);
  const { logs, index } = await open(home);
  const canaries = await writeLogs(logs, () => index.sync());
  const [key = "", other = ""] = canaries.keys();
  let isDeleted = false;
  const deleting = logs.delete(key).then(() => {
    isDeleted = true;
  });
  const copies: string[] = [];
  const files = () => fs.readdirSync(join(home, "chats")).length;
  const all = files();
  for (let pass = 0; !isDeleted; pass++) {
    const isEvery = isFull || pass % 3 === 0;
    if (isEvery || files() < all) copies.push(killedCopy(t, home));
    await nextPass();
  }
  await deleting;
  copies.push(killedCopy(t, home));
  let gone = 0;
  for (const killed of copies) {
    const next = await open(killed);
    const keys = (await next.logs.list({ limit: 100 })).rows.map((row) => row.key);
    assert.ok(keys.includes(other));
    await next.close();
    const isGone = !keys.includes(key);
    if (isGone) gone++;
    // The report of the file that is missing names the key.
    if (isGone) assert.equal(countCanaries(killed, canaries.get(key)!.slice(1)), 0);
  }
  assert.ok(gone > 1, `${gone} of ${copies.length} were killed after the file was removed`);
});

test("erasing a large index is done by the thread, while others are written and read", async (t) => {
  const home = homeFolder(t);
  const { logs, index } = await open(home);
  const random = seededRandom(104_729);
  const text = (key: string) =>
    Array.from({ length: 150 }, () => `${key}${random(99_991)}`).join(" ");
  for (let n = 1; n <= 10; n++) {
    for (const key of ["xylo", "saxo"]) {
      const records = Array.from({ length: 60 }, (_, i) => ({
        id: `${key}${n}-${i}`,
        content: text(key),
      }));
      await logs.append(key, records, { head: { at: "2026", labels: [] } });
    }
  }
  await index.sync();
  assert.ok(fs.statSync(join(home, "index.db")).size > 1024 * 1024);
  let threads = 0;
  const count = () => void threads++;
  process.on("worker", count);
  t.after(() => process.off("worker", count));
  let isErased = false;
  const erasing = logs.delete("xylo").then(() => {
    isErased = true;
  });
  let said = 0;
  while (!isErased) {
    await say(logs, "busy", `m${++said}`);
    assert.equal((await logs.find("busy", `m${said}`))?.seq, said);
    await nextPass();
  }
  await erasing;
  assert.ok(!bytesOf(home).includes("xylo"));
  assert.equal(threads, 1);
  assert.ok(said > 5, `others had their turn ${said} times`);
  assert.equal((await logs.find("saxo", "saxo10-59"))?.seq, 600);
});
