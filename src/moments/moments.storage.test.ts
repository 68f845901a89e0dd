// Where packages go, what is remembered of earlier runs, and what forgetting reaches.
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { S3Server } from "../../test/support/s3/s3-server.ts";
import { openThroughline, type Throughline } from "../core/throughline.ts";
import type { Moments } from "./moments.ts";
import type { MomentsOptions } from "./options.ts";
import { consentWording } from "./record/consent.ts";
import { extendWithMoments, startMoments } from "./start-moments.ts";

const agreed = {
  messages: true,
  frames: true,
  audio: true,
  upload: true,
  export: true,
  wording: consentWording,
  by: "a test",
};
const software = { name: "throughline", version: "0.0.0" };

function newHome(t: TestContext): string {
  const home = mkdtempSync(join(tmpdir(), "throughline-moments-"));
  t.after(() => rmSync(home, { recursive: true, force: true }));
  return home;
}

async function bucket(t: TestContext) {
  const server = await S3Server.start({ buckets: ["moments"] });
  t.after(() => server.close());
  const { endpoint, credentials } = server;
  const s3 = { bucket: "moments", region: "us-east-1", endpoint, credentials };
  const keys = () => [...server.objects("moments").keys()].sort();
  return { server, s3, keys };
}

function started(throughline: Throughline, options: Partial<MomentsOptions> = {}) {
  return startMoments(throughline, {
    sessionId: "a1b2c3d4",
    software,
    consent: agreed,
    ...options,
  });
}

function feed({ recorder }: Moments): void {
  const turn = { chatId: "a", turnId: "m1" };
  recorder.message({ role: "user", text: "Tell me a joke", id: "m1", ...turn });
  recorder.message({ role: "assistant", text: "Knock, knock", id: "m2", ...turn });
  recorder.audio(new Float32Array(16_000).fill(0.25));
}

const praise = { sentiment: "positive", what: "the joke", source: "http", chatId: "a" } as const;
const files = (path: string) => (existsSync(path) ? readdirSync(path) : []);

// Mode s3.
test("in mode s3 a durable receipt is an uploaded one, and the disk has its status alone", async (t) => {
  const { s3, keys } = await bucket(t);
  const home = newHome(t);
  await using throughline = await openThroughline({ home });
  const moments = await started(throughline, { mode: "s3", s3 });
  feed(moments);
  const receipt = moments.recorder.record(praise);
  await receipt.whenDurable();
  assert.equal(receipt.uploaded, true);
  const prefix = `feedback/a1b2c3d4/${receipt.name}/`;
  assert.deepEqual(keys(), [
    `${prefix}audio.wav`,
    `${prefix}feedback.json`,
    `${prefix}messages.json`,
  ]);
  assert.deepEqual(files(join(home, "feedback")), [`${receipt.name}.status.json`]);
  const { storage_mode, storage_reason } = moments.statistics();
  assert.deepEqual([storage_mode, storage_reason], ["s3", null]);
});

test("in mode s3 a failing upload falls back to the disk, and goes from there once it is up", async (t) => {
  const { server, s3, keys } = await bucket(t);
  const home = newHome(t);
  await using throughline = await openThroughline({ home });
  const moments = await started(throughline, { mode: "s3", s3 });
  feed(moments);
  server.fail({ operation: "PutObject", times: 1, does: { kind: "reset" } });
  const receipt = moments.recorder.record(praise);
  await receipt.whenDurable();
  assert.deepEqual(
    keys().filter((key) => key.endsWith("feedback.json")).length,
    receipt.uploaded ? 1 : 0,
  );
  await receipt.whenUploaded();
  await moments.upload();
  assert.equal(keys().filter((key) => key.endsWith("feedback.json")).length, 1);
  const left = files(join(home, "feedback")).filter((name) => !name.endsWith(".status.json"));
  assert.deepEqual(left, []);
});

test("in mode s3 the reply to the manifest is lost: the copy on the disk is that very package, and done", async (t) => {
  const { server, s3 } = await bucket(t);
  await using throughline = await openThroughline({ home: newHome(t) });
  const moments = await started(throughline, { mode: "s3", s3 });
  feed(moments);
  const does = { kind: "lose_reply" } as const;
  server.fail({ operation: "PutObject", key: /feedback\.json$/, times: 1, does });
  const receipt = moments.recorder.record(praise);
  await receipt.whenUploaded();
  assert.equal(moments.statistics().outbox?.dead, 0);
});

test("in mode s3 what nobody agreed to upload stays on the disk, and the bucket is not asked", async (t) => {
  const { server, s3 } = await bucket(t);
  const home = newHome(t);
  await using throughline = await openThroughline({ home });
  const consent = { messages: true };
  const moments = await started(throughline, { mode: "s3", s3, consent });
  feed(moments);
  const receipt = moments.recorder.record(praise);
  await receipt.whenDurable();
  assert.deepEqual(files(join(home, "feedback")), [receipt.name]);
  assert.equal(server.journal.count("PutObject"), 0);
});

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

test("without credentials the mode is local and says so, and each package is pending", async (t) => {
  const { s3 } = await bucket(t);
  const home = newHome(t);
  await using throughline = await openThroughline({ home });
  const credentials = () => Promise.reject(new Error("none"));
  const moments = await started(throughline, { s3: { ...s3, credentials } });
  feed(moments);
  const receipt = moments.recorder.record(praise);
  await receipt.whenDurable();
  await moments.upload();
  const { storage_mode, storage_reason, s3_bucket, outbox } = moments.statistics();
  assert.deepEqual([storage_mode, storage_reason], ["local", "no_credentials"]);
  assert.deepEqual([s3_bucket, outbox?.pending], ["moments", 1]);
  assert.equal(receipt.uploaded, false);
});

// Across runs.
test("what was agreed to holds in the next run, with its words and its time", async (t) => {
  const home = newHome(t);
  const first = await openThroughline({ home });
  const before = await startMoments(first, { sessionId: "a1b2c3d4", software });
  assert.equal(before.recorder.consent.frames, false);
  const said = await before.agree({ messages: true, frames: true, wording: consentWording });
  await first.close();
  await using second = await openThroughline({ home });
  const after = await startMoments(second, { sessionId: "b1b2c3d4", software });
  assert.deepEqual(after.recorder.consent, said);
  assert.equal(after.recorder.consent.wording, consentWording);
});

for (const [what, text] of [
  ["torn", '{"messages":tr'],
  [
    "without words for pictures",
    '{"messages":true,"frames":true,"audio":false,"upload":false,"export":false,"wording":null,"by":null,"timestamp":1}',
  ],
  ["of another shape", "[]"],
] as const) {
  test(`a consent that is ${what} agrees to no picture, no sound and no upload`, async (t) => {
    const home = newHome(t);
    writeFileSync(join(home, "consent.json"), text);
    await using throughline = await openThroughline({ home });
    const { recorder } = await startMoments(throughline, { sessionId: "a1b2c3d4", software });
    const { frames, audio, upload } = recorder.consent;
    assert.deepEqual([frames, audio, upload], [false, false, false]);
  });
}

test("what somebody agreed to goes before what the next run is configured with, also when it cannot be read", async (t) => {
  const home = newHome(t);
  const first = await openThroughline({ home });
  await (await started(first)).agree({ messages: true });
  await first.close();
  const second = await openThroughline({ home });
  const { consent } = (await started(second)).recorder;
  assert.deepEqual([consent.frames, consent.audio, consent.upload], [false, false, false]);
  await second.close();
  writeFileSync(join(home, "consent.json"), "{");
  await using third = await openThroughline({ home });
  const { frames, audio, upload } = (await started(third)).recorder.consent;
  assert.deepEqual([frames, audio, upload], [false, false, false]);
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
  await moments.recorder.record(praise).whenUploaded();
  server.fail({ operation: "PutObject", times: 1_000, does: { kind: "reset" } });
  await moments.recorder.record({ ...praise, what: "the second" }).whenDurable();
  await first.chats.append("a", [{ role: "user", content: "Tell me a joke" }]);
  await first.close();
  assert.equal(keys().length, 3);

  const second = await openThroughline({ home });
  await extendWithMoments(second);
  const { removed } = await second.chats.forget("a");
  const counts = Object.fromEntries(removed.map(({ place, count }) => [place, count]));
  assert.deepEqual(
    [counts["packages"], counts["pending uploads"], counts["remote copies"]],
    [2, 1, 1],
  );
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
