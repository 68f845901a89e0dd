import assert from "node:assert/strict";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import sharp from "sharp";
import { column } from "../../test/support/columns.ts";
import { HeldClock } from "../../test/support/held-clock.ts";
import { bucket, newHome, praise, sessionId, started } from "../../test/support/moments-home.ts";
import type { RemovalReceipt } from "../core/chat/forget.ts";
import { openThroughline, type Throughline } from "../core/throughline.ts";
import { extendWithMoments } from "./start-moments.ts";

const picture = sharp({
  create: { width: 64, height: 48, channels: 3, background: "teal" },
}).jpeg();

async function feed({ recorder }: Awaited<ReturnType<typeof started>>): Promise<void> {
  const turn = { chatId: "a", turnId: "m1" };
  recorder.message({ role: "user", text: "Tell me a joke", id: "m1", ...turn });
  recorder.message({ role: "assistant", text: "Knock, knock", id: "m2", ...turn });
  assert.equal(recorder.frame(await picture.toBuffer()), "accepted");
  assert.equal(recorder.audio(new Float32Array(16_000).fill(0.25)), "accepted");
}

for (const how of ["kept again", "removed from only"]) {
  test(`packages of a chat that was forgotten while moments were not loaded go once they are ${how}`, async (t) => {
    const home = newHome(t);
    const first = await openThroughline({ home });
    const moments = await started(first);
    await feed(moments);
    await moments.recorder.record(praise).whenDurable();
    const other = moments.recorder.record({ ...praise, chatId: "b" });
    await other.whenDurable();
    await first.close();
    const bare = await openThroughline({ home });
    const { unreachable } = await bare.chats.forget("a");
    assert.deepEqual(unreachable, [
      "moments: kept here, and not loaded in this process; removed when it is next started",
    ]);
    // The chat is begun again before moments are: what is from before goes all the same.
    await bare.chats.append("a", [{ role: "user", content: "Hello again" }]);
    await bare.close();
    assert.equal(readdirSync(join(home, "feedback")).length, 2);
    await using second = await openThroughline({ home });
    await (how === "kept again" ? started(second) : extendWithMoments(second));
    const left = readdirSync(join(home, "feedback")).filter((name) => !name.includes("."));
    assert.deepEqual(left, [other.name]);
  });
}

test("a damaged package of a chat that was forgotten while moments were not loaded goes", async (t) => {
  const home = newHome(t);
  const first = await openThroughline({ home });
  const moments = await started(first);
  await feed(moments);
  const receipt = moments.recorder.record(praise);
  await receipt.whenDurable();
  await first.close();
  const manifest = join(home, "feedback", receipt.name, "feedback.json");
  const { files: _, ...rest } = JSON.parse(readFileSync(manifest, "utf8"));
  writeFileSync(manifest, JSON.stringify(rest));
  const bare = await openThroughline({ home });
  await bare.chats.forget("a");
  await bare.close();
  await using second = await openThroughline({ home });
  await started(second);
  assert.deepEqual(readdirSync(join(home, "feedback")), []);
});

for (const now of ["2026-03-01T12:00:01.000Z", "2026-03-01T11:05:00.000Z"]) {
  test(`packages that a chat made at ${now} after it was forgotten at 12:00 and begun again stay at the next start`, async (t) => {
    const home = newHome(t);
    const clock = new HeldClock("2026-03-01T12:00:00.000Z");
    const first = await openThroughline({ home, clock });
    const moments = await started(first);
    await first.chats.append("a", [{ role: "user", content: "Hello" }]);
    await first.chats.forget("a");
    clock.set(now);
    await first.chats.append("a", [{ role: "user", content: "Hello again" }]);
    await feed(moments);
    const receipt = moments.recorder.record(praise);
    await receipt.whenDurable();
    await first.close();
    await using second = await openThroughline({ home, clock });
    const { packages } = await started(second);
    assert.deepEqual(column((await packages.list()).packages, "name"), [receipt.name]);
  });
}

test("moments are refused once the memories are closed", async (t) => {
  const throughline = await openThroughline({ home: newHome(t) });
  await throughline.close();
  await assert.rejects(started(throughline), { code: "THROUGHLINE_CLOSED" });
});

test("without a home nobody keeps moments, and one home keeps them once", async (t) => {
  await using ephemeral = await openThroughline({ storage: "memory" });
  await assert.rejects(started(ephemeral), { code: "THROUGHLINE_CONFIGURATION" });
  await using throughline = await openThroughline({ home: newHome(t) });
  await started(throughline);
  await assert.rejects(started(throughline), { code: "THROUGHLINE_CONFLICT" });
});

test("a reaction that is taken back is marked beside its copy, whatever bucket is in use now", async (t) => {
  const { server, s3 } = await bucket(t, ["moments", "later"]);
  const home = newHome(t);
  const into = (name: string) => ({ s3: { ...s3, bucket: name } });
  const first = await openThroughline({ home });
  const before = await started(first, into("moments"));
  await feed(before);
  const receipt = before.recorder.record(praise);
  await receipt.whenDurable();
  await before.upload();
  assert.equal(receipt.uploaded, true);
  const { name } = receipt;
  await first.close();
  await using second = await openThroughline({ home });
  const moments = await started(second, into("later"));
  await moments.retract(name, { by: "ann", reason: "a slip" });
  await moments.upload();
  const marks = ["moments", "later"].map((each) => {
    return [...server.objects(each).keys()].filter((key) => key.endsWith("retracted.json"));
  });
  assert.deepEqual(marks, [[`feedback/${sessionId}/${name}/retracted.json`], []]);
});

test("a reaction that a newer one takes the place of is marked beside its copy in the bucket", async (t) => {
  const { server, s3 } = await bucket(t);
  await using throughline = await openThroughline({ home: newHome(t) });
  const moments = await started(throughline, { s3 });
  await feed(moments);
  const first = moments.recorder.record(praise);
  await first.whenDurable();
  await moments.upload();
  const newer = moments.recorder.record({ ...praise, supersedes: first.id });
  // Its upload may end earlier, before the mark of the older one is pending.
  await newer.whenDurable();
  await moments.upload();
  const key = `feedback/${sessionId}/${first.name}/retracted.json`;
  const mark = JSON.parse(String(server.objects("moments").get(key)?.body));
  assert.deepEqual([mark.reason, mark.superseded_by], ["superseded", newer.id]);
});

const said = [
  { role: "user", content: "Tell me a joke", id: "m1" },
  { role: "assistant", content: "Knock, knock", id: "m2" },
] as const;

test("a message that is taken back or cleared leaves the packages that hold it, and is in none that is made after", async (t) => {
  const home = newHome(t);
  await using throughline = await openThroughline({ home });
  const moments = await started(throughline);
  await feed(moments);
  await throughline.chats.append("a", said);
  const first = moments.recorder.record(praise);
  await first.whenDurable();
  await throughline.chats.takeBack("a", ["m2"]);
  assert.equal((await moments.packages.list()).packages.length, 1);
  const second = moments.recorder.record(praise);
  await second.whenDurable();
  const wordsOf = async (name: string | null) =>
    (await moments.packages.read(String(name))).messages.map(({ id }) => id);
  assert.deepEqual(await wordsOf(first.name), ["m1", "m2"]);
  assert.deepEqual(await wordsOf(second.name), ["m1"]);
  await throughline.chats.clear("a");
  assert.equal((await moments.packages.list()).packages.length, 2);
});

const packagesIn = ({ removed }: RemovalReceipt) =>
  removed.find(({ place }) => place === "packages")?.count;

test("to erase a message deletes the packages that hold it, also while moments are not kept", async (t) => {
  const home = newHome(t);
  const first = await openThroughline({ home });
  const moments = await started(first);
  await feed(moments);
  await first.chats.append("a", said);
  await moments.recorder.record(praise).whenDurable();
  moments.recorder.message({ role: "assistant", text: "Hm", id: "m3", chatId: "b" });
  const other = moments.recorder.record({ ...praise, chatId: "b" });
  await other.whenDurable();
  await first.close();
  await using second = await openThroughline({ home });
  await extendWithMoments(second);
  const receipt = await second.chats.erase("a", "m2");
  assert.deepEqual([packagesIn(receipt), receipt.unreachable], [1, []]);
  assert.deepEqual(readdirSync(join(home, "feedback")), [other.name]);
  assert.equal(packagesIn(await second.chats.erase("a", "m2")), 0);
});

test("to erase a message drops the moments that hold it and are not saved yet", async (t) => {
  await using throughline = await openThroughline({ home: newHome(t) });
  const moments = await started(throughline);
  await feed(moments);
  await throughline.chats.append("a", said);
  const receipt = moments.recorder.record({ ...praise, postRollMs: 30_000 });
  await throughline.chats.erase("a", "m2");
  await assert.rejects(receipt.whenDurable());
  assert.equal(receipt.toJSON().reason, "forgotten");
  assert.deepEqual((await moments.packages.list()).packages, []);
});

/** A chat "a" and its fork "b", of which a moment is kept. */
async function withFork(throughline: Throughline) {
  const { chats } = throughline;
  const { recorder, packages } = await started(throughline);
  await chats.append("a", said);
  await chats.fork("a", "m2", "b");
  recorder.message({ role: "user", text: "Tell me a joke", id: "m1", chatId: "b" });
  recorder.message({ role: "assistant", text: "Knock, knock", id: "m2", chatId: "b" });
  const moment = recorder.record({ ...praise, chatId: "b" });
  await moment.whenDurable();
  return { chats, packages, moment };
}

test("to erase a message again reaches the package of a fork that it could not read before", async (t) => {
  const home = newHome(t);
  await using throughline = await openThroughline({ home });
  const { chats, packages, moment } = await withFork(throughline);
  const words = join(home, "feedback", moment.name, "messages.json");
  const bytes = readFileSync(words);
  writeFileSync(words, bytes.subarray(0, 20));
  const { unreachable } = await chats.erase("a", "m1");
  assert.deepEqual(unreachable, [`the package ${moment.name}, which cannot be read`]);
  writeFileSync(words, bytes);
  assert.equal(packagesIn(await chats.erase("a", "m1")), 1);
  assert.deepEqual((await packages.list()).packages, []);
});
