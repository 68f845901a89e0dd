import assert from "node:assert/strict";
import { test } from "node:test";
import { column } from "../../../test/support/columns.ts";
import { HeldClock } from "../../../test/support/held-clock.ts";
import { HeldTimers } from "../../../test/support/held-timers.ts";
import { isThroughlineError } from "../../core/errors.ts";
import { silentLogger } from "../../core/logger.ts";
import {
  type PackageSink,
  type Saved,
  SaveError,
  type SaveFailure,
  type SealedMoment,
} from "../package/package-sink.ts";
import type { ConsentInput } from "./consent.ts";
import type { MomentInput } from "./label.ts";
import type { RawFrame } from "./media.ts";
import { MomentRecorder, type RecorderOptions } from "./moment-recorder.ts";
import type { MomentEvent } from "./receipt.ts";

/** Keeps what it is given; fails, or waits, as it is told. */
class MemorySink implements PackageSink {
  readonly saved: SealedMoment[] = [];
  attempts = 0;
  running = 0;
  fails: SaveFailure | undefined;
  uploads = false;
  gate: Promise<void> | undefined;
  async save(moment: SealedMoment): Promise<Saved> {
    this.attempts++;
    this.running++;
    assert.equal(this.running, 1, "one at a time");
    await this.gate;
    this.running--;
    if (this.fails !== undefined) throw new SaveError(this.fails);
    this.saved.push(moment);
    return { name: moment.record.name, uploaded: this.uploads };
  }
}

const everything = { messages: true, frames: true, audio: true, upload: true, export: true };
const agreed = { ...everything, wording: "the last two minutes of picture and sound", by: "ann" };

function recorder(options: Partial<RecorderOptions> = {}) {
  const clock = new HeldClock("2026-02-19T15:30:00.000Z");
  const timers = new HeldTimers(clock);
  const sink = new MemorySink();
  const events: MomentEvent[] = [];
  let seed = 0;
  const made = new MomentRecorder({
    sink,
    sessionId: "a1b2c3d4",
    software: { name: "throughline", version: "1.2.3" },
    consent: agreed,
    clock,
    timers,
    logger: silentLogger,
    random: (bytes) => bytes.fill(++seed),
    onEvent: (event) => events.push(event),
    ...options,
  });
  return { clock, timers, sink, events, recorder: made };
}
type World = ReturnType<typeof recorder>;
const liked: MomentInput = { sentiment: "positive", what: "a joke", source: "http" };

/** What is saved of a reaction. */
async function reacted(at: World, input: Partial<MomentInput> = {}): Promise<SealedMoment> {
  await at.recorder.record({ ...liked, ...input }).whenDurable();
  return at.sink.saved.at(-1)!;
}

function jpeg(fill = 0): Uint8Array {
  const sof = [0xff, 0xd8, 0xff, 0xc0, 0, 11, 8, 0, 4, 0, 6, 1, 1, 17, 0, 0xff, 0xda];
  return Uint8Array.from([...sof, ...new Uint8Array(20).fill(fill), 0xff, 0xd9]);
}

/** A joke, three pictures, and 1.5 s of sound, the last of it now. */
function fill({ recorder, clock }: Pick<World, "recorder" | "clock">) {
  recorder.message({ role: "user", text: "tell me a joke", turnId: "t1", id: "q" });
  recorder.message({ role: "assistant", text: "why did the cat", turnId: "t1", id: "a" });
  for (let i = 0; i < 3; i++) {
    clock.pass(500);
    recorder.frame(jpeg(i), { camera: "front" });
    recorder.audio(new Int16Array(8_000).fill(i + 1));
  }
}

test("a package has these fields of a message, and none of the buffer's own", async () => {
  const at = recorder();
  at.recorder.message({ role: "user", text: "hi", chatId: "a", name: "Ada", live: true });
  const { messages } = await reacted(at);
  const fields = ["role", "text", "timestamp", "id", "seq", "turn_id", "t_ms", "synthetic", "name"];
  const others = ["interrupted", "delivered", "truncated", "tool_calls", "tool_call_id"];
  const [kept] = JSON.parse(JSON.stringify(messages)) as readonly object[];
  assert.deepEqual(Object.keys(kept ?? {}).toSorted(), [...fields, ...others].toSorted());
  assert.equal(messages[0]?.delivered, "hi", "of what was still coming out, as far as it came");
});

test("what is fed while a moment is saved neither enters nor leaves it, and two moments share their pictures", async () => {
  const at = recorder();
  fill(at);
  const { promise, resolve } = Promise.withResolvers<void>();
  at.sink.gate = promise;
  const [first, second] = [at.recorder.record(liked), at.recorder.record(liked)];
  assert.notEqual(first.name, second.name);
  for (let i = 0; i < 300; i++) {
    at.clock.pass(500);
    at.recorder.frame(jpeg(9));
    at.recorder.audio(new Int16Array(8_000).fill(9));
    at.recorder.message({ role: "user", text: "later" });
  }
  resolve();
  await Promise.all([first.whenDurable(), second.whenDurable()]);
  for (const { record, frames, audio } of at.sink.saved) {
    const { num_messages, num_frames, audio_samples } = record;
    assert.deepEqual([num_messages, num_frames, audio_samples], [2, 3, 24_000]);
    assert.deepEqual(column(frames, 20), [0, 1, 2]);
    assert.deepEqual([...new Set(audio)].sort(), [1, 2, 3]);
  }
  assert.equal(at.sink.saved[0]?.frames[0], at.sink.saved[1]?.frames[0]);
});

test("of 100 moments at once 4 are held and 96 are told busy, and what they hold is bounded", async () => {
  // F9
  const at = recorder();
  fill(at);
  const receipts = Array.from({ length: 100 }, () => at.recorder.record(liked));
  assert.equal(receipts.filter(({ accepted }) => accepted).length, 4);
  assert.deepEqual(new Set(receipts.slice(4).map(({ reason }) => reason)), new Set(["busy"]));
  const { waiting, pinned_bytes } = at.recorder.stats;
  assert.equal(waiting, 4);
  assert.equal(pinned_bytes, 3 * jpeg().length + 24_000 * 2, "what is shared is counted once");
  await assert.rejects(receipts[99]!.whenDurable(), { code: "THROUGHLINE_UNAVAILABLE" });
  await Promise.all(receipts.slice(0, 4).map((receipt) => receipt.whenDurable()));
  assert.equal(at.recorder.record(liked).accepted, true);
});

for (const reason of ["disk_full", "read_only", "io"] as const) {
  test(`a moment that was not saved because of ${reason} is told so, kept, tried again every 5 s, and saved in the end`, async () => {
    // F3, E6
    const at = recorder();
    fill(at);
    at.sink.fails = reason;
    const receipt = at.recorder.record(liked);
    await receipt.whenDecided();
    assert.deepEqual([receipt.durable, receipt.reason], [false, reason]);
    await at.timers.pass(4_999);
    assert.equal(at.sink.attempts, 1);
    await at.timers.pass(5_001);
    assert.equal(at.sink.attempts, 3);
    at.sink.fails = undefined;
    await at.timers.pass(5_000);
    assert.deepEqual([receipt.durable, receipt.reason], [true, undefined]);
    assert.equal(at.sink.saved[0]?.record.num_frames, 3);
    const types = at.events.map(({ type }) => type.slice("feedback.".length));
    assert.deepEqual(types, ["accepted", "failed", "failed", "failed", "durable"]);
  });
}

test("a chat with an id of 1,024 characters has its moments like any other", async () => {
  const at = recorder();
  const chatId = "c".repeat(1_024);
  at.recorder.message({ role: "assistant", text: "why did the cat", turnId: "t1", chatId });
  assert.equal((await reacted(at, { chatId })).record.chat_id, chatId);
  const chatIdTooLong = `${chatId}c`;
  assert.throws(() => at.recorder.record({ ...liked, chatId: chatIdTooLong }), {
    code: "THROUGHLINE_INVALID",
  });
});

type Repeat = [name: string, input: Partial<MomentInput>, afterMs: number, again: boolean];
const repeats: readonly Repeat[] = [
  ["pat after 30,000 ms", { channel: "touch" }, 30_000, false],
  ["pat after 30,001 ms", { channel: "touch" }, 30_001, true],
  ["automatic record after 1 s", { source: "auto" }, 1_000, false],
  ["call of a skill at once", { source: "skill" }, 0, true],
  ["button at once", { channel: "button" }, 0, true],
];
for (const [name, input, afterMs, again] of repeats) {
  test(`the same judgement of the same turn by a ${name} is ${again ? "a record of its own" : "a duplicate"}`, async () => {
    // F8
    const at = recorder();
    fill(at);
    const first = at.recorder.record({ ...liked, ...input });
    await at.timers.pass(afterMs);
    const second = at.recorder.record({ ...liked, ...input });
    assert.equal(second.accepted, again);
    assert.equal(second.duplicate_of, again ? undefined : first.id);
    const other = at.recorder.record({ ...liked, ...input, sentiment: "negative" });
    assert.equal(other.accepted, true);
  });
}

test("past 60 moments with media in an hour the label and the words are kept and the media is left out", async () => {
  const at = recorder();
  fill(at);
  for (let count = 1; count <= 61; count++) {
    const receipt = at.recorder.record(liked);
    assert.equal(receipt.reduced, count <= 60 ? undefined : "rate_cap");
    await receipt.whenDurable();
  }
  const { record, messages } = at.sink.saved[60]!;
  assert.deepEqual([record.num_frames, record.audio, messages.length], [0, null, 2]);
  await at.timers.pass(3_600_000);
  at.recorder.frame(jpeg());
  assert.equal(at.recorder.record(liked).reduced, undefined);
});

test("a post-roll of 2 s holds what came within it, and nothing later", async () => {
  const at = recorder();
  fill(at);
  const receipt = at.recorder.record({ ...liked, postRollMs: 2_000 });
  for (let i = 0; i < 6; i++) {
    await at.timers.pass(500);
    at.recorder.frame(jpeg(9));
    at.recorder.audio(new Int16Array(8_000).fill(9));
    at.recorder.message({ role: "user", text: "later", turnId: "t2" });
  }
  await receipt.whenDurable();
  const { record, messages } = at.sink.saved[0]!;
  assert.equal(record.window.post_ms, 2_000);
  assert.deepEqual(column(record.frames, "t_ms"), [-1_000, -500, 0, 500, 1_000, 1_500]);
  assert.equal(record.audio_samples, 24_000 + 24_000);
  assert.equal(messages.length, 2 + 3);
  assert.deepEqual(record.target?.message_ids, ["a"]);
});

test("sound in chunks of 1 ms goes on through a reaction without a hole or a repeat", async () => {
  const at = recorder();
  let said = 0;
  const feed = async (chunks: number) => {
    for (let chunk = 0; chunk < chunks; chunk++, await at.timers.pass(1)) {
      at.recorder.audio(Int16Array.from({ length: 16 }, () => said++));
    }
  };
  await feed(103);
  const receipt = at.recorder.record({ ...liked, postRollMs: 50 });
  await feed(100);
  await receipt.whenDurable();
  const { record, audio } = at.sink.saved[0]!;
  const kept = [...audio!];
  assert.deepEqual(kept, [...kept.keys()]);
  assert.ok(kept.length > 140 * 16 && kept.length <= 154 * 16, `${kept.length}`);
  assert.equal(record.audio_chunks, kept.length / 16);
});

const cuts: readonly [name: string, cut: (made: MomentRecorder) => unknown][] = [
  ["close()", (made) => made.close()],
  ["withdrawn consent", (made) => made.agree({ messages: true })],
];
for (const [name, cut] of cuts) {
  test(`a post-roll that ${name} cuts after 500 ms is saved with what exists`, async () => {
    const at = recorder();
    fill(at);
    const receipt = at.recorder.record({ ...liked, postRollMs: 30_000 });
    await at.timers.pass(500);
    at.recorder.frame(jpeg(9));
    cut(at.recorder);
    await receipt.whenDurable();
    const { record } = at.sink.saved[0]!;
    assert.equal(record.window.post_ms, 500);
    assert.equal(record.num_frames, 4);
    assert.equal(record.audio_samples, 24_000);
  });
}

type Change = [what: string, before: ConsentInput, after: ConsentInput, frames: number];
const changes: readonly Change[] = [
  ["withdraws upload", agreed, { ...agreed, upload: false }, 1],
  ["withdraws export", agreed, { ...agreed, export: false }, 1],
  ["asks in other words", agreed, { ...agreed, wording: "kept for a week" }, 1],
  ["agrees to pictures", { ...agreed, frames: false }, { ...agreed, upload: false }, 0],
];
for (const [what, before, after, frames] of changes) {
  test(`no picture of after a consent that ${what} is in a moment of before`, async () => {
    const at = recorder({ consent: before });
    at.recorder.frame(jpeg(1));
    const receipt = at.recorder.record({ ...liked, postRollMs: 2_000 });
    await at.timers.pass(600);
    at.recorder.agree(after);
    assert.equal(at.recorder.frame(jpeg(2)), "accepted");
    await at.timers.pass(1_400);
    await receipt.whenDurable();
    const { record } = at.sink.saved[0]!;
    assert.deepEqual([record.num_frames, record.window.post_ms], [frames, 600]);
    assert.deepEqual(record.consent.upload, before.upload);
  });
}

test("who agrees to the same again lets a post-roll go on", async () => {
  const at = recorder();
  const receipt = at.recorder.record({ ...liked, postRollMs: 2_000 });
  await at.timers.pass(600);
  at.recorder.agree(agreed);
  at.recorder.frame(jpeg(2));
  await at.timers.pass(1_400);
  await receipt.whenDurable();
  assert.equal(at.sink.saved[0]?.record.num_frames, 1);
});

test("without any consent a moment is its label alone, and stays local", async () => {
  const at = recorder({ consent: { upload: true, export: true } });
  assert.equal(at.recorder.message({ role: "user", text: "secret" }), false);
  at.recorder.capture("system_prompt", "secret");
  const { record, messages } = await reacted(at);
  assert.deepEqual([record.reduced, messages, record.latched], ["consent", [], {}]);
  assert.deepEqual([record.consent.upload, record.consent.export], [false, false]);
});

test("without consent to words none come in by the message that is named, or by its transcript", async () => {
  const at = recorder({ consent: { upload: true, export: true, frames: true, wording: "w" } });
  const transcript = [
    { role: "user", text: "a secret", id: "o1", turnId: "t0" },
    { role: "assistant", text: "a secret too", id: "o2", turnId: "t0" },
  ] as const;
  const named = { targetMessageId: "o2", turnId: "t0", messageId: "o1", chatId: "c" };
  const { record, messages } = await reacted(at, { ...named, transcript });
  assert.deepEqual([record.reduced, messages, record.target], ["consent", [], null]);
  assert.equal(record.chat_id, "c");
});

test("who is there is told with pictures or sound, also who came before somebody agreed, and with words alone is not", async () => {
  for (const [stream, people] of [
    ["frames", ["Mia"]],
    ["audio", ["Mia"]],
    ["messages", []],
  ] as const) {
    const at = recorder({ consent: {} });
    at.recorder.saw("Mia");
    at.recorder.agree({ [stream]: true, wording: "w" });
    assert.deepEqual((await reacted(at)).record.people, people, stream);
    at.recorder.agree({ messages: true });
    at.recorder.agree({ frames: true, wording: "w" });
    const left = stream === "messages" ? ["Mia"] : [];
    assert.deepEqual((await reacted(at)).record.people, left, `${stream} withdrawn`);
  }
});

test("close() saves what waits; after it everything is refused as closed", async () => {
  const at = recorder();
  fill(at);
  const receipts = [at.recorder.record(liked), at.recorder.record(liked)];
  await at.recorder.close();
  assert.deepEqual(column(receipts, "durable"), [true, true]);
  assert.equal(at.recorder.record(liked).reason, "closed");
  assert.equal(at.recorder.frame(jpeg()), "closed");
  assert.equal(at.recorder.message({ role: "user", text: "x" }), false);
  await at.recorder.close();
});

test("what a save that takes longer than 4 s leaves at close() is lost, and its receipt says so", async () => {
  const at = recorder();
  fill(at);
  const { promise, resolve } = Promise.withResolvers<void>();
  at.sink.gate = promise;
  const receipts = [at.recorder.record(liked), at.recorder.record(liked)];
  const closing = at.recorder.close();
  let isClosed = false;
  void closing.then(() => (isClosed = true));
  await at.timers.pass(3_999);
  assert.equal(isClosed, false);
  await at.timers.pass(1);
  await closing;
  for (const receipt of receipts) {
    assert.deepEqual([receipt.durable, receipt.reason], [false, "closed"]);
    await assert.rejects(receipt.whenDurable(), (error) => isThroughlineError(error));
  }
  assert.equal(at.events.at(-1)?.type, "feedback.discarded");
  resolve();
});

test("what a full disk refuses at close() is tried once more, and so are those behind it", async () => {
  const at = recorder();
  at.sink.fails = "disk_full";
  const receipts = [at.recorder.record(liked), at.recorder.record(liked)];
  await receipts[0]?.whenDecided();
  await at.recorder.close();
  assert.equal(at.sink.attempts, 3);
  for (const { durable, reason } of receipts)
    assert.deepEqual([durable, reason], [false, "closed"]);
  const types = at.events.map(({ type }) => type.slice("feedback.".length));
  assert.deepEqual(types.slice(-4), ["failed", "discarded", "failed", "discarded"]);
});

test("forgetting a chat drops its messages and its moments that wait, and no others", async () => {
  const at = recorder();
  const { promise, resolve } = Promise.withResolvers<void>();
  at.sink.gate = promise;
  at.recorder.message({ role: "user", text: "x", chatId: "a" });
  at.recorder.message({ role: "user", text: "y", chatId: "b" });
  const [a1, b, a2] = ["a", "b", "a"].map((chatId) => at.recorder.record({ ...liked, chatId }));
  await at.timers.pass(0);
  const forgotten = at.recorder.forgetChat("a");
  resolve();
  await forgotten;
  await b!.whenDurable();
  assert.deepEqual([a1?.reason, a2?.reason, b?.durable], ["forgotten", "forgotten", true]);
  assert.equal(at.recorder.stats.messages, 1);
  const [saved] = at.sink.saved.slice(-1);
  assert.deepEqual(column(saved?.messages ?? [], "text"), ["y"]);
});

test("forgetting something else lets a post-roll go on, and ends that of what is forgotten", async () => {
  const at = recorder();
  const [a, b] = ["a", "b"].map((chatId) => {
    return at.recorder.record({ ...liked, chatId, postRollMs: 4_000 });
  });
  await at.timers.pass(1_000);
  await at.recorder.forget(({ chat_id }) => chat_id === "a");
  assert.deepEqual([a?.reason, b?.durable], ["forgotten", false]);
  await at.timers.pass(3_000);
  await b!.whenDurable();
  assert.equal(at.sink.saved[0]?.record.window.post_ms, 4_000);
});

test("a pat repeats none that was deleted, and none of another chat", async () => {
  const at = recorder();
  const pat = { ...liked, channel: "touch" } as const;
  const first = at.recorder.record({ ...pat, chatId: "a" });
  assert.equal(at.recorder.record({ ...pat, chatId: "b" }).accepted, true);
  assert.equal(at.recorder.record({ ...pat, chatId: "a" }).reason, "duplicate");
  await first.whenDurable();
  at.recorder.deleted([first.name]);
  assert.equal(at.recorder.record({ ...pat, chatId: "a" }).accepted, true);
});

test("a system prompt set before 100 messages is in the package with the last 50", async () => {
  const at = recorder();
  at.recorder.capture("system_prompt", "be kind");
  for (let i = 0; i < 100; i++) at.recorder.message({ role: "user", text: `${i}` });
  const { record, messages } = await reacted(at);
  assert.deepEqual([messages.length, messages[0]?.text, messages[0]?.seq], [50, "50", 51]);
  assert.deepEqual(record.latched, { system_prompt: "be kind" });
});

const picture: RawFrame = { data: new Uint8Array(12), width: 2, height: 2, channels: 3 };

for (const [name, encode, result] of [
  [
    "makes a JPEG, of quality 85",
    async (_: RawFrame, quality: number) => (quality === 85 ? jpeg() : new Uint8Array(9)),
    "accepted",
  ],
  ["makes no JPEG", async () => new Uint8Array(9), "not_jpeg"],
  ["rejects", () => Promise.reject(new Error("rejected")), "not_jpeg"],
  ["throws", () => assert.fail("thrown"), "not_jpeg"],
] as const) {
  test(`a raw picture whose encoder ${name} is ${result}, with the time of its push`, async () => {
    const at = recorder({ encoder: { encode } });
    const pushed = at.recorder.rawFrame(picture);
    at.clock.pass(700);
    assert.equal(await pushed, result);
    const { frames } = (await reacted(at)).record;
    assert.deepEqual(column(frames, "t_ms"), result === "accepted" ? [-700] : []);
  });
}

test("a raw picture that is too soon, or of another size, is not kept", async () => {
  const at = recorder({ encoder: { encode: async () => jpeg() } });
  at.recorder.frame(jpeg());
  at.clock.pass(499);
  assert.equal(await at.recorder.rawFrame(picture), "throttled");
  at.clock.pass(1);
  assert.equal(await at.recorder.rawFrame({ ...picture, width: 3 }), "format");
  assert.equal(await at.recorder.rawFrame(picture), "accepted");
});

test("raw pictures are encoded one at a time, and dropped when the consent changes or the recorder closes meanwhile", async () => {
  const encodes: PromiseWithResolvers<Uint8Array>[] = [];
  const encode = () => {
    encodes.push(Promise.withResolvers<Uint8Array>());
    return encodes.at(-1)!.promise;
  };
  const at = recorder({ encoder: { encode } });
  const raw = { data: new Uint8Array(12), width: 2, height: 2, channels: 3 } as const;
  const first = at.recorder.rawFrame(raw);
  assert.equal(await at.recorder.rawFrame(raw), "busy");
  at.recorder.agree({ ...at.recorder.consent, wording: "asked again", by: undefined });
  encodes[0]?.resolve(jpeg());
  assert.equal(await first, "off");
  const second = at.recorder.rawFrame(raw);
  encodes[1]?.resolve(jpeg());
  assert.equal(await second, "accepted");
  at.clock.pass(500);
  const third = at.recorder.rawFrame(raw);
  await at.recorder.close();
  encodes[2]?.resolve(jpeg());
  assert.equal(await third, "off");
  assert.equal(at.recorder.stats.frames, 1);
  assert.equal(await recorder().recorder.rawFrame(raw), "format", "no encoder was given");
});

test("a night's sleep leaves no picture and no sound that pass as recent, and is noted", async () => {
  const clock = new HeldClock();
  let sleptMs = 0;
  const asleep = {
    now: () => clock.now() + sleptMs,
    monotonic: () => clock.monotonic(),
    uptimeMs: () => 1_000 + clock.monotonic() + sleptMs,
  };
  const at = recorder({ clock: asleep });
  fill({ ...at, clock });
  sleptMs = 28_800_000;
  clock.pass(600);
  at.recorder.frame(jpeg(9));
  const { record, frames } = await reacted(at);
  assert.deepEqual(column(frames, 20), [9]);
  assert.equal(record.audio, null);
  assert.equal(record.target_reason, "too_old");
});

test("sound as bytes is read as 16 bits or float32, little endian, wherever it lies; half a sample is refused", () => {
  const { recorder: made } = recorder();
  const bytes = Uint8Array.of(0, 1, 0, 2, 0);
  assert.equal(made.audio(bytes.subarray(1)), "accepted");
  assert.equal(made.audio(bytes), "format");
  assert.equal(made.audio(new Uint8Array(8), { encoding: "f32le" }), "accepted");
  assert.equal(made.audio(new Uint8Array()), "accepted");
  assert.equal(made.stats.audio_samples, 4);
});
