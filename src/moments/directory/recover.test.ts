import assert from "node:assert/strict";
import { test } from "node:test";
import { processDeathImage } from "../../../test/support/crash-images.ts";
import {
  assertIsWholly,
  filesOf,
  momentOf,
  openPackages,
  partOf,
  path,
  wholePackages,
} from "../../../test/support/package-workload.ts";
import { SimulatedDisk } from "../../../test/support/simulated-disk.ts";
import { frameFile } from "../package/package-format.ts";
import { blockBytes } from "./block-crcs.ts";

const moment = momentOf(1, { frames: 4, samples: 50_000 });
const { name } = moment.record;
const partial = `${path}/${name}.partial`;

/** A disk whose process died just before the manifest was written. */
async function beforeTheManifest(): Promise<SimulatedDisk> {
  const whole = new SimulatedDisk();
  await (await openPackages(whole)).packages.save(moment);
  const stopAt = 1 + whole.operations.findIndex(({ path: at }) => at.endsWith("feedback.json"));
  const disk = new SimulatedDisk({ stopAt });
  await disk.run(async () => (await openPackages(disk)).packages.save(moment));
  return processDeathImage(disk);
}

/** Changes a file of the partial: cuts it, or writes into it. */
async function spoil(disk: SimulatedDisk, file: string, length: number, write?: Uint8Array) {
  const opened = await disk.open(`${partial}/${file}`, "write");
  if (write === undefined) await opened.truncate(length);
  else await opened.write(write, length);
  await opened.close();
}

test("a partial with every part is finished with all of them, and says that it was salvaged", async () => {
  const disk = await beforeTheManifest();
  const opened = await openPackages(disk);
  assert.deepEqual(await wholePackages(disk, opened), [name]);
  const { manifest, messages } = await opened.packages.read(name);
  const { salvaged, spilled, reduced, num_frames, audio_samples } = manifest;
  assert.deepEqual(
    [salvaged, spilled, reduced, num_frames, audio_samples],
    [true, false, null, 4, 50_000],
  );
  assert.deepEqual(messages, moment.messages);
  assert.deepEqual(
    opened.reports.map(({ at: _, bytes: __, ...rest }) => rest),
    [
      {
        ...{ key: `feedback/${name}`, kind: "unfinished_package", after_seq: 0 },
        reason:
          "a package was finished with 2 of 2 messages, 4 of 4 pictures, 50000 of 50000 samples",
      },
    ],
  );
});

for (const [what, spoilt, write] of [
  ["cut", 100, undefined],
  ["empty", 0, undefined],
  ["without its first marker", 0, Uint8Array.of(0)],
  ["without its last marker", 298, Uint8Array.of(0, 0)],
  ["zeroed in the middle", 50, new Uint8Array(100)],
] as const) {
  test(`a picture that is ${what} is left out, and the others are numbered without gaps`, async () => {
    const disk = await beforeTheManifest();
    await spoil(disk, frameFile(1), spoilt, write);
    const opened = await openPackages(disk);
    assert.deepEqual(await wholePackages(disk, opened), [name]);
    const { manifest } = await opened.packages.read(name);
    assert.equal(manifest.reduced, "salvaged");
    assert.deepEqual(
      manifest.frames.map(({ file, seq }) => [file, seq]),
      [1, 3, 4].map((seq, index) => [frameFile(index), seq]),
    );
    const second = await partOf(opened.packages, name, frameFile(1));
    assert.deepEqual(second, Buffer.from(moment.frames[2]!));
  });
}

test("sound that was cut keeps its whole blocks, with a header of its length", async () => {
  const disk = await beforeTheManifest();
  await spoil(disk, "audio.wav", 90_000);
  const opened = await openPackages(disk);
  assert.deepEqual(await wholePackages(disk, opened), [name]);
  const samples = (blockBytes - 44) / 2;
  const { manifest } = await opened.packages.read(name);
  assert.deepEqual([manifest.audio_samples, manifest.audio?.samples], [samples, samples]);
  const wav = await partOf(opened.packages, name, "audio.wav");
  assert.deepEqual(
    [wav.length, wav.readUInt32LE(4), wav.readUInt32LE(40)],
    [44 + samples * 2, 36 + samples * 2, samples * 2],
  );
});

test("sound of the right length that a power cut left as zeros is not taken for sound", async () => {
  const disk = await beforeTheManifest();
  await spoil(disk, "audio.wav", blockBytes + 10, new Uint8Array(1_000));
  const { packages } = await openPackages(disk);
  assert.equal((await packages.read(name)).manifest.audio_samples, (blockBytes - 44) / 2);
});

test("words that cannot be read are left out, and with them the judged turn; the label is kept", async () => {
  const disk = await beforeTheManifest();
  await spoil(disk, "messages.json", 20);
  const opened = await openPackages(disk);
  assert.deepEqual(await wholePackages(disk, opened), [name]);
  const { manifest } = await opened.packages.read(name);
  assert.deepEqual([manifest.num_messages, manifest.target, manifest.what], [0, null, "a joke 1"]);
});

for (const [what, spoilt, write] of [
  ["cut", 100, undefined],
  ["empty", 0, undefined],
  ["changed by one byte", 400, Uint8Array.of(0x7e)],
] as const) {
  test(`a partial whose intent is ${what} is set aside whole, with a report, and nothing is listed`, async () => {
    const disk = await beforeTheManifest();
    await spoil(disk, "intent.json", spoilt, write);
    const before = await filesOf(disk);
    const opened = await openPackages(disk);
    assert.deepEqual(await wholePackages(disk, opened), []);
    assert.equal(opened.reports[0]?.quarantined, `quarantine/feedback-${name}.partial`);
    const after = await filesOf(disk);
    for (const [file, bytes] of before) {
      const moved = file.replace(path, "/home/quarantine").replace(name, `feedback-${name}`);
      assert.deepEqual(after.get(moved), bytes, file);
    }
    assert.ok(after.has(`/home/quarantine/feedback-${name}.partial.json`), "the report beside it");
    await opened.packages.save(moment);
    assert.deepEqual(await wholePackages(disk, opened), [name]);
  });
}

test("a folder that was made and nothing more is removed, and reported", async () => {
  const disk = new SimulatedDisk();
  await openPackages(disk);
  await disk.mkdir(partial);
  const opened = await openPackages(disk);
  assert.deepEqual(await wholePackages(disk, opened), []);
  assert.equal(opened.reports.length, 1);
});

test("a partial beside its package is what is left of it: removed without a word", async () => {
  const disk = await beforeTheManifest();
  const { packages } = await openPackages(disk);
  await disk.mkdir(partial);
  await packages.close();
  const opened = await openPackages(disk);
  assert.deepEqual(await wholePackages(disk, opened), [name]);
  assert.deepEqual(opened.reports, []);
});

test("a second recovery of the same folder sets aside beside the first, not over it", async () => {
  const disk = new SimulatedDisk();
  for (let times = 1; times <= 2; times++) {
    await openPackages(disk);
    await disk.mkdir(partial);
    const file = await disk.open(`${partial}/messages.json`, "create");
    await file.write(Buffer.from(`torn ${times}`), 0);
    await file.close();
    const { reports } = await openPackages(disk);
    const ending = times === 1 ? "" : ".2";
    assert.equal(reports[0]?.quarantined, `quarantine/feedback-${name}.partial${ending}`);
  }
});

test("a whole package is opened and left as it is", async () => {
  const disk = new SimulatedDisk();
  const { packages } = await openPackages(disk);
  await packages.save(moment);
  const before = await filesOf(disk);
  const opened = await openPackages(disk);
  assert.deepEqual(opened.reports, []);
  await assertIsWholly(opened, moment);
  assert.deepEqual(await filesOf(disk), before);
});

test("what is finished is owed before it is a package, and is kept though the outbox then fails", async () => {
  const disk = await beforeTheManifest();
  const heard: string[] = [];
  const nothing = async () => undefined;
  const opened = await openPackages(disk, {
    owed: {
      async saving(coming) {
        assert.ok(!(await filesOf(disk)).has(`${path}/${name}/feedback.json`));
        heard.push(coming.name);
      },
      saved: () => Promise.reject(new Error("not open yet")),
      ...{ dropped: nothing, forgotten: async () => 0, owes: async () => false },
    },
  });
  assert.deepEqual(heard, [name]);
  assert.deepEqual(await wholePackages(disk, opened), [name]);
});
