// Wounds over starts with an emotions.yaml that somebody is at work on.
import assert from "node:assert/strict";
import fs from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { beginRun } from "../src/companion/commands/home-run.ts";
import type { Companion } from "../src/companion/companion.ts";
import { silentLogger } from "../src/core/logger.ts";
import { openThroughline } from "../src/core/throughline.ts";
import { newHome } from "./support/companion-home.ts";

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
