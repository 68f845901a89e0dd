import assert from "node:assert/strict";
import { test } from "node:test";
import {
  filesOf,
  jpegOf,
  openPackages,
  partOf,
  wholePackages,
} from "../../../test/support/package-workload.ts";
import { SimulatedDisk } from "../../../test/support/simulated-disk.ts";
import { isThroughlineError } from "../../core/errors.ts";
import { wavHeader } from "../package/content.ts";

// The example of growth.md, with the session's id that the original's code adds.
const seedRecord = {
  id: "a1b2c3",
  timestamp: 1_740_000_600.0,
  timestamp_str: "2026-02-19T15-30-00",
  sentiment: "positive",
  what: "told a funny joke about cats",
  trigger: "head scratch",
  num_messages: 2,
  num_frames: 3,
  audio_chunks: 150,
  session_id: "a1b2c3d4",
};
const seedMessages = [
  { role: "USER", text: "Tell me a joke", timestamp: 1_740_000_500.0 },
  { role: "ASSISTANT", text: "Why did the cat sit on the computer?", timestamp: 1_740_000_502.0 },
];
const folder = "/old/2026-02-19T15-30-00_positive_fb_a1b2c3";
const pcm = Buffer.from(Int16Array.from({ length: 500 }, (_, at) => at * 60).buffer);

type SeedFiles = Readonly<Record<string, Uint8Array | string>>;
const files: SeedFiles = {
  "feedback.json": JSON.stringify(seedRecord, undefined, 2),
  "messages.json": JSON.stringify(seedMessages, undefined, 2),
  "audio.wav": Buffer.concat([wavHeader(500), pcm]),
  "frames/000000.jpg": jpegOf(1, 0, 200),
  "frames/000001.jpg": jpegOf(1, 1, 200),
  "frames/000002.jpg": jpegOf(1, 2, 200),
};

async function seedOn(disk: SimulatedDisk, content: SeedFiles): Promise<void> {
  for (const directory of ["/old", folder, `${folder}/frames`]) await disk.mkdir(directory);
  for (const [path, bytes] of Object.entries(content)) {
    const file = await disk.open(`${folder}/${path}`, "create");
    await file.write(Buffer.from(bytes), 0);
    await file.close();
  }
}

async function imported(content: SeedFiles) {
  const disk = new SimulatedDisk();
  await seedOn(disk, content);
  const opened = await openPackages(disk);
  const result = await opened.packages.importSeedPackage(folder);
  return { disk, opened, ...result, ...(await opened.packages.read(result.name)) };
}

test("the seed's example becomes a sealed copy in UTC, with every file and null for what it did not keep", async () => {
  const { disk, opened, name, isNew, leftOut, manifest, messages } = await imported(files);
  assert.match(name, /^2025-02-19T21-30-00_positive_fb_[0-9a-f]{12}$/);
  assert.deepEqual([isNew, leftOut], [true, []]);
  assert.deepEqual(await wholePackages(disk, opened), [name]);
  const { what, trigger, sentiment, timestamp, session_id, audio_chunks, score } = manifest;
  const { id: _, num_messages: __, num_frames: ___, timestamp_str: ____, ...kept } = seedRecord;
  assert.deepEqual({ what, trigger, sentiment, timestamp, session_id, audio_chunks }, kept);
  assert.deepEqual([score, manifest.annotator.kind, manifest.num_frames], [1, "human", 3]);
  assert.deepEqual([manifest.consent.upload, manifest.consent.export], [false, false]);
  assert.deepEqual(manifest.frames[1], {
    file: "frames/000001.jpg",
    t_ms: null,
    timestamp: null,
    seq: null,
    width: 64,
    height: 48,
    camera: null,
    source_t_ms: null,
  });
  assert.deepEqual(
    messages.map(({ role, text, timestamp: at }) => ({ role, text, timestamp: at })),
    seedMessages,
  );
  for (const path of ["audio.wav", "frames/000000.jpg", "frames/000002.jpg"]) {
    assert.deepEqual(await partOf(opened.packages, name, path), Buffer.from(files[path]!));
  }
});

test("what is no whole JPEG, no message, or no sound of ours is left out, and named", async () => {
  const { manifest, leftOut } = await imported({
    ...files,
    "frames/000001.jpg": jpegOf(1, 1, 200).subarray(0, 100),
    "frames/Thumbs.db": "x",
    "audio.wav": Buffer.concat([wavHeader(500).fill(0, 24, 28), pcm]),
    "messages.json": JSON.stringify([...seedMessages, { role: "ROBOT", text: "" }, 7]),
  });
  assert.deepEqual(
    leftOut.map(({ path }) => path),
    ["messages.json[2]", "messages.json[3]", "audio.wav", "frames/000001.jpg", "frames/Thumbs.db"],
  );
  assert.deepEqual([manifest.num_frames, manifest.num_messages, manifest.audio], [2, 2, null]);
});

test("a WAV header with a wrong length, as a cut recording has it, is put right", async () => {
  const { opened, name, manifest } = await imported({
    ...files,
    "audio.wav": Buffer.concat([wavHeader(9_999), pcm]),
  });
  assert.equal(manifest.audio_samples, 500);
  const wav = await partOf(opened.packages, name, "audio.wav");
  assert.deepEqual(wav, Buffer.from(files["audio.wav"]!));
});

for (const [what, change, wanted] of [
  ["no feedback.json", undefined, "THROUGHLINE_NOT_FOUND"],
  ["no JSON", "{", "THROUGHLINE_INVALID"],
  ["a sentiment that is a path", { sentiment: "../../x" }, "THROUGHLINE_INVALID"],
  ["a time that is a text", { timestamp: "now" }, "THROUGHLINE_INVALID"],
  ["a time past the year 9999", { timestamp: 1e12 }, "THROUGHLINE_INVALID"],
  ["a schema", { schema: "throughline.feedback/1" }, "THROUGHLINE_INVALID"],
] as const) {
  test(`a folder with ${what} is refused with ${wanted}, and nothing is made`, async () => {
    const disk = new SimulatedDisk();
    const { "feedback.json": _, ...others } = files;
    const record =
      typeof change === "object" ? JSON.stringify({ ...seedRecord, ...change }) : change;
    await seedOn(disk, record === undefined ? others : { ...others, "feedback.json": record });
    const { packages } = await openPackages(disk);
    const before = await filesOf(disk);
    await assert.rejects(packages.importSeedPackage(folder), (error) =>
      isThroughlineError(error, wanted),
    );
    assert.deepEqual(await filesOf(disk), before);
  });
}
