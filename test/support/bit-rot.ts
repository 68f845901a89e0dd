// A small home on a simulated disk, and one damage to a file of it: what is read then, what is
// reported, and that going on writing loses nothing more.
import assert from "node:assert/strict";
import fs from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Disk } from "../../src/core/storage/disk/disk.ts";
import type { StoredRecord } from "../../src/core/storage/log-store.ts";
import type { RepairReport } from "../../src/core/storage/storage.ts";
import { processDeathImage } from "./crash-images.ts";
import { SimulatedDisk } from "./simulated-disk.ts";
import { type Opened, openOn, recordOf } from "./storage-workload.ts";

const isFull = process.env["THROUGHLINE_FULL"] === "1";

export const logPath = "/home/chats/a.jsonl";
export const documentPath = "/home/session/state.json";

const temporary = fs.mkdtempSync(join(tmpdir(), "throughline-rot-"));
process.on("exit", () => fs.rmSync(temporary, { recursive: true, force: true }));
const indexPath = join(temporary, "index.db");

/** Puts an index into its file, as a clean end left it. @returns its path. */
export function keptIndex(bytes: Buffer): string {
  for (const side of ["-wal", "-shm"]) fs.rmSync(indexPath + side, { force: true });
  fs.writeFileSync(indexPath, bytes, { mode: 0o600 });
  return indexPath;
}

let homes = 0;
/** @param indexPath of the index. Default: it knows nothing. */
function openHome(disk: Disk, indexPath?: string): Promise<Opened> {
  homes++;
  return openOn(disk, { indexPath });
}

interface Found {
  readonly records: readonly StoredRecord[];
  readonly tail: readonly StoredRecord[];
  readonly isThere: boolean;
  readonly state: unknown;
}

export async function readLog({ logs }: Opened) {
  const tail = await logs.tail("a", 1_000);
  const records = await Array.fromAsync(logs.read("a"));
  return { records, tail: tail?.records ?? [], isThere: tail !== undefined };
}

async function readAll(home: Opened): Promise<Found> {
  const document = await home.documents.read("state");
  return { ...(await readLog(home)), state: document?.value };
}

/** The home before anything happens to it. */
async function makeHome() {
  const disk = new SimulatedDisk();
  const home = await openHome(disk);
  const ends: number[] = [];
  await home.logs.append("a", ["m1", "m22", "m333"].map(recordOf), { head: { last: "m333" } });
  await home.logs.append("a", ["m4"].map(recordOf));
  await home.logs.erase("a", ["m22"]);
  const end = async () => (await bytesOf(disk, logPath)).length;
  ends.push(await end());
  const batches = [["m55", "m6666"], ["m7"], ["m88é🌍"]];
  for (const [i, ids] of batches.entries()) {
    await home.logs.append("a", ids.map(recordOf), { head: { last: `${i}` } });
    ends.push(await end());
  }
  await home.documents.write("state", { mood: "calm", count: 1 });
  await home.documents.write("state", { mood: "glad, and a little tired", count: 2 });
  const found = await readAll(home);
  await home.storage.close();
  return { disk, found, ends };
}

export const original = await makeHome();
const originals = original.found.records.map((record) => JSON.stringify(record));
/** Records up to and with each batch. */
export const counts = [4, 6, 7, 8];
/** How many records are stored. */
export const stored = original.found.records.length;
export const logBytes = await bytesOf(original.disk, logPath);
export const documentBytes = await bytesOf(original.disk, documentPath);

async function bytesOf(disk: SimulatedDisk, path: string): Promise<Buffer> {
  const file = await disk.open(path, "read");
  const bytes = Buffer.alloc(await file.size());
  await file.read(bytes, 0);
  await file.close();
  return bytes;
}

export async function damagedCopy(path: string, bytes: Buffer): Promise<SimulatedDisk> {
  const disk = processDeathImage(original.disk);
  const file = await disk.open(path, "write");
  await file.truncate(0);
  await file.write(bytes, 0);
  await file.sync();
  await file.close();
  return disk;
}

/** The file of the index after a clean end of this home. */
export async function indexOf(disk: SimulatedDisk): Promise<Buffer> {
  fs.rmSync(indexPath, { force: true });
  const home = await openHome(processDeathImage(disk), indexPath);
  await home.logs.list({ limit: 1 });
  await home.storage.close();
  return fs.readFileSync(indexPath);
}
const whole = await indexOf(original.disk);

/** The index that was there before the damage; or it was lost with it. */
export const indexFor = (isKept: boolean) => (isKept ? keptIndex(whole) : undefined);

/** Every record that is served is one that was stored, whichever way it is asked for. */
async function assertNothingWrong(home: Opened, { records, tail }: Found): Promise<void> {
  assert.equal(JSON.stringify(tail), JSON.stringify(records), "both directions read the same");
  for (const [i, record] of records.entries()) {
    assert.equal(JSON.stringify(record), originals[record.seq - 1]);
    assert.ok(record.seq > (records[i - 1]?.seq ?? 0), "numbers grow");
  }
  if (homes % (isFull ? 3 : 4) !== 0) return;
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

export interface Case {
  readonly path: string;
  readonly bytes: Uint8Array;
  readonly isKept: boolean;
  /** Fewest records that must still be read. */
  readonly least: number;
  /** The place of a bit, or the length of a cut. */
  readonly what: string;
  /** Only an index can know that something came after a cut between two batches. */
  readonly isSilent?: boolean;
}

type CaseHere = Case & { readonly bytes: Buffer };

export type Outcome = "exactly as before" | "reported";
async function checkCase(each: CaseHere): Promise<Outcome> {
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
  readonly home: Opened;
  readonly disk: SimulatedDisk;
  readonly index: string | undefined;
  readonly found: Found;
  readonly each: CaseHere;
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

/** What is read after this damage is right, and so is what comes later. */
export async function outcomeOf(each: Case): Promise<Outcome> {
  const bytes = Buffer.from(each.bytes); // what comes from another thread is a plain array of bytes
  return checkCase({ ...each, bytes }).catch((cause) => {
    throw new Error(`${each.what}, index ${each.isKept ? "kept" : "lost"}`, { cause });
  });
}
