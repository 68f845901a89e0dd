// Packages that the bucket alone has: known by their keys in later runs, taken back, forgotten.
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { S3Server } from "../../test/support/s3/s3-server.ts";
import { openThroughline, type Throughline } from "../core/throughline.ts";
import type { Moments } from "./moments.ts";
import type { MomentsOptions } from "./options.ts";
import { consentWording } from "./record/consent.ts";
import { extendWithMoments, startMoments } from "./start-moments.ts";

const consent = {
  messages: true,
  frames: true,
  audio: true,
  upload: true,
  export: true,
  wording: consentWording,
  by: "a test",
};
const praise = { sentiment: "positive", what: "the joke", source: "http", chatId: "a" } as const;
const everyRequest = { times: Number.POSITIVE_INFINITY, does: { kind: "reset" } } as const;
const files = (path: string) => (existsSync(path) ? readdirSync(path) : []);

/** A server, a home, and runs one after the other. */
async function world(t: TestContext) {
  const server = await S3Server.start({ buckets: ["moments"] });
  const home = mkdtempSync(join(tmpdir(), "throughline-remote-"));
  t.after(async () => {
    await server.close();
    rmSync(home, { recursive: true, force: true });
  });
  const { endpoint, credentials } = server;
  const s3 = { bucket: "moments", region: "us-east-1", endpoint, credentials };
  const run = async <T>(
    work: (moments: Moments, throughline: Throughline) => Promise<T>,
    options: Partial<MomentsOptions> = { mode: "s3", s3 },
  ): Promise<T> => {
    await using throughline = await openThroughline({ home });
    const software = { name: "throughline", version: "0.0.0" };
    const moments = await startMoments(throughline, {
      sessionId: "a1b2c3d4",
      software,
      consent,
      ...options,
    });
    for (const chatId of ["a", "b"]) {
      const turn = { chatId, turnId: `m1${chatId}` };
      moments.recorder.message({ role: "user", text: "Tell me a joke", id: `q${chatId}`, ...turn });
      moments.recorder.message({ role: "assistant", text: "Knock, knock", id: chatId, ...turn });
    }
    return await work(moments, throughline);
  };
  const keys = () => [...server.objects("moments").keys()].sort();
  const names = () => [...new Set(keys().map((key) => key.split("/")[2]))];
  return { server, home, s3, run, keys, names };
}

async function recorded({ recorder }: Moments, more: object = {}): Promise<string> {
  const receipt = recorder.record({ ...praise, ...more });
  await receipt.whenUploaded();
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
  const name = await at.run(async (moments) => {
    const receipt = moments.recorder.record({ ...praise, ...keyed });
    await receipt.whenDurable();
    await moments.upload();
    await receipt.whenUploaded();
    return receipt.name;
  });
  assert.deepEqual(files(join(at.home, "feedback")), [`${name}.status.json`]);
  await at.run(async (moments) => {
    assert.equal(moments.recorder.record({ ...praise, ...keyed }).name, name);
  });
  assert.equal(at.names().length, 1);
});

// Taking back.
for (const isUp of [true, false]) {
  test(`a package that the bucket alone has is retracted in a later run, the bucket ${isUp ? "up" : "away"}`, async (t) => {
    const at = await world(t);
    const name = await at.run((moments) => recorded(moments));
    const mark = { by: "ann", reason: "a slip" };
    await at.run(async (moments) => {
      if (!isUp) at.server.fail(everyRequest);
      assert.equal(await moments.retract(name, mark), "bucket");
    });
    at.server.faults.heal();
    await at.run((moments) => moments.upload());
    const object = at.server.objects("moments").get(`feedback/a1b2c3d4/${name}/retracted.json`);
    const { by, reason } = JSON.parse(object?.body.toString() ?? "{}");
    assert.deepEqual([by, reason], ["ann", "a slip"]);
  });
}

test("what is neither here nor in the bucket cannot be retracted, and that is said", async (t) => {
  const at = await world(t);
  const name = "2026-02-19T15-30-00_positive_fb_a1b2c3d4e5f6";
  await at.run((moments) =>
    assert.rejects(moments.retract(name, { by: null, reason: null }), {
      code: "THROUGHLINE_NOT_FOUND",
    }),
  );
  assert.deepEqual(files(join(at.home, "feedback")), []);
});

// Forgetting where nothing is sent.
test("what only the bucket has is forgotten with its chat; what this home does not know, when the bucket is asked for", async (t) => {
  const at = await world(t);
  const other = await at.run(async (moments) => {
    await recorded(moments);
    await recorded(moments, { idempotencyKey: "k1" });
    return await recorded(moments, { chatId: "b" });
  });
  await at.run(async (moments) => {
    const { remote, ...receipt } = await moments.forget({ chatId: "a" });
    assert.deepEqual([remote.length, receipt.isBucketSearched], [2, undefined]);
    await moments.upload();
  });
  assert.deepEqual(at.names(), [other]);
  // Another home, which has no status of it.
  for (const name of files(join(at.home, "feedback"))) rmSync(join(at.home, "feedback", name));
  await at.run(async (moments) => {
    at.server.fail(everyRequest);
    const { isBucketSearched } = await moments.forget({ chatId: "b" }, { inBucket: true });
    assert.equal(isBucketSearched, false);
  });
  at.server.faults.heal();
  assert.deepEqual([at.names(), files(join(at.home, "feedback"))], [[other], []]);
  await at.run(async (moments) => {
    const { isBucketSearched } = await moments.forget({ chatId: "b" }, { inBucket: true });
    assert.equal(isBucketSearched, true);
  });
  assert.deepEqual(at.keys(), []);
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

test("what an upload left in the bucket that was cut off a day ago is removed, of any device", async (t) => {
  const at = await world(t);
  const day = 24 * 3_600_000;
  const [old, young] = ["positive", "negative"].map(
    (sentiment) => `feedback/ffffffff/2026-02-19T15-30-00_${sentiment}_fb_a1b2c3d4e5f6/`,
  );
  at.server.place(`${old}messages.json`, Buffer.from("[]"), "moments", Date.now() - day - 60_000);
  at.server.place(`${young}messages.json`, Buffer.from("[]"), "moments", Date.now() - day / 2);
  await at.run(async (moments) => {
    const { remote, isBucketSearched } = await moments.removeCutOff();
    assert.deepEqual([remote.map(({ prefix }) => prefix), isBucketSearched], [[old], true]);
    await moments.upload();
  });
  assert.deepEqual(at.keys(), [`${young}messages.json`]);
  const nowhere = await at.run((moments) => moments.removeCutOff(), { mode: "local" });
  assert.deepEqual(nowhere, { remote: [], isBucketSearched: true });
});
