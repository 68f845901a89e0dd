// Exports of 100 full packages by the command itself, listing and verifying included. The pictures
// are links to the same 240 files: read, hashed and written as often as if they were not.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import fs from "node:fs";
import { join } from "node:path";
import { openThroughline } from "../src/core/throughline.ts";
import { PackageDirectory } from "../src/moments/directory/package-directory.ts";
import { sealRecord, writeManifest } from "../src/moments/package/manifest.ts";
import { makeUuidV7, packageId, packageName } from "../src/moments/package/package-name.ts";
import type { SealedMoment } from "../src/moments/package/package-sink.ts";
import type { Manifest } from "../src/moments/package/record.ts";
import type { Figure } from "./figure.ts";
import { fullRecorder, praise } from "./moments-world.ts";
import { median } from "./samples.ts";
import { scratch } from "./scratch.ts";

const packages = 100;

/** A home with so many packages, of which the first was saved and the others are made of it. */
async function fillHome(home: string): Promise<void> {
  await (await openThroughline({ home })).close();
  const feedback = join(home, "feedback");
  const directory = await PackageDirectory.open({ path: feedback });
  let moment: SealedMoment | undefined;
  const { recorder } = fullRecorder({
    save(sealed) {
      moment = sealed;
      return directory.save(sealed);
    },
  });
  const receipt = recorder.record(praise);
  await receipt.whenDurable();
  if (moment === undefined) throw new Error("nothing was saved");
  const { manifest } = await directory.read(receipt.name);
  await directory.close();
  for (let i = 1; i < packages; i++) copyPackage(feedback, moment, manifest, i);
}

/** Another turn of another chat is judged: of one turn only the latest judgement is exported. */
function copyPackage(feedback: string, moment: SealedMoment, manifest: Manifest, i: number): void {
  const uuid = makeUuidV7(manifest.timestamp * 1_000, (into) =>
    into.set(createHash("sha256").update(`${i}`).digest().subarray(0, into.length)),
  );
  const { files, timestamp_str, sentiment } = manifest;
  const name = packageName(timestamp_str, sentiment, uuid);
  const record = { ...moment.record, id: packageId(uuid), uuid, name };
  const sealed = sealRecord({ ...record, chat_id: `chat ${i}` }, files);
  const [from, to] = [join(feedback, manifest.name), join(feedback, record.name)];
  fs.mkdirSync(join(to, "frames"), { recursive: true });
  for (const { path } of files) fs.linkSync(join(from, path), join(to, path));
  fs.writeFileSync(join(to, "feedback.json"), writeManifest(sealed));
}

/**
 * Tells of the most memory that the process ever had, in kB. Not by `maxRSS`: that begins with what the
 * process that started it had.
 */
const tellMemory = `data:text/javascript,${encodeURIComponent(`
  import { readFileSync } from "node:fs";
  process.on("exit", () => {
    const [, most] = /VmHWM:\\s*(\\d+) kB/.exec(readFileSync("/proc/self/status", "utf8"));
    process.stderr.write("most memory: " + most);
  });`)}`;

interface Run {
  readonly seconds: number;
  readonly memoryMb: number;
}

function exportOnce(home: string, out: string, format: string): Run {
  const started = performance.now();
  const args = ["feedback", "export", "--home", home, "--format", format, "--out", out];
  const { status, stderr } = spawnSync(
    process.execPath,
    ["--import", tellMemory, "dist/app/main.js", ...args],
    { encoding: "utf8" },
  );
  const seconds = (performance.now() - started) / 1_000;
  if (status !== 0) throw new Error(`the export failed: ${stderr}`);
  const memoryMb = (Number(/most memory: (\d+)/.exec(stderr)?.[1]) * 1_024) / 1e6;
  const { rows } = JSON.parse(fs.readFileSync(join(out, "export-report.json"), "utf8"));
  if (rows.total !== packages) throw new Error(`${rows.total} rows of ${packages} packages`);
  fs.rmSync(out, { recursive: true });
  return { seconds, memoryMb };
}

function bytesIn(folder: string): number {
  return fs
    .readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, entry) => sum + fs.statSync(join(entry.parentPath, entry.name)).size, 0);
}

/** Every byte read, hashed and written once, one file after the other: seconds. */
function readHashWrite(feedback: string, out: string): number {
  const started = performance.now();
  const file = fs.openSync(out, "w");
  for (const entry of fs.readdirSync(feedback, { withFileTypes: true, recursive: true })) {
    if (!entry.isFile()) continue;
    const bytes = fs.readFileSync(join(entry.parentPath, entry.name));
    createHash("sha256").update(bytes).digest("hex");
    fs.writeSync(file, bytes);
  }
  fs.fsyncSync(file);
  fs.closeSync(file);
  fs.rmSync(out);
  return (performance.now() - started) / 1_000;
}

/** Measures the speed and the memory of the format that writes pictures. */
export async function exportPackages(): Promise<Figure[]> {
  const dir = scratch();
  const [home, out] = [join(dir.path, "home"), join(dir.path, "out")];
  await fillHome(home);
  const read = bytesIn(join(home, "feedback"));
  const runs: Run[] = [];
  const floors: number[] = [];
  for (let round = 0; round < 3; round++) {
    floors.push(readHashWrite(join(home, "feedback"), out));
    runs.push(exportOnce(home, out, "imagefolder"));
  }
  dir.remove();
  const seconds = median(runs.map((run) => run.seconds));
  const speed = read / 1e6 / seconds;
  const memoryMb = median(runs.map((run) => run.memoryMb));
  return [
    {
      says: `${packages} packages (${(read / 1e6).toFixed(0)} MB) become imagefolder at ${speed.toFixed(0)} MB/s; against 100 MB/s`,
      ratio: 100 / speed,
      target: 1,
    },
    {
      says: `the same (${seconds.toFixed(1)} s) against reading, hashing and writing every byte once (${median(floors).toFixed(1)} s)`,
      ratio: seconds / median(floors),
    },
    {
      says: `${packages} packages become imagefolder in ${seconds.toFixed(1)} s with ${memoryMb.toFixed(0)} MB of memory; against 300 MB`,
      ratio: memoryMb / 300,
      target: 1,
    },
  ];
}
