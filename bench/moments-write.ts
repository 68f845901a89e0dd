// A full package on its way to the disk: what it costs above the bytes themselves, and what a loop
// of 50 Hz feels of it. The raw floor writes the same bytes into as many files with the same syncs.
import fs from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { type Figure, ms } from "./figure.ts";
import { interleaved } from "./measure.ts";
import { fullMoments, praise } from "./moments-world.ts";
import { median, percentile } from "./samples.ts";
import { scratch } from "./scratch.ts";
import { processorTime } from "./slices.ts";

const periodMs = 20;

/** A loop of 50 Hz: how late each pass was, those that were missed altogether included. */
class Loop {
  readonly lateMs: number[] = [];
  #plannedAt = 0;
  #timer: NodeJS.Timeout | undefined;

  start(): void {
    this.#plannedAt = performance.now() + periodMs;
    this.#timer = setTimeout(() => this.#tick(), periodMs);
  }
  stop(): void {
    this.#tick();
    clearTimeout(this.#timer);
  }
  #tick(): void {
    const now = performance.now();
    for (; this.#plannedAt <= now; this.#plannedAt += periodMs) {
      this.lateMs.push(now - this.#plannedAt);
    }
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#tick(), this.#plannedAt - now);
  }
}

interface RawPackage {
  readonly words: Buffer;
  readonly media: readonly (readonly [path: string, bytes: Buffer])[];
  readonly manifest: Buffer;
}

/** The bytes of a package that was written. */
function bytesOf(folder: string): RawPackage {
  const frames = fs.readdirSync(join(folder, "frames")).sort();
  const paths = ["audio.wav", ...frames.map((name) => `frames/${name}`)];
  return {
    words: fs.readFileSync(join(folder, "messages.json")),
    media: paths.map((path) => [path, fs.readFileSync(join(folder, path))] as const),
    manifest: fs.readFileSync(join(folder, "feedback.json")),
  };
}

const call = (work: (done: (error: Error | null) => void) => void) =>
  new Promise<void>((resolve, reject) => work((error) => (error ? reject(error) : resolve())));

async function rawFile(path: string, bytes: Buffer): Promise<void> {
  const file = await new Promise<number>((resolve, reject) =>
    fs.open(path, "wx", (error, opened) => (error ? reject(error) : resolve(opened))),
  );
  await call((done) => fs.write(file, bytes, done));
  await call((done) => fs.fdatasync(file, done));
  await call((done) => fs.close(file, done));
}

async function syncNames(path: string): Promise<void> {
  const directory = await fs.promises.open(path);
  await directory.sync();
  await directory.close();
}

/** The same files, four at a time, and the same syncs in the same order: nothing is computed. */
async function writeRaw(parent: string, name: string, raw: RawPackage): Promise<void> {
  const partial = join(parent, `${name}.partial`);
  await fs.promises.mkdir(partial);
  await fs.promises.mkdir(join(partial, "frames"));
  const left: (readonly [path: string, bytes: Buffer])[] = [
    ["messages.json", raw.words],
    ...raw.media,
  ];
  const worker = async () => {
    for (let next = left.shift(); next !== undefined; next = left.shift()) {
      await rawFile(join(partial, next[0]), next[1]);
    }
  };
  await Promise.all([worker(), worker(), worker(), worker()]);
  await rawFile(join(partial, "feedback.json"), raw.manifest);
  await syncNames(join(partial, "frames"));
  await syncNames(partial);
  await fs.promises.rename(partial, join(parent, name));
  await syncNames(parent);
}

const rounds = 40;

/** From `record()` to durable with 240 pictures of 50 KB and 120 s of sound. */
export async function writePackage(): Promise<Figure[]> {
  const dir = scratch();
  const home = join(dir.path, "home");
  const floor = join(dir.path, "floor");
  fs.mkdirSync(floor);
  const moments = await fullMoments(home);
  const { recorder, feed } = moments;
  const reactAndSave = async () => {
    const receipt = recorder.record(praise);
    await receipt.whenDurable();
    return receipt.name;
  };
  const name = await reactAndSave();
  const raw = bytesOf(join(home, "feedback", name));
  const loops = { ours: new Loop(), floor: new Loop(), idle: new Loop() };
  const during = async (loop: Loop, work: () => Promise<unknown>) => {
    loop.start();
    await work();
    loop.stop();
  };
  const own: { ours: number[]; floor: number[] } = { ours: [], floor: [] };
  const used = async (of: number[], work: () => Promise<unknown>) => {
    const before = processorTime().own;
    await work();
    of.push((processorTime().own - before) / 1_000);
  };
  let count = 0;
  const times = await interleaved(rounds, {
    ours: () => during(loops.ours, reactAndSave),
    floor: () => during(loops.floor, () => writeRaw(floor, `raw${count++}`, raw)),
    idle: () => during(loops.idle, () => pause(300)),
    // Without the loop.
    sealing: () => used(own.ours, reactAndSave),
    writing: () => used(own.floor, () => writeRaw(floor, `raw${count++}`, raw)),
    // A reaction a minute: those of an hour are as many as keep their media.
    minutes: () => {
      for (let i = 0; i < 6_000; i++) feed("int16");
    },
  });
  await moments[Symbol.asyncDispose]();
  dir.remove();
  const bytes = raw.media.reduce((sum, [, part]) => sum + part.length, 0);
  const late = (loop: Loop) => ms(percentile(loop.lateMs, 0.99));
  const sealedMs = median(own.ours);
  const p99 = percentile(loops.ours.lateMs, 0.99);
  return [
    {
      says: `a package of ${raw.media.length} files and ${(bytes / 1e6).toFixed(1)} MB durable (${ms(times.ours)}) against the same files and syncs (${ms(times.floor)})`,
      ratio: times.ours / times.floor,
      target: 1.3,
    },
    {
      says: `p99 of a 50 Hz loop's delay meanwhile: ${ms(p99)} of ${loops.ours.lateMs.length} passes (median ${ms(median(loops.ours.lateMs))}; with the raw floor ${late(loops.floor)}, idle ${late(loops.idle)}); against 20 ms`,
      ratio: p99 / 20,
      target: 1,
    },
    {
      says: `sealing a moment, from record() until it is durable: ${ms(sealedMs)} of the processor in the main thread (the same files and syncs: ${ms(median(own.floor))}); against 0.2 ms`,
      ratio: sealedMs / 0.2,
      target: 1,
    },
  ];
}
