// Method: strace kills the process before its nth call of one kind. A first run, that nothing kills, tells
// which calls concern the home. The home was left by a killed process, so that recovery is cut too.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { ActsTold } from "../support/acts-told.ts";

const wanted = Number(process.env["THROUGHLINE_CUTS"] ?? 15);

const calls = [
  ...["openat", "pwrite64", "write", "fdatasync", "fsync", "ftruncate", "rename", "renameat2"],
  ...["unlink", "mkdir", "rmdir", "link", "close"],
];
const strace = (log: string, inject: readonly string[] = []) => [
  ...["strace", "-f", "-qq", "-y", "-e", `trace=${calls.join()}`],
  ...[...inject, "-o", log, process.execPath],
];

/** A call of one thread: strace counts for each thread. */
interface Place {
  readonly call: string;
  readonly nth: number;
  /** The file that it is about, without what differs from run to run. */
  readonly file: string;
}

/** The calls on the home, in a log of strace. */
function placesIn(log: string, home: string): Place[] {
  const counts = new Map<string, number>();
  const places: Place[] = [];
  for (const line of fs.readFileSync(log, "utf8").split("\n")) {
    const [, thread, call] = /^(\d+) +(\w+)\(/.exec(line) ?? [];
    if (thread === undefined || call === undefined) continue;
    const nth = (counts.get(`${thread} ${call}`) ?? 0) + 1;
    counts.set(`${thread} ${call}`, nth);
    const [, path] = new RegExp(`${home}([^>",]*)`).exec(line) ?? [];
    if (path === undefined) continue;
    places.push({ call, nth, file: path.replace(/tmp-\w+/, "tmp") || "/" });
  }
  return places;
}

/** Some of the places: of each kind of call and each folder of the home about as many. */
function spread(places: readonly Place[], count: number): readonly Place[] {
  const byNumber = new Map(places.map((place) => [`${place.call} ${place.nth}`, place]));
  const grouped = Map.groupBy(
    byNumber.values(),
    ({ call, file }) => `${call} ${file.split("/")[1]}`,
  );
  const isLog = (name: string) => Number(/ (journal|chats)$/.test(name));
  const groups = [...grouped]
    .sort(([one], [other]) => isLog(other) - isLog(one))
    .map(([, group]) => group);
  const chosen: Place[] = [];
  for (let round = 0; chosen.length < count && chosen.length < byNumber.size; round++) {
    for (const group of groups) {
      // Halves, quarters, eighths: wherever it ends, they lie apart.
      const at = order(group.length)[round];
      const place = at === undefined ? undefined : group[at];
      if (place !== undefined) chosen.push(place);
    }
  }
  return chosen.slice(0, count);
}

/** The numbers below `length`, so that the first few are spread over all. */
function order(length: number): readonly number[] {
  const found = new Set<number>();
  for (let parts = 1; found.size < length; parts *= 2) {
    for (let i = 0; i < parts; i++) found.add(Math.floor(((i + 0.5) * length) / parts));
  }
  return [...found];
}

const isThere = spawnSync("strace", ["-o", "/dev/null", "true"]);
const skip =
  isThere.error !== undefined
    ? "strace is not installed"
    : isThere.status !== 0 && "this user may not trace a process";

test(`everything stored is there after a kill at each of ${wanted} system calls`, {
  skip,
}, async (t) => {
  const directory = fs.mkdtempSync(join(tmpdir(), "throughline-calls-"));
  t.after(() => fs.rmSync(directory, { recursive: true, force: true }));
  const at = (name: string) => join(directory, name);
  const left = new ActsTold(at("left"), [1, 30, 1, "stay"]);
  await left.stays;
  left.child.kill("SIGKILL");
  await left.ended;
  assert.ok(fs.readdirSync(at("left/journal")).length > 0, "there is something to recover");

  const run = async (inject: readonly string[] = []) => {
    fs.rmSync(at("home"), { recursive: true, force: true });
    fs.cpSync(at("left"), at("home"), { recursive: true });
    const told = new ActsTold(at("home"), [2, 24, 1], strace(at("log"), inject), left);
    await told.ended;
    return told;
  };
  const whole = await run();
  assert.ok(whole.isClosed, whole.errors);
  await whole.check(at("home"));
  // What another thread did first can make a call come earlier or not at all: some are left over.
  const places = spread(placesIn(at("log"), at("home")), 2 * wanted);
  const killedAt = new Set<string>();
  let beforeOpened = 0;
  for (const { call, nth } of places) {
    const told = await run(["-e", `inject=${call}:signal=KILL:when=${nth}`]);
    if (told.isClosed) continue;
    const last = placesIn(at("log"), at("home")).findLast((place) => place.call === call);
    if (last !== undefined && !told.hasOpened) beforeOpened++;
    if (last !== undefined) killedAt.add(`${call} ${last.nth} ${last.file}`);
    await told.check(at("home")).catch((cause) => {
      throw new Error(`killed at ${call} ${nth} (${last?.file})`, { cause });
    });
    if (killedAt.size === wanted) break;
  }
  const kinds = Map.groupBy(killedAt, (place) => place.split(" ")[0]);
  const counts = [...kinds].map(([call, some]) => `${some.length} ${call}`).join(", ");
  t.diagnostic(`${killedAt.size} different places: ${counts}; ${beforeOpened} in the recovery`);
  assert.equal(killedAt.size, wanted);
});
