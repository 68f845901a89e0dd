// Failure cases of moments that no single part can show: from what is fed, over the disk, to what is
// exported. By the groups of cases, of which the others lie beside the code that they are about.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ConsentInput } from "../src/moments/record/consent.ts";
import type { MomentInput } from "../src/moments/record/label.ts";
import type { NewMessage } from "../src/moments/record/messages.ts";
import { everything, MomentsWorld, picture } from "./support/moments-world.ts";
import { path, wholePackages } from "./support/package-workload.ts";
import { SimulatedDisk } from "./support/simulated-disk.ts";

// Case 2: the wall clock is set while pictures come in.
for (const [says, at] of [
  ["an hour back", "2026-02-19T14:30:10.000Z"],
  ["to 1970", "1970-01-01T00:00:10.000Z"],
] as const) {
  test(`a wall clock that is put ${says} during capture throttles and ages nothing`, async () => {
    const world = await MomentsWorld.open();
    for (let i = 0; i < 20; i++) world.live();
    world.clock.set(at);
    world.clock.pass(499);
    assert.equal(world.recorder.frame(picture(500)), "throttled");
    world.clock.pass(1);
    assert.equal(world.recorder.frame(picture(500)), "accepted");
    const name = await world.react();
    const { manifest } = await world.packages.read(name);
    assert.equal(manifest.num_frames, 21);
    assert.deepEqual(
      manifest.frames.map(({ t_ms }) => t_ms),
      Array.from({ length: 21 }, (_, index) => (index - 20) * 500),
    );
    assert.equal(manifest.audio_samples, 160_000);
    assert.equal(manifest.timestamp, Date.parse(at) / 1_000 + 0.5);
  });
}

// Case 7: what becomes of it in training.
const user = (text: string, turnId: string, more: Partial<NewMessage> = {}): NewMessage => ({
  ...{ role: "user", text, turnId, id: `${turnId}.u` },
  ...more,
});
const answer = (text: string, turnId: string, more: Partial<NewMessage> = {}): NewMessage => ({
  ...{ role: "assistant", text, turnId, id: `${turnId}.a` },
  ...more,
});
const joke = [user("Tell me a joke", "t1"), answer("Why did the cat?", "t1")];
const skill = { toolCalls: [{ name: "remember_positively", arguments: {} }] };

const credits: readonly (readonly [
  says: string,
  said: readonly NewMessage[],
  reaction: Partial<MomentInput>,
  trained: readonly [prompt: string, completion: string],
])[] = [
  [
    "praise in words, for which the model calls the skill, trains the joke, and is in no prompt",
    [
      ...joke,
      user("Haha, good!", "t2"),
      answer("", "t2", { id: "t2.c", ...skill }),
      answer("Thanks!", "t2"),
    ],
    { source: "skill", turnId: "t2", channel: "speech", trigger: "haha" },
    ["Tell me a joke", "Why did the cat?"],
  ],
  [
    "a touch without words trains the last answer",
    joke,
    { channel: "touch", trigger: "head scratch" },
    ["Tell me a joke", "Why did the cat?"],
  ],
  [
    "a pat whose hint was injected trains the joke, and the hint is in no prompt",
    [...joke, user("[scratched]", "t2", { synthetic: "pat_hint" }), answer("Mmh", "t2", skill)],
    { source: "skill", turnId: "t2", channel: "touch" },
    ["Tell me a joke", "Why did the cat?"],
  ],
  [
    "an announcement between question and answer is in no prompt",
    [joke[0]!, answer("It is noon", "t9", { synthetic: "announcement" }), joke[1]!],
    {},
    ["Tell me a joke", "Why did the cat?"],
  ],
  [
    "an interrupted answer trains what was delivered of it",
    [
      joke[0]!,
      answer("Why did the cat sit on the", "t1", { interrupted: true, delivered: "Why did" }),
    ],
    {},
    ["Tell me a joke", "Why did"],
  ],
  [
    "an answer that was named trains itself, however much was said since",
    [...joke, user("And the weather?", "t2"), answer("It rains", "t2")],
    { targetMessageId: "t1.a", channel: "button" },
    ["Tell me a joke", "Why did the cat?"],
  ],
  [
    "a turn of tool calls alone is passed over for the one before it",
    [...joke, user("Light on", "t2"), answer("", "t2", { toolCalls: [{ name: "light" }] })],
    {},
    ["Tell me a joke", "Why did the cat?"],
  ],
];
for (const [says, said, reaction, [prompt, completion]] of credits) {
  test(`from words to a row: ${says}`, async () => {
    const world = await MomentsWorld.open();
    world.say(...said);
    await world.react(reaction);
    const { rows, skipped } = await world.export({ format: "kto" });
    assert.deepEqual(skipped, []);
    const content = (row: unknown) =>
      (row as readonly { readonly content: string }[]).map((one) => one.content).join("|");
    assert.deepEqual(
      rows.map((row) => [content(row["prompt"]), content(row["completion"])]),
      [[prompt, completion]],
    );
  });
}

test("a touch while the answer comes out judges that answer, and says that it is partial", async () => {
  const world = await MomentsWorld.open();
  world.say(...joke, user("Another", "t2"), answer("So a dog", "t2", { live: true }));
  world.clock.pass(1_000);
  const { manifest } = await world.packages.read(await world.react({ channel: "touch" }));
  const { how, partial, message_ids } = manifest.target ?? {};
  assert.deepEqual([how, partial, message_ids], ["answering", true, ["t2.a"]]);
});

test("a reaction before any answer is kept, says why it judges nothing, and trains nothing", async () => {
  const world = await MomentsWorld.open();
  world.say(joke[0]!);
  const name = await world.react({ channel: "touch" });
  const { manifest } = await world.packages.read(name);
  assert.deepEqual([manifest.target, manifest.target_reason], [null, "no_assistant_turn"]);
  const { rows, skipped } = await world.export({ format: "kto" });
  assert.deepEqual([rows, skipped.map(({ reason }) => reason)], [[], ["no_target"]]);
});

test("of opposite judgements of one turn the later one trains, and a retracted one never does", async () => {
  const disk = new SimulatedDisk();
  const world = await MomentsWorld.open({}, disk);
  world.say(...joke);
  const first = await world.react();
  world.clock.pass(1_000);
  const second = await world.react({ sentiment: "negative", what: "not like that" });
  const labels = async () => {
    const { rows, skipped } = await world.export({ format: "kto" });
    return [rows.map((row) => row["label"]), skipped.map(({ name, reason }) => [name, reason])];
  };
  assert.deepEqual(await labels(), [[false], [[first, "later_judgement"]]]);
  await world.packages.retract(second, { by: "ann", reason: "a slip" });
  assert.deepEqual(await labels(), [[true], [[second, "retracted"]]]);
  // Where it cannot be read what became of the later one, neither is trained.
  const torn = await disk.open(`${path}/${second}.status.json`, "write");
  await torn.truncate(20);
  await torn.close();
  const neither = [
    [first, "later_judgement"],
    [second, "unverified"],
  ];
  assert.deepEqual(await labels(), [[], neither]);
  await world.packages.retract(first, { by: "ann", reason: null });
  assert.deepEqual((await labels())[0], []);
});

// Case 8: what people and models say, over the disk into a row.
const hostile: readonly (readonly [says: string, text: string, trained?: string])[] = [
  ["a lone surrogate", "a\ud800b", "a\ufffdb"],
  ["a NUL, line separators and words from right to left", "\u0000a\u2028b \u202eשלום\u202c"],
  ["a megabyte", "x".repeat(1_000_000), "x".repeat(8_000)],
  [
    "8,000 code points that end with an emoji, and more",
    `${"x".repeat(7_999)}😀tail`,
    `${"x".repeat(7_999)}😀`,
  ],
];
for (const [says, text, trained = text] of hostile) {
  test(`an answer with ${says} is a whole package, and a row that any reader takes`, async () => {
    const world = await MomentsWorld.open();
    world.say(user("Tell me a joke", "t1"), answer(text, "t1"));
    const name = await world.react({ what: `about ${text.slice(0, 50)}` });
    assert.equal((await world.packages.verify(name)).state, "whole");
    const bytes = await world.packages.part(name, "messages.json");
    new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    const { messages } = await world.packages.read(name);
    assert.equal(messages[1]?.text, text.length > 100_000 ? trained : messages[1]?.text);
    const { rows } = await world.export({ format: "kto" });
    assert.deepEqual(rows[0]?.["completion"], [{ role: "assistant", content: trained }]);
    const withPictures = await world.export({ format: "imagefolder" });
    assert.deepEqual(withPictures.skipped, []);
  });
}

// Case 12.
const harms: readonly (readonly [
  file: string,
  says: string,
  harm: (disk: SimulatedDisk, place: string) => Promise<void>,
])[] = [
  ["messages.json", "is gone", (disk, place) => disk.unlink(place)],
  ["feedback.json", "is gone", (disk, place) => disk.unlink(place)],
  [
    "audio.wav",
    "is a directory",
    async (disk, place) => {
      await disk.unlink(place);
      await disk.mkdir(place);
    },
  ],
  ["frames/000000.jpg", "is longer", (disk, place) => change(disk, place, (size) => size)],
  ["frames/000000.jpg", "has another byte", (disk, place) => change(disk, place, () => 40)],
  ["feedback.json", "has another byte", (disk, place) => change(disk, place, () => 40)],
];

/** Writes a byte that was not there. */
async function change(disk: SimulatedDisk, place: string, at: (size: number) => number) {
  const file = await disk.open(place, "write");
  await file.write(Uint8Array.of(7), at(await file.size()));
  await file.close();
}

for (const [file, says, harm] of harms) {
  test(`a package of which ${file} ${says} is named by verify, and is in no export, and the others are`, async () => {
    const disk = new SimulatedDisk();
    const world = await MomentsWorld.open({}, disk);
    world.say(...joke);
    const name = await world.react();
    world.say(user("Another joke", "t2"), answer("Why did the dog?", "t2"));
    await world.react();
    await harm(disk, `${path}/${name}/${file}`);
    const { state, differences } = await world.packages.verify(name);
    assert.deepEqual([state, differences[0]?.path], ["damaged", file]);
    for (const format of ["kto", "jsonl"] as const) {
      const { skipped, total } = await world.export({ format });
      assert.deepEqual(skipped, [{ name, reason: "unverified" }], format);
      assert.equal(total, 1, format);
    }
  });
}

test("a package that is taken back while an export chooses is not in it", async () => {
  const world = await MomentsWorld.open();
  world.say(...joke);
  const name = await world.react();
  const removed = async () => {
    await world.packages.retract(name, { by: null, reason: null });
    return undefined;
  };
  const { rows, skipped } = await world.export({ format: "kto", removed });
  assert.deepEqual([rows, skipped], [[], [{ name, reason: "retracted" }]]);
});

test("a package whose words are hidden while an export writes is not in it", async () => {
  const world = await MomentsWorld.open();
  world.say(...joke);
  const name = await world.react();
  let asked = 0;
  const removed = async () => (++asked > 1 ? ("removed_message" as const) : undefined);
  const { rows, skipped } = await world.export({ format: "kto", removed });
  assert.deepEqual([rows, skipped], [[], [{ name, reason: "removed_message" }]]);
});

// Case 18: each switch of consent.
const agreed = (without: string): ConsentInput => ({ ...everything, [without]: false });
const switches: readonly (readonly [
  off: string,
  kept: readonly [messages: number, frames: number, samples: number],
  exported: readonly string[],
])[] = [
  ["messages", [0, 2, 16_000], ["no_consent"]],
  ["frames", [2, 0, 16_000], []],
  ["audio", [2, 2, 0], []],
  ["export", [2, 2, 16_000], ["no_consent"]],
  ["upload", [2, 2, 16_000], []],
];
for (const [off, kept, skips] of switches) {
  test(`without consent to ${off} a package has ${kept.join(", ")} messages, pictures and samples, and ${skips.length === 0 ? "is exported" : "is in no export"}`, async () => {
    const disk = new SimulatedDisk();
    const world = await MomentsWorld.open({ consent: agreed(off) }, disk);
    for (const message of joke) {
      world.clock.pass(500);
      world.recorder.frame(picture(1));
      world.recorder.audio(new Int16Array(8_000).fill(1));
      world.recorder.message(message);
    }
    const { manifest } = await world.packages.read(await world.react());
    const { num_messages, num_frames, audio_samples, consent } = manifest;
    assert.deepEqual([num_messages, num_frames, audio_samples], kept);
    assert.deepEqual(
      Object.entries(consent).flatMap(([name, is]) => (is === false ? [name] : [])),
      [off],
    );
    const { skipped } = await world.export({ format: "kto" });
    assert.deepEqual(
      skipped.map(({ reason }) => reason),
      skips,
    );
    await wholePackages(disk, { packages: world.packages } as never);
  });
}
