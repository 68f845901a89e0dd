// The generated parts of the pages about the companion: its built-in emotions, and files of a run.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Document, isCollection, isMap, visit } from "yaml";
import { builtInEmotionsFile } from "../src/companion/emotion/built-in-emotions.ts";
import { startCompanion } from "../src/companion/start-companion.ts";
import type { StoredRecord } from "../src/core/storage/log-store.ts";
import { openThroughline } from "../src/core/throughline.ts";
import { HeldClock } from "../test/support/held-clock.ts";
import { fenced } from "./docs-bodies.ts";

type Parts = Readonly<Record<string, string>>;

/** The built-in emotions as a file to begin with: one line for each emotion, event and trigger, as a person would write it. */
export function emotionsFile(): string {
  const document = new Document(builtInEmotionsFile);
  visit(document, {
    Collection(_, node, path) {
      const hurts = isMap(node) && node.has("wound"); // too long for one line
      if (path.length >= 5 && !hurts && isCollection(node)) node.flow = true;
    },
    Scalar(_, node) {
      if (/^[<>=]/.test(String(node.value))) node.type = "QUOTE_DOUBLE";
    },
  });
  return fenced(document.toString({ lineWidth: 100 }), "yaml");
}

/** The files of a companion that ran twice: the same bytes every time. */
export async function companionSamples(): Promise<Parts> {
  const home = mkdtempSync(join(tmpdir(), "throughline-docs-"));
  try {
    const clock = new HeldClock("2026-03-04T09:15:00.000Z");
    let ids = 0;
    // No pass of the loop saves by itself, however slow this machine is.
    const timers = { after: () => () => undefined };
    const ports = { home, clock: ofOneBoot(clock), timers, newId: () => `r${++ids}` };
    const first = await openThroughline(ports);
    await startCompanion(first, { pid: 4711 });
    await first.close();
    clock.pass(20 * 60_000);
    const second = await openThroughline(ports);
    const companion = await startCompanion(second, { pid: 4712 });
    await companion.save();
    clock.pass(12_000);
    companion.personSeen("Ori");
    companion.personSaid("local:me", "I will destroy you");
    companion.replied("local:me", "That hurts.");
    await companion.save();
    clock.pass(8_000);
    companion.emotions.override("calm", 30);
    await companion.save();
    const state = fenced(textOf(home, "session/session.json"), "json");
    await second.close();
    return {
      "sample-runs": fenced(textOf(home, "runs.jsonl")),
      "sample-moods": fenced(moodLines(home)),
      "sample-session": state,
    };
  } finally {
    rmSync(home, { recursive: true });
  }
}

/** A clock of a machine that tells its boot, as Linux does. */
function ofOneBoot(clock: HeldClock) {
  return {
    now: () => clock.now(),
    monotonic: () => clock.monotonic(),
    bootId: () => "0f7c2d4e-58a1-4b0e-9a53-7f1f3b6f2c11",
    uptimeMs: () => 3_600_000 + clock.monotonic(),
  };
}

/** One record of each kind. */
function moodLines(home: string): string {
  const lines = textOf(home, "moods.jsonl").split("\n");
  const records = lines.filter((line) => line.startsWith('{"id":'));
  const kindOf = (line: string) => (JSON.parse(line) as StoredRecord)["kind"];
  const shown = [
    records.findLast((line) => kindOf(line) === "up"),
    records.find((line) => line.includes('"wound":"added"')),
    records.findLast((line) => kindOf(line) === "down"),
  ];
  return shown.map((line) => `${line}\n`).join("");
}

const textOf = (home: string, name: string) => readFileSync(join(home, name), "utf8");
