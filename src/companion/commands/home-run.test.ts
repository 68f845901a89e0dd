import assert from "node:assert/strict";
import fs from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { temporaryDirectory } from "../../../test/support/command-line.ts";
import { companion, jsonOf, problemOf } from "../../../test/support/server-fixture.ts";
import { openThroughline } from "../../core/throughline.ts";
import { companionRoutes } from "../routes.ts";
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

const joyOf = (baseline: number | string) => `emotions:\n  joy:\n    baseline: ${baseline}\n`;
const manyFaults = `boredom:\n${Array.from({ length: 60 }, (_, i) => `  key_${i}: 1\n`).join("")}`;

test("all problems of a refused file go over HTTP with line and key, and none with a path", async (t) => {
  const c = await runWith(t, manyFaults);
  const { warnings } = await c.get("/api/emotions");
  assert.equal(warnings.length, 50);
  assert.match(warnings[0], /^emotions\.yaml:2: boredom\.key_0: is no key of this place/);
  const { detail } = await problemOf(
    await c.post("/api/emotions/reset"),
    400,
    "THROUGHLINE_INVALID",
  );
  assert.equal(detail, warnings.join("; "));
  assert.ok(!JSON.stringify([warnings, detail, c.logged]).includes(c.home));
});

for (const [what, bytes, problem] of [
  ["is not UTF-8", Buffer.from([0xff]), "emotions.yaml is not UTF-8"],
  ["is too large", Buffer.alloc(300_000, "#"), "emotions.yaml is larger than 64 KiB"],
] as const) {
  test(`a file that ${what} is refused over HTTP without its path`, async (t) => {
    const c = await runWith(t, joyOf(0.5));
    fs.writeFileSync(c.path, bytes);
    const response = await c.post("/api/emotions/reset");
    const { detail } = await problemOf(response, 400, "THROUGHLINE_INVALID");
    assert.equal(detail, problem);
  });
}

test("an event that is none of 200 is refused with the names of all", async (t) => {
  const names = Array.from({ length: 200 }, (_, i) => `something_that_happens_${i}`);
  const c = await runWith(t, `events:\n${names.map((name) => `  ${name}: {}\n`).join("")}`);
  const response = await c.post("/api/emotions/event", { event: "hug" });
  const { detail } = await problemOf(response, 400, "THROUGHLINE_INVALID");
  assert.ok(detail.endsWith(names.join(", ")), detail);
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
