// How a companion wakes in a home or a database that version 0.1 wrote, in the form of its listings.
import assert from "node:assert/strict";
import { parse } from "yaml";
import {
  type Companion,
  type CompanionOptions,
  type EmotionConfiguration,
  readEmotionConfiguration,
  startCompanion,
} from "../../src/companion/start-companion.ts";
import type { Throughline } from "../../src/index.ts";

/** The emotions of the home `memories`, which a person wrote. */
export function emotionsIn(files: ReadonlyMap<string, Buffer>): EmotionConfiguration {
  const read = readEmotionConfiguration(parse(files.get("emotions.yaml")?.toString() ?? ""));
  assert.ok("configuration" in read, "emotions.yaml is refused");
  return read.configuration;
}

/** How a companion wakes: its report, what it feels, whom it saw, which chats are still to be told. */
export async function wakes(throughline: Throughline, options: CompanionOptions = {}) {
  const companion = await startCompanion(throughline, options);
  const { chats: rows } = await throughline.chats.list({ limit: 1_000 });
  const notices = await companion.notices.look(rows.map(({ chat_id }) => chat_id));
  const { person, sleepState, emotions, injections } = companion;
  const { totalRuns, ...report } = companion.report;
  return {
    companion,
    listing: {
      report: { ...report, totalSessions: totalRuns },
      person: person ?? null,
      sleep: sleepState,
      feeling: emotions.feeling(),
      injections: await injections.load(),
      untold: notices.map(({ chatId, kind, status }) => [chatId, kind, status]),
    },
  };
}

/** How it felt, at 11 instants from one time to another. */
export function courseOf(companion: Companion, [from, to]: readonly [from: string, to: string]) {
  return companion.moodCourse({ from: Date.parse(from), to: Date.parse(to), points: 11 });
}
