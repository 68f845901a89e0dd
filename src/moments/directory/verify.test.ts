import assert from "node:assert/strict";
import { test } from "node:test";
import { filesOf, momentOf, openPackages, path } from "../../../test/support/package-workload.ts";
import { SimulatedDisk } from "../../../test/support/simulated-disk.ts";
import { isThroughlineError } from "../../core/errors.ts";

const moment = momentOf(1, { frames: 2, frameBytes: 120, samples: 400 });
const { name } = moment.record;
const folder = `${path}/${name}`;

async function saved() {
  const disk = new SimulatedDisk();
  const opened = await openPackages(disk);
  await opened.packages.save(moment);
  return { disk, ...opened };
}

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
