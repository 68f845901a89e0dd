// Where packages go, what is remembered of earlier runs, and what forgetting reaches.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { changed } from "../../test/support/changed.ts";
import { faultyDisk } from "../../test/support/faulty-disk.ts";
import {
  agreed,
  bucket,
  files,
  newHome,
  praise,
  started,
} from "../../test/support/moments-home.ts";
import { randomId } from "../core/ids.ts";
import { silentLogger } from "../core/logger.ts";
import { type Disk, realDisk } from "../core/storage/disk/disk.ts";
import { openThroughline, type Throughline } from "../core/throughline.ts";
import { KeptConsent } from "./directory/consent-file.ts";
import type { Moments } from "./moments.ts";
import type { MomentsOptions } from "./options.ts";
import type { Consent } from "./package/record.ts";
import { consentWording, initialConsent } from "./record/consent.ts";
import { extendWithMoments } from "./start-moments.ts";

function feed({ recorder }: Moments): void {
  const turn = { chatId: "a", turnId: "m1" };
  recorder.message({ role: "user", text: "Tell me a joke", id: "m1", ...turn });
  recorder.message({ role: "assistant", text: "Knock, knock", id: "m2", ...turn });
  recorder.audio(new Float32Array(16_000).fill(0.25));
}

test("in mode s3 a chat that is forgotten while its moment goes up leaves nothing in the bucket", async (t) => {
  const { server, s3, keys } = await bucket(t);
  await using throughline = await openThroughline({ home: newHome(t) });
  const moments = await started(throughline, { mode: "s3", s3 });
  feed(moments);
  server.fail({ operation: "PutObject", key: /audio\.wav$/, times: 1, does: { kind: "hang" } });
  const receipt = moments.recorder.record(praise);
  while (keys().length === 0) await new Promise((done) => setImmediate(done));
  await moments.forget({ chatId: "a" });
  assert.equal(receipt.reason, "forgotten");
  await moments.upload();
  assert.deepEqual(keys(), []);
});

for (const mode of ["local+s3", "s3"]) {
  test(`in mode ${mode} a reaction before anybody was asked stays here, without pictures and sound`, async (t) => {
    const at = await world(t);
    const work = async (moments: Moments) => {
      assert.equal(moments.recorder.frame(new Uint8Array(9)), "off");
      assert.equal(moments.recorder.audio(new Int16Array(9)), "off");
      assert.equal((await reacted(moments)).uploaded, false);
      await moments.upload();
    };
    await at.run(work, { mode, s3: at.s3, consent: undefined });
    assert.deepEqual(at.keys(), []);
  });
}

test("without credentials the mode is local and says so, and each package is pending", async (t) => {
  const at = await world(t);
  const credentials = () => Promise.reject(new Error("none"));
  const work = async (moments: Moments) => {
    const receipt = await reacted(moments);
    await moments.upload();
    const { storage_mode, storage_reason, s3_bucket, outbox } = moments.statistics();
    assert.deepEqual([storage_mode, storage_reason], ["local", "no_credentials"]);
    assert.deepEqual([s3_bucket, outbox?.pending], ["moments", 1]);
    assert.equal(receipt.uploaded, false);
  };
  await at.run(work, { s3: { ...at.s3, credentials } });
});

test("what was agreed to goes before what a later run is configured with, with its words and its time", async (t) => {
  const home = newHome(t);
  const first = await openThroughline({ home });
  const said = await (await started(first)).agree({ frames: true, wording: consentWording });
  await first.close();
  await using second = await openThroughline({ home });
  assert.deepEqual((await started(second)).recorder.consent, said);
});

test("the same key after a restart gets the first receipt, and nothing is recorded twice", async (t) => {
  const home = newHome(t);
  const first = await openThroughline({ home });
  const before = await started(first);
  feed(before);
  const receipt = before.recorder.record({ ...praise, idempotencyKey: "k1" });
  await receipt.whenDurable();
  await first.close();
  await using second = await openThroughline({ home });
  const after = await started(second);
  const again = after.recorder.record({ ...praise, idempotencyKey: "k1" });
  assert.deepEqual([again.name, again.durable], [receipt.name, true]);
  const other = after.recorder.record({ ...praise, idempotencyKey: "k2" });
  await other.whenDurable();
  assert.equal((await after.packages.list()).packages.length, 2);
  // One that was deleted is not there to be answered with.
  await after.packages.delete({ name: receipt.name });
  const repeated = after.recorder.record({ ...praise, idempotencyKey: "k1", chatId: "b" });
  await repeated.whenDurable();
});

// Forgetting, while no moments are kept.
test("forgetting a chat while no moments are kept takes back what waits to be sent, and leaves tombstones until the bucket agrees", async (t) => {
  const { server, s3, keys } = await bucket(t);
  const home = newHome(t);
  const first = await openThroughline({ home });
  const moments = await started(first, { s3 });
  feed(moments);
  await moments.recorder.record(praise).whenDurable();
  await moments.upload();
  server.fail({ operation: "PutObject", times: 1_000, does: { kind: "reset" } });
  await moments.recorder.record({ ...praise, what: "the second" }).whenDurable();
  await first.chats.append("a", [{ role: "user", content: "Tell me a joke" }]);
  await first.close();
  assert.equal(keys().length, 3);

  const second = await openThroughline({ home });
  await extendWithMoments(second);
  const { removed } = await second.chats.forget("a");
  const places = ["packages", "pending uploads", "remote copies"];
  const counts = places.map((each) => removed.find(({ place }) => place === each)?.count);
  assert.deepEqual(counts, [2, 1, 1]);
  await second.close();
  const left = files(join(home, "feedback"));
  assert.equal(left.length, 2);
  for (const name of left) {
    assert.match(name, /\.tombstone\.json$/);
    assert.ok(!readFileSync(join(home, "feedback", name), "utf8").includes("the second"));
  }

  server.faults.heal();
  await using third = await openThroughline({ home });
  const later = await started(third, { s3 });
  await later.upload();
  assert.deepEqual([keys(), files(join(home, "feedback"))], [[], []]);
});

/** A server, a home, and runs one after the other. */
async function world(t: TestContext) {
  const { server, s3, keys } = await bucket(t);
  const home = newHome(t);
  const run = async <T>(
    work: (moments: Moments, throughline: Throughline) => Promise<T>,
    options: Partial<MomentsOptions> = { mode: "s3", s3 },
  ): Promise<T> => {
    await using throughline = await openThroughline({ home });
    const moments = await started(throughline, options);
    for (const chatId of ["a", "b"]) {
      const turn = { chatId, turnId: `m1${chatId}` };
      moments.recorder.message({ role: "user", text: "Tell me a joke", id: `q${chatId}`, ...turn });
      moments.recorder.message({ role: "assistant", text: "Knock, knock", id: chatId, ...turn });
    }
    return await work(moments, throughline);
  };
  const names = () => [...new Set(keys().map((key) => key.split("/")[2]))];
  return { server, home, s3, run, keys, names };
}

async function reacted({ recorder }: Moments, more: object = {}) {
  const receipt = recorder.record({ ...praise, ...more });
  await receipt.whenDurable();
  return receipt;
}

async function recorded(moments: Moments, more: object = {}): Promise<string> {
  const receipt = await reacted(moments, more);
  await moments.upload();
  assert.equal(receipt.uploaded, true);
  return receipt.name;
}

// Keys.
test("in mode s3 a key gets the first receipt in later runs, by a note that holds no word, until it is forgotten", async (t) => {
  const at = await world(t);
  const keyed = { idempotencyKey: "k1" };
  const name = await at.run((moments) => recorded(moments, keyed));
  assert.deepEqual(files(join(at.home, "feedback")), [`${name}.status.json`]);
  const note = readFileSync(join(at.home, "feedback", `${name}.status.json`), "utf8");
  assert.ok(!/joke|Knock/.test(note), note);
  await at.run(async (moments) => {
    const again = moments.recorder.record({ ...praise, ...keyed });
    assert.deepEqual([again.name, again.durable, again.uploaded], [name, true, true]);
    const [entry, ...more] = (await moments.packages.list()).packages;
    assert.deepEqual([at.names().length, entry?.state, more], [1, "bucket", []]);
    const { remote, unreadable } = await moments.forget({ chatId: "a" });
    assert.deepEqual([remote.length, unreadable], [1, []]);
    await moments.upload();
    assert.deepEqual([at.keys(), files(join(at.home, "feedback"))], [[], []]);
    assert.notEqual(await recorded(moments, { ...keyed, what: "another" }), "");
  });
  assert.equal(at.names().length, 1);
});

test("in mode s3 the key of a moment that went by the disk is known once its copy there is gone", async (t) => {
  const at = await world(t);
  const keyed = { idempotencyKey: "k1" };
  at.server.fail({ operation: "PutObject", times: 1, does: { kind: "reset" } });
  const name = await at.run((moments) => recorded(moments, keyed));
  assert.deepEqual(files(join(at.home, "feedback")), [`${name}.status.json`]);
  await at.run(async (moments) => {
    assert.equal(moments.recorder.record({ ...praise, ...keyed }).name, name);
  });
  assert.equal(at.names().length, 1);
});

test("a copy that was sent is deleted, once the bucket is named again, also when it was forgotten in mode local", async (t) => {
  const at = await world(t);
  await at.run((moments) => recorded(moments), { s3: at.s3 });
  const receipt = await at.run((moments) => moments.forget({ chatId: "a" }), { mode: "local" });
  assert.deepEqual([receipt.packages, receipt.remote.length], [1, 1]);
  assert.equal(at.names().length, 1);
  await at.run((moments) => moments.upload());
  assert.deepEqual([at.keys(), files(join(at.home, "feedback"))], [[], []]);
});

for (const how of ["kept again", "removed from only"]) {
  test(`what the bucket alone has of a chat that was forgotten while moments were not loaded goes once they are ${how}`, async (t) => {
    const at = await world(t);
    const other = await at.run(async (moments) => {
      await recorded(moments, { idempotencyKey: "k1" });
      return recorded(moments, { chatId: "b" });
    });
    const bare = await openThroughline({ home: at.home });
    await bare.chats.forget("a");
    await bare.close();
    if (how === "removed from only") {
      await using throughline = await openThroughline({ home: at.home });
      await extendWithMoments(throughline);
    }
    await at.run((moments) => moments.upload());
    assert.deepEqual(at.names(), [other]);
  });
}

test("where no bucket was ever named no tombstone stays, and nothing is said to be left", async (t) => {
  const at = await world(t);
  await at.run(
    async (moments, { chats }) => {
      await chats.append("a", [{ role: "user", content: "Tell me a joke" }]);
      await moments.recorder.record(praise).whenDurable();
    },
    { mode: "local" },
  );
  await using throughline = await openThroughline({ home: at.home });
  await extendWithMoments(throughline);
  const { unreachable, removed } = await throughline.chats.forget("a");
  assert.deepEqual(unreachable, []);
  assert.equal(removed.find(({ place }) => place === "packages")?.count, 1);
  assert.deepEqual(files(join(at.home, "feedback")), []);
});

const everything: Consent = { ...agreed, timestamp: 1 };
const words: Consent = { ...everything, frames: false, audio: false, upload: false, export: false };

function kept(path: string, disk: Disk = realDisk, guard = () => {}) {
  const ports = { disk, guard, newId: randomId, unsyncedNames: new Set<string>() };
  return new KeptConsent({ ...ports, logger: silentLogger }, path);
}

test("of changes at once the last one is kept, also when an earlier one takes longer", async (t) => {
  const path = newHome(t);
  const reached = Promise.withResolvers<void>();
  const slow = Promise.withResolvers<void>();
  const disk = changed(realDisk, {
    rename: async (from, to) => {
      const isEarlier = readFileSync(from, "utf8").includes('"upload": true');
      if (isEarlier) reached.resolve();
      if (isEarlier) await slow.promise;
      await realDisk.rename(from, to);
    },
  });
  const consent = kept(path, disk);
  const both = Promise.all([consent.keep(everything), consent.keep(words)]);
  await reached.promise;
  // Some that wait for no other are kept in this time.
  for (let n = 1; n <= 3; n++) await kept(newHome(t)).keep(words);
  slow.resolve();
  await both;
  assert.deepEqual(await kept(path).read(), words);
});

const write = (text: string) => (file: string) => writeFileSync(file, text);
for (const [what, plant] of [
  ["is torn", write('{"messages":tr')],
  ["has no words for pictures", write(JSON.stringify({ ...everything, wording: null }))],
  ["is of another shape", write("[]")],
  ["has 2,001 characters", write(JSON.stringify({ ...everything, wording: "x".repeat(2_001) }))],
  ["has 65 MiB", (file) => writeFileSync(file, Buffer.alloc(65 * 1024 * 1024))],
  ["is a folder", (file) => mkdirSync(file)],
  ["is a link", (file) => symlinkSync(file, file)],
  ["is a pipe", (file) => void execFileSync("mkfifo", [file])],
] satisfies [what: string, plant: (file: string) => unknown][]) {
  const timeout = 20_000;
  test(`a consent whose file ${what} agrees to words alone`, { timeout }, async (t) => {
    const home = newHome(t);
    plant(join(home, "consent.json"));
    await using throughline = await openThroughline({ home });
    assert.deepEqual((await started(throughline)).recorder.consent, initialConsent);
  });
}

const silence = { ...words, messages: false };
const nothing = { ...initialConsent, messages: false };

test("of what is withdrawn and cannot be kept words alone are agreed to, unless they are refused; what is granted changes nothing", async (t) => {
  for (const [before, now, after, call] of [
    [everything, words, initialConsent, "write"],
    [words, everything, words, "write"],
    [words, silence, nothing, "write"],
    [undefined, words, initialConsent, "write"],
    [undefined, silence, nothing, "write"],
    [{ ...silence, frames: true }, silence, nothing, "write"],
    [silence, { ...everything, messages: false }, silence, "write"],
    [everything, silence, silence, "syncDirectory"], // it is in its place
  ] as const) {
    const path = newHome(t);
    if (before) await kept(path).keep(before);
    const full = faultyDisk(realDisk, { fault: "ENOSPC", at: 1, repeat: "forever", call });
    const consent = kept(path, full);
    await consent.read();
    await assert.rejects(consent.keep(now), { code: "THROUGHLINE_UNAVAILABLE" });
    assert.deepEqual(await kept(path).read(), after);
  }
});

test("a process that is not the writer any more keeps nothing", async (t) => {
  const path = newHome(t);
  const lost = kept(path, realDisk, () => {
    throw new Error("lost");
  });
  await assert.rejects(lost.keep(everything), /lost/);
  assert.equal(await kept(path).read(), undefined);
});
