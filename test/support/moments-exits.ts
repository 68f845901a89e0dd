// Method: a process of its own records moments and ends in the middle of whatever it does. Then its
// directory is opened as the next start would: every package there is verified byte by byte, and
// what is there, what was reported, and what the dead process was told are compared.
import assert from "node:assert/strict";
import fs from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { RepairReport } from "../../src/core/storage/storage.ts";
import { placeOf } from "../../src/moments/directory/names.ts";
import { PackageDirectory } from "../../src/moments/directory/package-directory.ts";
import { Child } from "./command-line.ts";
import { killChild } from "./killed.ts";
import { notingRepairs } from "./package-workload.ts";

export interface ExitPlan {
  readonly path: string;
  readonly end:
    | "exit"
    | "kill"
    | "signal"
    | "throw"
    | "block"
    | "kill in a step"
    | "exit in a step";
  /** After `record()` returned. */
  readonly afterMs: number;
  /** The disk call in which it ends, counted from 1 over those that change something. */
  readonly step?: number;
  readonly moments: number;
  readonly frames: number;
  readonly frameBytes: number;
  readonly samples: number;
}

const usual = { afterMs: 0, moments: 2, frames: 3, frameBytes: 3_000, samples: 20_000 } as const;

interface Ended {
  readonly plan: ExitPlan;
  readonly signal: NodeJS.Signals | null;
  readonly code: number | null;
  /** Names, by what the receipt said. */
  readonly told: Readonly<Record<"accepted" | "durable" | "discarded", readonly string[]>>;
  /** Names of which anything was found on the disk. */
  readonly traces: ReadonlySet<string>;
  readonly reports: readonly RepairReport[];
  /** Names of the packages that the next start has. */
  readonly there: ReadonlySet<string>;
  /** The step in which it ended was reached. */
  readonly isReached: boolean;
}

/** Records and ends in a process of its own, then starts again and checks every package that is there. */
export async function recordAndEnd(changes: Partial<ExitPlan> & Pick<ExitPlan, "end">) {
  const home = fs.mkdtempSync(join(tmpdir(), "throughline-exit-"));
  const path = join(home, "feedback");
  fs.mkdirSync(path);
  const plan: ExitPlan = { ...usual, ...changes, path };
  try {
    const { said, code, signal } = await runChild(plan);
    const told = (word: string) => [...said.matchAll(new RegExp(`^feedback.${word} (.*)$`, "gm"))];
    const names = (word: string) => told(word).map(([, name = ""]) => name);
    const traces = tracesIn(path);
    const ended = {
      ...{ plan, code, signal, traces, isReached: /^step \d+$/m.test(said) },
      told: {
        ...{ accepted: names("accepted"), durable: names("durable") },
        discarded: names("discarded"),
      },
      ...(await startAgain(plan)),
    };
    assertHonest(ended);
    return ended;
  } finally {
    fs.rmSync(home, { recursive: true, force: true });
  }
}

async function runChild(plan: ExitPlan) {
  const args = [killChild, "moments-exit", JSON.stringify(plan)];
  const running = new Child(undefined, process.execPath, args, {});
  const { code, out, err } = await running.ended();
  assert.ok(err === "" || plan.end === "throw", err);
  return { said: out, code, signal: running.child.signalCode };
}

function tracesIn(path: string): ReadonlySet<string> {
  return new Set(fs.readdirSync(path).flatMap((entry) => placeOf(entry)?.name ?? []));
}

async function startAgain(plan: ExitPlan) {
  const reports: RepairReport[] = [];
  const packages = await PackageDirectory.open({
    path: plan.path,
    logger: notingRepairs(reports),
  });
  const { packages: listed, next } = await packages.list({ limit: 500 });
  const foreign = fs.readdirSync(plan.path).filter((entry) => placeOf(entry) === undefined);
  assert.deepEqual([foreign, next], [[], null]);
  for (const { name, state, manifest } of listed) {
    assert.equal(state, "sealed", name);
    assert.deepEqual((await packages.verify(name)).differences, [], name);
    const { messages } = await packages.read(name);
    assert.equal(messages.length, 2, name);
    const { num_frames, audio_samples } = manifest ?? {};
    assert.deepEqual([num_frames, audio_samples], [plan.frames, plan.samples], name);
  }
  await packages.close();
  const half = fs
    .readdirSync(plan.path)
    .filter((entry) => !["package", "status", undefined].includes(placeOf(entry)?.as));
  assert.deepEqual(half, [], "something half is left");
  return { reports, there: new Set(listed.map(({ name }) => name)) };
}

/** What holds however a process ends. */
function assertHonest({ told, traces, reports, there, plan }: Omit<Ended, "isReached">): void {
  const says = JSON.stringify(plan);
  assert.equal(told.accepted.length, plan.moments, says);
  for (const name of told.durable) {
    assert.ok(there.has(name), `${name} was durable, and is not there: ${says}`);
  }
  for (const name of there) assert.ok(told.accepted.includes(name), `${name} was never recorded`);
  for (const name of traces) {
    const isReported = reports.some(({ key }) => key.endsWith(`/${name}`));
    assert.ok(there.has(name) || isReported, `${name} went without a word: ${says}`);
  }
}

/** Of a process that could still do something: every moment is there, and its receipt said so. */
export function assertNothingLost({ told, there, plan }: Ended): void {
  const says = JSON.stringify(plan);
  assert.deepEqual([...told.durable].sort(), [...told.accepted].sort(), says);
  assert.deepEqual([...there].sort(), [...told.accepted].sort(), says);
}
