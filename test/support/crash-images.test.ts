import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { DiskFile } from "../../src/core/storage/disk/disk.ts";
import { type CrashImageOptions, crashImages, processDeathImage } from "./crash-images.ts";
import { SimulatedDisk, SimulatedFile } from "./simulated-disk.ts";

/** Enough for every systematic image of the small disks here. */
const many = { maxImages: 1024 };

/** Every file of a disk with its text, directories with a slash: `{ "/d/": "", "/d/a": "text" }`. */
async function everything(disk: SimulatedDisk, at = ""): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const { name, kind } of await disk.list(at === "" ? "/" : at)) {
    const path = `${at}/${name}`;
    if (kind === "directory") {
      found[`${path}/`] = "";
      for (const [inner, text] of Object.entries(await everything(disk, path))) found[inner] = text;
    } else {
      found[path] = await textOf(disk, path);
    }
  }
  return found;
}

async function textOf(disk: SimulatedDisk, path: string): Promise<string> {
  const into = Buffer.alloc(await disk.size(path));
  await (await disk.open(path, "read")).read(into, 0);
  return into.toString("latin1");
}

async function imagesOf(disk: SimulatedDisk, options: CrashImageOptions = many) {
  return await Promise.all(Array.from(crashImages(disk, options), (image) => everything(image)));
}

/** The texts that the file has in some image; `undefined` where it has no name. */
async function textsOf(disk: SimulatedDisk, path: string) {
  return new Set((await imagesOf(disk)).map((image) => image[path]));
}

async function create(disk: SimulatedDisk, path: string, text: string): Promise<DiskFile> {
  const file = await disk.open(path, "create");
  await file.write(Buffer.from(text), 0);
  return file;
}

async function durable(disk: SimulatedDisk, path: string, text: string): Promise<DiskFile> {
  const file = await create(disk, path, text);
  await file.sync();
  await disk.syncDirectory(path.slice(0, path.lastIndexOf("/")) || "/");
  return file;
}

test("a file that was never synced can be gone, empty, NUL, garbage, cut or whole", async () => {
  const disk = new SimulatedDisk();
  const text = "x".repeat(100);
  await create(disk, "/a", text);
  const texts = await textsOf(disk, "/a");
  const expected = [undefined, "", "\0".repeat(100), "x".repeat(64), text];
  assert.deepEqual(
    expected.filter((one) => !texts.has(one)),
    [],
  );
  const garbage = [...texts].filter((one) => one?.length === 100 && !/[x\0]{9}/.test(one));
  assert.equal(garbage.length > 0, true);
});

test("a synced file keeps its data and not its name until its directory is synced", async () => {
  const disk = new SimulatedDisk();
  const file = await create(disk, "/a", "text");
  await file.sync();
  assert.deepEqual(await textsOf(disk, "/a"), new Set(["text", undefined]));
  await disk.syncDirectory("/");
  assert.deepEqual(await textsOf(disk, "/a"), new Set(["text"]));
});

test("a file renamed over another without a sync can be empty under the old name", async () => {
  const disk = new SimulatedDisk();
  await durable(disk, "/a", "old");
  await create(disk, "/tmp", "new");
  await disk.rename("/tmp", "/a");
  const texts = await textsOf(disk, "/a");
  assert.deepEqual(
    ["old", "new", "", "\0\0\0"].filter((one) => !texts.has(one)),
    [],
  );
  assert.equal(texts.has(undefined), false);
});

test("a rename over another file is old or new, never neither, until it is synced", async () => {
  const disk = new SimulatedDisk();
  await durable(disk, "/a", "old");
  await (await create(disk, "/tmp", "new")).sync();
  await disk.rename("/tmp", "/a");
  const images = await imagesOf(disk);
  assert.deepEqual(images, [
    { "/a": "new" },
    { "/a": "old" },
    { "/a": "old", "/tmp": "new" }, // made durable by chance, but not renamed
  ]);
  await disk.syncDirectory("/");
  assert.deepEqual(await imagesOf(disk), [{ "/a": "new" }]);
});

for (const sectorBytes of [64, 512, 4096]) {
  test(`an append of 4 sectors is torn at every sector of ${sectorBytes} bytes`, async () => {
    const disk = new SimulatedDisk();
    const file = await durable(disk, "/a", "D");
    const sectors = ["1", "2", "3", "4"].map((digit) => digit.repeat(sectorBytes));
    await file.write(Buffer.from(sectors.join("").slice(1)), 1);
    const written = `D${sectors.join("").slice(1)}`;
    const texts = new Set(
      (await imagesOf(disk, { ...many, sectorSizes: [sectorBytes] })).map((image) => image["/a"]),
    );
    for (const count of [1, 2, 3]) {
      const at = count * sectorBytes;
      const rest = 4 * sectorBytes - at;
      assert.equal(texts.has(written.slice(0, at)), true, `the file ends at ${at}`);
      assert.equal(texts.has(written.slice(0, at) + "\0".repeat(rest)), true, `zeros from ${at}`);
      const late = `D${"\0".repeat(at - 1)}${written.slice(at)}`;
      assert.equal(texts.has(late), true, `zeros before ${at}`);
    }
    const hole = `${written.slice(0, sectorBytes)}${"\0".repeat(sectorBytes)}`;
    assert.equal(texts.has(hole + written.slice(2 * sectorBytes)), true, "a hole");
    for (const text of texts) assert.equal(text?.[0], "D", "what was durable stays");
  });
}

test("an unsynced truncate is there or not, before and after a write that follows it", async () => {
  const disk = new SimulatedDisk();
  const file = await durable(disk, "/a", "good torn");
  await file.truncate(5);
  assert.deepEqual(await textsOf(disk, "/a"), new Set(["good ", "good torn"]));
  await file.write(Buffer.from("more"), 5);
  const texts = await textsOf(disk, "/a");
  assert.deepEqual(
    ["good more", "good torn", "good "].filter((text) => !texts.has(text)),
    [],
  );
  for (const text of texts) assert.match(text ?? "", /^good /);
});

test("a process death leaves all that the kernel had, as durable", async () => {
  const disk = new SimulatedDisk();
  await disk.mkdir("/d");
  const file = await create(disk, "/d/a", "text");
  await file.truncate(2);
  const image = processDeathImage(disk);
  assert.deepEqual(await imagesOf(image), [{ "/d/": "", "/d/a": "te" }]);
});

test("data that a failed sync lost is read back and synced again, and gone after a cut", async () => {
  const disk = new SimulatedDisk();
  const file = await durable(disk, "/a", "old,");
  await file.write(Buffer.from("lost,"), 4);
  assert.equal(file instanceof SimulatedFile, true);
  (file as SimulatedFile).loseUnsynced();
  await file.sync();
  await file.write(Buffer.from("new"), 9);
  await file.sync();
  assert.equal(await textOf(disk, "/a"), "old,lost,new");
  assert.deepEqual(await imagesOf(disk), [{ "/a": `old,${"\0".repeat(5)}new` }]);
  assert.deepEqual(await everything(processDeathImage(disk)), { "/a": "old,lost,new" });
});

test("in a mixture one sector can be kept, another zeroed and a third garbage", async () => {
  const disk = new SimulatedDisk();
  const file = await durable(disk, "/a", "");
  await file.write(Buffer.from("x".repeat(4 * 64)), 0);
  const fates = new Set<string>();
  for (const text of await textsOf(disk, "/a")) {
    const sectors = (text ?? "").match(/[\s\S]{64}/g) ?? [];
    const fateOf = (sector: string) =>
      /^x+$/.test(sector) ? "kept" : /^\0+$/.test(sector) ? "zeroed" : "garbage";
    fates.add([...new Set(sectors.map(fateOf))].sort().join(", "));
  }
  assert.equal(fates.has("garbage, kept, zeroed"), true);
});

test("what was synced is in every image of any workload of appends and syncs", async () => {
  const call = fc.tuple(
    fc.constantFrom("append", "sync"),
    fc.nat(2),
    fc.integer({ min: 1, max: 300 }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(call, { minLength: 1, maxLength: 12 }), async (calls) => {
      const disk = new SimulatedDisk();
      const model: { file: DiskFile; text: string; synced: string }[] = [];
      for (const name of ["/0", "/1", "/2"]) {
        model.push({ file: await durable(disk, name, ""), text: "", synced: "" });
      }
      for (const [what, index, length] of calls) {
        const one = model[index]!;
        if (what === "sync") {
          await one.file.sync();
          one.synced = one.text;
        } else {
          await one.file.write(Buffer.alloc(length, 97 + (length % 26)), one.text.length);
          one.text += String.fromCharCode(97 + (length % 26)).repeat(length);
        }
      }
      for (const image of await imagesOf(disk, { maxImages: 32 })) {
        for (const [index, { text, synced }] of model.entries()) {
          const left = image[`/${index}`] ?? "no such file";
          assert.equal(left.slice(0, synced.length), synced);
          assert.equal(left.length <= text.length, true);
        }
      }
    }),
    { numRuns: 25, seed: 1 },
  );
});
