// Method: cut a file of a small home at every length, flip its bits one by one, and open what that
// makes of it. Either it reads exactly as before, or a report was made and nothing is served that was
// not stored. Then go on writing, and see that damage met once takes nothing later.
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  type Case,
  counts,
  damagedCopy,
  documentBytes,
  documentPath,
  indexFor,
  indexOf,
  keptIndex,
  logBytes,
  logPath,
  type Outcome,
  original,
  outcomeOf,
  readLog,
  stored,
} from "./support/bit-rot.ts";
import { type Opened, openOn, recordOf } from "./support/storage-workload.ts";

const isNightly = process.env["THROUGHLINE_FLIPS"] === "all";
const isFull = process.env["THROUGHLINE_FULL"] === "1";
/** Over the bytes of a file, each bit takes its turn. */
const stride = isNightly ? 1 : isFull ? 11 : 109;
/** Those at the end of a batch all the same. */
const cutStride = isNightly ? 1 : isFull ? 5 : 23;
/** Without the full size, half of the cases find the index kept, the others find it lost. */
const ways = isFull ? 1 : 2;

const tally = { "exactly as before": 0, reported: 0 };

async function check(each: Case): Promise<Outcome> {
  const outcome = await outcomeOf(each);
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
  assert.ok(logBytes.length > 1_500 && logBytes.length < 3_000, `${logBytes.length} bytes`);
  assert.equal(stored, counts.at(-1));
  assert.equal(original.found.records[1]?.["kind"], "erased");
  assert.equal(original.ends.at(-1), logBytes.length);
  assert.ok(documentBytes.length > 80);
});

for (const isKept of [true, false]) {
  const index = isKept ? "index kept" : "index lost";
  test(`a log cut at any length is reported, and every batch before the cut is read: ${index}`, async () => {
    for (let length = 0; length < logBytes.length; length++) {
      const nearEnd = original.ends.some((end) => Math.abs(end - length) <= 1);
      const isChosen = length % (cutStride * ways) === (isKept || isFull ? 0 : cutStride);
      if (!isChosen && !nearEnd) continue;
      const isSilent = !isKept && (length === 0 || original.ends.includes(length));
      await check({
        ...{ path: logPath, bytes: logBytes.subarray(0, length), isKept, isSilent },
        ...{ least: wholeBefore(length) ?? 0, what: `log cut at ${length}` },
      });
    }
  });

  // Where the index is lost everything is read: there each bit is tried at night.
  const step = isNightly && isKept ? 4 : stride;
  test(`a log with one bit flipped, every ${step}th of them, is reported, and costs one batch at most: ${index}`, async () => {
    const first = isKept || isFull ? 0 : step;
    for (let bit = first; bit < logBytes.length * 8; bit += step * ways) {
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
  for (let length = 0; length < documentBytes.length; length += isFull ? 1 : 3) {
    const bytes = documentBytes.subarray(0, length);
    const what = `document cut at ${length}`;
    const outcome = await check({ path: documentPath, bytes, isKept: true, least: stored, what });
    assert.equal(outcome, "reported", what);
  }
});

const documentStride = isNightly ? 1 : isFull ? 5 : 41;
test(`a document with one bit flipped, every ${documentStride}th of them, is reported, and the copy before it is used`, async () => {
  for (let bit = 0; bit < documentBytes.length * 8; bit += documentStride) {
    const what = `document, bit ${bit}`;
    const bytes = flipped(documentBytes, bit);
    const outcome = await check({ path: documentPath, bytes, isKept: true, least: stored, what });
    assert.equal(outcome, "reported", what);
  }
});

for (const isKept of [true, false]) {
  const index = isKept ? "index kept" : "index lost";
  test(`a batch taken out of a log whole is reported, and nothing else is missing: ${index}`, async () => {
    const [, from, to] = original.ends;
    const bytes = Buffer.concat([logBytes.subarray(0, from), logBytes.subarray(to)]);
    const what = "log without its third batch";
    const outcome = await check({ path: logPath, bytes, isKept, least: stored - 1, what });
    assert.equal(outcome, "reported");
  });
}

for (const [way, read] of [
  ["from its end", (home: Opened) => home.logs.tail("a", 1_000)],
  ["from its start", (home: Opened) => Array.fromAsync(home.logs.read("a"))],
] as const) {
  test(`a batch taken out of a log whole is found by whoever reads the log ${way} alone`, async () => {
    const [, from, to] = original.ends;
    const bytes = Buffer.concat([logBytes.subarray(0, from), logBytes.subarray(to)]);
    // The index that a clean exit left for this very file: opening has no reason to look.
    const index = keptIndex(await indexOf(await damagedCopy(logPath, bytes)));
    const home = await openOn(await damagedCopy(logPath, bytes), { indexPath: index });
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
    const home = await openOn(disk, { indexPath: indexFor(isKept) });
    assert.equal((await readLog(home)).records.length, stored - 1);
    await home.logs.append("a", [recordOf("m7")]);
    const found = await home.logs.find("a", "m7");
    assert.equal(found?.["content"], recordOf("m7")["content"]);
    await home.storage.close();
  });
}

test("a flipped version digit in the middle of a log costs its batch, and no other", async () => {
  const at = logBytes.indexOf(`"kind":"commit","format":1`, original.ends[1]);
  const bytes = flipped(logBytes, (at + 25) * 8 + 1); // "1" becomes "3"
  const home = await openOn(await damagedCopy(logPath, bytes), { indexPath: indexFor(true) });
  assert.equal((await readLog(home)).records.length, stored - 1);
});

test("the cases were many enough", (t) => {
  t.diagnostic(JSON.stringify(tally));
  const all = tally.reported + tally["exactly as before"];
  assert.ok(all >= (isNightly ? 1.25 * 8 * logBytes.length : isFull ? 1_200 : 350), `${all} cases`);
});
