// Reactions over HTTP: consent, feeds, receipts, packages, and who may not.
import assert from "node:assert/strict";
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { registerHooks } from "node:module";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import sharp from "sharp";
import type { ToolCall } from "../src/core/chat/message.ts";
import { silentLogger } from "../src/core/logger.ts";
import { realDisk } from "../src/core/storage/disk/disk.ts";
import type { ThroughlineOptions } from "../src/core/throughline.ts";
import { systemTimers } from "../src/core/timers.ts";
import type { Turn } from "../src/core/turns/turn.ts";
import { checkMoments } from "../src/moments/checks/moments.ts";
import type { MomentsOptions } from "../src/moments/options.ts";
import { readManifest, writeManifest } from "../src/moments/package/manifest.ts";
import { consentWording } from "../src/moments/record/consent.ts";
import * as schemas from "../src/moments/routes/answer-schemas.ts";
import { offerSkills } from "../src/moments/start-moments.ts";
import * as answers from "../src/server/answer-schemas.ts";
import { events as serverEvents } from "../src/server/event-schemas.ts";
import { bucket } from "./support/moments-home.ts";
import { samplePackage } from "./support/s3/sample-package.ts";
import { servedMoments } from "./support/served-moments.ts";
import {
  assertDescribed,
  type companion,
  eventsOf,
  jsonOf,
  me,
  problemOf,
} from "./support/server-fixture.ts";
import { systemError } from "./support/system-error.ts";

async function withMoments(
  t: TestContext,
  script?: Parameters<typeof companion>[0],
  moments: Partial<MomentsOptions> = {},
  ports: Partial<ThroughlineOptions> = {},
) {
  const c = await servedMoments(t, script, { moments, ports });
  const feed = (path: string, type: string, body: Uint8Array) =>
    c.ask(path, { method: "POST", headers: { "content-type": type }, body: body as never });
  return { ...c, feed };
}

const agreed = { messages: true, frames: true, audio: true, wording: consentWording };
const praise = { sentiment: "positive", what: "the joke" };
const picture = () =>
  sharp({ create: { width: 64, height: 48, channels: 3, background: "teal" } })
    .withExif({ IFD0: { Make: "Secretcam" } })
    .jpeg()
    .toBuffer();

test("one key in two chats is two reactions, and so is one call of a model in two", async (t) => {
  const c = await withMoments(t, [["One"], ["Two"]]);
  const skills = offerSkills(c.moments.recorder, systemTimers);
  const ofCall = { name: "remember_positively", arguments: '{"what":"a joke"}' };
  const names: string[] = [];
  for (const chat_id of ["A", "B"]) {
    await c.post(`/api/chats/${chat_id}/messages`, { content: "Tell me a joke" });
    const send = () => c.post("/api/feedback", { ...praise, chat_id }, { "idempotency-key": "k1" });
    const { name } = await jsonOf(await send(), 201);
    assert.equal((await jsonOf(await send(), 201)).name, name);
    names.push(name);
    const turn = { id: "17", chatId: chat_id } as Turn;
    const [tool] = skills(turn, { provider: "scripted", model: "scripted" }).tools;
    const call: ToolCall = { id: "call_0", type: "function", function: ofCall };
    for (let n = 1; n <= 2; n++)
      assert.equal(await tool?.run({ what: "a joke" }, call, {} as never), "Remembered.");
  }
  assert.notEqual(names[0], names[1]);
  const { packages } = await c.get("/api/feedback");
  const chats = packages.map((each: { feedback: { chat_id: string } }) => each.feedback.chat_id);
  assert.deepEqual(chats.toSorted(), ["A", "A", "B", "B"]);
});

test("praise for an answer is a package with what was said, seen and heard", async (t) => {
  const c = await withMoments(t);
  const watched = eventsOf((await c.ask("/api/events")).body);
  schemas.consent.strict().parse(await jsonOf(await c.post("/api/feedback/consent", agreed), 200));
  const { assistant } = await jsonOf(await c.say("Tell me a joke"), 200);
  const frame = await c.feed("/api/frames", "image/jpeg", await picture());
  assert.deepEqual(await jsonOf(frame, 200), { result: "accepted" });
  const sound = new Uint8Array(new Int16Array(16_000).fill(900).buffer);
  const audio = await c.feed(
    "/api/audio?format=s16le&rate=16000",
    "application/octet-stream",
    sound,
  );
  assert.deepEqual(await jsonOf(audio, 200), { result: "accepted" });
  const stats = schemas.stats.strict().parse(await c.get("/api/feedback/stats"));
  assert.deepEqual([stats.messages, stats.frames, stats.audio_seconds], [2, 1, 1]);
  const most = { messages: 50, frames: 240, audio_seconds: 120, bytes: 18_102_144 };
  assert.deepEqual(stats.limits, most);
  assert.equal(stats.storage_reason, "no_bucket");

  const body = { ...praise, target_message_id: assistant.id };
  const receipt = schemas.receipt.parse(await jsonOf(await c.post("/api/feedback", body), 201));
  assert.equal(receipt.durable, true);
  const list = schemas.packageList.strict().parse(await c.get("/api/feedback"));
  assert.equal(list.packages[0]?.name, receipt.name);
  const path = `/api/feedback/${receipt.name}`;
  const { feedback, messages } = schemas.onePackage.strict().parse(await c.get(path));
  assert.deepEqual(
    messages.map(({ text }) => text),
    ["Tell me a joke", "Knock, knock"],
  );
  const { target, num_frames, audio_samples, latched } = feedback;
  assert.deepEqual([target?.how, target?.["message_ids"]], ["explicit", [assistant.id]]);
  assert.deepEqual([num_frames, audio_samples], [1, 16_000]);
  const [persona, model] = ["You are kind.", { provider: "scripted", model: "script-1" }];
  assert.deepEqual(latched, { ...model, persona, system_prompt: persona });
  const verified = await jsonOf(await c.post(`${path}/verify`), 200);
  assert.deepEqual(verified, { verified: true, state: "whole", differences: [] });

  const wav = Buffer.from(await (await c.ask(`${path}/audio.wav`)).arrayBuffer());
  assert.deepEqual(wav, readFileSync(join(c.home, "feedback", receipt.name, "audio.wav")));
  const part = await c.ask(`${path}/audio.wav`, { headers: { range: "bytes=0-3" } });
  assert.equal(part.status, 206);
  assert.equal(part.headers.get("content-range"), `bytes 0-3/${wav.length}`);
  assert.equal(await part.text(), "RIFF");
  const jpeg = await c.ask(`${path}/frames/000000.jpg`);
  assert.equal(jpeg.headers.get("content-type"), "image/jpeg");
  const bytes = Buffer.from(await jpeg.arrayBuffer());
  assert.deepEqual([bytes[0], bytes.includes("Secretcam")], [0xff, false]);
  await c.server.close();
  const told = await Array.fromAsync(watched);
  assertDescribed(told, { ...serverEvents, ...schemas.events }, [
    "message",
    "turn",
    "feedback",
    "buffers",
  ]);
});

test("the same key is the same reaction until its package, which can be taken back, is deleted", async (t) => {
  const c = await withMoments(t);
  await c.say("Tell me a joke");
  const send = () => c.post("/api/feedback", praise, { "idempotency-key": "k1" });
  const first = await jsonOf(await send(), 201);
  const again = (await (await send()).json()) as { name: string };
  assert.equal(again.name, first.name);
  const other = { ...praise, sentiment: "negative" };
  const conflict = await c.post("/api/feedback", other, { "idempotency-key": "k1" });
  await problemOf(conflict, 409, "THROUGHLINE_ID_CONFLICT");
  const path = `/api/feedback/${first.name}`;
  const taken = await jsonOf(await c.post(`${path}/retract`, { reason: "a slip" }), 200);
  assert.equal(taken.status.retracted.reason, "a slip");
  const deleted = await jsonOf(await c.ask(path, { method: "DELETE" }), 200);
  assert.equal(deleted.packages, 1);
  await problemOf(await c.ask(path), 404, "THROUGHLINE_NOT_FOUND");
  const renewed = await jsonOf(await send(), 201);
  assert.equal((await c.get("/api/feedback")).packages[0].name, renewed.name);
});

test("what was withdrawn, hidden, erased or cleared is in no package that is made after it", async (t) => {
  const words = ["mango", "kiwi", "lemon", "apple"];
  const c = await withMoments(t, [...words.map((word) => [`no ${word}`]), ["Fine"]]);
  const said = [];
  for (const word of words.slice(0, 3)) said.push(await jsonOf(await c.say(word), 200));
  const [mango, kiwi] = said;
  const kept = async (more: object = {}) => {
    const { name } = await jsonOf(await c.post("/api/feedback", { ...praise, ...more }), 201);
    return JSON.stringify(await c.get(`/api/feedback/${name}`));
  };
  for (const { id } of [mango.user, mango.assistant]) {
    await jsonOf(await c.ask(`${me}/messages/${id}`, { method: "DELETE" }), 200);
  }
  for (const { id } of [kiwi.user, kiwi.assistant]) {
    await jsonOf(await c.ask(`${me}/messages/${id}?erase=true`, { method: "DELETE" }), 200);
  }
  const after = await kept();
  assert.match(after, /lemon/);
  assert.doesNotMatch(after, /mango|kiwi/);
  await c.post(`${me}/clear`);
  assert.doesNotMatch(await kept(), /lemon/);
  const { assistant } = await jsonOf(await c.say("apple"), 200);
  await c.post("/api/feedback/consent", { frames: true, wording: consentWording });
  const named = { channel: "button", chat_id: "local:me", target_message_id: assistant.id };
  const label = await kept(named);
  assert.doesNotMatch(label, /apple/);
  assert.match(label, /"reduced":"consent"/);
});

test("a message that is erased leaves the gallery and the forks, and the receipt says so", async (t) => {
  const c = await withMoments(t);
  const { user, assistant } = await jsonOf(await c.say("my password is hunter2"), 200);
  const { name } = await jsonOf(await c.post("/api/feedback", praise), 201);
  const fork = { chat_id: "copy", message_id: assistant.id };
  await jsonOf(await c.post(`${me}/fork`, fork), 201);
  const removed = await c.ask(`${me}/messages/${user.id}`, { method: "DELETE" });
  const receipt = await jsonOf(removed, 200);
  answers.removed.strict().parse(receipt);
  assert.deepEqual([receipt.copies, receipt.unreachable], [["copy"], []]);
  assert.deepEqual(
    receipt.removed.find(({ place }: { place: string }) => place === "packages"),
    { place: "packages", count: 1 },
  );
  assert.deepEqual((await c.get("/api/feedback")).packages, []);
  for (const path of ["", "/messages.json", "/package.tar"]) {
    const response = await c.ask(`/api/feedback/${name}${path}`);
    await problemOf(response, 404, "THROUGHLINE_NOT_FOUND");
  }
  assert.doesNotMatch(JSON.stringify(await c.get("/api/chats/copy/messages")), /hunter2/);
  assert.deepEqual(readdirSync(join(c.home, "feedback")), []);
});

test("a package from before its message was erased, as a backup brings it back, shows nothing of it", async (t) => {
  const c = await withMoments(t);
  const { user, assistant } = await jsonOf(await c.say("my password is hunter2"), 200);
  const { name } = await jsonOf(await c.post("/api/feedback", { ...praise, what: "hunter2" }), 201);
  const backup = join(c.home, "backup");
  const folder = join(c.home, "feedback", name);
  cpSync(folder, backup, { recursive: true });
  for (const id of [user.id, assistant.id]) {
    await jsonOf(await c.ask(`${me}/messages/${id}`, { method: "DELETE" }), 200);
  }
  cpSync(backup, folder, { recursive: true });
  for (const path of ["", "/feedback.json", "/messages.json", "/package.tar"]) {
    const response = await c.ask(`/api/feedback/${name}${path}`);
    await problemOf(response, 404, "THROUGHLINE_NOT_FOUND");
  }
  const list = await c.get("/api/feedback");
  assert.deepEqual([list.packages[0].name, list.packages[0].feedback], [name, null]);
  assert.doesNotMatch(JSON.stringify(list), /hunter2/);
  // It is retracted all the same.
  const refused = await c.post(`/api/feedback/${name}/retract`, { reason: "a slip" });
  await problemOf(refused, 404, "THROUGHLINE_NOT_FOUND");
  const [entry] = (await c.get("/api/feedback")).packages;
  assert.equal(entry.status.retracted.reason, "a slip");
  await jsonOf(await c.ask(`${me}/messages/${user.id}`, { method: "DELETE" }), 200);
  assert.deepEqual((await c.get("/api/feedback")).packages, []);
});

test("a package whose record is no file is damaged, and keeps nobody from the others", async (t) => {
  const c = await withMoments(t);
  const broken = await jsonOf(await c.post("/api/feedback", praise), 201);
  const whole = await jsonOf(await c.post("/api/feedback", { ...praise, what: "more" }), 201);
  const record = join(c.home, "feedback", broken.name, "feedback.json");
  rmSync(record);
  mkdirSync(record);
  const { packages } = await c.get("/api/feedback");
  const told = new Map<string, object>();
  for (const { name, feedback, state } of packages) told.set(name, [feedback !== null, state]);
  assert.deepEqual(told.get(broken.name), [false, "damaged"]);
  assert.deepEqual(told.get(whole.name), [true, "sealed"]);
  const verified = await jsonOf(await c.post(`/api/feedback/${broken.name}/verify`), 200);
  assert.equal(verified.verified, false);
});

test("a regenerated answer is judged by itself, and so is the one before it", async (t) => {
  const c = await withMoments(t, [["Lyon"], ["Paris"]]);
  const first = await jsonOf(await c.say("The capital?"), 200);
  const judged = async (sentiment: string, target_message_id: string) => {
    const body = { sentiment, what: "the answer", chat_id: "local:me", target_message_id };
    const { name } = await jsonOf(await c.post("/api/feedback", body), 201);
    const { feedback, messages } = await c.get(`/api/feedback/${name}`);
    const answers = messages.filter(({ role }: { role: string }) => role === "ASSISTANT");
    const texts = answers.map(({ text }: { text: string }) => text);
    return [feedback.target.message_ids, texts];
  };
  assert.deepEqual(await judged("negative", first.assistant.id), [[first.assistant.id], ["Lyon"]]);
  const { assistant } = await jsonOf(await c.post(`${me}/retry`), 200);
  assert.deepEqual(await judged("positive", assistant.id), [[assistant.id], ["Paris"]]);
});

test("a reaction that is lost for good is told as lost", async (t) => {
  const c = await withMoments(t);
  t.mock.method(realDisk, "mkdir", async () => {
    throw systemError("ENOSPC", { name: "mkdir", path: "feedback" });
  });
  const posted = c.post("/api/feedback", praise);
  while (c.moments.statistics().waiting === 0) await new Promise(setImmediate);
  await c.moments.recorder.close();
  await problemOf(await posted, 503, "THROUGHLINE_UNAVAILABLE");
});

/** The files of a package, and what they are. */
const files = [
  ["feedback.json", "getFeedbackFile", "application/json"],
  ["messages.json", "getFeedbackFile", "application/json"],
  ["audio.wav", "getFeedbackFile", "audio/wav"],
  ["frames/000000.jpg", "getFeedbackFrame", "image/jpeg"],
] as const;
test("each file of a package comes as it is described, whole and in part; past its end is 416", async (t) => {
  const c = await withMoments(t);
  await c.post("/api/feedback/consent", agreed);
  await c.feed("/api/frames", "image/jpeg", await picture());
  await c.feed("/api/audio", "audio/pcm", new Uint8Array(32_000));
  const { content } = (await operationOf(c, "feedAudio")).requestBody;
  assert.deepEqual(Object.keys(content), ["application/octet-stream", "audio/pcm"]);
  const { name } = await jsonOf(await c.post("/api/feedback", praise), 201);
  for (const [file, operationId, type] of files) {
    const ask = (range: string) =>
      c.ask(`/api/feedback/${name}/${file}`, { headers: range === "" ? {} : { range } });
    const described = await operationOf(c, operationId);
    const whole = await ask("");
    const bytes = new Uint8Array(await whole.arrayBuffer());
    assert.equal(whole.headers.get("content-type"), type);
    const isJson = type === "application/json";
    if (isJson) schemas.packageFile.parse(JSON.parse(new TextDecoder().decode(bytes)));
    const schema = isJson ? { $ref: "#/components/schemas/PackageFile" } : { type: "string" };
    assert.deepEqual(described.responses[200].content[type].schema, schema);
    const part = await ask("bytes=1-3");
    assert.deepEqual(new Uint8Array(await part.arrayBuffer()), bytes.subarray(1, 4));
    assert.deepEqual([part.status, part.headers.get("content-type")], [206, type]);
    // A piece of a JSON document is no JSON text.
    const ofPart = described.responses[206].content[type].schema;
    assert.deepEqual(ofPart, isJson ? {} : { type: "string" });
    assert.equal((await ask("bytes=1-0")).status, 200, "it ends before it begins: no range");
    for (const range of [`bytes=${bytes.length}-`, "bytes=999999999-999999999"]) {
      const past = await ask(range);
      assert.equal(past.headers.get("content-range"), `bytes */${bytes.length}`);
      await problemOf(past, 416, "THROUGHLINE_INVALID");
    }
  }
});

test("of a long file only the range that is asked for is read, and nothing for its head", async (t) => {
  const c = await withMoments(t);
  await c.post("/api/feedback/consent", agreed);
  await c.feed("/api/audio", "audio/pcm", new Uint8Array(3_200_000).fill(7));
  const { name } = await jsonOf(await c.post("/api/feedback", praise), 201);
  let readBytes = 0;
  const { open } = realDisk;
  t.mock.method(realDisk, "open", async (...given: Parameters<typeof open>) => {
    const file = await open.apply(realDisk, given);
    if (!given[0].endsWith("audio.wav")) return file;
    const read = file.read.bind(file);
    file.read = async (into, position) => {
      const count = await read(into, position);
      readBytes += count;
      return count;
    };
    return file;
  });
  const path = `/api/feedback/${name}/audio.wav`;
  const part = await c.ask(path, { headers: { range: "bytes=3000000-3000999" } });
  assert.deepEqual(new Uint8Array(await part.arrayBuffer()), new Uint8Array(1_000).fill(7));
  assert.equal(readBytes, 1_000);
  const head = await c.ask(path, { method: "HEAD" });
  assert.deepEqual([head.headers.get("content-length"), readBytes], ["3200044", 1_000]);
  assert.equal((await (await c.ask(path)).arrayBuffer()).byteLength, 3_200_044);
});

const exportPath = (format: string) => [`${me}/export?format=${format}`, `local_me.${format}`];

test("nothing that a person or another machine made can run as a part of the page", async (t) => {
  const c = await withMoments(t);
  await c.post("/api/feedback/consent", agreed);
  await c.feed("/api/frames", "image/jpeg", await picture());
  await jsonOf(await c.say("<script>alert(1)</script>"), 200);
  const { name } = await jsonOf(await c.post("/api/feedback", praise), 201);
  // As another machine could have sealed it.
  const file = join(c.home, "feedback", name, "feedback.json");
  const { manifest } = readManifest(readFileSync(file));
  assert.ok(manifest);
  const forged = manifest.files.map((entry) => ({ ...entry, media_type: "text/html" }));
  writeFileSync(file, writeManifest({ ...manifest, files: forged }));
  const path = `/api/feedback/${name}`;
  for (const [url, fileName, type] of [
    [`${path}/feedback.json`, "feedback.json", "application/json"],
    [`${path}/messages.json`, "messages.json", "application/json"],
    [`${path}/frames/000000.jpg`, "000000.jpg", "image/jpeg"],
    [`${path}/package.tar`, `${name}.tar`, "application/x-tar"],
    [...exportPath("html"), "text/html; charset=utf-8"],
    [`${me}/export?format=markdown`, "local_me.md", "text/markdown; charset=utf-8"],
    [...exportPath("jsonl"), "application/jsonl"],
  ] as const) {
    const response = await c.ask(url!);
    await response.arrayBuffer();
    const header = (key: string) => response.headers.get(key);
    assert.deepEqual([response.status, header("content-type")], [200, type], url);
    assert.equal(header("content-disposition"), `attachment; filename="${fileName}"`);
    assert.equal(header("x-content-type-options"), "nosniff");
    assert.equal(header("content-security-policy"), "default-src 'none'; sandbox");
  }
});

// biome-ignore lint/suspicious/noExplicitAny: a test looks into answers of many shapes.
async function operationOf(c: { get(path: string): Promise<any> }, id: string): Promise<any> {
  const { paths } = await c.get("/api/openapi.json");
  const all = Object.values<object>(paths).flatMap((item) => Object.values(item));
  return all.find(({ operationId }) => operationId === id);
}

test("retracting a package that only the bucket has is answered as pending; one that is not known is not found", async (t) => {
  const { keys, s3 } = await bucket(t);
  const c = await withMoments(t, [], { s3, mode: "s3" });
  const { recorder } = c.moments;
  recorder.message({
    role: "assistant",
    text: "Knock, knock",
    id: "m2",
    chatId: "a",
    turnId: "m1",
  });
  await c.moments.agree({ messages: true, upload: true, wording: consentWording, by: "a test" });
  const receipt = recorder.record({ sentiment: "positive", what: "the joke", source: "http" });
  await receipt.whenDurable();
  assert.equal(receipt.uploaded, true);
  const { name } = receipt;
  const { packages } = await c.get("/api/feedback");
  const [shown, ...more] = schemas.packageList.parse({ packages, cursor: null }).packages;
  assert.deepEqual([shown?.name, shown?.state, shown?.feedback, more], [name, "bucket", null, []]);
  for (const [query, names] of [
    ["sentiment=positive&chat_id=a&preserved=false", [name]],
    ["sentiment=negative", []],
    ["chat_id=b", []],
    ["preserved=true", []],
    ["media=false", []],
    ["query=joke", []],
  ] as const) {
    const found = (await c.get(`/api/feedback?${query}`)).packages;
    assert.deepEqual(
      found.map((each: { name: string }) => each.name),
      names,
      query,
    );
  }
  const answer = await jsonOf(await c.post(`/api/feedback/${name}/retract`, {}), 202);
  assert.deepEqual(schemas.retractedThere.strict().parse(answer), { name, pending: true });
  await c.moments.upload();
  assert.ok(keys().some((key) => key.endsWith(`/${name}/retracted.json`)));
  const refused = await c.post(`/api/feedback/${samplePackage().name}/retract`, {});
  await problemOf(refused, 404, "THROUGHLINE_NOT_FOUND");
});

test("a client library that is not installed is reported at the start, and no longer once it is", async (t) => {
  const missing = Object.assign(new Error("not found"), { code: "ERR_MODULE_NOT_FOUND" });
  const hooks = registerHooks({
    resolve(specifier, context, next) {
      if (specifier === "@aws-sdk/client-s3") throw missing;
      return next(specifier, context);
    },
  });
  t.after(() => hooks.deregister());
  const s3 = { bucket: "moments", endpoint: "http://127.0.0.1:1" };
  const logged: string[] = [];
  const logger = { ...silentLogger, error: (_: object, says: string) => void logged.push(says) };
  const c = await withMoments(t, [], { s3 }, { logger });
  assert.match(logged.join(), /npm install @aws-sdk\/client-s3/);
  const where = async () => {
    const { storage_mode, storage_reason, s3_bucket } = await c.get("/api/feedback/stats");
    return [storage_mode, storage_reason, s3_bucket];
  };
  assert.deepEqual(await where(), ["local", "no_client", "moments"]);
  const settings = { storage: undefined, bucket: "moments" };
  assert.match(checkMoments(settings).says, /npm install @aws-sdk\/client-s3/);
  hooks.deregister();
  assert.deepEqual(await where(), ["local+s3", null, "moments"]);
  assert.equal(checkMoments(settings).status, "ok");
});

test("a reaction to an answer that the buffers never held has the words of the chat up to it, and who gave it", async (t) => {
  const c = await withMoments(t);
  const of = { provider: "ollama", model: "qwen3" };
  const words = [
    { role: "user", content: "Long ago", id: "o1", turn: "o1" },
    { role: "assistant", content: "Once upon a time", id: "o2", turn: "o1", ...of },
    { role: "user", content: "Thanks", id: "o3", turn: "o3" },
  ] as const;
  await c.throughline.chats.append("local:me", words, { heard: false });
  const later = { provider: "openai", model: "gpt-5" };
  await c.throughline.chats.append("other", [{ role: "assistant", content: "Now", ...later }]);
  const body = { ...praise, chat_id: "local:me", target_message_id: "o2" };
  const { name, reduced } = await jsonOf(await c.post("/api/feedback", body), 201);
  assert.equal(reduced, "old_target");
  const { feedback, messages } = await c.get(`/api/feedback/${name}`);
  assert.deepEqual(
    messages.map(({ text }: { text: string }) => text),
    ["Long ago", "Once upon a time"],
  );
  assert.equal(messages[feedback.target.index].text, "Once upon a time");
  const { timestamp, t_ms } = messages[0];
  assert.deepEqual([typeof timestamp, t_ms, feedback.num_frames], ["number", null, 0]);
  assert.deepEqual([feedback.provider, feedback.model], [of.provider, of.model]);
  await c.throughline.chats.append("imported", [{ role: "assistant", content: "Then", id: "i1" }]);
  await c.throughline.chats.append("other", [{ role: "assistant", content: "Now", ...later }]);
  const ofImported = { ...praise, chat_id: "imported", target_message_id: "i1" };
  const { name: imported } = await jsonOf(await c.post("/api/feedback", ofImported), 201);
  const { feedback: unnamed } = await c.get(`/api/feedback/${imported}`);
  assert.deepEqual([unnamed.provider, unnamed.model], [null, null]);
});

test("a package is preserved, let go, and verified", async (t) => {
  const c = await withMoments(t);
  await c.say("Tell me a joke");
  const { name } = await jsonOf(await c.post("/api/feedback", praise), 201);
  const path = `/api/feedback/${name}`;
  const kept = await jsonOf(await c.post(`${path}/preserve`, { reason: "the first" }), 200);
  assert.equal(schemas.packageStatus.parse(kept).preserved?.["reason"], "the first");
  const free = await jsonOf(await c.post(`${path}/preserve`, { preserved: false }), 200);
  assert.equal(free.preserved, null);
  writeFileSync(join(c.home, "feedback", name, "stray.txt"), "not ours");
  const found = schemas.verification.parse(await jsonOf(await c.post(`${path}/verify`), 200));
  assert.deepEqual([found.verified, found.differences.length], [false, 1]);
});

test("the packages of a chat, or of a person who was seen, are deleted together, and no others", async (t) => {
  const c = await withMoments(t);
  await c.post("/api/feedback/consent", agreed);
  await c.say("Tell me a joke");
  await jsonOf(await c.post("/api/feedback", praise), 201);
  c.moments.recorder.saw("Ann");
  await jsonOf(await c.post("/api/feedback", { ...praise, what: "another" }), 201);
  const remove = async (query: string) =>
    (await jsonOf(await c.ask(`/api/feedback?${query}`, { method: "DELETE" }), 200)).packages;
  assert.equal(await remove("person=Bob"), 0);
  assert.equal(await remove("person=ann"), 1);
  assert.equal(await remove("chat_id=local%3Aother"), 0);
  assert.equal(await remove("chat_id=local%3Ame"), 1);
  for (const query of ["", "chat_id=a&person=b"]) {
    const refused = await c.ask(`/api/feedback?${query}`, { method: "DELETE" });
    await problemOf(refused, 400, "THROUGHLINE_INVALID");
  }
});

const wrong: readonly (readonly [path: string, body: object])[] = [
  ["/api/feedback", {}],
  ["/api/feedback", { ...praise, sentiment: "../../x" }], // F6
  ["/api/feedback", { ...praise, what: "" }],
  ["/api/feedback", { ...praise, what: "x".repeat(2_001) }],
  ["/api/feedback", { ...praise, trigger: "x".repeat(501) }],
  ...[-1, 0, 1.5].map((score) => ["/api/feedback", { ...praise, score }] as const),
  ["/api/feedback", { ...praise, correction: { text: "x" } }],
  ["/api/feedback", { ...praise, target_message_id: "nothing" }],
  ["/api/feedback", { ...praise, post_roll_ms: 30_001 }],
  ["/api/feedback/consent", { frames: true }],
  ["/api/feedback/consent", { frames: "yes" }],
  ["/api/feedback/..%2f..%2fetc/verify", {}],
];
test("what is wrong in a reaction or a consent is refused, and nothing is written", async (t) => {
  const c = await withMoments(t);
  await c.say("Tell me a joke");
  for (const [path, body] of wrong) {
    await problemOf(await c.post(path, body), 400, "THROUGHLINE_INVALID");
  }
  const nowhere = await c.post("/api/feedback", { ...praise, chat_id: "local:nobody" });
  await problemOf(nowhere, 404, "THROUGHLINE_NOT_FOUND");
  assert.deepEqual((await c.get("/api/feedback")).packages, []);
  assert.equal((await c.get("/api/feedback/stats")).waiting, 0);
});

test("a body that is encoded is refused, and identity is no encoding", async (t) => {
  const c = await withMoments(t);
  const say = (encoding: string, body: string) =>
    c.ask(`${me}/messages`, {
      ...{ method: "POST", body },
      headers: { "content-encoding": encoding },
    });
  const content = JSON.stringify({ content: "Tell me a joke" });
  for (const encoding of ["gzip", "br", "deflate, gzip", "made-up"]) {
    await problemOf(await say(encoding, content), 415, "THROUGHLINE_MEDIA_TYPE");
  }
  const zipped = await c.ask("/api/frames", {
    method: "POST",
    headers: { "content-type": "image/jpeg", "content-encoding": "gzip" },
    body: (await picture()) as never,
  });
  await problemOf(zipped, 415, "THROUGHLINE_MEDIA_TYPE");
  await jsonOf(await say("identity", content), 200);
});

test("a picture that cannot be kept is refused; one that comes too soon is not an error", async (t) => {
  const c = await withMoments(t);
  const feed = (bytes: Uint8Array) => c.feed("/api/frames", "image/jpeg", bytes);
  assert.deepEqual(await jsonOf(await feed(await picture()), 200), { result: "off" });
  await c.post("/api/feedback/consent", agreed);
  const cutOff = (await picture()).subarray(0, 40);
  for (const bytes of [new Uint8Array(0), Buffer.from("<html></html>"), cutOff]) {
    await problemOf(await feed(bytes), 400, "THROUGHLINE_INVALID");
  }
  const tooLarge = await feed(Buffer.concat([await picture()], 2_097_153));
  await problemOf(tooLarge, 413, "THROUGHLINE_TOO_LARGE");
  const text = await c.feed("/api/frames", "text/plain", await picture());
  await problemOf(text, 415, "THROUGHLINE_MEDIA_TYPE");
  const odd = await c.feed("/api/audio", "application/octet-stream", new Uint8Array(3));
  await problemOf(odd, 400, "THROUGHLINE_INVALID");
  for (const result of ["accepted", "throttled"]) {
    assert.deepEqual(await jsonOf(await feed(await picture()), 200), { result });
  }
  await c.moments.recorder.close();
  await problemOf(await feed(await picture()), 503, "THROUGHLINE_CLOSED");
});
