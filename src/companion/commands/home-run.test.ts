import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import fs from "node:fs";
import { dirname, join } from "node:path";
import { type TestContext, test } from "node:test";
import { pathToFileURL } from "node:url";
import { temporaryDirectory } from "../../../test/support/command-line.ts";
import { HeldClock } from "../../../test/support/held-clock.ts";
import { HeldTimers } from "../../../test/support/held-timers.ts";
import { companion, jsonOf, problemOf } from "../../../test/support/server-fixture.ts";
import { type Logger, silentLogger } from "../../core/logger.ts";
import { openThroughline } from "../../core/throughline.ts";
import type { EmotionConfiguration } from "../emotion/configuration.ts";
import { companionRoutes } from "../routes.ts";
import { EmotionsWatch } from "./emotions-file.ts";
import { FactsFile } from "./facts-file.ts";
import { beginRun } from "./home-run.ts";

/** A run in a home with this `emotions.yaml`, behind its HTTP routes. */
async function runWith(t: TestContext, text: string) {
  const home = temporaryDirectory(t);
  const path = join(home, "emotions.yaml");
  fs.writeFileSync(path, text);
  const logged: (readonly [level: string, message: string, fields: object])[] = [];
  const at = (level: string) => (fields: object, message: string) =>
    void logged.push([level, message, fields]);
  const logger = { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
  const throughline = await openThroughline({ storage: "memory" });
  const run = await beginRun(throughline, { home, freshness: {} }, logger);
  t.after(async () => {
    run.stop();
    await throughline.close();
  });
  const server = await companion([], { throughline, features: [companionRoutes(run)] });
  return { ...server, home, path, logged, run };
}

test("what is written while the storage keeps the start waiting is in force once it has begun", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const home = temporaryDirectory(t);
  const path = join(home, "emotions.yaml");
  fs.writeFileSync(path, joyOf(0.2));
  const [asked, answered] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  await using throughline = await openThroughline({ storage: "memory" });
  throughline.chats.logs.list = async () => {
    asked.resolve();
    await answered.promise;
    return { rows: [] };
  };
  const beginning = beginRun(throughline, { home, freshness: {} }, silentLogger);
  await asked.promise;
  fs.writeFileSync(path, joyOf(0.7));
  for (let pass = 0; pass < 3; pass++) t.mock.timers.tick(1_000);
  answered.resolve();
  const { companion: run, stop } = await beginning;
  stop();
  assert.equal(run.emotions.configuration.emotions.joy.baseline, 0.7);
});

const joyOf = (baseline: number | string) => `emotions:\n  joy:\n    baseline: ${baseline}\n`;
const manyFaults = `boredom:\n${Array.from({ length: 60 }, (_, i) => `  key_${i}: 1\n`).join("")}`;

test("all problems of a refused file go over HTTP with line and key, and none with a path", async (t) => {
  const c = await runWith(t, manyFaults);
  const { warnings } = await c.get("/api/emotions");
  assert.equal(warnings.length, 50);
  assert.match(warnings[0], /^emotions\.yaml:2: boredom\.key_0: is no key of this place/);
  const refused = await c.post("/api/emotions/reset");
  const { detail } = await problemOf(refused, 400, "THROUGHLINE_INVALID");
  assert.equal(detail, warnings.join("; "));
  assert.ok(!JSON.stringify([warnings, detail, c.logged]).includes(c.home));
});

test("the log says which problem refuses the file, and when it is in force again or gone", async (t) => {
  const c = await runWith(t, joyOf(7));
  const refused = "emotions.yaml has errors; the emotions in use stay";
  const first = "emotions.yaml:3: emotions.joy.baseline: must be a number from 0 to 1";
  assert.deepEqual(c.logged, [["warn", refused, { problems: 1, first }]]);
  fs.writeFileSync(c.path, joyOf(0.5));
  await jsonOf(await c.post("/api/emotions/reset"), 200);
  assert.deepEqual(c.logged.slice(1), [
    ["info", "emotions.yaml can be read again and is in use", {}],
  ]);
  fs.writeFileSync(c.path, joyOf("much"));
  assert.equal(c.run.reloadEmotions().length, 1);
  fs.rmSync(c.path);
  assert.deepEqual(c.run.reloadEmotions(), []);
  assert.deepEqual(c.logged.slice(3), [
    ["info", "emotions.yaml is gone; the built-in emotions are in use", {}],
  ]);
});

/** What is remembered of a home, and the log. */
async function recall(home: string) {
  const lines: string[] = [];
  const logger: Logger = {
    ...silentLogger,
    warn: ({ problem }: { readonly problem?: string }) => lines.push(`${problem}`),
  };
  return { facts: await new FactsFile(home, logger).startupContext(), lines };
}

const line = (length: number) => `${"x".repeat(length - 1)}\n`;
const rows: readonly [says: string, text: string | Uint8Array, facts: string, log: RegExp[]][] = [
  ["of two facts", "\nLikes tea.\n\nHas a dog.\n\n", "Likes tea.\n\nHas a dog.", []],
  ["of an empty file", "", "", []],
  ["with a byte order mark and CRLF", "\ufeffa\r\nb\rc\r\n", "a\nb\nc", []],
  ["of 3,900 characters", "y".repeat(3_900), "y".repeat(3_900), []],
  ["of one line of 4,000", "y".repeat(4_000), "y".repeat(4_000), [/rest is not used/]],
  [
    "of lines of 2,000 and 2,500 characters",
    `${line(2_000)}${line(2_500)}`,
    `${line(2_000)}${line(2_500)}`.trimEnd(),
    [/rest is not used/],
  ],
  ["of more than 64 KiB", "y".repeat(64 * 1024 + 1), "", [/facts\.md is larger than 64 KiB$/]],
  ["that is not UTF-8", new Uint8Array([0x61, 0xff]), "", [/facts\.md is not UTF-8$/]],
  ["that ends in half a character", new Uint8Array([0x61, 0xc3]), "", [/facts\.md is not UTF-8$/]],
];
for (const [says, text, facts, log] of rows) {
  test(`a file of facts ${says} gives ${facts.length} characters and ${log.length} warnings`, async (t) => {
    const home = temporaryDirectory(t);
    fs.writeFileSync(join(home, "facts.md"), text);
    const recalled = await recall(home);
    assert.equal(recalled.facts, facts);
    assert.equal(recalled.lines.length, log.length);
    for (const [index, pattern] of log.entries()) assert.match(recalled.lines[index]!, pattern);
  });
}

test("a link is followed; a directory and a pipe are reported, and nobody waits for the pipe", async (t) => {
  const home = temporaryDirectory(t);
  const path = join(home, "facts.md");
  fs.writeFileSync(join(home, "elsewhere"), "Likes tea.");
  fs.symlinkSync(join(home, "elsewhere"), path);
  assert.deepEqual(await recall(home), { facts: "Likes tea.", lines: [] });
  fs.rmSync(path);
  fs.mkdirSync(path);
  assert.deepEqual(await recall(home), { facts: "", lines: ["facts.md is not a regular file"] });
  fs.rmdirSync(path);
  execFileSync("mkfifo", [path]);
  assert.deepEqual(await recall(home), { facts: "", lines: ["facts.md is not a regular file"] });
});

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
  ["that is not UTF-8", new Uint8Array([0xff]), /^ is not UTF-8$/],
  ["of more than 64 KiB", "#".repeat(65_537), /^ is larger than 64 KiB$/],
];
for (const [says, text, problem] of refused) {
  test(`a file ${says} is refused with its name and ${problem.source}`, (t) => {
    const [first = ""] = watched(fileWith(t, text)).watch.problems;
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

/** Past two looks, between which a new version stays the same. */
const twoLooks = 2_000;
const write = (path: string, text = joyOf(0.2)) => fs.writeFileSync(path, text);

/** What becomes of a file, each step with the time that passes after it and what was told by then. */
const changes: readonly [
  says: string,
  before: string | undefined,
  ...steps: (readonly [(path: string) => void, ms: number, ...told: (number | string)[]])[],
][] = [
  [
    "written in place is in force within 2 s, and told once",
    joyOf(0.1),
    [write, 1_999],
    [() => undefined, 1, 0.2],
    [() => undefined, 60_000, 0.2],
  ],
  [
    "renamed over it is in force",
    joyOf(0.1),
    [
      (path) => {
        write(`${path}.new`);
        fs.renameSync(`${path}.new`, path);
      },
      twoLooks,
      0.2,
    ],
  ],
  [
    "put where the old one was moved away, gone for one look alone, is in force",
    joyOf(0.1),
    [(path) => fs.renameSync(path, `${path}~`), 1_000],
    [write, twoLooks, 0.2],
  ],
  [
    "refused is told once with its line, and the next good one counts",
    joyOf(0.1),
    [(path) => write(path, joyOf(7)), 60_000, ":3"],
    [write, twoLooks, ":3", "", 0.2],
  ],
  [
    "put where there was none is in force, and removed leaves the built-in configuration",
    undefined,
    [write, twoLooks, 0.2],
    [(path) => fs.rmSync(path), twoLooks, 0.2, "built-in"],
  ],
  [
    "still being written is not read",
    joyOf(0.1),
    [(path) => write(path, "emotions:\n"), 1_000],
    [(path) => fs.appendFileSync(path, "  joy:\n    baseline: 0.2\n"), twoLooks, 0.2],
  ],
];
for (const [says, before, ...steps] of changes) {
  test(`a version that is ${says}`, async (t) => {
    const path = fileWith(t, before);
    const { timers, events, baseline } = watched(path);
    assert.equal(baseline(), before === undefined ? "built-in" : 0.1);
    for (const [change, ms, ...told] of steps) {
      change(path);
      await timers.pass(ms);
      assert.deepEqual(events, told);
      const inForce = told.findLast((each) => each !== "" && each !== ":3");
      if (inForce !== undefined) assert.equal(baseline(), inForce);
    }
  });
}

test("a reload reads the file at once and answers with what it found", (t) => {
  const path = fileWith(t, joyOf(0.1));
  const { watch, events } = watched(path);
  fs.writeFileSync(path, joyOf(0.2));
  assert.deepEqual(watch.reload(), []);
  fs.writeFileSync(path, malformed);
  assert.equal(watch.reload().length, 1);
  fs.rmSync(path);
  assert.deepEqual(watch.reload(), []);
  const baselines = events.filter((event) => typeof event === "number");
  assert.deepEqual(baselines, [0.2]);
  assert.equal(events.at(-1), "built-in");
});

test("watching emotions.yaml does not keep the process alive", (t) => {
  const url = (name: string) => JSON.stringify(pathToFileURL(join(import.meta.dirname, name)));
  const script = `
    const { EmotionsWatch } = await import(${url("emotions-file.ts")});
    const { systemTimers } = await import(${url("../../core/timers.ts")});
    const home = ${JSON.stringify(temporaryDirectory(t))};
    new EmotionsWatch({ home, timers: systemTimers, logger: {}, onChange() {} });`;
  const args = ["--input-type=module", "--eval", script];
  const { status, signal } = spawnSync(process.execPath, args, { timeout: 60_000 });
  assert.deepEqual({ status, signal }, { status: 0, signal: null });
});
