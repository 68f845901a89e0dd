// The index where a write, a segment or the index itself fails, and after its end.
import assert from "node:assert/strict";
import { once } from "node:events";
import fs from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { faultyDisk } from "../../../../test/support/faulty-disk.ts";
import { hookedDisk } from "../../../../test/support/hooked-disk.ts";
import {
  atOnce,
  homeFolder,
  killedCopy,
  never,
  openIndexed,
} from "../../../../test/support/indexed-home.ts";
import { saidProjection, slowProjection } from "../../../../test/support/projections.ts";
import { randomId } from "../../ids.ts";
import { realDisk } from "../disk/disk.ts";

const path = /chats\/a\.jsonl/;
const secondWrite = { fault: "EIO", at: 2, call: "write", path } as const;
const head = (label: string) => ({ at: "2026", labels: [label] });
const said = (id: string, content = "hello") => ({ id, content });

/** A home in which the second write of the log `a` fails. */
async function failing(t: TestContext) {
  const home = homeFolder(t);
  const disk = faultyDisk(realDisk, secondWrite);
  const opened = await openIndexed(home, { disk, timers: never, segmentBytes: 2 ** 24 });
  const logs = opened.storage.logs("chats", saidProjection);
  await logs.append("a", [said("m1")], { head: head("red") });
  await opened.index.sync();
  return { ...opened, home, logs };
}

test("a search right after a failed write finds the log, and its void words go with it", async (t) => {
  const { home, logs } = await failing(t);
  const wanted = said("m2", "hello xylophone");
  await assert.rejects(logs.append("a", [wanted], { head: head("saxophone") }));
  assert.equal(await logs.append("a", [wanted], { head: head("saxophone") }), 2);
  assert.equal((await logs.search("xylophone", { limit: 9 })).length, 1);
  assert.equal(await logs.delete("a"), true);
  const entries = fs.readdirSync(home, { withFileTypes: true, recursive: true });
  const files = entries.filter((each) => each.isFile());
  for (const { parentPath, name } of files) {
    const bytes = fs.readFileSync(join(parentPath, name), "latin1");
    assert.doesNotMatch(bytes, /xylophone|saxophone/, name);
  }
});

test("no other log gets the labels, words or places of a batch that was taken back", async (t) => {
  const { storage, index, logs } = await failing(t);
  const wanted = said("m2", `xylophone ${"x ".repeat(40_000)}`);
  await assert.rejects(logs.append("a", [wanted], { head: head("saxophone") }));
  for (let n = 1; n <= 40; n++) {
    const content = `hello ${"word ".repeat(300)}`;
    await logs.append("c", [said(`m${n}`, content)], { head: head("red") });
  }
  await index.sync();
  assert.deepEqual(await logs.search("xylophone", { limit: 9 }), []);
  assert.deepEqual((await logs.list({ limit: 9, label: "saxophone" })).rows, []);
  const page = await logs.page("c", { after: 1, limit: 2 });
  const seqs = page.map(({ seq }) => seq);
  assert.deepEqual([seqs, storage.repairs()], [[2, 3], []]);
});

test("a log that was cut back is listed, though much is written right after that", async (t) => {
  const disk = faultyDisk(realDisk, secondWrite);
  const options = { disk, timers: atOnce, segmentBytes: 2 ** 24 };
  const { storage, index } = await openIndexed(homeFolder(t), options);
  const logs = storage.logs("chats", slowProjection);
  const started = once(process, "worker");
  await logs.append("a", [said("m1")]);
  await logs.append("b", [said("m1")]);
  await started;
  await index.sync();
  await logs.list({ limit: 9 });
  for (let n = 1; n < 12; n++) await logs.append("c", [said(`m${n}`, "x")]);
  await assert.rejects(logs.append("a", [said("m2", "void")]));
  for (let n = 2; n < 12; n++) await logs.append("b", [said(`m${n}`)]);
  await index.sync();
  const { rows } = await logs.list({ limit: 9 });
  const listed = rows.map(({ key, seq }) => `${key}${seq}`).sort();
  assert.deepEqual(listed, ["a1", "b11", "c11"]);
  assert.equal((await logs.search("hello", { limit: 99 })).length, 12);
});

for (const by of ["main", "thread"] as const) {
  test(`a read that meets damage after the end leaves the index of the next process alone (${by})`, async (t) => {
    const unhandled: unknown[] = [];
    const hear = (error: unknown) => unhandled.push(error);
    process.on("unhandledRejection", hear);
    t.after(() => process.off("unhandledRejection", hear));
    const home = homeFolder(t);
    const before = await openIndexed(home, { timers: never });
    const first = before.storage.logs("chats", saidProjection);
    for (let n = 0; n < 60; n++) await first.append("a", [said(`m${n}`, "x".repeat(20_000))]);
    await before.storage.close();
    const file = fs.openSync(join(home, "chats/a.jsonl"), "r+");
    fs.writeSync(file, "zzzzzzzz", fs.fstatSync(file).size - 70_000);
    fs.closeSync(file);
    const timers = by === "main" ? never : atOnce;
    const { storage, index } = await openIndexed(home, { timers });
    const logs = storage.logs("chats", saidProjection);
    const started = once(process, "worker");
    await logs.append("b", [said("m")]);
    if (by === "thread") {
      await started;
      await index.sync();
    }
    const reading = logs.read("a")[Symbol.asyncIterator]();
    await reading.next();
    await storage.close();
    const inode = () => fs.statSync(join(home, "index.db")).ino;
    const own = inode();
    while (!(await reading.next()).done);
    for (let turn = 0; turn < 20; turn++) await setImmediate();
    const found = [index.losses, storage.repairs(), unhandled];
    assert.deepEqual([...found, inode() === own], [0, [], [], true]);
  });
}

test("an id is stored once, though the index is lost while the ids of its log are noted", async (t) => {
  const home = homeFolder(t);
  const { storage } = await openIndexed(home, { timers: never });
  const logs = storage.logs("chats", saidProjection);
  await logs.list({ limit: 1 });
  for (let n = 1; n <= 5; n++) await logs.append("a", [said(`m${n}`)]);
  let losses = 0;
  for (let at = 1; at <= 12; at++) {
    let reads = 0;
    let lose = () => undefined as unknown;
    const disk = hookedDisk(realDisk, (call, name) => {
      if (call === "read" && name.endsWith("a.jsonl") && ++reads === at) lose();
    });
    const next = await openIndexed(killedCopy(t, home), { disk, timers: never });
    lose = () => next.index.lose();
    const again = next.storage.logs("chats", saidProjection);
    await again.append("a", [said("m3")]).catch(() => undefined);
    const ids = [];
    for await (const { id } of again.read("a")) ids.push(id);
    assert.deepEqual(ids, ["m1", "m2", "m3", "m4", "m5"], `read ${at}`);
    losses += next.index.losses;
    await next.storage.close();
  }
  assert.ok(losses > 0);
});

test("a log that could not be cut back nor deleted is no damaged one", async (t) => {
  const home = homeFolder(t);
  const faults = [
    secondWrite,
    { fault: "EIO", at: 1, call: "truncate", path },
    { fault: "EIO", at: 1, call: "unlink", path: /chats\/a\.jsonl$/ },
  ] as const;
  const disk = faultyDisk(realDisk, faults);
  const { storage } = await openIndexed(home, { disk, timers: never });
  const logs = storage.logs("chats", saidProjection);
  await logs.append("a", [said("m1")]);
  await assert.rejects(logs.append("a", [said("m2")]), { code: "THROUGHLINE_OUTCOME_UNKNOWN" });
  await assert.rejects(logs.delete("a"));
  disk.heal();
  const tail = await logs.tail("a", 9);
  assert.deepEqual([tail?.seq, tail?.damaged ?? false, storage.repairs()], [1, false, []]);
});

test("an end right after a kill keeps the index, and the next start compares no log with it", async (t) => {
  let home = homeFolder(t);
  await (await openIndexed(home, { timers: never })).storage.close();
  for (const isKilled of [true, true, false]) {
    const { storage, index } = await openIndexed(home, { timers: never });
    const logs = storage.logs("chats", saidProjection);
    for (let n = 0; n < 9; n++) await logs.append(`chat ${n}`, [said(randomId())]);
    if (isKilled) {
      home = killedCopy(t, home);
      continue;
    }
    await storage.close();
    assert.equal(index.losses, 0);
  }
  const { storage, coverage } = await openIndexed(home, { timers: never });
  assert.equal(coverage, "all");
  assert.equal((await storage.logs("chats", saidProjection).list({ limit: 99 })).rows.length, 9);
});
