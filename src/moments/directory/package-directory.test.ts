import assert from "node:assert/strict";
import fs from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { column, columns } from "../../../test/support/columns.ts";
import { faultyDisk } from "../../../test/support/faulty-disk.ts";
import {
  assertIsWholly,
  filesOf,
  jpegOf,
  momentOf,
  openPackages,
  partOf,
  path,
  wholePackages,
} from "../../../test/support/package-workload.ts";
import { SimulatedDisk } from "../../../test/support/simulated-disk.ts";
import { wavHeader } from "../package/content.ts";
import { SaveError } from "../package/package-sink.ts";
import { PackageDirectory } from "./package-directory.ts";

test("a moment becomes a folder with its files, byte for byte, and with a status of its own", async () => {
  const disk = new SimulatedDisk();
  const opened = await openPackages(disk);
  const moment = momentOf(1, { samples: 40_000 });
  const { name } = moment.record;
  assert.deepEqual(await opened.packages.save(moment), { name });
  await assertIsWholly(opened, moment);
  const files = [...(await filesOf(disk)).keys()].map((file) => file.slice(path.length + 1)).sort();
  assert.deepEqual(files, [
    `${name}/audio.wav`,
    `${name}/feedback.json`,
    `${name}/frames/000000.jpg`,
    `${name}/frames/000001.jpg`,
    `${name}/frames/000002.jpg`,
    `${name}/messages.json`,
  ]);
  const wav = await partOf(opened.packages, name, "audio.wav");
  assert.equal(wav.length, 44 + 80_000);
  assert.equal(wav.readInt16LE(44 + 2 * 20_000), moment.audio?.[20_000]);
  const { manifest, status } = await opened.packages.read(name);
  assert.deepEqual(column(manifest.files, "path"), [
    "messages.json",
    "audio.wav",
    ...manifest.frames.map(({ file }) => file),
  ]);
  assert.deepEqual(status, { uploaded: [], preserved: null, retracted: null });
});

test("the same moment saved twice, at once or after another, is one package", async () => {
  const disk = new SimulatedDisk();
  const opened = await openPackages(disk);
  const moment = momentOf(1);
  const saved = await Promise.all([opened.packages.save(moment), opened.packages.save(moment)]);
  assert.deepEqual(saved[0], saved[1]);
  assert.deepEqual(await opened.packages.save(moment), saved[0]);
  assert.equal((await wholePackages(disk, opened)).length, 1);
});

test("a moment whose name another one has is not saved, and that one stays", async () => {
  const disk = new SimulatedDisk();
  const opened = await openPackages(disk);
  const moment = momentOf(1);
  await opened.packages.save(moment);
  const { uuid: old } = moment.record;
  const twin = { ...moment, record: { ...moment.record, uuid: `019c7500${old.slice(8)}` } };
  await assert.rejects(opened.packages.save(twin), new SaveError("io"));
  await assertIsWholly(opened, moment);
});

test("what is no name of a package is refused by each call, and nothing is made", async () => {
  const disk = new SimulatedDisk();
  const { packages } = await openPackages(disk);
  const moment = momentOf(1);
  const invalid = { code: "THROUGHLINE_INVALID" };
  for (const name of ["../../x", "", "a/b", "2026-02-19T15-30-00_positive_fb_a1b2c3", "x\0"]) {
    const named = { ...moment, record: { ...moment.record, name } };
    await assert.rejects(packages.save(named), invalid); // F6
    await assert.rejects(packages.read(name), invalid);
    await assert.rejects(packages.verify(name), invalid);
    await assert.rejects(packages.file(name, "messages.json"), invalid);
    await assert.rejects(packages.delete({ name }), invalid);
    await assert.rejects(packages.retract(name, { by: null, reason: null }), invalid);
    await assert.rejects(packages.has(name), invalid);
  }
  assert.equal((await filesOf(disk)).size, 0);
});

for (const [free, what, shape, fits] of [
  [200_000, "a small moment", {}, true],
  [0, "a small moment", {}, false],
  [0, "a moment of words alone", { frames: 0, samples: 0 }, false],
] as const) {
  test(`with ${free} bytes free ${what} is ${fits ? "saved" : "refused as disk_full, before a byte is written"}`, async () => {
    const disk = new SimulatedDisk();
    const { packages } = await openPackages(disk, { freeSpace: async () => free });
    const saving = packages.save(momentOf(1, shape));
    if (fits) await saving;
    else {
      await assert.rejects(saving, new SaveError("disk_full"));
      assert.equal((await filesOf(disk)).size, 0);
    }
  });
}

test("when nobody can tell how much is free, writing shows", async () => {
  const { packages } = await openPackages(new SimulatedDisk(), {
    freeSpace: () => Promise.reject(new Error("ENOSYS")),
  });
  await packages.save(momentOf(1));
});

test("a save that is aborted leaves nothing behind, and the moment can be saved later", async () => {
  const disk = new SimulatedDisk();
  const opened = await openPackages(disk);
  const abort = new AbortController();
  const slow = {
    ...momentOf(1),
    get frames() {
      abort.abort(new Error("forgotten"));
      return momentOf(1).frames;
    },
  };
  await assert.rejects(opened.packages.save(slow, abort.signal), /forgotten/);
  assert.deepEqual(await wholePackages(disk, opened), []);
  await opened.packages.save(momentOf(1));
});

test("retracted once, marked as uploaded, preserved and let go: the status says each", async () => {
  const target = { bucket: "b", region: null, endpoint: null };
  const upload = { target, keepLocal: true };
  const { packages, clock } = await openPackages(new SimulatedDisk(), { upload });
  const { name } = await packages.save(momentOf(1));
  const retracted = await packages.retract(name, { by: "Ori", reason: "a slip" });
  clock.pass(5_000);
  await packages.retract(name, { by: "Bo", reason: "another" });
  for (let time = 0; time < 2; time++) await packages.sent(name, retracted.retracted);
  await packages.preserve(name, { by: "Ori", reason: "for good" });
  const { upload: note, ...status } = (await packages.status(name)) ?? {};
  assert.equal(note?.state, "done");
  assert.deepEqual(status, {
    uploaded: [{ bucket: "b", prefix: note?.prefix, timestamp: 1_772_366_405 }],
    preserved: { timestamp: 1_772_366_405, by: "Ori", reason: "for good" },
    retracted: { timestamp: 1_772_366_400, by: "Ori", reason: "a slip", superseded_by: null },
  });
  assert.equal((await packages.preserve(name, null)).preserved, null);
});

test("a package that is to be uploaded is never here without a status that says so; of a failed save nothing is left", async () => {
  const target = { bucket: "b", region: null, endpoint: null };
  for (const fails of [false, true]) {
    const disk = new SimulatedDisk();
    const broken = faultyDisk(disk, { fault: "EIO", at: 1, call: "rename", path: /partial/ });
    const upload = { target, keepLocal: true };
    const { packages } = await openPackages(fails ? broken : disk, { upload });
    const heard: string[] = [];
    packages.connect({ pending: (name) => void heard.push(name), stop: async () => undefined });
    const moment = momentOf(1, { frames: 0, samples: 0 });
    const { name } = moment.record;
    await packages.save(moment).catch((error) => assert.ok(fails && error instanceof SaveError));
    const files = [...(await filesOf(disk)).keys()];
    if (fails) assert.deepEqual([heard, files], [[], []]);
    else {
      const { upload: noted } = (await packages.status(name)) ?? {};
      assert.deepEqual([noted?.state, noted?.prefix], ["pending", `feedback/a1b2c3d4/${name}/`]);
      assert.deepEqual(heard, [name]);
    }
    await packages.save(moment);
    assert.equal((await packages.list()).packages.length, 1);
  }
});

test("pages come newest first, each package once, and name what is not ours", async () => {
  const disk = new SimulatedDisk();
  const { packages } = await openPackages(disk);
  const names: string[] = [];
  for (let number = 1; number <= 7; number++) {
    names.unshift((await packages.save(momentOf(number, { frames: 1, samples: 0 }))).name);
  }
  await (await disk.open(`${path}/notes.txt`, "create")).close();
  await disk.mkdir(`${path}/holiday`);
  const found: string[] = [];
  let before: string | undefined;
  for (;;) {
    const page = await packages.list({ limit: 3, ...(before === undefined ? {} : { before }) });
    found.push(...page.packages.map(({ name }) => name));
    if (page.next === null) break;
    before = page.next;
  }
  assert.deepEqual(found, names);
  await assert.rejects(packages.list({ before: "zz" }), { code: "THROUGHLINE_INVALID" });
});

test("a package of a later schema is listed as newer, and left alone by every call", async () => {
  const disk = new SimulatedDisk();
  const { packages } = await openPackages(disk);
  const { name } = await packages.save(momentOf(1));
  const file = await disk.open(`${path}/${name}/feedback.json`, "write");
  const text = (await packages.part(name, "feedback.json"))
    .toString()
    .replace("feedback/1", "feedback/2");
  await file.write(Buffer.from(text), 0);
  const before = await filesOf(disk);
  assert.equal((await packages.list()).packages[0]?.state, "newer");
  await assert.rejects(packages.read(name), { code: "THROUGHLINE_NEWER_FORMAT" });
  assert.equal((await packages.verify(name)).state, "newer");
  assert.deepEqual((await packages.purge({ maxBytes: 0 })).purged, []);
  await openPackages(disk);
  assert.deepEqual(await filesOf(disk), before);
});

test("a link or a folder in the place of a file is no file of the package, on this machine's disk", async (t) => {
  const place = fs.mkdtempSync(join(tmpdir(), "packages-"));
  const packages = await PackageDirectory.open({ path: join(place, "feedback") });
  t.after(() => fs.rmSync(place, { recursive: true }));
  const { name } = await packages.save(momentOf(1, { samples: 100 }));
  for (const file of ["messages.json", "audio.wav"]) {
    const at = join(place, "feedback", name, file);
    fs.renameSync(at, `${at}.elsewhere`);
    if (file === "audio.wav") fs.mkdirSync(at);
    else fs.symlinkSync(`${at}.elsewhere`, at);
    await assert.rejects(packages.part(name, file), { code: "THROUGHLINE_NOT_FOUND" });
  }
  assert.equal((await packages.verify(name)).state, "damaged");
});

test("no path outside a manifest is ever opened", async () => {
  const { packages } = await openPackages(new SimulatedDisk());
  const { name } = await packages.save(momentOf(1));
  for (const part of ["../x", "frames/../feedback.json", "other.json", "frames/000009.jpg"]) {
    await assert.rejects(packages.file(name, part), { code: "THROUGHLINE_NOT_FOUND" }, part);
    await assert.rejects(packages.part(name, part), { code: "THROUGHLINE_NOT_FOUND" }, part);
  }
});

const moment = momentOf(1, { frames: 2, frameBytes: 120, samples: 400 });
const { name } = moment.record;
const folder = `${path}/${name}`;

async function saved() {
  const disk = new SimulatedDisk();
  const opened = await openPackages(disk);
  await opened.packages.save(moment);
  return { disk, ...opened };
}

type Damage = (disk: SimulatedDisk, file: string) => Promise<unknown>;
const cutAt =
  (length: number): Damage =>
  async (disk, file) =>
    (await disk.open(file, "write")).truncate(length);
const added: Damage = async (disk, file) => (await disk.open(file, "create")).close();
for (const [what, path, damage, kind] of [
  ["a file is cut", "frames/000001.jpg", cutAt(5), "size"],
  ["a foreign file is there", "frames/thumbs.db", added, "unlisted"],
  ["the manifest is cut", "feedback.json", cutAt(700), "manifest"],
  ["the manifest is gone", "feedback.json", (disk, file) => disk.unlink(file), "manifest"],
] satisfies [what: string, path: string, damage: Damage, kind: string][]) {
  test(`when ${what}, verify says so and changes nothing`, async () => {
    const { disk, packages } = await saved();
    await damage(disk, `${folder}/${path}`);
    const before = await filesOf(disk);
    const { state, differences } = await packages.verify(name);
    assert.equal(state, "damaged");
    assert.deepEqual(columns(differences, "path", "kind"), [[path, kind]]);
    assert.deepEqual(await filesOf(disk), before);
  });
}

test("a package under another's name is damaged, whatever its own manifest says", async () => {
  const { disk, packages } = await saved();
  const other = momentOf(2).record.name;
  await disk.rename(folder, `${path}/${other}`);
  assert.equal((await packages.verify(other)).state, "damaged");
});

test("read names files that are missing or of another size, and gives the rest", async () => {
  const { disk, packages } = await saved();
  await disk.unlink(`${folder}/frames/000000.jpg`);
  await (await disk.open(`${folder}/messages.json`, "write")).truncate(9);
  const { incomplete, messages, manifest } = await packages.read(name);
  assert.deepEqual(messages, []);
  assert.equal(manifest.what, "a joke 1");
  assert.deepEqual(columns(incomplete, "path", "kind"), [
    ["messages.json", "size"],
    ["frames/000000.jpg", "missing"],
  ]);
  assert.equal((await packages.list()).packages[0]?.state, "damaged");
  await assert.rejects(packages.file(name, "messages.json"), { code: "THROUGHLINE_CORRUPT" });
});

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
const seedFolder = "/old/2026-02-19T15-30-00_positive_fb_a1b2c3";
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
  for (const directory of ["/old", seedFolder, `${seedFolder}/frames`]) await disk.mkdir(directory);
  for (const [path, bytes] of Object.entries(content)) {
    const file = await disk.open(`${seedFolder}/${path}`, "create");
    await file.write(Buffer.from(bytes), 0);
    await file.close();
  }
}

async function imported(content: SeedFiles) {
  const disk = new SimulatedDisk();
  await seedOn(disk, content);
  const opened = await openPackages(disk);
  const result = await opened.packages.importSeedPackage(seedFolder);
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
  assert.deepEqual(column(leftOut, "path"), [
    "messages.json[2]",
    "messages.json[3]",
    "audio.wav",
    "frames/000001.jpg",
    "frames/Thumbs.db",
  ]);
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

test("a seed whose copy went to a bucket, and is removed here in part, is not imported over what is known of it", async () => {
  const disk = new SimulatedDisk();
  await seedOn(disk, files);
  const fault = { fault: "EIO", at: 1, call: "unlink", path: /partial/ } as const;
  const upload = { target: { bucket: "b", region: null, endpoint: null }, keepLocal: false };
  const { packages } = await openPackages(faultyDisk(disk, fault), { upload });
  const consent = { upload: true, export: false, by: null };
  const { name } = await packages.importSeedPackage(seedFolder, { consent });
  await packages.sent(name);
  await assert.rejects(packages.release(name), { code: "THROUGHLINE_UNAVAILABLE" });
  await assert.rejects(packages.importSeedPackage(seedFolder), { code: "THROUGHLINE_CORRUPT" });
  assert.equal((await packages.delete({ name })).remote.length, 1);
});

for (const [what, change, wanted] of [
  ["no feedback.json", undefined, "THROUGHLINE_NOT_FOUND"],
  ["no JSON", "{", "THROUGHLINE_INVALID"],
  ["a sentiment that is a path", { sentiment: "../../x" }, "THROUGHLINE_INVALID"],
  ["a time that is a text", { timestamp: "now" }, "THROUGHLINE_INVALID"],
  ["a time past the year 9999", { timestamp: 1e12 }, "THROUGHLINE_INVALID"],
  ["a schema", { schema: "throughline.feedback/1" }, "THROUGHLINE_INVALID"],
] as const) {
  test(`a seed with ${what} is refused with ${wanted}, and nothing is made`, async () => {
    const disk = new SimulatedDisk();
    const { "feedback.json": _, ...others } = files;
    const record =
      typeof change === "object" ? JSON.stringify({ ...seedRecord, ...change }) : change;
    await seedOn(disk, record === undefined ? others : { ...others, "feedback.json": record });
    const { packages } = await openPackages(disk);
    const before = await filesOf(disk);
    await assert.rejects(packages.importSeedPackage(seedFolder), { code: wanted });
    assert.deepEqual(await filesOf(disk), before);
  });
}
