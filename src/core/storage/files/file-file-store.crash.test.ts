// Method: run one scenario; die before the first, then the second, then the third disk operation, by a power
// cut and by a kill. What that left is opened, compared with what was promised, and the call that was cut short
// is repeated. Then the same with every call of the disk failing in turn.
import assert from "node:assert/strict";
import { test } from "node:test";
import { crashImages } from "../../../../test/support/crash-images.ts";
import { forEveryCrashPoint } from "../../../../test/support/crash-points.ts";
import { type DiskFault, faultyDisk } from "../../../../test/support/faulty-disk.ts";
import { fileWith } from "../../../../test/support/image-digest.ts";
import { SimulatedDisk } from "../../../../test/support/simulated-disk.ts";
import { openOn } from "../../../../test/support/storage-workload.ts";
import { isThroughlineError } from "../../errors.ts";
import type { Disk } from "../disk/disk.ts";
import { type FileStore, hashOf } from "../file-store.ts";

/** Its folder does not spell it out. */
const long = "k".repeat(300);

type Step =
  | { readonly do: "put"; readonly key: string; readonly name: string }
  | { readonly do: "delete"; readonly key: string; readonly names?: readonly string[] };

const steps: readonly Step[] = [
  { do: "put", key: "a", name: "first" },
  { do: "put", key: "a", name: "second" },
  { do: "put", key: long, name: "third" },
  { do: "delete", key: "a", names: ["first"] },
  { do: "put", key: "a", name: "second" },
  { do: "delete", key: long },
  { do: "put", key: "a", name: "fourth" },
  { do: "delete", key: "a" },
  { do: "put", key: "a", name: "first" },
];

/** Long enough to be torn at a sector. */
const bytesOf = (name: string) => Buffer.from(`${name} `.repeat(200));
const partOf = (name: string) => Buffer.from(`${name} ${name}`);
const hashes = (names: readonly string[]) => names.map((name) => hashOf(bytesOf(name)));

/** The files of each key, by name. */
type Model = Readonly<Record<string, readonly string[]>>;
const empty: Model = { a: [], [long]: [] };

function after(model: Model, step: Step): Model {
  const before = model[step.key] ?? [];
  if (step.do === "put") return { ...model, [step.key]: [...new Set([...before, step.name])] };
  const { names } = step;
  const left = names === undefined ? [] : before.filter((name) => !names.includes(name));
  return { ...model, [step.key]: left };
}

async function perform(files: FileStore, step: Step): Promise<void> {
  if (step.do === "put") await files.put(step.key, bytesOf(step.name));
  else await files.delete(step.key, step.names && hashes(step.names));
}

async function openFiles(disk: Disk) {
  const { storage } = await openOn(disk);
  return { storage, files: storage.files("chats") };
}

/** Everything that is there is whole, and is what a step left that was done, not begun or half done. */
async function check(files: FileStore, before: Model, underWay: Step | undefined): Promise<void> {
  const then = underWay === undefined ? before : after(before, underWay);
  for (const key of Object.keys(empty)) {
    const found: string[] = [];
    for (const { sha256 } of await files.list(key)) {
      const bytes = await files.get(key, sha256); // rejects if it is not whole
      found.push(String(bytes).split(" ", 1)[0] ?? "");
    }
    const [one = [], other = []] = [before[key], then[key]];
    const surely = one.filter((name) => other.includes(name));
    assert.deepEqual(
      surely.filter((name) => !found.includes(name)),
      [],
      `of ${key.slice(0, 3)}`,
    );
    const perhaps = [...one, ...other];
    assert.deepEqual(
      found.filter((name) => !perhaps.includes(name)),
      [],
      `of ${key.slice(0, 3)}`,
    );
  }
}

/** After everything was deleted, nothing of it is on the disk, under no name. */
async function checkDeletion(files: FileStore, disk: SimulatedDisk, model: Model): Promise<void> {
  for (const key of Object.keys(model)) await files.delete(key);
  const names = steps.flatMap((step) => (step.do === "put" ? [step.name] : []));
  assert.equal(fileWith(disk.tree, names.map(partOf)), undefined);
  const left = (await disk.list("/home/chats").catch(() => [])).map(({ name }) => name);
  assert.deepEqual(left, []);
}

interface Told {
  readonly stored: Model;
  readonly underWay: Step | undefined;
  /** Deleted, and not put again. */
  readonly gone: readonly string[];
}

const nothingTold: Told = { stored: empty, underWay: undefined, gone: [] };

const namesIn = (model: Model) => Object.values(model).flat();

const run = {
  async scenario(disk: SimulatedDisk, promise: (told: Told) => void) {
    const { storage, files } = await openFiles(disk);
    let told = nothingTold;
    for (const step of steps) {
      const gone = told.gone.filter((name) => step.do !== "put" || name !== step.name);
      told = { ...told, underWay: step, gone };
      promise(told);
      await perform(files, step);
      const stored = after(told.stored, step);
      const deleted = namesIn(told.stored).filter((name) => !namesIn(stored).includes(name));
      told = { stored, underWay: undefined, gone: [...gone, ...deleted] };
      promise(told);
    }
    await storage.close();
  },
  async check(image: SimulatedDisk, promised: readonly Told[]) {
    const { stored, underWay, gone } = promised.at(-1) ?? nothingTold;
    assert.equal(fileWith(image.tree, gone.map(partOf)), undefined, "what was deleted is there");
    const { storage, files } = await openFiles(image);
    await check(files, stored, underWay);
    let now = stored;
    if (underWay !== undefined) {
      if (underWay.do === "put") {
        await files.delete(underWay.key, hashes([underWay.name]));
        assert.equal(fileWith(image.tree, [partOf(underWay.name)]), undefined, "a part is left");
      }
      await perform(files, underWay);
      now = after(stored, underWay);
      await check(files, now, undefined);
    }
    await files.put("a", bytesOf("later"));
    const left = (await image.list("/home/chats/a.files")).map(({ name }) => name);
    const names = [...(now["a"] ?? []), "later"];
    assert.deepEqual(left.sort(), [...new Set(hashes(names))].sort(), "and nothing temporary");
    const keys = await Array.fromAsync(files.keys());
    assert.equal(keys.includes(long), (now[long] ?? []).length > 0);
    await checkDeletion(files, image, now);
    await storage.close();
  },
};

test("a power cut at any disk operation leaves every file that was stored whole, and none that was deleted", async (t) => {
  const counts = await forEveryCrashPoint({ ...run, images: { seed: 1, maxImages: 24 } });
  t.diagnostic(JSON.stringify(counts));
  assert.ok(counts.points >= 60 && counts.images >= 200, JSON.stringify(counts));
});

test("kill -9 at any disk operation leaves every file that was stored whole, and none that was deleted", async () => {
  const counts = await forEveryCrashPoint({ ...run, cut: "process" });
  assert.ok(counts.points >= 60, JSON.stringify(counts));
});

/** Otherwise the errors take turns. */
const stride = process.env["THROUGHLINE_FULL"] === "1" ? 1 : 5;

/** What fails once succeeds when it is repeated. */
const twice = <T>(call: () => Promise<T>): Promise<T> => call().catch(call);

/** What was repeated and has succeeded outlives a power cut, and so does what was deleted. */
async function checkCut(disk: SimulatedDisk, model: Model): Promise<void> {
  for (const image of crashImages(disk, { maxImages: 4 })) {
    const { storage, files } = await openFiles(image);
    await check(files, model, undefined);
    const keys = Object.keys(model).filter((key) => (model[key] ?? []).length > 0);
    assert.deepEqual((await Array.fromAsync(files.keys())).sort(), keys, image.label);
    await storage.close();
  }
}

/** Runs the steps on a disk that fails once, each again until it is done. */
async function runFaulty(fault: DiskFault): Promise<boolean> {
  const inner = new SimulatedDisk();
  const disk = faultyDisk(inner, fault);
  const { storage, files } = await twice(() => openFiles(disk));
  let model = empty;
  for (const step of steps) {
    try {
      await perform(files, step);
    } catch (error) {
      const isOurs =
        isThroughlineError(error, "THROUGHLINE_UNAVAILABLE") ||
        isThroughlineError(error, "THROUGHLINE_OUTCOME_UNKNOWN");
      assert.ok(isOurs, String(error));
      await check(files, model, step);
      await perform(files, step);
      await checkCut(inner, after(model, step));
    }
    model = after(model, step);
    await twice(() => check(files, model, undefined));
  }
  const { broke } = disk;
  disk.heal();
  await checkDeletion(files, inner, model);
  await storage.close();
  return broke;
}

for (const does of ["nothing", "all"] as const) {
  test(`a call that failed with ${does} of it done is repeated, and nothing is lost or left, at any disk operation`, async () => {
    for (const [nth, fault] of (["EIO", "ENOSPC", "EACCES"] as const).entries()) {
      for (let at = 1 + nth; await runFaulty({ fault, at, does }); at += stride);
    }
  });
}
