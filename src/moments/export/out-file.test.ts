import assert from "node:assert/strict";
import { test } from "node:test";
import { OutFile } from "./out-file.ts";

const enough = new Uint8Array(64 * 1024 * 1024);

/** A file whose syncs end as the test says. */
function heldFile() {
  const calls: string[] = [];
  const syncs: PromiseWithResolvers<void>[] = [];
  const file = new OutFile("rows", {
    write: async (bytes) => bytes.length,
    sync() {
      calls.push("sync");
      syncs.push(Promise.withResolvers<void>());
      return syncs.at(-1)?.promise ?? Promise.resolve();
    },
    async close() {
      calls.push("close");
    },
  });
  return { file, calls, syncs };
}

test("a sync that fails while more is written is the error of the end", async () => {
  const { file, calls, syncs } = heldFile();
  await file.write(enough);
  assert.deepEqual(calls, ["sync"], "it is synced on the way");
  syncs[0]?.reject(new Error("EIO"));
  await assert.rejects(file.finish(), /EIO/);
  assert.deepEqual(calls, ["sync", "close"]);
});

test("one sync is under way at a time, and the end is one of its own", async () => {
  const { file, calls, syncs } = heldFile();
  await file.write(enough);
  const second = file.write(enough);
  await new Promise(setImmediate);
  assert.deepEqual(calls, ["sync"]);
  syncs[0]?.resolve();
  await second;
  const ended = file.finish();
  syncs[1]?.resolve();
  await new Promise(setImmediate);
  assert.deepEqual(calls, ["sync", "sync", "sync"]);
  syncs[2]?.resolve();
  assert.equal((await ended).bytes, 2 * enough.length);
});

test("a file that is abandoned is closed once no sync is under way", async () => {
  const { file, calls, syncs } = heldFile();
  await file.write(enough);
  const ended = file.abandon();
  await new Promise(setImmediate);
  assert.deepEqual(calls, ["sync"]);
  syncs[0]?.reject(new Error("EIO"));
  await ended;
  assert.deepEqual(calls, ["sync", "close"]);
});
