// What becomes of packages, pictures and sound when somebody takes back their consent to uploads, or gives it.
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { agreed, bucket, newHome, praise, started } from "../../test/support/moments-home.ts";
import { openThroughline } from "../core/throughline.ts";
import type { Moments } from "./moments.ts";
import type { StorageMode } from "./upload/mode.ts";

/** The outside of a JPEG: 6 by 4 pixels. */
const jpeg = Uint8Array.from([
  ...[0xff, 0xd8, 0xff, 0xc0, 0, 11, 8, 0, 4, 0, 6, 1, 1, 17, 0, 0xff, 0xda],
  ...new Uint8Array(20),
  ...[0xff, 0xd9],
]);
const refused = { ...agreed, upload: false };
const away = { times: 1_000, does: { kind: "error", status: 503, code: "SlowDown" } } as const;

/** A home with a bucket, which one run after the other works with. */
async function world(t: TestContext, mode: StorageMode = "local+s3") {
  const { server, s3, keys } = await bucket(t);
  const home = newHome(t);
  const run = async <T>(work: (moments: Moments) => Promise<T>, options = {}): Promise<T> => {
    await using throughline = await openThroughline({ home });
    return await work(await started(throughline, { mode, s3, ...options }));
  };
  return { server, keys, run };
}

async function recorded({ recorder }: Moments): Promise<string> {
  recorder.message({ role: "user", text: "Tell me a joke", chatId: "a" });
  const receipt = recorder.record(praise);
  await receipt.whenDurable();
  return receipt.name;
}

const sentOf = (keys: readonly string[]) => new Set(keys.map((key) => key.split("/")[2]));

for (const isAway of [true, false]) {
  const how = isAway ? "while the bucket is away" : "before it is sent";
  test(`what waits when upload is withdrawn stays here, ${how}, also after a new yes and in later runs, until somebody asks`, async (t) => {
    const at = await world(t);
    const name = await at.run(async (moments) => {
      await moments.agree(agreed);
      at.server.fail(away);
      const waits = await recorded(moments);
      if (!isAway) at.server.faults.heal();
      await moments.agree(refused);
      at.server.faults.heal();
      await moments.upload();
      assert.deepEqual(at.keys(), []);
      const { pending, dead, last_error } = moments.statistics().outbox ?? {};
      assert.deepEqual([pending, dead, last_error?.class], [0, 1, "no_consent"]);
      return waits;
    });
    const later = await at.run(async (moments) => {
      await moments.agree(agreed);
      await moments.retract(name, { by: null, reason: null });
      const after = await recorded(moments);
      while (!at.keys().some((key) => key.endsWith("feedback.json"))) {
        await new Promise((done) => setImmediate(done));
      }
      return after;
    });
    assert.deepEqual(sentOf(at.keys()), new Set([later]));
    await at.run((moments) => moments.upload());
    assert.deepEqual(sentOf(at.keys()), new Set([name, later]));
  });
}

for (const mode of ["local+s3", "s3"] as const) {
  test(`in mode ${mode} a package that is under way when upload is withdrawn arrives no more, and is kept here`, async (t) => {
    const at = await world(t, mode);
    await at.run(async (moments) => {
      await moments.agree(agreed);
      at.server.fail({ operation: "PutObject", times: 1, does: { kind: "hang" } });
      moments.recorder.message({ role: "user", text: "Tell me a joke", chatId: "a" });
      const receipt = moments.recorder.record(praise);
      while (at.server.held === 0) await new Promise((done) => setImmediate(done));
      await moments.agree(refused);
      await receipt.whenDurable();
      await moments.upload();
      assert.equal(receipt.uploaded, false);
      assert.equal((await moments.packages.read(receipt.name)).status?.upload?.state, "dead");
    });
    assert.deepEqual(at.keys(), []);
  });
}

for (const [how, before, after, error] of [
  ["withdrawn", agreed, refused, "no_consent"],
  ["agreed to", refused, agreed, undefined],
] as const) {
  test(`in mode s3 a reaction just before upload is ${how} stays here, and the bucket is not asked`, async (t) => {
    const at = await world(t, "s3");
    await at.run(async (moments) => {
      await moments.agree(before);
      moments.recorder.message({ role: "user", text: "Tell me a joke", chatId: "a" });
      const receipt = moments.recorder.record(praise);
      await moments.agree(after);
      await receipt.whenDurable();
      await moments.upload();
      assert.equal(moments.statistics().outbox?.last_error?.class, error);
      assert.ok(await moments.packages.has(receipt.name));
    });
    assert.equal(at.server.journal.count("PutObject"), 0);
  });
}

test("while upload is refused retractions and deletions are sent all the same", async (t) => {
  const at = await world(t);
  await at.run(async (moments) => {
    const [first, second] = [await recorded(moments), await recorded(moments)];
    await moments.upload();
    await moments.agree(refused);
    await moments.retract(first, { by: null, reason: null });
    await moments.forget({ name: second });
    await moments.upload();
    assert.deepEqual(sentOf(at.keys()), new Set([first]));
    assert.ok(at.keys().includes(`feedback/a1b2c3d4/${first}/retracted.json`));
    assert.equal(moments.statistics().outbox?.dead, 0);
  });
});

test("what an earlier run left to be uploaded stays here when that is not agreed to any more", async (t) => {
  const at = await world(t);
  await at.run(async (moments) => {
    at.server.fail(away);
    await recorded(moments);
  });
  at.server.faults.heal();
  await at.run((moments) => moments.upload(), { consent: refused });
  assert.deepEqual(at.keys(), []);
  // Where nothing was said each package goes by its own consent.
  await at.run((moments) => moments.upload(), { consent: undefined });
  assert.equal(sentOf(at.keys()).size, 1);
});

for (const what of ["upload", "export"] as const) {
  test(`what was seen and heard before somebody agreed to ${what} is in no package of after`, async (t) => {
    const at = await world(t);
    await at.run(async (moments) => {
      const { recorder } = moments;
      await moments.agree({ ...agreed, [what]: false });
      assert.equal(recorder.frame(jpeg), "accepted");
      assert.equal(recorder.audio(new Int16Array(1_600)), "accepted");
      await moments.agree(agreed);
      const before = (await moments.packages.read(await recorded(moments))).manifest;
      assert.deepEqual([before.num_frames, before.audio_samples], [0, 0]);
      assert.equal(before.num_messages, 1);
    });
  });
}
