// Method: a file system in an image that lies on another one, which can clone files. While a process acts
// on a home in it, the image is cloned: what a power cut at that moment would leave on the disk. Each clone
// is mounted, so that its own journal recovers, and what had been acknowledged before it was made is there.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { setTimeout as wait } from "node:timers/promises";
import { seededRandom } from "../../src/testing/random.ts";
import { ActsTold, type Progress } from "../support/acts-told.ts";

const wanted = Number(process.env["THROUGHLINE_CLONES"] ?? 100);
const seed = Number(process.env["THROUGHLINE_SEED"] ?? 1);
/** So many clones of one process: then another one begins on a new home. */
const perProcess = 25;

interface Kind {
  readonly name: string;
  readonly make: readonly string[];
  readonly options: readonly string[];
  readonly megabytes: number;
  readonly returns?: string;
}

const kinds: readonly Kind[] = [
  { name: "ext4", make: ["mkfs.ext4", "-q", "-F", "-J", "size=8"], options: [], megabytes: 192 },
  { name: "xfs", make: ["mkfs.xfs", "-q", "-f"], options: ["nouuid"], megabytes: 320 },
  // After a power cut it may bring a deleted file back under the name that it had before it was renamed. The next
  // start removes it.
  {
    name: "btrfs",
    make: ["mkfs.btrfs", "-q", "-f"],
    options: [],
    megabytes: 256,
    returns: ".tmp-0",
  },
];

function command(program: string, ...args: readonly string[]): void {
  const { status, stderr, error } = spawnSync(program, args, { encoding: "utf8" });
  if (status !== 0)
    throw new Error(`${program} ${args.join(" ")}: ${stderr ?? ""}`, { cause: error });
}

/** Mounts an image. The loop device goes with the mount. */
function mount(image: string, at: string, options: readonly string[] = []): void {
  fs.mkdirSync(at, { recursive: true });
  command("mount", "-o", ["loop", ...options].join(), image, at);
}

function makeImage(path: string, megabytes: number, make: readonly string[]): void {
  fs.closeSync(fs.openSync(path, "wx"));
  fs.truncateSync(path, megabytes * 1024 * 1024);
  const [program = "", ...args] = make;
  command(program, ...args, path);
}

/** Why it cannot run here, if it cannot. */
function reasonNot(): string | false {
  for (const program of ["mount", "mkfs.ext4", "mkfs.xfs", "mkfs.btrfs"]) {
    if (spawnSync(program, ["-V"]).error !== undefined) return `${program} is not installed`;
  }
  const directory = fs.mkdtempSync(join(tmpdir(), "throughline-mount-"));
  try {
    makeImage(join(directory, "image"), 16, ["mkfs.ext4", "-q", "-F"]);
    mount(join(directory, "image"), join(directory, "at"));
    command("umount", join(directory, "at"));
    return false;
  } catch {
    return "this user may not mount a file system";
  } finally {
    fs.rmSync(directory, { recursive: true, force: true });
  }
}

const skip = reasonNot();

/** A place on a file system that can clone files. Everything that was mounted there goes with it. */
function cloningPlace(t: TestContext) {
  const directory = fs.mkdtempSync(join(tmpdir(), "throughline-fs-"));
  const mounted: string[] = [];
  t.after(() => {
    for (const at of mounted.reverse()) spawnSync("umount", [at]);
    fs.rmSync(directory, { recursive: true, force: true });
  });
  const outer = join(directory, "outer");
  const image = join(directory, "outer.img");
  makeImage(image, 3 * 1024, ["mkfs.xfs", "-q", "-f", "-m", "reflink=1"]);
  mount(image, outer);
  mounted.push(outer);
  return {
    at: (name: string) => join(outer, name),
    mount(inner: string, at: string, options: readonly string[]) {
      mount(inner, at, options);
      mounted.push(at);
    },
    unmount(at: string) {
      command("umount", at);
      mounted.splice(mounted.indexOf(at), 1);
    },
  };
}

for (const { name, make, options, megabytes, returns } of kinds) {
  test(`on ${name}, ${wanted} copies of the disk under a process that appends, erases and deletes hold everything acknowledged, and no forgotten word`, {
    skip,
  }, async (t) => {
    const place = cloningPlace(t);
    const random = seededRandom(seed);
    const live = place.at("live");
    const copy = place.at("copy");
    let clones = 0;
    let acknowledged = 0;
    for (let nth = 0; clones < wanted; nth++) {
      const image = place.at(`disk-${nth}.img`);
      makeImage(image, megabytes, make);
      place.mount(image, live, []);
      const told = new ActsTold(join(live, "home"), [seed + nth, 100_000, 4]);
      t.after(() => told.child.kill("SIGKILL"));
      await told.opened;
      for (let i = 0; i < 500 && told.done < 20; i++) await wait(20);
      const taken: { readonly file: string; readonly from: Progress }[] = [];
      while (taken.length < Math.min(perProcess, wanted - clones)) {
        await wait(20 + random(120));
        assert.equal(told.child.exitCode, null, told.errors);
        const from = told.progress();
        const file = place.at(`clone-${taken.length}.img`);
        fs.copyFileSync(image, file, fs.constants.COPYFILE_FICLONE_FORCE);
        taken.push({ file, from });
        acknowledged = Math.max(acknowledged, told.done);
      }
      told.child.kill("SIGKILL");
      await told.ended;
      place.unmount(live);
      for (const { file, from } of taken) {
        place.mount(file, copy, options);
        await told.check(join(copy, "home"), from, told.progress(), returns).catch((cause) => {
          throw new Error(`${name}, clone ${clones}, seed ${seed + nth}`, { cause });
        });
        place.unmount(copy);
        fs.rmSync(file);
        clones++;
      }
      fs.rmSync(image);
    }
    t.diagnostic(`${name}: ${clones} copies, up to ${acknowledged} acts acknowledged in one`);
    assert.ok(acknowledged >= 20, "the process was working");
  });
}
