// Method: a small home on a simulated disk; cut a file at every length, flip its bits one by one, and
// open what that makes of it. Either it reads exactly as before, or a report was made and nothing is
// served that was not stored. Then go on writing, and see that damage met once takes nothing later.
import assert from "node:assert/strict";
import { test } from "node:test";
import { silentLogger } from "../src/logger.ts";
import { FileStorage } from "../src/storage/files/file-storage.ts";
import type { IndexedBatch, LogIndex, OpenLogIndex } from "../src/storage/files/log-index.ts";
import { openMemoryIndex } from "../src/storage/files/memory-index.ts";
import type { LogProjection, StoredRecord } from "../src/storage/log-store.ts";
import type { RepairReport } from "../src/storage/storage.ts";
import { processDeathImage } from "../src/testing/crash-images.ts";
import { HeldClock } from "../src/testing/held-clock.ts";
import { SimulatedDisk } from "../src/testing/simulated-disk.ts";
import { recordOf } from "./storage-workload.ts";

const isFull = process.env["THROUGHLINE_FULL"] === "1";
/** Without the full size, every 37th bit: over the bytes of a file, each bit takes its turn. */
const stride = isFull ? 1 : 37;
/** Without the full size, every seventh length, and those at the end of a batch all the same. */
const cutStride = isFull ? 1 : 7;
/** Without the full size, half of the cases find the index kept, the others find it lost. */
const apart = isFull ? 1 : 2;

const logPath = "/home/chats/a.jsonl";
const documentPath = "/home/session/state.json";

const projection: LogProjection = {
  sortedAt: (head) => String(head["updated_at"] ?? ""),
  labels: () => [],
  text: (record) => (typeof record["content"] === "string" ? record["content"] : undefined),
  hides: () => undefined,
};

/** An index that a restart finds again, as `index.db` is. Not more than `batches` are in it yet. */
function keptIndex(batches: readonly IndexedBatch[] = []): OpenLogIndex {
  const index = openMemoryIndex()("chats", projection);
  for (const batch of batches) index.add(batch);
  return () => index;
}

let homes = 0;
async function openHome(disk: SimulatedDisk, openIndex: OpenLogIndex) {
  const home = ++homes;
  let ids = 0;
  const storage = await FileStorage.open({
    ...{ home: "/home", disk, durability: "power-cut", logger: silentLogger },
    ...{ clock: new HeldClock(), newId: () => `${home}x${++ids}`, openIndex },
    ...{ indexIsClean: false, verifyAll: false, maxOpen: 256 },
    guard: () => undefined,
    release: () => undefined,
  });
  const logs = storage.logs("chats", projection);
  return { storage, logs, documents: storage.documents("session") };
}
type Home = Awaited<ReturnType<typeof openHome>>;

interface Found {
  readonly records: readonly StoredRecord[];
  readonly tail: readonly StoredRecord[];
  readonly isThere: boolean;
  readonly state: unknown;
}

async function readLog({ logs }: Home) {
  const tail = await logs.tail("a", 1_000);
  const records = await Array.fromAsync(logs.read("a"));
  return { records, tail: tail?.records ?? [], isThere: tail !== undefined };
}

async function readAll(home: Home): Promise<Found> {
  const document = await home.documents.read("state");
  return { ...(await readLog(home)), state: document?.value };
}

/** The home before anything happens to it. */
async function makeHome() {
  const disk = new SimulatedDisk();
  const home = await openHome(disk, openMemoryIndex());
  const ends: number[] = [];
  await home.logs.append("a", ["m1", "m22", "m333"].map(recordOf), { head: { last: "m333" } });
  await home.logs.append("a", ["m4"].map(recordOf));
  await home.logs.erase("a", ["m22"]);
  ends.push(await disk.size(logPath));
  const batches = [["m55", "m6666"], ["m7"], ["m88", "m9", "m1010"], ["mEleven"], ["m1212é🌍"]];
  for (const [i, ids] of batches.entries()) {
    await home.logs.append("a", ids.map(recordOf), { head: { last: `${i}` } });
    ends.push(await disk.size(logPath));
  }
  await home.documents.write("state", { mood: "calm", count: 1 });
  await home.documents.write("state", { mood: "glad, and a little tired", count: 2 });
  const found = await readAll(home);
  await home.storage.close();
  return { disk, found, ends };
}

const original = await makeHome();
const originals = original.found.records.map((record) => JSON.stringify(record));
/** Records up to and with each batch. */
const counts = [4, 6, 7, 10, 11, 12];
const logBytes = await bytesOf(original.disk, logPath);
const documentBytes = await bytesOf(original.disk, documentPath);

async function bytesOf(disk: SimulatedDisk, path: string): Promise<Buffer> {
  const file = await disk.open(path, "read");
  const bytes = Buffer.alloc(await file.size());
  await file.read(bytes, 0);
  await file.close();
  return bytes;
}

async function damagedCopy(path: string, bytes: Buffer): Promise<SimulatedDisk> {
  const disk = processDeathImage(original.disk);
  const file = await disk.open(path, "write");
  await file.truncate(0);
  await file.write(bytes, 0);
  await file.sync();
  await file.close();
  return disk;
}

/** What an index heard of this home before the damage. */
async function heardOf(disk: SimulatedDisk): Promise<readonly IndexedBatch[]> {
  const heard: IndexedBatch[] = [];
  const index: LogIndex = openMemoryIndex()("chats", projection);
  const add = index.add.bind(index);
  index.add = (batch) => {
    heard.push(batch);
    add(batch);
  };
  const home = await openHome(processDeathImage(disk), () => index);
  await home.logs.list({ limit: 1 });
  await home.storage.close();
  return heard;
}
const heard = await heardOf(original.disk);

/** What an index knows that was there before the damage; or one that was lost with it. */
const indexFor = (isKept: boolean) => keptIndex(isKept ? heard : []);

/** Every record that is served is one that was stored, whichever way it is asked for. */
async function assertNothingWrong(home: Home, { records, tail }: Found): Promise<void> {
  assert.equal(JSON.stringify(tail), JSON.stringify(records), "both directions read the same");
  for (const [i, record] of records.entries()) {
    assert.equal(JSON.stringify(record), originals[record.seq - 1]);
    assert.ok(record.seq > (records[i - 1]?.seq ?? 0), "numbers grow");
  }
  if (!isFull && homes % 4 !== 0) return;
  const readable = new Set(records.map(({ id }) => id));
  for (const { id, seq } of original.found.records) {
    const [at] = await home.logs.page("a", { after: seq - 1, limit: 1 });
    assert.deepEqual(
      at,
      records.find((record) => record.seq >= seq),
    );
    const one = await home.logs.find("a", id);
    assert.equal(one?.id, readable.has(id) ? id : undefined);
  }
  for (const { record } of await home.logs.search("m7", { limit: 10 })) {
    assert.deepEqual(record, original.found.records[6]);
  }
}

/** What was set aside is in quarantine byte for byte; the rest of the file is as it was. */
async function assertKept(
  disk: SimulatedDisk,
  path: string,
  bytes: Buffer,
  repairs: readonly RepairReport[],
): Promise<void> {
  let left = bytes.length;
  for (const { quarantined, bytes: count } of repairs) {
    if (quarantined === undefined) continue;
    const kept = await bytesOf(disk, `/home/${quarantined}`);
    assert.deepEqual(kept, bytes.subarray(bytes.length - count), "quarantine holds the very bytes");
    left = bytes.length - count;
  }
  if (path !== logPath) return;
  const now = await bytesOf(disk, path);
  assert.deepEqual(now.subarray(0, left), bytes.subarray(0, left), "nothing before it is touched");
}

interface Case {
  readonly path: string;
  readonly bytes: Buffer;
  readonly isKept: boolean;
  /** Fewest records that must still be read. */
  readonly least: number;
  /** The place of a bit, or the length of a cut. */
  readonly what: string;
  /** Only an index can know that something came after a cut between two batches. */
  readonly isSilent?: boolean;
}

type Outcome = "exactly as before" | "reported";
const tally = { "exactly as before": 0, reported: 0 };

async function checkCase(each: Case): Promise<Outcome> {
  const { path, bytes, isKept, least } = each;
  const disk = await damagedCopy(path, bytes);
  const index = indexFor(isKept);
  const home = await openHome(disk, index);
  const key = path === logPath ? "chats/a" : "session/state";
  const found = await readAll(home);
  await assertNothingWrong(home, found);
  const isSame = JSON.stringify(found) === JSON.stringify(original.found);
  const repairs = home.storage.repairs();
  if (!isSame && each.isSilent !== true) {
    assert.ok(
      repairs.some((repair) => repair.key === key),
      "a report was made",
    );
  }
  assert.ok(found.records.length >= least, `${found.records.length} records, not ${least}`);
  if (path === documentPath && !isSame) {
    assert.deepEqual(found.state, { mood: "calm", count: 1 }, "the copy before it is used");
  }
  await checkGoesOn({ home, disk, index, found, each });
  return isSame ? "exactly as before" : "reported";
}

/** Damage met once costs nothing more: not at the next write, not at the next start. */
async function checkGoesOn(met: {
  readonly home: Home;
  readonly disk: SimulatedDisk;
  readonly index: OpenLogIndex;
  readonly found: Found;
  readonly each: Case;
}): Promise<void> {
  const { home, disk, index, found, each } = met;
  const repairs = home.storage.repairs();
  const seq = await home.logs.append("a", [recordOf("later")]);
  assert.ok(seq > (found.records.at(-1)?.seq ?? 0));
  if (each.path === documentPath) await home.documents.write("state", { count: 3 });
  await home.storage.close();
  await assertKept(disk, each.path, each.bytes, repairs);
  const again = await openHome(disk, index);
  const { records, state } = await readAll(again);
  assert.deepEqual(records, [...found.records, { ...recordOf("later"), seq }]);
  assert.deepEqual(state, each.path === documentPath ? { count: 3 } : found.state);
  // A damaged document that was replaced is not kept as the copy before it either.
  if (each.path === documentPath) assert.deepEqual(again.storage.repairs(), []);
  await again.storage.close();
  await assertKept(disk, each.path, each.bytes, repairs);
}

async function check(each: Case): Promise<Outcome> {
  const outcome = await checkCase(each).catch((cause) => {
    throw new Error(`${each.what}, index ${each.isKept ? "kept" : "lost"}`, { cause });
  });
  tally[outcome]++;
  return outcome;
}

/** Records of the batches that end at or before `bytes`. */
const wholeBefore = (bytes: number) => counts[original.ends.findLastIndex((end) => end <= bytes)];

function flipped(bytes: Buffer, bit: number): Buffer {
  const copy = Buffer.from(bytes);
  copy[bit >> 3] = (copy[bit >> 3] ?? 0) ^ (1 << (bit & 7));
  return copy;
}

/** Records that a bit does not concern: those of all batches but its own. */
function leastAfterFlip(bit: number): number {
  const batch = original.ends.findIndex((end) => bit >> 3 < end);
  const own = (counts[batch] ?? 0) - (counts[batch - 1] ?? 0);
  return (counts.at(-1) ?? 0) - own;
}

test("the home under test has several batches, an erased record, and both kinds of file", () => {
  assert.ok(logBytes.length > 2_500 && logBytes.length < 6_000, `${logBytes.length} bytes`);
  assert.equal(original.found.records.length, counts.at(-1));
  assert.equal(original.found.records[1]?.["kind"], "erased");
  assert.equal(original.ends.at(-1), logBytes.length);
  assert.ok(documentBytes.length > 80);
});

for (const isKept of [true, false]) {
  const index = isKept ? "index kept" : "index lost";
  test(`a log cut at any length is reported, and every batch before the cut is read: ${index}`, async () => {
    for (let length = 0; length < logBytes.length; length++) {
      const nearEnd = original.ends.some((end) => Math.abs(end - length) <= 1);
      const isChosen = length % (cutStride * apart) === (isKept || isFull ? 0 : cutStride);
      if (!isChosen && !nearEnd) continue;
      const isSilent = !isKept && (length === 0 || original.ends.includes(length));
      await check({
        ...{ path: logPath, bytes: logBytes.subarray(0, length), isKept, isSilent },
        ...{ least: wholeBefore(length) ?? 0, what: `log cut at ${length}` },
      });
    }
  });

  // Where the index is lost everything is read: there each bit is tried.
  const step = isFull ? (isKept ? 4 : 1) : stride;
  test(`a log with one bit flipped, every ${step}th of them, is reported, and costs one batch at most: ${index}`, async () => {
    const first = isKept || isFull ? 0 : step;
    for (let bit = first; bit < logBytes.length * 8; bit += step * apart) {
      const bytes = flipped(logBytes, bit);
      const outcome = await check({
        ...{ path: logPath, bytes, isKept },
        ...{ least: leastAfterFlip(bit), what: `log, bit ${bit}` },
      });
      assert.notEqual(outcome, "exactly as before", `bit ${bit} was taken as written`);
    }
  });
}

test("a document cut at any length is reported, and the copy before it is used", async () => {
  for (let length = 0; length < documentBytes.length; length++) {
    const bytes = documentBytes.subarray(0, length);
    const what = `document cut at ${length}`;
    const outcome = await check({ path: documentPath, bytes, isKept: true, least: 12, what });
    assert.equal(outcome, "reported", what);
  }
});

const documentStride = isFull ? 1 : 13;
test(`a document with one bit flipped, every ${documentStride}th of them, is reported, and the copy before it is used`, async () => {
  for (let bit = 0; bit < documentBytes.length * 8; bit += documentStride) {
    const what = `document, bit ${bit}`;
    const bytes = flipped(documentBytes, bit);
    const outcome = await check({ path: documentPath, bytes, isKept: true, least: 12, what });
    assert.equal(outcome, "reported", what);
  }
});

for (const isKept of [true, false]) {
  const index = isKept ? "index kept" : "index lost";
  test(`a batch taken out of a log whole is reported, and nothing else is missing: ${index}`, async () => {
    const [, from, to] = original.ends;
    const bytes = Buffer.concat([logBytes.subarray(0, from), logBytes.subarray(to)]);
    const what = "log without its third batch";
    const outcome = await check({ path: logPath, bytes, isKept, least: 11, what });
    assert.equal(outcome, "reported");
  });
}

for (const [way, read] of [
  ["from its end", (home: Home) => home.logs.tail("a", 1_000)],
  ["from its start", (home: Home) => Array.fromAsync(home.logs.read("a"))],
] as const) {
  test(`a batch taken out of a log whole is found by whoever reads the log ${way} alone`, async () => {
    const [, from, to] = original.ends;
    const bytes = Buffer.concat([logBytes.subarray(0, from), logBytes.subarray(to)]);
    // The index that a clean exit left for this very file: opening has no reason to look.
    const index = keptIndex(await heardOf(await damagedCopy(logPath, bytes)));
    const home = await openHome(await damagedCopy(logPath, bytes), index);
    assert.deepEqual(home.storage.repairs(), []);
    await read(home);
    const [repair] = home.storage.repairs();
    assert.deepEqual([repair?.key, repair?.kind], ["chats/a", "damaged_middle"]);
    await home.storage.close();
  });
}

/** The place of a bit in the third batch, which holds `m7` alone. */
const bitOf = (offset: number) => ((original.ends[1] ?? 0) + offset) * 8;

for (const isKept of [true, false]) {
  const index = isKept ? "index kept" : "index lost";
  test(`a message that damage took can be stored again under its id: ${index}`, async () => {
    const disk = await damagedCopy(logPath, flipped(logBytes, bitOf(20)));
    const home = await openHome(disk, indexFor(isKept));
    assert.equal((await readLog(home)).records.length, 11);
    await home.logs.append("a", [recordOf("m7")]);
    const found = await home.logs.find("a", "m7");
    assert.equal(found?.["content"], recordOf("m7")["content"]);
    await home.storage.close();
  });
}

test("a flipped version digit in the middle of a log costs its batch, and no other", async () => {
  const at = logBytes.indexOf(`"kind":"commit","format":1`, original.ends[1]);
  const bytes = flipped(logBytes, (at + 25) * 8 + 1); // "1" becomes "3"
  const home = await openHome(await damagedCopy(logPath, bytes), indexFor(true));
  assert.equal((await readLog(home)).records.length, 11);
});

test("the cases were many enough", (t) => {
  t.diagnostic(JSON.stringify(tally));
  const all = tally.reported + tally["exactly as before"];
  assert.ok(all >= (isFull ? 1.25 * 8 * logBytes.length : 1_200), `${all} cases`);
});
