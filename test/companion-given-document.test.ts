// A session.json that somebody else put into a home in which a companion lived: an editor, another
// program, a later version. What was there before it, as `.bak`, says nothing any more.
import assert from "node:assert/strict";
import fs from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { beginRun } from "../src/companion/commands/home-run.ts";
import type { Companion } from "../src/companion/companion.ts";
import { startCompanion } from "../src/companion/start-companion.ts";
import type { JsonObject } from "../src/core/json.ts";
import { silentLogger } from "../src/core/logger.ts";
import { openThroughline } from "../src/core/throughline.ts";
import { documentIn, HeldBootClock, newHome, up } from "./support/companion-home.ts";

const golden = new URL("golden/reachy/session.json", import.meta.url);

/** A home in which Ori was seen, with a document and the one before it. */
async function lived(t: TestContext) {
  const home = newHome(t);
  const clock = new HeldBootClock();
  const { throughline, companion } = await up({ home, clock });
  companion.personSeen("Ori");
  await companion.save();
  await throughline.close();
  clock.pass(60_000);
  const path = join(home, "session/session.json");
  assert.ok(fs.existsSync(`${path}.bak`));
  return { home, clock, path };
}

const withoutSeal = (home: string, more: JsonObject) =>
  JSON.stringify({ ...documentIn(home), ...more }, undefined, 2);

test("a session.json that was edited by hand is in force at the next start, and from then on", async (t) => {
  const { home, clock, path } = await lived(t);
  fs.writeFileSync(path, withoutSeal(home, { last_person_seen: "Eve" }));
  for (const total of [2, 3]) {
    const { throughline, companion, warnings } = await up({ home, clock });
    assert.deepEqual([companion.person?.name, companion.report.totalRuns], ["Eve", total]);
    assert.equal(warnings(), "");
    await throughline.close();
    assert.equal(documentIn(home)["last_person_seen"], "Eve");
  }
});

test("an original's session.json put over one of ours is taken over, and the log says once how its conversation is too", async (t) => {
  const { home, path } = await lived(t);
  fs.copyFileSync(golden, path);
  const said: string[] = [];
  const note = (fields: object, message: string) =>
    void said.push(JSON.stringify([fields, message]));
  const ignore = () => undefined;
  const logger = { debug: ignore, info: note, warn: note, error: note };
  for (const total of [43, 44]) {
    const clock = new HeldBootClock();
    await using throughline = await openThroughline({ home, clock, logger, durability: "process" });
    const companion = await startCompanion(throughline);
    assert.equal(companion.report.totalRuns, total);
    const told = said.filter((line) => line.includes("original's"));
    assert.equal(told.length, 1);
    assert.match(told[0] ?? "", /"messages":2.*throughline import <session\.json> --from reachy/);
    assert.ok(!told[0]?.includes(home));
  }
  const { conversation } = documentIn(home);
  const original = JSON.parse(fs.readFileSync(golden, "utf8")) as JsonObject;
  assert.deepEqual(conversation, original["conversation"]);
});

test("a session.json of ours that was edited by hand is not told of as an original's", async (t) => {
  const { home, clock, path } = await lived(t);
  const conversation = [{ role: "USER", text: "Hello", timestamp: 1_772_616_912 }];
  fs.writeFileSync(path, withoutSeal(home, { conversation }));
  const said: string[] = [];
  const note = (_: object, message: string) => void said.push(message);
  const logger = { debug: note, info: note, warn: note, error: note };
  await using throughline = await openThroughline({ home, clock, logger, durability: "process" });
  await startCompanion(throughline);
  assert.ok(!said.some((line) => line.includes("original's")), said.join("\n"));
});

// Wounds over starts with an emotions.yaml that somebody is at work on.
const file = (maxWounds: number) => `
settings: { max_wounds: ${maxWounds} }
events:
  blow: { severity: severe, wound: { floors: { fear: 0.5 }, duration: 86400 } }
`;

/** One run on a home. @returns how many wounds there were at its end. */
async function run(home: string, live: (companion: Companion) => void = () => undefined) {
  await using throughline = await openThroughline({ home, durability: "process" });
  const begun = await beginRun(throughline, { home, freshness: throughline.rules }, silentLogger);
  const { emotions } = begun.companion;
  live(begun.companion);
  const { length } = emotions.feeling().wounds;
  begun.stop();
  return { wounds: length, problems: begun.emotionWarnings().length };
}

test("wounds outlast starts with an emotions.yaml that is refused, and with one that allows fewer", async (t) => {
  const home = newHome(t);
  fs.mkdirSync(home, { mode: 0o700 });
  const path = join(home, "emotions.yaml");
  fs.writeFileSync(path, file(10));
  const hurt = ({ emotions }: Companion) => {
    for (let blow = 0; blow < 8; blow++) emotions.event("blow");
  };
  assert.deepEqual(await run(home, hurt), { wounds: 8, problems: 0 });
  fs.appendFileSync(path, "x: [\n");
  assert.deepEqual(await run(home), { wounds: 8, problems: 1 });
  fs.writeFileSync(path, file(10));
  assert.deepEqual(await run(home), { wounds: 8, problems: 0 });
  fs.writeFileSync(path, file(3));
  assert.deepEqual(await run(home, hurt), { wounds: 8, problems: 0 });
});
