import assert from "node:assert/strict";
import { test } from "node:test";
import { filesOf, momentOf, openPackages, path } from "../../../test/support/package-workload.ts";
import { SimulatedDisk } from "../../../test/support/simulated-disk.ts";
import { isThroughlineError } from "../../core/errors.ts";

const isFull = process.env["THROUGHLINE_FULL"] === "1";
const moment = momentOf(1, { frames: 2, frameBytes: 120, samples: 400 });
const { name } = moment.record;
const folder = `${path}/${name}`;

async function saved() {
  const disk = new SimulatedDisk();
  const opened = await openPackages(disk);
  await opened.packages.save(moment);
  return { disk, ...opened };
}

async function flip(disk: SimulatedDisk, file: string, bit: number) {
  const opened = await disk.open(`${folder}/${file}`, "write");
  const byte = new Uint8Array(1);
  await opened.read(byte, bit >> 3);
  await opened.write(Uint8Array.of((byte[0] ?? 0) ^ (1 << (bit & 7))), bit >> 3);
  await opened.close();
}

// Case 12.
for (const file of ["messages.json", "audio.wav", "frames/000000.jpg", "frames/000001.jpg"]) {
  test(`one flipped bit in ${file}, wherever it is, is named by verify`, async () => {
    const { disk, packages } = await saved();
    const bits = ((await filesOf(disk)).get(`${folder}/${file}`)?.length ?? 0) * 8;
    assert.ok(bits > 900);
    const step = isFull ? 1 : 331;
    for (let bit = 0; bit < bits; bit += step) {
      await flip(disk, file, bit);
      const { state, differences } = await packages.verify(name);
      assert.equal(state, "damaged", `bit ${bit}`);
      assert.deepEqual(
        differences.map(({ path: at, kind }) => [at, kind]),
        [[file, "content"]],
      );
      await flip(disk, file, bit);
    }
    assert.equal((await packages.verify(name)).state, "whole");
  });
}

test("one flipped bit in feedback.json, wherever it is, is never a whole package", async () => {
  const { disk, packages } = await saved();
  const bits = (await packages.part(name, "feedback.json")).length * 8;
  const step = isFull ? 3 : 211;
  for (let bit = 0; bit < bits; bit += step) {
    await flip(disk, "feedback.json", bit);
    const { state } = await packages.verify(name);
    assert.notEqual(state, "whole", `bit ${bit}`);
    await assert.rejects(packages.read(name), (error) => isThroughlineError(error));
    await flip(disk, "feedback.json", bit);
  }
});

const damages: readonly [
  what: string,
  damage: (disk: SimulatedDisk) => Promise<unknown>,
  differences: readonly (readonly [path: string, kind: string])[],
][] = [
  ["a file is missing", (disk) => disk.unlink(`${folder}/audio.wav`), [["audio.wav", "missing"]]],
  [
    "a file is cut",
    async (disk) => (await disk.open(`${folder}/frames/000001.jpg`, "write")).truncate(5),
    [["frames/000001.jpg", "size"]],
  ],
  [
    "a file has grown",
    async (disk) => (await disk.open(`${folder}/messages.json`, "write")).truncate(9_999),
    [["messages.json", "size"]],
  ],
  [
    "a foreign file is there",
    async (disk) => (await disk.open(`${folder}/frames/thumbs.db`, "create")).close(),
    [["frames/thumbs.db", "unlisted"]],
  ],
  [
    "the manifest is cut",
    async (disk) => (await disk.open(`${folder}/feedback.json`, "write")).truncate(700),
    [["feedback.json", "manifest"]],
  ],
  [
    "the manifest is gone",
    (disk) => disk.unlink(`${folder}/feedback.json`),
    [["feedback.json", "manifest"]],
  ],
];
for (const [what, damage, wanted] of damages) {
  test(`when ${what}, verify says so and changes nothing`, async () => {
    const { disk, packages } = await saved();
    await damage(disk);
    const before = await filesOf(disk);
    const { state, differences } = await packages.verify(name);
    assert.equal(state, "damaged");
    assert.deepEqual(
      differences.map(({ path: at, kind }) => [at, kind]),
      wanted,
    );
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
  assert.deepEqual(
    incomplete.map(({ path: at, kind }) => [at, kind]),
    [
      ["messages.json", "size"],
      ["frames/000000.jpg", "missing"],
    ],
  );
  assert.equal((await packages.list()).packages[0]?.state, "damaged");
  await assert.rejects(packages.file(name, "messages.json"), (error) =>
    isThroughlineError(error, "THROUGHLINE_CORRUPT"),
  );
});
