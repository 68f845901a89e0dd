import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import { dirname, join } from "node:path";
import { type TestContext, test } from "node:test";
import { pathToFileURL } from "node:url";
import { temporaryDirectory } from "../../../test/support/command-line.ts";
import { HeldClock } from "../../../test/support/held-clock.ts";
import { HeldTimers } from "../../../test/support/held-timers.ts";
import { silentLogger } from "../../core/logger.ts";
import type { EmotionConfiguration } from "../emotion/configuration.ts";
import { EmotionsWatch, readEmotionsFile } from "./emotions-file.ts";

const joyOf = (baseline: number) => `emotions:\n  joy:\n    baseline: ${baseline}\n`;
const name = "emotions.yaml";
const malformed = "emotions: {\n";

function fileWith(t: TestContext, text?: string | Uint8Array): string {
  const path = join(temporaryDirectory(t), name);
  if (text !== undefined) fs.writeFileSync(path, text);
  return path;
}

const refused: readonly [says: string, text: string | Uint8Array, problem: RegExp][] = [
  ["with a wrong number", joyOf(7), /:3: emotions\.joy\.baseline: must be a number/],
  ["with an unknown key", "emotions:\n  joy: {}\n\nevnts: {}\n", /:4: evnts: is no key/],
  ["with a key twice", "boredom: {}\nboredom: {}\n", /:2: contains a key twice$/],
  ["with a broken line", malformed, /:\d: /],
  [
    "with `yes` for true",
    `derived_mood_rules:\n  - mood: sad\n    conditions:\n      _has_wounds: yes\n`,
    /:4: derived_mood_rules\[0\]\.conditions\._has_wounds: must be true or false/,
  ],
  ["with __proto__", "__proto__: { emotions: {} }\n", /:1: __proto__: is no key/],
  [
    "with a trigger and no events",
    "transcript_triggers:\n  - event: insult\n",
    /:2: transcript_triggers\[0\]\.event: must be one of the events, and there are none$/,
  ],
  ["with nothing in it", "# later\n", /:1: is empty/],
  ["of two documents", `${joyOf(0.1)}---\n${joyOf(0.2)}`, /:4: contains more than one document$/],
  ["that is not UTF-8", new Uint8Array([0xff]), / is not UTF-8$/],
  ["of 64 KiB and a byte", `#${" ".repeat(64 * 1024)}`, / is larger than 64 KiB$/],
];
for (const [says, text, problem] of refused) {
  test(`a file ${says} is refused with its name and ${problem.source}`, (t) => {
    const [first = ""] = readEmotionsFile(fileWith(t, text)).problems;
    assert.ok(first.startsWith(name), first);
    assert.match(first.slice(name.length), problem);
  });
}

function watched(path: string) {
  const timers = new HeldTimers(new HeldClock());
  const events: (number | string)[] = [];
  const tell = (configuration: EmotionConfiguration | undefined) => {
    events.push(configuration?.emotions.joy.baseline ?? "built-in");
  };
  const logger = {
    ...silentLogger,
    warn: ({ first }: { readonly first?: string }) =>
      void events.push(`${first}`.slice(name.length).replace(/(:\d+):.*$/, "$1")),
    info: () => void events.push(""),
  };
  const watch = new EmotionsWatch({ home: dirname(path), timers, logger, onChange: tell });
  const baseline = () => watch.configuration?.emotions.joy.baseline ?? "built-in";
  return { watch, timers, events, baseline };
}

/** Past one look, and the second one that a new version gets. */
const oneLook = 2_250;

/** How editors replace a file. */
const writers: readonly [says: string, write: (path: string, text: string) => void][] = [
  ["written in place", (path, text) => fs.writeFileSync(path, text)],
  [
    "renamed over it",
    (path, text) => {
      fs.writeFileSync(`${path}.new`, text);
      fs.renameSync(`${path}.new`, path);
    },
  ],
  [
    "put where the old one was moved away",
    (path, text) => {
      fs.renameSync(path, `${path}~`);
      fs.writeFileSync(path, text);
    },
  ],
];
for (const [says, write] of writers) {
  test(`a new version that is ${says} is in force within 2.25 s, and told once`, async (t) => {
    const path = fileWith(t, joyOf(0.1));
    const { timers, events, baseline } = watched(path);
    assert.equal(baseline(), 0.1);
    write(path, joyOf(0.2));
    await timers.pass(1_999);
    assert.deepEqual(events, []);
    await timers.pass(oneLook - 1_999);
    assert.deepEqual(events, [0.2]);
    await timers.pass(60_000);
    assert.deepEqual(events, [0.2]);
    assert.equal(baseline(), 0.2);
  });
}

test("a linked file is followed: another one behind the link is another version", async (t) => {
  const path = fileWith(t);
  fs.writeFileSync(`${path}.1`, joyOf(0.1));
  fs.writeFileSync(`${path}.2`, joyOf(0.2));
  fs.symlinkSync(`${path}.1`, path);
  const { timers, events } = watched(path);
  fs.rmSync(path);
  fs.symlinkSync(`${path}.2`, path);
  await timers.pass(oneLook);
  assert.deepEqual(events, [0.2]);
});

test("a refused version is told once with its line, what was in force stays, and the next good one counts", async (t) => {
  const path = fileWith(t, joyOf(0.1));
  const { timers, events, baseline } = watched(path);
  fs.writeFileSync(path, joyOf(7));
  await timers.pass(60_000);
  assert.deepEqual(events, [":3"]);
  assert.equal(baseline(), 0.1);
  fs.writeFileSync(path, joyOf(0.3));
  await timers.pass(oneLook);
  assert.deepEqual(events, [":3", "", 0.3]);
});

test("refused at the start, the built-in configuration is in force, and the problem is told", async (t) => {
  const path = fileWith(t, joyOf(7));
  const { timers, events, baseline } = watched(path);
  assert.deepEqual(events, [":3"]);
  assert.equal(baseline(), "built-in");
  fs.rmSync(path);
  await timers.pass(oneLook);
  assert.deepEqual(events, [":3", ""], "then it is told that nothing is wrong any more");
});

test("a file that comes is in force, one that goes leaves the built-in configuration", async (t) => {
  const path = fileWith(t);
  const { timers, events } = watched(path);
  fs.writeFileSync(path, joyOf(0.2));
  await timers.pass(oneLook);
  fs.rmSync(path);
  await timers.pass(oneLook);
  assert.deepEqual(events, [0.2, "built-in"]);
});

test("a file that is gone for one look alone, as editors have it, is not gone", async (t) => {
  const path = fileWith(t, joyOf(0.1));
  const { timers, events } = watched(path);
  fs.renameSync(path, `${path}~`);
  await timers.pass(2_000);
  fs.writeFileSync(path, joyOf(0.2));
  await timers.pass(oneLook);
  assert.deepEqual(events, [0.2]);
});

test("a file that is still being written is not read", async (t) => {
  const path = fileWith(t, joyOf(0.1));
  const { timers, events } = watched(path);
  fs.writeFileSync(path, "emotions:\n");
  await timers.pass(2_000);
  fs.appendFileSync(path, "  joy:\n    baseline: 0.2\n");
  await timers.pass(oneLook);
  assert.deepEqual(events, [0.2]);
});

test("a reload reads the file at once and answers with what it found", (t) => {
  const path = fileWith(t, joyOf(0.1));
  const { watch, events } = watched(path);
  fs.writeFileSync(path, joyOf(0.2));
  assert.deepEqual(watch.reload(), []);
  fs.writeFileSync(path, malformed);
  assert.equal(watch.reload().length, 1);
  fs.rmSync(path);
  assert.deepEqual(watch.reload(), []);
  assert.deepEqual(
    events.filter((event) => typeof event === "number"),
    [0.2],
  );
  assert.equal(events.at(-1), "built-in");
});

test("a watch that nobody closed does not keep the process alive", (t) => {
  const url = (name: string) => JSON.stringify(pathToFileURL(join(import.meta.dirname, name)));
  const script = `
    const { EmotionsWatch } = await import(${url("emotions-file.ts")});
    const { systemTimers } = await import(${url("../../core/timers.ts")});
    const home = ${JSON.stringify(dirname(fileWith(t)))};
    new EmotionsWatch({ home, timers: systemTimers, logger: {}, onChange() {} });`;
  const args = ["--input-type=module", "--eval", script];
  const { status, signal } = spawnSync(process.execPath, args, { timeout: 10_000 });
  assert.deepEqual({ status, signal }, { status: 0, signal: null });
});
